/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of a group monitor: several of them in one process, over real sockets; boards and the
 * library are played. Nothing here asserts a time: what is to come is awaited. */
#include "../../patience.h"
#include "mpi/tester/tester.h"

#include "port/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 5 };

extern const struct rz_tester_entry rz_tester_entry;

static struct member {
    struct rz_link_info info;
    struct rz_board *board;
    struct rz_doorbell bell;
    int fd;
    _Atomic int hold;   /* its tests last until this is 0 */
    _Atomic int failed; /* its tests are not done right */
    _Atomic long tests;
    struct rz_tester *tester;
    const struct rz_tester_snapshot *seen;
} member[N];
static struct rz_tester_peer peer[N];

static int test(void *arg)
{
    struct member *m = arg;
    m->tests++;
    while (m->hold) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return m->failed;
}

static void write_board(struct rz_board *board, uint32_t rank, uint32_t incarnation,
                        enum rz_process_state diagnosis)
{
    atomic_store(&board->rank[rank], rz_board_rank_word(incarnation, 0, diagnosis));
    atomic_fetch_add(&board->news, 1);
}

static void member_prepare(struct member *m, uint32_t rank)
{
    size_t bytes = (rz_board_bytes(N) + 63) / 64 * 64;
    memset(m, 0, sizeof(*m));
    m->board = aligned_alloc(64, bytes);
    assert_non_null(m->board);
    memset(m->board, 0, bytes);
    m->board->n_slots = N;
    for (uint32_t k = 0; k < N; k++) {
        write_board(m->board, k, 1, RZ_PROCESS_ALIVE);
    }
    m->info = (struct rz_link_info){.self = {.rank = rank, .incarnation = 1},
                                    .n_slots = N,
                                    .board = m->board,
                                    .doorbell = &m->bell,
                                    .doorbell_fd = eventfd(0, EFD_NONBLOCK)};
    peer[rank] = (struct rz_tester_peer){
        .slot = rank, .incarnation = 1, .address = {.ip = RZ_ADDRESS_LOOPBACK}};
    assert_int_equal(rz_socket_datagram(&peer[rank].address, &m->fd), RZ_OK);
}

static void member_open(uint32_t rank, const uint32_t *counter)
{
    struct member *m = &member[rank];
    static const uint8_t key[RZ_TESTER_KEY_BYTES] = "the key of a group under test";
    const struct rz_tester_config config = {.info = &m->info,
                                            .n = N,
                                            .self = rank,
                                            .peer = peer,
                                            .counter = counter,
                                            .fd = m->fd,
                                            .line_fd = -1,
                                            .key = key,
                                            .number = 7,
                                            .terms = {.interval = 20 * RZ_MILLISECOND,
                                                      .threshold_first = RZ_SECOND,
                                                      .threshold_min = 300 * RZ_MILLISECOND,
                                                      .mode = RZ_DIAGNOSE_MULTIPLY,
                                                      .factor = 2500,
                                                      .zeta = 3,
                                                      .health_max = 3},
                                            .test = test,
                                            .arg = m};
    assert_int_equal(rz_tester_entry.open(&m->tester, &config), RZ_OK);
    m->seen = rz_tester_entry.snapshot(m->tester);
}

static void all_open(const uint32_t *counter)
{
    for (uint32_t k = 0; k < N; k++) {
        member_prepare(&member[k], k);
    }
    for (uint32_t k = 0; k < N; k++) {
        member_open(k, counter);
    }
}

static int setup(void **state)
{
    (void)state;
    all_open((const uint32_t[N]){0});
    return 0;
}

static void leave(uint32_t rank)
{
    if (member[rank].tester) {
        rz_tester_entry.close(member[rank].tester);
    }
    member[rank].tester = NULL;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N; k++) {
        member[k].hold = 0;
    }
    for (uint32_t k = 0; k < N; k++) {
        leave(k);
        close(member[k].info.doorbell_fd);
        free(member[k].board);
    }
    return 0;
}

static uint32_t counter(uint32_t at, uint32_t of)
{
    return atomic_load(&member[at].seen->member[of].counter);
}

/* How `at` holds `of`: odd is out. */
static bool is_out(uint32_t at, uint32_t of)
{
    return counter(at, of) % 2 == 1;
}

/* Of what it is itself, one that is held at a test knows nothing. */
static bool all_hold(uint32_t of, bool out)
{
    for (uint32_t at = 0; at < N; at++) {
        if (member[at].tester && !member[at].hold && is_out(at, of) != out) {
            return false;
        }
    }
    return true;
}

static void await_standing(uint32_t of, bool out)
{
    int waited_ms = 0;
    while (!all_hold(of, out)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(++waited_ms < TEST_HANG_MS);
    }
}

static void test_all_answer(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < N; at++) {
        for (uint32_t of = 0; of < N; of++) {
            while (at != of &&
                   atomic_load(&member[at].seen->member[of].test_time) == RZ_TIME_NEVER) {
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            }
        }
    }
    for (uint32_t k = 0; k < N; k++) {
        assert_true(member[k].tests > 0);
        assert_true(atomic_load(&member[k].seen->sent) >= N - 1);
        assert_true(atomic_load(&member[k].seen->received) >= N - 1);
    }
}

static void test_a_slow_process_is_excluded_and_comes_back(void **state)
{
    (void)state;
    member[3].hold = 1;
    await_standing(3, true);
    member[3].hold = 0;
    await_standing(3, false);
    assert_true(counter(0, 3) >= 2);
    assert_int_not_equal(atomic_load(&member[0].bell.reasons) & RZ_DOORBELL_BOARD, 0);
}

static void test_a_process_that_fails_its_test_is_excluded(void **state)
{
    (void)state;
    member[1].failed = 1;
    await_standing(1, true);
}

static void test_a_process_that_leaves_is_excluded(void **state)
{
    (void)state;
    leave(4);
    await_standing(4, true);
}

static void test_the_failed_are_out_by_the_board(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < N; at++) {
        if (at != 2) {
            write_board(member[at].board, 2, at % 2 == 0 ? 2 : 1,
                        at % 2 == 0 ? RZ_PROCESS_ALIVE : RZ_PROCESS_FAILED);
        }
    }
    leave(2);
    await_standing(2, true);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    assert_true(all_hold(2, true)); /* and no process tests it any more */
}

static int setup_spawned_process(void **state)
{
    (void)state;
    all_open((const uint32_t[N]){0, 0, 2, 0, 1});
    return 0;
}

static void test_a_spawned_process_is_voted_in(void **state)
{
    (void)state;
    await_standing(4, false);
    assert_true(counter(0, 4) >= 2 && counter(0, 2) >= 2);
}

static void test_the_last_one_takes_over(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N - 1; k++) {
        leave(k);
    }
    for (uint32_t k = 0; k < N - 1; k++) {
        await_standing(k, true);
    }
    await_standing(N - 1, false);
}

static void test_primes(void **state)
{
    (void)state;
    assert_int_equal(rz_tester_primes(), 168);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_slow_process_is_excluded_and_comes_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_process_that_fails_its_test_is_excluded, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_process_that_leaves_is_excluded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_failed_are_out_by_the_board, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_spawned_process_is_voted_in, setup_spawned_process,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_last_one_takes_over, setup, teardown),
        cmocka_unit_test(test_primes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
