/* SPDX-License-Identifier: BSD-3-Clause */
/* How patiently a process opens the network, without waiting in a send: a transport that refuses,
 * in a time that passes only where the test lets it. */
#include "fake_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/engine/waiting.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "port/clock.h"
#include "proto/recover/recover.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the time: these come before the library's ---- */

static rz_time slept;

/* Between two looks of the engine. */
#define PASSES (10 * RZ_MILLISECOND)

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    *now = (struct timespec){.tv_sec = (time_t)(1000 + slept / RZ_SECOND),
                             .tv_nsec = (long)(slept % RZ_SECOND)};
    return 0;
}

int usleep(useconds_t us)
{
    (void)us;
    abort(); /* no rank waits in a send */
}

/* ---- each try in a process of its own: what was refused once is not tried again there ---- */

struct trial {
    uint32_t epoch;
    unsigned refusals;
    rz_status_t refusal;
    rz_status_t expected;
    unsigned tries;      /* at least */
    rz_time least, most; /* that it takes */
};

static void try_it(const struct trial *trial)
{
    fake_world_begin(2);
    fake_epoch(trial->epoch, RZ_PHASE_RUN);
    rz_engine.epoch = trial->epoch;
    fake.net_refusal = trial->refusal;
    fake.net_refusals = trial->refusals;
    rz_time begin = slept;
    rz_status_t status = rz_paths_open_net();
    while (status == RZ_IN_PROGRESS) {
        slept += PASSES;
        rz_paths_retry();
        status = rz_paths_open_net();
    }
    assert_int_equal(status, trial->expected);
    assert_true(fake.net_tries >= trial->tries);
    assert_in_range(slept - begin, trial->least, trial->most);
    bool open = trial->expected == RZ_OK;
    assert_int_equal(rz_engine.paths[RZ_PATH_NET].net != NULL, open);
    if (open) { /* others can find us there */
        assert_int_equal(fake.last_link.type, RZ_LINK_PUT_EP_ADDRESS);
        assert_int_equal(fake.last_link.put_ep_address.epoch, trial->epoch);
    }
    unsigned tries = fake.net_tries;
    assert_int_equal(rz_paths_open_net(), trial->expected); /* it is settled */
    assert_int_equal(fake.net_tries, tries);
    fake_world_end();
}

static void run(struct trial trial)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO); /* the refusal is reported there */
        try_it(&trial);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_network_that_is_there_is_opened_at_once(void **state)
{
    (void)state;
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        run((struct trial){.epoch = epoch, .refusal = RZ_ERR_SYSTEM, .tries = 1});
    }
}

/* A node that had a network is cut off for a while: that is no error of its processes. */
static void one_that_comes_back_is_awaited(void **state)
{
    (void)state;
    static const unsigned refusals[] = {1, 2, 50, 1000};
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        run((struct trial){.epoch = 2,
                           .refusal = RZ_ERR_SYSTEM,
                           .refusals = refusals[i],
                           .tries = refusals[i] + 1,
                           .least = RZ_MILLISECOND,
                           .most = 30 * RZ_SECOND});
    }
}

static void the_wait_has_an_end(void **state)
{
    (void)state;
    run((struct trial){.epoch = 3,
                       .refusal = RZ_ERR_SYSTEM,
                       .refusals = UINT32_MAX,
                       .expected = RZ_ERR_SYSTEM,
                       .tries = 100,
                       .least = 30 * RZ_SECOND,
                       .most = 31 * RZ_SECOND});
}

/* The node never had one, or this build has none: waiting changes nothing. */
static void what_will_not_change_is_told_at_once(void **state)
{
    (void)state;
    run((struct trial){.epoch = 1,
                       .refusal = RZ_ERR_SYSTEM,
                       .refusals = 1,
                       .expected = RZ_ERR_SYSTEM,
                       .tries = 1});
    run((struct trial){.epoch = 2,
                       .refusal = RZ_ERR_INVALID,
                       .refusals = 1,
                       .expected = RZ_ERR_INVALID,
                       .tries = 1});
}

/* ---- what is sent meanwhile ---- */

static rz_status_t ended;
static unsigned asked_for; /* endpoint addresses */

static void done(struct rz_net_op *op, rz_status_t status)
{
    (void)op;
    ended = status;
}

static void hear(const struct rz_link_message *message)
{
    asked_for += message->type == RZ_LINK_GET_EP_ADDRESS;
}

/* Rank 1 is on another node, and this one cut off. How a message to it ends: */
enum fate { OPENED, NEVER_OPENED, FAILED };

static void send_cut_off(enum fate fate)
{
    fake_world_begin(2);
    fake_epoch(2, RZ_PHASE_RUN);
    rz_engine.epoch = 2;
    fake.board->rank[1] = rz_liveness.members[1].word = rz_board_rank_word(1, 7, RZ_PROCESS_ALIVE);
    fake.net_refusal = RZ_ERR_SYSTEM;
    fake.net_refusals = fate == OPENED ? 3 : UINT32_MAX;
    fake.heard = hear;
    struct rz_send_desc send_desc = {.op.done = done};
    ended = RZ_IN_PROGRESS;
    assert_int_equal(rz_peer_send(fake_process(1), &send_desc), RZ_IN_PROGRESS);
    assert_int_equal(asked_for, 0);
    if (fate == FAILED) {
        fake_process_state(1, RZ_PROCESS_FAILED);
        rz_engine_progress();
        assert_int_equal(ended, RZ_ERR_PROC_FAILED);
    }
    for (rz_time end = slept + 31 * RZ_SECOND; fate != FAILED && slept < end; slept += PASSES) {
        rz_engine_check();
    }
    assert_int_equal(asked_for, fate == OPENED ? 1 : 0);
    assert_true(fate != NEVER_OPENED || ended == RZ_ERR_SYSTEM);
    _exit(0);
}

static void a_send_waits_in_the_queue(void **state)
{
    (void)state;
    for (enum fate fate = OPENED; fate <= FAILED; fate++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            send_cut_off(fate);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_that_is_there_is_opened_at_once),
        cmocka_unit_test(one_that_comes_back_is_awaited),
        cmocka_unit_test(the_wait_has_an_end),
        cmocka_unit_test(what_will_not_change_is_told_at_once),
        cmocka_unit_test(a_send_waits_in_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
