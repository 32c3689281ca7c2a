#include "ckpt/piece.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define REGIONS 3
static uint8_t a[100], b[1], c[70];
static const struct rz_region regions[REGIONS] = {{a, sizeof a}, {NULL, 0}, {c, sizeof c}};

static void *make(size_t *bytes)
{
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof c; i++)
        c[i] = (uint8_t)(i * 3);
    *bytes = rz_piece_bytes(regions, REGIONS);
    void *piece = malloc(*bytes);
    assert_non_null(piece);
    rz_piece_write(piece, regions, REGIONS);
    return piece;
}

static void test_what_was_written_comes_back(void **state)
{
    size_t bytes;
    uint32_t id;
    uint8_t old_a[sizeof a], old_c[sizeof c];
    void *piece = make(&bytes);
    (void)state;
    memcpy(old_a, a, sizeof a);
    memcpy(old_c, c, sizeof c);
    memset(a, 0, sizeof a);
    memset(c, 0, sizeof c);
    assert_int_equal(rz_piece_read(piece, bytes, regions, REGIONS, &id), RZ_OK);
    assert_memory_equal(a, old_a, sizeof a);
    assert_memory_equal(c, old_c, sizeof c);
    free(piece);
}

static void test_other_regions_are_refused_and_nothing_is_copied(void **state)
{
    size_t bytes;
    uint32_t id = 99;
    void *piece = make(&bytes);
    const struct rz_region other[REGIONS] = {{a, sizeof a}, {b, 1}, {c, sizeof c}};
    (void)state;
    memset(a, 0x55, sizeof a);
    assert_int_equal(rz_piece_read(piece, bytes, other, REGIONS, &id), RZ_ERR_INVALID);
    assert_int_equal(id, 1);
    assert_int_equal(rz_piece_read(piece, bytes, regions, REGIONS - 1, &id), RZ_ERR_INVALID);
    assert_int_equal(a[5], 0x55);
    free(piece);
}

static void test_every_cut_is_refused(void **state)
{
    size_t bytes;
    uint32_t id;
    uint8_t *piece = make(&bytes);
    (void)state;
    for (size_t cut = 0; cut < bytes; cut++) {
        uint8_t *block = malloc(cut ? cut : 1);
        assert_non_null(block);
        memcpy(block, piece, cut);
        assert_int_not_equal(rz_piece_read(block, cut, regions, REGIONS, &id), RZ_OK);
        free(block);
    }
    piece[0] ^= 1;
    assert_int_equal(rz_piece_read(piece, bytes, regions, REGIONS, &id), RZ_ERR_MALFORMED);
    free(piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_written_comes_back),
        cmocka_unit_test(test_other_regions_are_refused_and_nothing_is_copied),
        cmocka_unit_test(test_every_cut_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
