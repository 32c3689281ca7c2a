/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring among processes: several of its threads in one process, over real sockets; boards and
 * daemons are played. */
#include "../../patience.h"
#include "mpi/flat/flat_state.h"

#include "port/channel.h"
#include "port/clock.h"
#include "port/socket.h"
#include "proto/recover/recover.h"
#include "wire/protocol_encoding.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 6 };

static const rz_time PERIOD = 20 * RZ_MILLISECOND, TIMEOUT = 200 * RZ_MILLISECOND;

extern const struct rz_flat_entry rz_flat_entry;

static struct member {
    struct rz_link_info info;
    struct rz_board *board;
    struct rz_address address;
    int daemon_fd; /* the daemon's end of the link */
    struct rz_flat *flat;
} member[N];

static void write_board(struct rz_board *board, uint32_t rank, enum rz_process_state state)
{
    atomic_store(&board->rank[rank], rz_board_rank_word(1, 0, state));
    atomic_fetch_add(&board->news, 1);
}

static void write_epoch(uint32_t epoch, enum rz_recover_phase phase)
{
    for (unsigned i = 0; i < N; i++) {
        atomic_store(&member[i].board->epoch_phase, (uint64_t)epoch << 8 | (uint64_t)phase);
    }
}

static void member_open(struct member *m, uint32_t rank)
{
    int ends[2];
    memset(m, 0, sizeof(*m));
    m->board = aligned_alloc(64, (rz_board_bytes_ring(N, 1) + 63) / 64 * 64);
    assert_non_null(m->board);
    memset(m->board, 0, rz_board_bytes_ring(N, 1));
    m->board->n_ranks = N;
    m->board->n_slots = N;
    m->board->n_nodes = 1;
    m->board->flags = RZ_BOARD_RING;
    m->board->hb_period_ns = PERIOD;
    m->address = (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK};
    memcpy((uint8_t *)m->board + rz_board_node_ip(m->board, 0), m->address.ip, RZ_IP_BYTES);
    assert_int_equal(rz_channel_pair(ends), RZ_OK);
    m->daemon_fd = ends[0];
    m->info = (struct rz_link_info){.self = {.job = 1, .rank = rank, .incarnation = 1},
                                    .n_ranks = N,
                                    .n_slots = N,
                                    .board = m->board,
                                    .fd = ends[1],
                                    .hb_timeout = TIMEOUT,
                                    .ring_key = "the key of a ring under test"};
    assert_int_equal(rz_socket_datagram(&m->address, &m->info.ring_fd), RZ_OK);
}

static int setup(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        member_open(&member[i], i);
    }
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t k = 0; k < N; k++) {
            write_board(member[i].board, k, RZ_PROCESS_ALIVE);
            atomic_store(&member[i].board->rank[N + k],
                         rz_board_ring_word(1, 0, member[k].address.port));
        }
    }
    write_epoch(1, RZ_PHASE_RUN);
    return 0;
}

static void leave(uint32_t rank)
{
    if (member[rank].flat) {
        rz_flat_entry.close(member[rank].flat);
    }
    member[rank].flat = NULL;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        leave(i);
        close(member[i].info.ring_fd);
        close(member[i].info.fd);
        close(member[i].daemon_fd);
        free(member[i].board);
    }
    return 0;
}

static void begin(uint32_t rank)
{
    assert_int_equal(rz_flat_entry.open(&member[rank].flat, &member[rank].info), RZ_OK);
}

/* The next message that the daemon of rank receives; false: none for that time. */
static bool hears(uint32_t rank, struct rz_link_message *message, int wait_ms)
{
    static uint8_t bytes[RZ_LINK_MESSAGE_MAX];
    struct pollfd polled = {.fd = member[rank].daemon_fd, .events = POLLIN};
    size_t n;
    if (poll(&polled, 1, wait_ms) == 0) {
        return false;
    }
    assert_int_equal(
        rz_channel_receive(member[rank].daemon_fd, bytes, sizeof(bytes), &n, NULL, NULL), RZ_OK);
    assert_int_equal(rz_link_decode(message, bytes, n), RZ_OK);
    return true;
}

static void expect_silent(uint32_t by, uint32_t epoch, uint32_t rank)
{
    struct rz_link_message message;
    assert_true(hears(by, &message, TEST_HANG_MS));
    assert_int_equal(message.type, RZ_LINK_SILENT);
    assert_int_equal(message.silent.epoch, epoch);
    assert_int_equal(message.silent.rank, rank);
    assert_int_equal(message.silent.incarnation, 1);
}

static void expect_heard(uint32_t by, uint32_t epoch, uint32_t rank)
{
    struct rz_link_message message;
    assert_true(hears(by, &message, TEST_HANG_MS));
    assert_int_equal(message.type, RZ_LINK_HEARD);
    assert_int_equal(message.heard.epoch, epoch);
    assert_int_equal(message.heard.rank, rank);
    assert_true(message.heard.at_ns <= rz_clock_now());
}

/*
 * 5 left in order, 4 has failed by the board, 2 says nothing: only 2 is reported, by 3, and 0, 1
 * and 3 hear of it. Then the next epoch, where 3 is the one that says nothing and 0 its observer,
 * for 4 and 5 are out.
 */
static void only_the_silent_are_reported(void **state)
{
    struct rz_link_message message;
    (void)state;
    const uint32_t running[] = {0, 1, 3, 5};
    for (unsigned i = 0; i < 4; i++) {
        begin(running[i]);
    }
    leave(5);
    for (unsigned i = 0; i < N; i++) {
        write_board(member[i].board, 4, RZ_PROCESS_FAILED);
        write_board(member[i].board, 5, RZ_PROCESS_ENDED);
    }
    expect_silent(3, 1, 2);
    for (unsigned i = 0; i < 3; i++) {
        expect_heard(running[i], 1, 2);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_false(hears(running[i], &message, i == 0 ? 500 : 0));
    }
    write_epoch(2, RZ_PHASE_ENTER);
    leave(3);
    begin(2);
    write_epoch(2, RZ_PHASE_RUN);
    expect_silent(0, 2, 3);
    for (uint32_t i = 0; i < 3; i++) {
        expect_heard(i, 2, 3);
    }
}

/* Datagrams of strangers, and those of an older epoch, keep no process alive. */
static void only_the_key_counts(void **state)
{
    (void)state;
    uint8_t key[RZ_DATAGRAM_KEY_BYTES], packet[RZ_DATAGRAM_MAX];
    struct rz_datagrams *old;
    rz_datagram_derive(member[0].info.ring_key, 1, key);
    assert_int_equal(rz_datagrams_open(&old, N, 5, key), RZ_OK);
    write_epoch(2, RZ_PHASE_RUN);
    for (uint32_t i = 0; i < 5; i++) {
        begin(i);
    }
    rz_time end = rz_clock_now() + TEST_HANG_MS * RZ_MILLISECOND;
    struct rz_link_message message;
    bool found = false;
    while (!found && rz_clock_now() < end) {
        const struct rz_message heartbeat = {
            .protocol = RZ_PROTOCOL_RING, .view = 2, .from = 5, .origin = 5, .seq = rz_clock_now()};
        uint8_t payload[RZ_PROTOCOL_HEADER_BYTES];
        size_t n = rz_protocol_message_encode(&heartbeat, NULL, payload, sizeof(payload));
        n = rz_datagram_seal(old, 0, payload, n, packet);
        rz_socket_send_to(member[5].info.ring_fd, packet, n, &member[0].address);
        rz_socket_send_to(member[5].info.ring_fd, "garbage", 7, &member[0].address);
        /* On a loaded machine others may report one another, and 0 receives this. */
        found =
            hears(0, &message, (int)(PERIOD / RZ_MILLISECOND)) && message.type == RZ_LINK_SILENT;
    }
    assert_true(found);
    assert_int_equal(message.silent.rank, 5);
    rz_datagrams_close(old);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(only_the_silent_are_reported),
                                       TEST(only_the_key_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
