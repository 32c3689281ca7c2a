/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums by pages, runs in bitmaps, and pieces written over older ones. */
#include "piece_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define REGIONS_MAX 5
#define EDGE RZ_PAGE_BYTES

static uint64_t dice = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice % below;
}

#ifdef __x86_64__
#define UPPER_HALF(i) "vextractf128 $1, %%ymm" #i ", " #i "*16(%0)\n"

/* The upper halves of the first 16 vector registers, as they are now. */
static void look_at_upper_halves(uint8_t halves[16][16])
{
    __asm__ volatile(UPPER_HALF(0) UPPER_HALF(1) UPPER_HALF(2) UPPER_HALF(3) UPPER_HALF(4)
                         UPPER_HALF(5) UPPER_HALF(6) UPPER_HALF(7) UPPER_HALF(8) UPPER_HALF(9)
                             UPPER_HALF(10) UPPER_HALF(11) UPPER_HALF(12) UPPER_HALF(13)
                                 UPPER_HALF(14) UPPER_HALF(15)
                     :
                     : "r"(halves)
                     : "memory");
}

/* Else the program that took a checkpoint would be slow from then on. */
static void upper_halves_of_registers_are_left_empty(void **state)
{
    static uint8_t page[RZ_PAGE_BYTES], halves[3][16][16], nothing[16][16];
    struct rz_page_hash hashes[1];
    (void)state;
    if (!__builtin_cpu_supports("avx")) {
        skip();
    }
    memset(page, 0x5A, sizeof(page));
    hashes[0] = rz_page_hash(page, sizeof(page));
    look_at_upper_halves(halves[0]);
    rz_pages_look(page, sizeof(page), hashes);
    look_at_upper_halves(halves[1]);
    rz_pages_hash(hashes, sizeof(page));
    look_at_upper_halves(halves[2]);
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(halves[i], nothing, sizeof(nothing));
    }
}
#else
static void upper_halves_of_registers_are_left_empty(void **state)
{
    (void)state;
    skip();
}
#endif

static void the_checksum_is_of_every_byte_and_of_the_size(void **state)
{
    static const size_t sizes[] = {0,        1,         EDGE - 1,      EDGE,
                                   EDGE + 1, 64 * EDGE, 64 * EDGE + 1, 130 * EDGE};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        size_t bytes = sizes[i], pages = rz_pages_of(bytes);
        uint8_t *at = calloc(1, bytes + 1);
        struct rz_page_hash *hashes = calloc(pages + 1, sizeof(*hashes));
        assert_int_equal(pages, (bytes + EDGE - 1) / EDGE);
        uint64_t hash = rz_pages_look(at, bytes, hashes);
        assert_true(hash == rz_pages_hash(hashes, bytes));
        assert_true(hash == rz_piece_hash(at, bytes));
        assert_true(hash != rz_piece_hash(at, bytes + 1));
        for (int flips = 0; bytes > 0 && flips < 20; flips++) {
            size_t where = flips == 0 ? bytes - 1 : draw(bytes);
            at[where] ^= (uint8_t)(1u << draw(8));
            assert_true(hash != rz_piece_hash(at, bytes));
            hash = rz_piece_hash(at, bytes);
        }
        free(hashes);
        free(at);
    }
}

static void runs_are_found_as_bit_by_bit(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        size_t pages = draw(70), page = 0, n = 0, seen = 0;
        uint8_t bitmap[10] = {0}, again[10] = {0};
        for (size_t p = 0; p < pages; p++) {
            if (draw((uint64_t)round % 7 + 2) == 0) {
                bitmap[p / 8] |= (uint8_t)(1u << p % 8);
            }
        }
        for (; rz_pages_next_run(bitmap, pages, &page, &n); page += n + 1, seen++) {
            assert_true(n > 0 && page + n <= pages);
            for (size_t p = page; p < page + n; p++) {
                again[p / 8] |= (uint8_t)(1u << p % 8);
            }
        }
        assert_memory_equal(bitmap, again, sizeof(bitmap));
    }
}

/* A place with a piece in it, and what is known of it. */
struct place {
    uint8_t at[64 * RZ_PAGE_BYTES], before[64 * RZ_PAGE_BYTES];
    struct rz_page_hash hashes[64];
    uint8_t changed[8];
    size_t known;
};

static size_t write_over(struct place *place, const struct rz_region *regions, uint32_t n)
{
    struct rz_piece_copy copy = {.to = place->at,
                                 .regions = regions,
                                 .n = n,
                                 .hashes = place->hashes,
                                 .known = place->known,
                                 .changed = place->changed};
    assert_true(rz_piece_bytes(regions, n) <= sizeof(place->at));
    memcpy(place->before, place->at, sizeof(place->at));
    memset(place->changed, 0xff, sizeof(place->changed)); /* it may lie where pages lay */
    rz_piece_copy_begin(&copy);
    while (rz_piece_copy_some(&copy, 1 + draw(9))) {
        ;
    }
    place->known = copy.pages;
    size_t n_marked = 0;
    for (size_t p = 0; p < copy.pages; p++) { /* a reader of the bitmap knows what was touched */
        if (place->changed[p / 8] >> p % 8 & 1) {
            n_marked++;
        } else {
            size_t bytes = copy.bytes - p * EDGE < EDGE ? copy.bytes - p * EDGE : EDGE;
            assert_memory_equal(place->at + p * EDGE, place->before + p * EDGE, bytes);
        }
    }
    assert_int_equal(n_marked, copy.n_changed);
    assert_true(rz_pages_hash(place->hashes, copy.bytes) == rz_piece_hash(place->at, copy.bytes));
    return copy.n_changed;
}

/* Random regions of random sizes, written over and over: the same bytes as written at one go. */
static void what_is_written_over_an_older_piece_is_the_same(void **state)
{
    static struct place place;
    static uint8_t memory[REGIONS_MAX][10 * RZ_PAGE_BYTES], whole[64 * RZ_PAGE_BYTES];
    static const size_t edges[] = {0, 1, EDGE - 65, EDGE - 1, EDGE, EDGE + 1, 3 * EDGE};
    struct rz_region regions[REGIONS_MAX];
    uint32_t n = 0;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        if (round % 10 == 0) { /* other regions, or other sizes */
            n = (uint32_t)draw(REGIONS_MAX + 1);
            for (uint32_t i = 0; i < n; i++) {
                size_t bytes = draw(2) ? edges[draw(7)] : draw(sizeof(memory[i]) - 7);
                regions[i] = (struct rz_region){.memory = memory[i] + draw(8),
                                                .bytes = bytes,
                                                .kind = (enum rz_region_kind)draw(2)};
            }
        }
        for (uint64_t writes = draw(4); writes > 0; writes--) {
            memory[draw(REGIONS_MAX)][draw(sizeof(memory[0]))] ^= (uint8_t)(1 + draw(255));
        }
        size_t bytes = rz_piece_bytes(regions, n);
        write_over(&place, regions, n);
        memset(whole, 0xEE, sizeof(whole));
        piece_write(whole, regions, n);
        assert_memory_equal(place.at, whole, bytes);
    }
}

static void only_changed_pages_are_written(void **state)
{
    static struct place place;
    static uint8_t memory[20 * RZ_PAGE_BYTES];
    struct rz_region region = {.memory = memory, .bytes = sizeof(memory)};
    (void)state;
    place = (struct place){0};
    assert_int_equal(write_over(&place, &region, 1), 21); /* the table's page, too */
    assert_int_equal(write_over(&place, &region, 1), 0);
    memory[7 * RZ_PAGE_BYTES] ^= 1;
    assert_int_equal(write_over(&place, &region, 1), 1);
    memory[0] ^= 1;
    memory[sizeof(memory) - 1] ^= 1;
    assert_int_equal(write_over(&place, &region, 1), 2);
    region.bytes--;
    memory[sizeof(memory) - 1] ^= 1;
    assert_int_equal(write_over(&place, &region, 1), 2); /* the size in the table, and the end */
    place.known = 0;
    assert_int_equal(write_over(&place, &region, 1), 21);
}

/* Copies go past the caches there. */
static void large_pieces_too(void **state)
{
    size_t bytes = (size_t)9 << 20;
    uint8_t *memory = malloc(bytes);
    (void)state;
    for (size_t i = 0; i < bytes; i++) {
        memory[i] = (uint8_t)(i >> 12 ^ i);
    }
    const struct rz_region region = {.memory = memory + 3, .bytes = bytes - 5};
    size_t all = rz_piece_bytes(&region, 1);
    uint8_t *piece = malloc(all);
    uint32_t id;
    piece_write(piece, &region, 1);
    uint8_t *back = malloc(bytes);
    const struct rz_region other = {.memory = back, .bytes = bytes - 5};
    assert_int_equal(piece_read(piece, all, &other, 1, &id), RZ_OK);
    assert_memory_equal(back, memory + 3, bytes - 5);
    free(back);
    free(piece);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upper_halves_of_registers_are_left_empty),
        cmocka_unit_test(the_checksum_is_of_every_byte_and_of_the_size),
        cmocka_unit_test(runs_are_found_as_bit_by_bit),
        cmocka_unit_test(what_is_written_over_an_older_piece_is_the_same),
        cmocka_unit_test(only_changed_pages_are_written),
        cmocka_unit_test(large_pieces_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
