/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed datagrams: any bytes, and sealed ones in any order, changed, repeated, or from a sender
 * without the key. A model of the window says which are new.
 */
#include "fuzz.h"
#include "net/datagram/datagram.h"
#include "wire/cursor.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, SELF = 0, SEEN_MAX = 256 };

static const uint8_t key[32] = {1, 2, 3}, other_key[32] = {9};

/* Of each sender, all numbers that were taken. */
static struct {
    uint64_t number[SEEN_MAX], highest;
    unsigned n;
} seen[NODES];

static bool is_new(uint32_t from, uint64_t number)
{
    for (unsigned i = 0; i < seen[from].n; i++) {
        if (seen[from].number[i] == number) {
            return false;
        }
    }
    return number > seen[from].highest || seen[from].highest - number < RZ_DATAGRAM_WINDOW;
}

static size_t write_packet(struct rz_fuzz_input *input, uint8_t *packet, uint32_t *to,
                           uint32_t *from, uint64_t *number)
{
    struct rz_wire_writer w;
    size_t payload = rz_fuzz_below(input, 64);
    *to = rz_fuzz_below(input, 8) == 7 ? (uint32_t)rz_fuzz_below(input, 5) : SELF;
    *from = 1 + (uint32_t)rz_fuzz_below(input, 2);
    if (rz_fuzz_below(input, 16) == 15) {
        *from = (uint32_t)rz_fuzz_take(input, 4);
    }
    *number = 90 + rz_fuzz_below(input, 80);
    if (rz_fuzz_below(input, 16) == 15) {
        *number = rz_fuzz_take(input, 8);
    }
    rz_wire_writer_init(&w, packet, RZ_DATAGRAM_HEADER_BYTES);
    rz_wire_put_u32(&w, *to);
    rz_wire_put_u32(&w, *from);
    rz_wire_put_u64(&w, *number);
    memset(packet + RZ_DATAGRAM_HEADER_BYTES, 0x33, payload);
    return RZ_DATAGRAM_HEADER_BYTES + payload;
}

static void sealed(struct rz_datagrams *datagrams, struct rz_fuzz_input *input)
{
    uint8_t packet[RZ_DATAGRAM_MAX];
    uint32_t to, from;
    uint64_t number;
    rz_id told;
    const uint8_t *payload;
    size_t n = write_packet(input, packet, &to, &from, &number), length;
    unsigned odd = (unsigned)rz_fuzz_below(input, 16);
    crypto_auth(packet + n, packet, n, odd == 1 ? other_key : key);
    if (odd == 2) {
        packet[rz_fuzz_below(input, n + crypto_auth_BYTES)] ^= 1;
    }
    uint8_t *exact = rz_fuzz_copy(packet, n + crypto_auth_BYTES);
    rz_status_t status =
        rz_datagram_unseal(datagrams, exact, n + crypto_auth_BYTES, &told, &payload, &length);
    if (odd == 1 || odd == 2 || to != SELF || from == SELF || from >= NODES) {
        rz_fuzz_holds(status == RZ_ERR_AUTHENTICATION);
    } else if (number == 0 || !is_new(from, number)) {
        rz_fuzz_holds(status == RZ_ERR_INVALID);
    } else {
        rz_fuzz_holds(status == RZ_OK && told == from);
        rz_fuzz_holds(payload == exact + RZ_DATAGRAM_HEADER_BYTES &&
                      length == n - RZ_DATAGRAM_HEADER_BYTES);
        seen[from].number[seen[from].n++] = number;
        if (number > seen[from].highest) {
            seen[from].highest = number;
        }
    }
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    struct rz_datagrams *datagrams;
    rz_id from;
    const uint8_t *payload;
    size_t n;
    memset(seen, 0, sizeof(seen));
    rz_fuzz_holds(rz_datagrams_open(&datagrams, NODES, SELF, key) == RZ_OK);
    rz_status_t status = rz_datagram_unseal(datagrams, data, size, &from, &payload, &n);
    rz_fuzz_holds(status == RZ_ERR_MALFORMED || status == RZ_ERR_AUTHENTICATION);
    for (unsigned i = 0; i < SEEN_MAX && rz_fuzz_left(&input) > 0; i++) {
        sealed(datagrams, &input);
    }
    rz_datagrams_close(datagrams);
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 12 ? rz_fuzz_seed_noise(number, 32u << number % 4, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_net_datagram",
                                              .input_max = 2048,
                                              .memory_fixed = 64 * 1024,
                                              .memory_factor = 256,
                                              .seed = seed};
