/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces: what was written is read back, all else is refused. */
#include "piece_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define REGIONS 3
static uint8_t a[100], b[1], c[70];
static const struct rz_region regions[REGIONS] = {
    {.memory = a, .bytes = sizeof(a)}, {0}, {.memory = c, .bytes = sizeof(c)}};

static void *make(size_t *bytes)
{
    for (size_t i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)(i * 7);
    }
    for (size_t i = 0; i < sizeof(c); i++) {
        c[i] = (uint8_t)(i * 3);
    }
    *bytes = rz_piece_bytes(regions, REGIONS);
    void *piece = malloc(*bytes);
    assert_non_null(piece);
    piece_write(piece, regions, REGIONS);
    return piece;
}

static void test_what_was_written_comes_back(void **state)
{
    size_t bytes;
    uint32_t id;
    uint8_t old_a[sizeof(a)], old_c[sizeof(c)];
    void *piece = make(&bytes);
    (void)state;
    memcpy(old_a, a, sizeof(a));
    memcpy(old_c, c, sizeof(c));
    memset(a, 0, sizeof(a));
    memset(c, 0, sizeof(c));
    assert_int_equal(piece_read(piece, bytes, regions, REGIONS, &id), RZ_OK);
    assert_memory_equal(a, old_a, sizeof(a));
    assert_memory_equal(c, old_c, sizeof(c));
    free(piece);
}

static void test_other_regions_are_refused_and_nothing_is_copied(void **state)
{
    size_t bytes;
    uint32_t id = 99;
    void *piece = make(&bytes);
    const struct rz_region other[REGIONS] = {{.memory = a, .bytes = sizeof(a)},
                                             {.memory = b, .bytes = 1},
                                             {.memory = c, .bytes = sizeof(c)}};
    (void)state;
    memset(a, 0x55, sizeof(a));
    assert_int_equal(piece_read(piece, bytes, other, REGIONS, &id), RZ_ERR_INVALID);
    assert_int_equal(id, 1);
    assert_int_equal(piece_read(piece, bytes, regions, REGIONS - 1, &id), RZ_ERR_INVALID);
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
        assert_int_not_equal(piece_read(block, cut, regions, REGIONS, &id), RZ_OK);
        free(block);
    }
    piece[0] ^= 1;
    assert_int_equal(piece_read(piece, bytes, regions, REGIONS, &id), RZ_ERR_MALFORMED);
    free(piece);
}

static void test_what_stands_behind_the_last_region_is_refused(void **state)
{
    size_t bytes;
    uint32_t id;
    uint8_t *piece = make(&bytes), *longer = calloc(1, bytes + 64);
    (void)state;
    assert_non_null(longer);
    memcpy(longer, piece, bytes);
    for (size_t more = 1; more <= 64; more++) {
        assert_int_equal(piece_read(longer, bytes + more, regions, REGIONS, &id), RZ_ERR_MALFORMED);
    }
    free(longer);
    free(piece);
}

/* As many as there may be, all empty; then the table says one more, and has room for it. */
static void test_more_regions_than_there_are_ids_are_refused(void **state)
{
    static const struct rz_region none[RZ_PIECE_REGIONS_MAX];
    static uint8_t piece[RZ_PIECE_TABLE_BYTES(RZ_PIECE_REGIONS_MAX + 1)];
    struct rz_piece_table table;
    size_t bytes = rz_piece_bytes(none, RZ_PIECE_REGIONS_MAX);
    (void)state;
    piece_write(piece, none, RZ_PIECE_REGIONS_MAX);
    assert_int_equal(rz_piece_open(piece, bytes, &table), RZ_OK);
    assert_int_equal(table.n, RZ_PIECE_REGIONS_MAX);
    uint32_t one_more = RZ_PIECE_REGIONS_MAX + 1;
    piece[4] = (uint8_t)one_more;
    piece[5] = (uint8_t)(one_more >> 8);
    assert_int_equal(rz_piece_open(piece, sizeof(piece), &table), RZ_ERR_MALFORMED);
}

/* Streams are the caller's business, but no memory is taken for one. */
static void test_streams_are_told_from_memory(void **state)
{
    static uint8_t text[] = "stream";
    const struct rz_region made[] = {{.memory = a, .bytes = sizeof(a)},
                                     {.memory = text, .bytes = 6, .kind = RZ_REGION_STREAM},
                                     {.memory = NULL, .bytes = 0, .kind = RZ_REGION_STREAM}};
    const struct rz_region memory[] = {{.memory = a, .bytes = sizeof(a)},
                                       {.memory = c, .bytes = 6}};
    uint32_t id = 99;
    size_t bytes = rz_piece_bytes(made, REGIONS);
    uint8_t *piece = malloc(bytes);
    struct rz_piece_table table;
    (void)state;
    assert_non_null(piece);
    piece_write(piece, made, REGIONS);
    assert_int_equal(rz_piece_open(piece, bytes, &table), RZ_OK);
    assert_int_equal(table.n, REGIONS);
    assert_int_equal(table.entry[1].kind, RZ_REGION_STREAM);
    assert_int_equal(table.entry[1].bytes, 6);
    assert_memory_equal(piece + table.entry[1].at, text, 6);
    assert_int_equal(table.entry[2].kind, RZ_REGION_STREAM);
    assert_int_equal(piece_read(piece, bytes, made, REGIONS, &id), RZ_OK);
    assert_int_equal(piece_read(piece, bytes, memory, 1, &id), RZ_OK);
    assert_int_equal(piece_read(piece, bytes, memory, 2, &id), RZ_ERR_INVALID);
    assert_int_equal(id, 1);
    free(piece);
}

/* Sizes that add up to anything but the piece are lies. */
static void test_tables_of_any_content_are_read(void **state)
{
    uint64_t dice = 1;
    struct rz_piece_table table;
    size_t bytes;
    uint8_t *piece = make(&bytes);
    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint8_t copy[512];
        memcpy(copy, piece, bytes);
        for (int k = 0; k < 1 + i % 4; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            copy[4 + (dice >> 33) % 40] = (uint8_t)(dice >> 56 & (i % 3 ? 0xFF : 0x80));
        }
        if (rz_piece_open(copy, bytes, &table) != RZ_OK) {
            continue;
        }
        for (uint32_t r = 0; r < table.n; r++) {
            assert_true(table.entry[r].at <= bytes &&
                        table.entry[r].bytes <= bytes - table.entry[r].at);
        }
    }
    free(piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_written_comes_back),
        cmocka_unit_test(test_other_regions_are_refused_and_nothing_is_copied),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_what_stands_behind_the_last_region_is_refused),
        cmocka_unit_test(test_more_regions_than_there_are_ids_are_refused),
        cmocka_unit_test(test_streams_are_told_from_memory),
        cmocka_unit_test(test_tables_of_any_content_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
