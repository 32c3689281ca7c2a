/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stream between processes of different nodes may hold: heads of frames of any content, and
 * the messages of the handshake. What is taken for a frame is one that this build could have
 * written; what is taken for a proof was made with the key.
 */
#include "fuzz.h"
#include "net/tcp/tcp_frame.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t key[RZ_PROOF_KEY_BYTES] = "the key of a job under fuzz....";

static void frame(struct rz_fuzz_input *input)
{
    uint8_t bytes[RZ_TCP_FRAME_BYTES] = {0}, again[RZ_TCP_FRAME_BYTES];
    struct rz_rdv_frame frame;
    size_t n = sizeof(bytes);
    const uint8_t *at = rz_fuzz_bytes(input, &n);
    memcpy(bytes, at, n);
    uint32_t padding;
    if (rz_tcp_frame_decode(&frame, &padding, bytes) != RZ_OK) {
        return;
    }
    rz_fuzz_holds(padding < RZ_TCP_LINE_BYTES && (padding == 0 || frame.bytes > 0));
    rz_fuzz_holds(frame.kind < RZ_RDV_KIND_COUNT && frame.header_bytes <= RZ_NET_HEADER_MAX);
    rz_fuzz_holds(frame.bytes <=
                  (frame.kind == RZ_RDV_PIECE ? RZ_TCP_PIECE_MAX : RZ_TCP_EAGER_MAX));
    rz_tcp_frame_encode(&frame, padding, again);
    rz_fuzz_holds(memcmp(bytes, again, sizeof(bytes)) == 0);
}

/* An honest handshake in which the input changes some bits: it holds where it changed none. */
static void handshake(struct rz_fuzz_input *input)
{
    struct rz_tcp_shake accepting = {.key = key, .job = 7, .acceptor = {1, 2, 3}};
    struct rz_tcp_shake connecting = {
        .key = key, .job = 7, .connector = {4, 5, 6}, .acceptor = {1, 2, 3}};
    uint8_t bytes[RZ_TCP_CHALLENGE_BYTES + RZ_TCP_HELLO_BYTES + RZ_TCP_WELCOME_BYTES];
    uint8_t *hello = bytes + RZ_TCP_CHALLENGE_BYTES, *welcome = hello + RZ_TCP_HELLO_BYTES;
    uint64_t stage = rz_fuzz_below(input, 4);
    uint8_t bit = (uint8_t)(1u << rz_fuzz_below(input, 8));
    rz_tcp_challenge_write(&accepting, bytes);
    if (stage == 1) {
        bytes[rz_fuzz_below(input, RZ_TCP_CHALLENGE_BYTES)] ^= bit;
    }
    bool good = rz_tcp_challenge_read(&connecting, bytes);
    rz_tcp_hello_write(&connecting, hello);
    if (stage == 2) {
        hello[rz_fuzz_below(input, RZ_TCP_HELLO_BYTES)] ^= bit;
    }
    good = rz_tcp_hello_read(&accepting, hello) && good;
    rz_fuzz_holds(good == (stage != 1 && stage != 2));
    if (!good) {
        return;
    }
    rz_tcp_welcome_write(&accepting, welcome);
    if (stage == 3) {
        welcome[rz_fuzz_below(input, RZ_TCP_WELCOME_BYTES)] ^= bit;
    }
    rz_fuzz_holds(rz_tcp_welcome_read(&connecting, welcome) == (stage != 3));
}

static void noise(struct rz_fuzz_input *input)
{
    struct rz_tcp_shake shake = {.key = key, .job = 7, .acceptor = {1, 2, 3}};
    uint8_t bytes[RZ_TCP_SHAKE_MAX] = {0};
    size_t n = sizeof(bytes);
    const uint8_t *at = rz_fuzz_bytes(input, &n);
    memcpy(bytes, at, n);
    rz_fuzz_holds(!rz_tcp_hello_read(&shake, bytes) && !rz_tcp_welcome_read(&shake, bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    static bool begun;
    begun = begun || rz_proof_begin() == RZ_OK;
    rz_fuzz_holds(begun);
    uint64_t what = rz_fuzz_below(&input, 4);
    if (what == 0) {
        handshake(&input);
    } else if (what == 1) {
        noise(&input);
    }
    while (what > 1 && rz_fuzz_left(&input) > 0) {
        frame(&input);
    }
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    static const struct rz_rdv_frame frames[] = {
        {.kind = RZ_RDV_SMALL, .header_bytes = 48, .bytes = 8},
        {.kind = RZ_RDV_OFFER, .id = 1, .place = 70000, .header_bytes = 48},
        {.kind = RZ_RDV_TAKE, .id = 1, .place = 70000},
        {.kind = RZ_RDV_DROP, .id = 1},
        {.kind = RZ_RDV_PIECE, .id = 1, .place = 8, .bytes = RZ_TCP_PIECE_MAX}};
    enum { FRAMES = sizeof(frames) / sizeof(frames[0]) };
    if (number >= FRAMES) {
        return number < 16 ? rz_fuzz_seed_noise(number, 8u << number % 4, bytes, max) : 0;
    }
    bytes[0] = 2;
    rz_tcp_frame_encode(&frames[number], number > 3 ? RZ_TCP_LINE_BYTES - 1 : 0, bytes + 1);
    return 1 + RZ_TCP_FRAME_BYTES;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_net_tcp",
                                              .input_max = 512,
                                              .memory_fixed = 1u << 16,
                                              .memory_factor = 64,
                                              .seed = seed};
