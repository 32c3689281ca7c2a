/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the protocol cores: header and items. */
#include "base/random.h"
#include "fuzz.h"
#include "wire/protocol_encoding.h"

#include <stdlib.h>
#include <string.h>

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    struct rz_random random = {number};
    uint64_t items[16];
    for (size_t i = 0; i < 16; i++) {
        items[i] = rz_random_next(&random);
    }
    struct rz_message message = {.protocol = (uint8_t)(number % RZ_PROTOCOL_COUNT),
                                 .type = (uint8_t)rz_random_below(&random, 8),
                                 .flags = (uint16_t)rz_random_below(&random, 4),
                                 .view = 3,
                                 .from = 1,
                                 .origin = 2,
                                 .seq = rz_random_next(&random),
                                 .word = {rz_random_next(&random), 0},
                                 .n_items = number % 16};
    return number < 2 * RZ_PROTOCOL_COUNT ? rz_protocol_message_encode(&message, items, bytes, max)
                                          : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_message message;
    uint32_t protocol = (uint32_t)(size / 8); /* more items than fit cannot be in it */
    uint64_t *items = malloc(protocol * sizeof(*items));
    rz_status_t status = rz_protocol_message_decode(&message, items, protocol, data, size);
    rz_fuzz_holds(status == RZ_OK || status == RZ_ERR_MALFORMED);
    if (status == RZ_OK) {
        rz_fuzz_holds(message.protocol < RZ_PROTOCOL_COUNT && message.zero == 0);
        rz_fuzz_holds(size == rz_protocol_message_bytes(message.n_items));
        uint8_t *again = malloc(size);
        rz_fuzz_holds(rz_protocol_message_encode(&message, items, again, size) == size);
        rz_fuzz_holds(memcmp(again, data, size) == 0);
        rz_fuzz_holds(rz_protocol_message_encode(&message, items, again, size - 1) == 0);
        free(again);
        /* Space for one item less than there are. */
        uint64_t *fewer = malloc(message.n_items * sizeof(*fewer));
        if (message.n_items > 0) {
            rz_fuzz_holds(rz_protocol_message_decode(&message, fewer, message.n_items - 1, data,
                                                     size) == RZ_ERR_MALFORMED);
        }
        free(fewer);
    }
    free(items);
    return 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_wire_protocol",
                                              .input_max = 1024,
                                              .memory_fixed = 64,
                                              .memory_factor = 4,
                                              .seed = seed};
