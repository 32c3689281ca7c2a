/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared-memory transport between threads: no wake-up is lost, and no record is overlooked. */
#include "../../patience.h"
#include "shm_rig.h"

#include "net/shm/shm_layout.h"
#include "port/clock.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 3 };

/* A member, the number of messages that have come to it, and the last number that was not 0. */
struct member {
    struct rig_user user;
    struct rz_net *net;
    unsigned n;
    uint64_t last;
};

static struct rig rig;
static struct member members[NODES];

static void on_arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                       const void *data, size_t bytes, rz_net_token_t token)
{
    struct member *member = user->arg;
    uint64_t number;
    (void)header_bytes;
    (void)data;
    (void)bytes;
    (void)token;
    memcpy(&number, header, sizeof(number));
    member->last = number > 0 ? number : member->last;
    member->n++;
}

static void setup(void)
{
    rig_open(&rig, NODES, RZ_SHM_COPY_AUTO);
    for (unsigned i = 0; i < NODES; i++) {
        members[i] = (struct member){.user = {.arrived = on_arrived, .arg = &members[i]}};
        members[i].net = rig_join(&rig, i, &members[i].user);
    }
}

static void teardown(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        rz_shm_ops.close(members[i].net);
    }
    rig_close(&rig);
}

static void join_both(unsigned a, unsigned b)
{
    uint32_t pid = (uint32_t)getpid();
    assert_int_equal(rig_connect(&rig, members[a].net, b, b, pid), RZ_OK);
    assert_int_equal(rig_connect(&rig, members[b].net, a, a, pid), RZ_OK);
}

static unsigned progress(unsigned i)
{
    return rig_progress(members[i].net);
}

static rz_status_t send_to(unsigned from, rz_peer_t to, uint64_t number, const void *data,
                           size_t bytes, struct rig_op *op)
{
    rig_op_init(op, &number, sizeof(number));
    return rz_shm_ops.send(members[from].net, to, data, bytes, &op->op);
}

/* Two threads that sleep between any two messages: a lost wake-up would hang the test. */
enum { SLEEPERS_ROUNDS = 3000 };

static void *sleeper(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg, other = 1 - self;
    struct member *member = &members[self];
    for (unsigned i = 0; i < SLEEPERS_ROUNDS; i++) {
        struct rig_op op;
        if (self == i % 2) {
            send_to(self, other, i, "", 0, &op);
        } else {
            while (member->n == 0) {
                struct rz_doorbell *bell = rig.bell[self];
                uint32_t value =
                    rz_doorbell_prepare(bell, i / 2 % 2 ? RZ_DOORBELL_POLL : RZ_DOORBELL_FUTEX);
                if (rz_shm_ops.arm(member->net)) {
                    rz_doorbell_sleep(bell, value, rig.event_fd[self], NULL, 0, RZ_TIME_NEVER);
                } else {
                    rz_doorbell_awake(bell);
                }
                progress(self);
            }
        }
        if (member->n > 0) {
            member->n = 0;
        }
    }
    return NULL;
}

static void lose_no_wake_up(bool sparing)
{
    setup();
    join_both(0, 1);
    pthread_t thread;
    for (unsigned i = 0; i < 2; i++) {
        rz_doorbell_spare(rig.bell[i], sparing);
    }
    pthread_create(&thread, NULL, sleeper, (void *)(uintptr_t)1);
    sleeper((void *)(uintptr_t)0);
    pthread_join(thread, NULL);
    teardown();
}

static void no_wake_up_is_lost(void **state)
{
    (void)state;
    lose_no_wake_up(false);
}

static void no_wake_up_is_lost_where_senders_are_spared(void **state)
{
    (void)state;
    lose_no_wake_up(true);
}

/* Two senders that make no fences, and a receiver that takes the bits of both, and polls; in some
 * rounds it sleeps. The second record of a sender may find the bit set that is taken just then: one
 * that is overlooked would hang the test. */
enum { SENDERS = 2, IN_A_ROW = 3, POLLED_ROUNDS = 200000 };

static _Atomic unsigned polled_round;

static void *spared_sender(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg;
    for (unsigned round = 1; round <= POLLED_ROUNDS; round++) {
        struct rig_op op;
        while (atomic_load_explicit(&polled_round, memory_order_acquire) != round) {
            sched_yield();
        }
        for (unsigned i = 0; i < IN_A_ROW; i++) {
            send_to(self, 0, round, "", 0, &op);
        }
    }
    return NULL;
}

static void no_record_is_overlooked(void **state)
{
    (void)state;
    pthread_t thread[SENDERS];
    setup();
    rz_doorbell_spare(rig.bell[0], true);
    polled_round = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        join_both(0, i + 1);
        pthread_create(&thread[i], NULL, spared_sender, (void *)(uintptr_t)(i + 1));
    }
    for (unsigned round = 1; round <= POLLED_ROUNDS; round++) {
        rz_time begun = rz_clock_now();
        members[0].n = 0;
        atomic_store_explicit(&polled_round, round, memory_order_release);
        while (members[0].n < SENDERS * IN_A_ROW) {
            if (round % 16 == 0) {
                assert_true(rig_turn(&rig, members[0].net, 0));
            } else {
                rz_shm_ops.progress(members[0].net);
                assert_true(rz_clock_now() - begun < TEST_HANG_S * RZ_SECOND);
            }
        }
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        pthread_join(thread[i], NULL);
    }
    teardown();
}

/* As if the receiver had taken the bit of lane 1 when the record could not be seen yet: the bit is
 * not set any more. */
static void send_without_bit(uint64_t number)
{
    struct rig_op op;
    send_to(1, 0, number, "", 0, &op);
    atomic_fetch_and(&rig.bell[0]->lanes[0], ~(UINT64_C(1) << 1));
}

/* Progress of member 0, in each turn with a message of member 2 if it is busy; returns the number
 * of turns until that message has come. */
static unsigned turns_until(uint64_t number, bool busy)
{
    unsigned turns = 0;
    struct rig_op op;
    while (members[0].last != number) {
        assert_true(turns++ < 100000);
        if (busy) {
            send_to(2, 0, 0, "", 0, &op);
        }
        rz_shm_ops.progress(members[0].net);
    }
    return turns;
}

static void a_record_that_could_not_be_seen_is_found(void **state)
{
    enum { FEW = 100 };
    struct rig_op op;
    (void)state;
    setup();
    rz_doorbell_spare(rig.bell[0], true);
    if (!atomic_load(&rig.bell[0]->spares)) {
        teardown();
        skip(); /* this kernel makes no fences for others */
    }
    join_both(0, 1);
    join_both(0, 2);
    for (uint64_t number = 1; number < 10; number++) {
        send_to(1, 0, 0, "", 0, &op);
        progress(0);
        send_to(2, 0, 0, "", 0, &op); /* lane 2 is the hot one now */
        progress(0);
        send_without_bit(number);
        if (number % 3 == 0) {
            assert_false(rz_shm_ops.arm(members[0].net));
        }
        assert_true(turns_until(number, number % 3 == 1) < FEW);
    }
    teardown();
}

/* A sender that sleeps for room. */
static void *flooder(void *arg)
{
    (void)arg;
    static const unsigned char zeros[SHM_EAGER_MAX];
    for (uint64_t i = 0; i < SLEEPERS_ROUNDS; i++) {
        struct rig_op op;
        rz_status_t status = send_to(0, 1, UINT64_MAX, zeros, 8000, &op);
        while (status == RZ_IN_PROGRESS && !op.ended) {
            uint32_t value = rz_doorbell_prepare(rig.bell[0], RZ_DOORBELL_FUTEX);
            if (rz_shm_ops.arm(members[0].net)) {
                rz_doorbell_sleep(rig.bell[0], value, rig.event_fd[0], NULL, 0, RZ_TIME_NEVER);
            } else {
                rz_doorbell_awake(rig.bell[0]);
            }
            progress(0);
        }
    }
    return NULL;
}

static void a_sender_that_sleeps_for_room_is_woken(void **state)
{
    (void)state;
    setup();
    join_both(0, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, flooder, NULL);
    while (members[1].n < SLEEPERS_ROUNDS) {
        assert_true(rig_turn(&rig, members[1].net, 1));
    }
    pthread_join(thread, NULL);
    teardown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(no_wake_up_is_lost_where_senders_are_spared),
        cmocka_unit_test(no_record_is_overlooked),
        cmocka_unit_test(a_record_that_could_not_be_seen_is_found),
        cmocka_unit_test(a_sender_that_sleeps_for_room_is_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
