/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint piece, as a failing process or another version may have left it. */
#include "fuzz.h"
#include "piece_made.h"

#include <stdlib.h>
#include <string.h>

#define REGIONS_MAX 6
#define REGION_MAX 300
#define UNTOUCHED 0x5A

/* The regions that the input's head asks for; each is a block of its own. */
static uint32_t make_regions(struct rz_fuzz_input *input, struct rz_region *regions)
{
    uint32_t n = (uint32_t)rz_fuzz_below(input, REGIONS_MAX + 1);
    for (uint32_t i = 0; i < n; i++) {
        regions[i].bytes = rz_fuzz_take(input, 2) % (REGION_MAX + 1);
        regions[i].memory = malloc(regions[i].bytes);
        memset(regions[i].memory, UNTOUCHED, regions[i].bytes);
    }
    return n;
}

static bool untouched(const struct rz_region *regions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < regions[i].bytes; k++) {
            if (((const uint8_t *)regions[i].memory)[k] != UNTOUCHED) {
                return false;
            }
        }
    }
    return true;
}

/* Another piece of the same contents is read back the same. */
static void writes_again(const struct rz_region *regions, uint32_t n, size_t bytes)
{
    uint32_t id;
    rz_fuzz_holds(rz_piece_bytes(regions, n) == bytes);
    uint8_t *again = calloc(1, bytes), *third = calloc(1, bytes);
    piece_write(again, regions, n);
    for (uint32_t i = 0; i < n; i++) {
        memset(regions[i].memory, UNTOUCHED, regions[i].bytes);
    }
    rz_fuzz_holds(piece_read(again, bytes, regions, n, &id) == RZ_OK);
    piece_write(third, regions, n);
    rz_fuzz_holds(memcmp(again, third, bytes) == 0);
    rz_fuzz_holds(rz_piece_hash(again, bytes) == rz_piece_hash(third, bytes));
    uint8_t *cut = rz_fuzz_copy(again, bytes - 1);
    rz_fuzz_holds(piece_read(cut, bytes - 1, regions, n, &id) == RZ_ERR_MALFORMED);
    free(cut);
    free(again);
    free(third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    struct rz_region regions[REGIONS_MAX] = {{0}};
    struct rz_piece_table table;
    uint32_t n = make_regions(&input, regions), id = 0;
    size_t bytes = rz_fuzz_left(&input);
    uint8_t *copy = rz_fuzz_copy(input.at, bytes);
    if (rz_piece_open(copy, bytes, &table) == RZ_OK) {
        for (uint32_t i = 0; i < table.n; i++) {
            rz_fuzz_holds(table.entry[i].at <= bytes &&
                          table.entry[i].bytes <= bytes - table.entry[i].at);
        }
    }
    rz_status_t status = piece_read(copy, bytes, regions, n, &id);
    rz_fuzz_holds(status == RZ_OK || status == RZ_ERR_MALFORMED || status == RZ_ERR_INVALID);
    if (status == RZ_OK) {
        writes_again(regions, n, bytes);
    } else {
        rz_fuzz_holds(untouched(regions, n));
    }
    if (status == RZ_ERR_INVALID) {
        rz_fuzz_holds(id <= n);
    }
    free(copy);
    for (uint32_t i = 0; i < n; i++) {
        free(regions[i].memory);
    }
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    static const uint16_t sizes[][REGIONS_MAX] = {{0}, {1}, {64, 65}, {0, 8, 0}, {300, 1, 63, 64}};
    static const uint8_t counts[] = {0, 1, 2, 3, 4};
    uint8_t memory[REGION_MAX];
    struct rz_region regions[REGIONS_MAX] = {{0}};
    if (number >= sizeof(counts)) {
        return 0;
    }
    memset(memory, (int)number + 1, sizeof(memory));
    size_t at = 0;
    bytes[at++] = counts[number];
    for (uint32_t i = 0; i < counts[number]; i++) {
        regions[i] = (struct rz_region){.memory = memory, .bytes = sizes[number][i]};
        bytes[at++] = (uint8_t)sizes[number][i];
        bytes[at++] = (uint8_t)(sizes[number][i] >> 8);
    }
    size_t n = rz_piece_bytes(regions, counts[number]);
    if (at + n > max) {
        return 0;
    }
    memset(bytes + at, 0, n);
    piece_write(bytes + at, regions, counts[number]);
    return at + n;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_ckpt_piece",
                                              .input_max = 2048,
                                              .memory_fixed = 8192,
                                              .memory_factor = 8,
                                              .seed = seed};
