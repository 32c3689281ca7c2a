/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a checkpoint file, as a full disk, another version or another job may have left it.
 */
#include "ckpt/file_header.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 0x5A

static void look(const struct rz_ckpt_header *header, const uint8_t *bytes)
{
    uint8_t again[RZ_CKPT_HEADER_BYTES];
    rz_fuzz_holds(rz_ckpt_name_valid(header->name) && header->rank < header->n_ranks);
    rz_fuzz_holds(header->kind < RZ_CKPT_KIND_COUNT && header->generation.number > 0);
    rz_ckpt_header_encode(header, again);
    rz_fuzz_holds(memcmp(again, bytes, sizeof(again)) == 0);
}

/* What was damaged would be found by its checksum alone: with a right one the rest counts. */
static void with_the_right_checksum(const uint8_t *bytes, size_t n)
{
    struct rz_ckpt_header header = {.kind = RZ_CKPT_PIECE,
                                    .name = "x",
                                    .n_ranks = 1,
                                    .generation = {.run = 1, .epoch = 1, .number = 1}},
                          read;
    uint8_t head[RZ_CKPT_HEADER_BYTES];
    struct rz_fuzz_input input = {bytes, bytes + n};
    header.kind = (enum rz_ckpt_kind)rz_fuzz_below(&input, RZ_CKPT_KIND_COUNT);
    header.n_ranks = (uint32_t)rz_fuzz_take(&input, 4);
    header.rank = (uint32_t)rz_fuzz_take(&input, 4);
    header.generation.run = (uint32_t)rz_fuzz_take(&input, 4);
    header.generation.epoch = (uint32_t)rz_fuzz_take(&input, 4);
    header.generation.number = rz_fuzz_take(&input, 8);
    header.bytes = rz_fuzz_take(&input, 8);
    header.hash = rz_fuzz_take(&input, 8);
    rz_ckpt_header_encode(&header, head);
    if (rz_ckpt_header_decode(&read, head, sizeof(head)) == RZ_OK) {
        look(&read, head);
    } else {
        rz_fuzz_holds(header.rank >= header.n_ranks || header.generation.run == 0 ||
                      header.generation.epoch == 0 || header.generation.number == 0 ||
                      header.bytes > INT64_MAX - RZ_CKPT_HEADER_BYTES ||
                      header.kind == RZ_CKPT_MARK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_ckpt_header header;
    memset(&header, UNTOUCHED, sizeof(header));
    uint8_t *copy = rz_fuzz_copy(data, size);
    rz_status_t status = rz_ckpt_header_decode(&header, copy, size);
    if (status == RZ_OK) {
        look(&header, copy);
    } else {
        for (size_t i = 0; i < sizeof(header); i++) {
            rz_fuzz_holds(((const uint8_t *)&header)[i] == UNTOUCHED);
        }
    }
    rz_fuzz_holds(status == RZ_OK || status == RZ_ERR_MALFORMED || status == RZ_ERR_VERSION ||
                  status == RZ_ERR_TRUNCATE);
    rz_fuzz_holds((status == RZ_ERR_TRUNCATE) == (size < RZ_CKPT_HEADER_BYTES));
    free(copy);
    with_the_right_checksum(data, size);
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    struct rz_ckpt_header header = {.kind = number == 0 ? RZ_CKPT_MARK : RZ_CKPT_PIECE,
                                    .name = "hpccg",
                                    .n_ranks = 8,
                                    .rank = number,
                                    .generation = {.run = 1, .epoch = 2, .number = 3 + number},
                                    .bytes = number * 1000,
                                    .hash = number * UINT64_C(0x123456789abcdef)};
    if (number >= 4 || max < RZ_CKPT_HEADER_BYTES) {
        return 0;
    }
    rz_ckpt_header_encode(&header, bytes);
    return RZ_CKPT_HEADER_BYTES;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_ckpt_file",
                                              .input_max = 512,
                                              .memory_fixed = 1024,
                                              .memory_factor = 1,
                                              .seed = seed};
