/* SPDX-License-Identifier: BSD-3-Clause */
/* What failures, and the roll-back to a new epoch, do to calls: the order of decisions of
 * section 2.4, and section 7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "fake_world.h"
#include "mpi/ft/restart.h"
#include "mpi/p2p/p2p_inside.h"
#include "port/clock.h"
#include "proto/recover/recover.h"

#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void inject(uint32_t from, enum rz_context_offset context_offset, int tag, bool by_token)
{
    struct rz_envelope envelope =
        fake_envelope(from, rz_comm_context(fake_comm(), context_offset), tag);
    fake_inject(&envelope, "payload", 8, by_token);
}

static MPI_Request start_recv(void *buffer, int source, int tag)
{
    struct rz_request *request;
    assert_int_equal(rzm_irecv(buffer, 8, fake_bytes(), source, tag, fake_comm(), &request),
                     MPI_SUCCESS);
    return rz_request_handle(request);
}

static MPI_Request start_send(int dest, bool sync)
{
    struct rz_request *request;
    int (*send)(const void *, MPI_Count, struct rz_datatype *, int, int, struct rz_comm *,
                struct rz_request **) = sync ? rzm_issend : rzm_isend;
    assert_int_equal(send("data", 5, fake_bytes(), dest, 0, fake_comm(), &request), MPI_SUCCESS);
    return rz_request_handle(request);
}

static void turn_failure_of_3(void *arg)
{
    (void)arg;
    fake.turn = NULL;
    fake_process_state(3, RZ_PROCESS_FAILED);
}

/* ---- Failures as errors ---- */

static void a_received_message_wins_over_the_failure_of_its_sender(void **state)
{
    (void)state;
    char text[8];
    for (int by_token = 0; by_token < 2; by_token++) {
        inject(3, RZ_CONTEXT_OFFSET_POINT, by_token,
               by_token); /* still in the transport when the news come */
    }
    fake_process_state(3, RZ_PROCESS_FAILED);
    MPI_Status status;
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 3, 0, fake_comm(), &status), MPI_SUCCESS);
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), MPI_ANY_SOURCE, 1, fake_comm(), &status),
                     MPI_SUCCESS);
    assert_string_equal(text, "payload");
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 3, 0, fake_comm(), &status),
                     MPI_ERR_PROC_FAILED);
    assert_int_equal(status.MPI_SOURCE, 3);
    struct rz_envelope late = fake_envelope(3, fake_comm()->context, 0);
    fake_inject(&late, "late", 5, true); /* the epoch check is shut now */
    rz_engine_progress();
    assert_int_equal(rz_engine.counters.old_incarnation, 1);
    assert_int_equal(fake.tokens_out, 0);
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 3, 0, fake_comm(), &status),
                     MPI_ERR_PROC_FAILED);
    assert_int_equal(rzm_probe(3, 0, fake_comm(), NULL), MPI_ERR_PROC_FAILED);
}

static void waits_for_the_failed_end_and_others_go_on(void **state)
{
    (void)state;
    char text[2][8];
    fake.slow_sends = true;
    MPI_Request handles[6] = {start_recv(text[0], 3, 0), start_recv(text[1], 4, 0),
                              start_send(3, false),      start_send(3, true),
                              start_send(4, false),      start_send(3, false)};
    MPI_Status statuses[6];
    fake.turn = turn_failure_of_3;
    int flag = 0;
    for (int i = 0; i < 3; i++) {
        rz_engine_progress();
    }
    assert_int_equal(rzm_test(&handles[0], &flag, &statuses[0]), MPI_ERR_PROC_FAILED);
    assert_true(flag);
    assert_int_equal(rzm_waitall(6, handles, statuses), MPI_ERR_IN_STATUS);
    assert_int_equal(statuses[1].MPI_ERROR, MPI_ERR_PENDING);
    assert_int_equal(statuses[2].MPI_ERROR, MPI_SUCCESS); /* it had left before */
    assert_int_equal(statuses[3].MPI_ERROR, MPI_ERR_PROC_FAILED);
    assert_int_equal(statuses[4].MPI_ERROR, MPI_SUCCESS);
    inject(4, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_wait(&handles[1], NULL), MPI_SUCCESS);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 3, 0, fake_comm()), MPI_ERR_PROC_FAILED);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 4, 0, fake_comm()), MPI_SUCCESS);
}

static void sends_that_the_transport_still_holds_end_with_the_failure(void **state)
{
    (void)state;
    for (int connected = 0; connected < 2; connected++) {
        fake.mute_daemon = !connected;
        uint32_t dest = connected ? 3 : 5;
        MPI_Request handle = start_send((int)dest, false);
        if (connected) {
            fake.slow_sends = true;
            rz_engine_progress();
            handle = start_send((int)dest, false);
        }
        fake_process_state(dest, RZ_PROCESS_FAILED);
        /* The transport would end it in this round; the fake's order of rounds makes the failure
         * report come first or last. */
        int error = rzm_wait(&handle, NULL);
        assert_true(error == MPI_ERR_PROC_FAILED || (connected && error == MPI_SUCCESS));
    }
}

/* A receiver that is told that it has a synchronous message may fail then: its sender must know
 * before. */
static void a_synchronous_receive_ends_when_its_acknowledgement_has_left(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        char text[8] = "";
        int flag;
        uint32_t from = fails ? 3 : 4;
        struct rz_envelope envelope = fake_envelope(from, fake_comm()->context, 0);
        MPI_Request handle = start_recv(text, (int)from, 0);
        envelope.kind = RZ_ENVELOPE_SYNC;
        envelope.serial = 7;
        fake.mute_daemon = true; /* no message can be sent to a process unknown before */
        fake_inject(&envelope, "payload", 8, false);
        fake_rounds(3);
        assert_int_equal(rzm_test(&handle, &flag, NULL), MPI_SUCCESS);
        assert_false(flag);
        if (fails) {
            fake_process_state(from, RZ_PROCESS_FAILED);
        } else {
            rz_p2p_overdue(rz_clock_now() + 2 * RZ_SECOND); /* its sender computes */
        }
        assert_int_equal(rzm_wait(&handle, NULL), MPI_SUCCESS);
        assert_string_equal(text, "payload");
        fake_process_state(from, RZ_PROCESS_FAILED); /* else MPI_Finalize would wait for it */
    }
}

/* Its sender lives, and may wait until we have taken it. */
static void a_message_is_received_though_the_send_finds_its_peer_failed(void **state)
{
    (void)state;
    char in[8];
    int flag;
    MPI_Status status;
    struct rz_request *request;
    assert_int_equal(rzm_isendrecv("data", 5, fake_bytes(), 3, 0, in, 8, fake_bytes(), 2, 0,
                                   fake_comm(), &request),
                     MPI_SUCCESS);
    MPI_Request one = rz_request_handle(request);
    rz_engine_progress(); /* now they are connected */
    fake_process_state(3, RZ_PROCESS_FAILED);
    assert_int_equal(rzm_test(&one, &flag, NULL), MPI_SUCCESS);
    assert_false(flag); /* it had left before */
    inject(2, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_wait(&one, &status), MPI_SUCCESS);
    inject(2, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_sendrecv("data", 5, fake_bytes(), 3, 0, in, 8, fake_bytes(), 2, 0,
                                  fake_comm(), &status),
                     MPI_ERR_PROC_FAILED);
    assert_int_equal(status.MPI_SOURCE, 2);
    assert_int_equal(rzm_isendrecv("data", 5, fake_bytes(), 3, 0, in, 8, fake_bytes(), 2, 0,
                                   fake_comm(), &request),
                     MPI_SUCCESS);
    one = rz_request_handle(request);
    assert_int_equal(rzm_test(&one, &flag, NULL), MPI_SUCCESS);
    assert_false(flag);
    inject(2, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_wait(&one, &status), MPI_ERR_PROC_FAILED);
    inject(2, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_sendrecv_replace(in, 8, fake_bytes(), 3, 0, 2, 0, fake_comm(), &status),
                     MPI_ERR_PROC_FAILED);
    assert_int_equal(
        rzm_sendrecv_replace(in, 8, fake_bytes(), 3, 0, MPI_ANY_SOURCE, 0, fake_comm(), &status),
        MPI_ERR_PROC_FAILED);
}

static void any_source_is_told_until_the_failure_is_acknowledged(void **state)
{
    (void)state;
    char text[8];
    int flag, acked;
    MPI_Request handle = start_recv(text, MPI_ANY_SOURCE, 0);
    fake.turn = turn_failure_of_3;
    assert_int_equal(rzm_wait(&handle, NULL), MPI_ERR_PROC_FAILED_PENDING);
    assert_true(handle != MPI_REQUEST_NULL);
    assert_int_equal(rzm_test(&handle, &flag, NULL), MPI_ERR_PROC_FAILED_PENDING);
    MPI_Status status;
    assert_int_equal(rzm_waitall(1, &handle, &status), MPI_ERR_IN_STATUS);
    assert_int_equal(status.MPI_ERROR, MPI_ERR_PROC_FAILED_PENDING);
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), MPI_ANY_SOURCE, 0, fake_comm(), NULL),
                     MPI_ERR_PROC_FAILED);
    assert_int_equal(rzm_probe(MPI_ANY_SOURCE, 0, fake_comm(), NULL), MPI_ERR_PROC_FAILED);
    assert_int_equal(rzm_comm_ack_failed(fake_comm(), 1, &acked), MPI_SUCCESS);
    assert_int_equal(acked, 1);
    assert_int_equal(rzm_test(&handle, &flag, NULL), MPI_SUCCESS);
    assert_false(flag);
    inject(2, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_wait(&handle, NULL), MPI_SUCCESS);
    handle = start_recv(text, MPI_ANY_SOURCE, 0);
    fake_process_state(6, RZ_PROCESS_FAILED);
    assert_int_equal(rzm_wait(&handle, NULL), MPI_ERR_PROC_FAILED_PENDING);
    inject(2, RZ_CONTEXT_OFFSET_POINT, 0, false);
    rz_engine_progress();
    assert_int_equal(rzm_wait(&handle, NULL), MPI_SUCCESS);

    struct rz_group *failed, *known;
    assert_int_equal(rzm_comm_get_failed(fake_comm(), &failed), MPI_SUCCESS);
    assert_int_equal(rzm_comm_failure_get_acked(fake_comm(), &known), MPI_SUCCESS);
    assert_int_equal(failed->size, 2);
    assert_int_equal(failed->process[0], fake_process(3));
    assert_int_equal(failed->process[1], fake_process(6));
    assert_int_equal(known->size, 1);
    rz_group_release(failed);
    rz_group_release(known);
}

static void one_that_ended_well_concerns_only_calls_that_name_it(void **state)
{
    (void)state;
    char text[2][8];
    MPI_Request named = start_recv(text[0], 3, 0), open = start_recv(text[1], MPI_ANY_SOURCE, 0);
    fake_process_state(3, RZ_PROCESS_ENDED);
    assert_int_equal(rzm_wait(&named, NULL), MPI_ERR_PROC_FAILED);
    int flag;
    assert_int_equal(rzm_test(&open, &flag, NULL), MPI_SUCCESS);
    assert_false(flag);
    assert_false(fake_comm()->collectives_failed);
    inject(1, RZ_CONTEXT_OFFSET_POINT, 0, false);
    assert_int_equal(rzm_wait(&open, NULL), MPI_SUCCESS);
    /* Nor does a later process wait for it. */
    MPI_Status status;
    named = start_recv(text[0], 3, 0);
    assert_int_equal(rzm_wait(&named, &status), MPI_ERR_PROC_FAILED);
    assert_int_equal(status.MPI_SOURCE, 3);
    named = start_send(3, true);
    assert_int_equal(rzm_wait(&named, NULL), MPI_ERR_PROC_FAILED);
    assert_int_equal(rzm_probe(3, 0, fake_comm(), &status), MPI_ERR_PROC_FAILED);
}

/* Another one has our place, and has even ended before we looked: we have failed to all. */
static void a_process_that_was_replaced_ends_though_its_successor_has_ended_too(void **state)
{
    (void)state;
    int how;
    pid_t child = fork();
    if (child == 0) {
        fclose(stderr);
        fake_reincarnate(0, 2);
        fake_process_state(0, RZ_PROCESS_ENDED);
        rz_engine_progress();
        _exit(77);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), EXIT_FAILURE);
}

/* ---- Lanes of the failed ---- */

static size_t n_closed;

static void count_closed(const struct rz_link_message *message)
{
    if (message->type == RZ_LINK_LANE_CLOSED) {
        n_closed++;
        assert_int_equal(message->lane_closed.rank, 3);
        assert_int_equal(message->lane_closed.lane, 3 + message->lane_closed.incarnation);
    }
}

/* The daemon says that the lane of that process is over. */
static void lane_of_3_is_over(uint32_t incarnation)
{
    fake_say(&(struct rz_link_message){
        .type = RZ_LINK_LANE_OVER,
        .lane_over = {.lane = 3 + incarnation, .rank = 3, .incarnation = incarnation}});
    rz_engine_progress();
}

static void a_lane_is_given_up_when_the_failure_of_its_owner_was_dealt_with(void **state)
{
    (void)state;
    n_closed = 0;
    fake.heard = count_closed;
    lane_of_3_is_over(1); /* the board does not say so yet */
    lane_of_3_is_over(2); /* nor that there was another one */
    rz_engine_progress();
    assert_int_equal(fake.lanes_given_back, 0);
    fake_process_state(3, RZ_PROCESS_FAILED);
    rz_engine_progress();
    assert_int_equal(fake.lanes_given_back, 1);
    assert_int_equal(n_closed, 1);
    fake_reincarnate(3, 2);
    rz_engine_progress();
    assert_int_equal(fake.lanes_given_back, 1);
    fake_reincarnate(3, 3);
    rz_engine_progress();
    assert_int_equal(fake.lanes_given_back, 2);
    assert_int_equal(n_closed, 2);
    fake.lane_refusal = RZ_ERR_SYSTEM; /* it must not be reused: the daemon is not told */
    fake_process_state(3, RZ_PROCESS_FAILED);
    lane_of_3_is_over(3);
    rz_engine_progress();
    assert_int_equal(fake.lanes_given_back, 2);
    assert_int_equal(n_closed, 2);
}

/* ---- Roll-back ---- */

static void turn_epoch_2(void *arg)
{
    (void)arg;
    fake.turn = NULL;
    fake_reincarnate(3, 2);
    fake_epoch(2, RZ_PHASE_ENTER);
}

static void turn_run(void *arg)
{
    (void)arg;
    if (fake.last_reached.epoch == rz_engine.epoch && fake.last_reached.phase == RZ_PHASE_ENTER) {
        fake.turn = NULL;
        fake_epoch(rz_engine.epoch, RZ_PHASE_RUN);
    }
}

static void turn_epoch_2_then_run(void *arg)
{
    turn_epoch_2(arg);
    fake.turn = turn_run;
}

/* The new epoch's barrier opens only after one more failure. */
static void turn_another_failure(void *arg)
{
    (void)arg;
    fake.turn = turn_run;
    fake_reincarnate(5, 2);
    fake_epoch(rz_engine.epoch + 1, RZ_PHASE_ENTER);
}

static void enter_reinit(void)
{
    int round;
    assert_int_equal(rz_ft_reinit_enter(), MPI_SUCCESS);
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(round, MPIX_REINIT_NEW);
}

static void failures_are_held_and_the_roll_back_ends_everything(void **state)
{
    (void)state;
    char text[3][8];
    enter_reinit();
    uint64_t old_context = fake_comm()->context;
    struct rz_comm *dup = fake_duplicate();
    fake.slow_sends = true;
    MPI_Request handles[4] = {start_recv(text[0], 3, 0), start_recv(text[1], MPI_ANY_SOURCE, 5),
                              start_send(3, true), start_send(2, false)};
    inject(4, RZ_CONTEXT_OFFSET_POINT, 77, true); /* received by no process */
    fake_process_state(3, RZ_PROCESS_FAILED);
    for (int i = 0; i < 10; i++) {
        int flag;
        assert_int_equal(rzm_test(&handles[0], &flag, NULL), MPI_SUCCESS);
        assert_false(flag);
    }
    assert_int_equal(fake.tokens_out, 1);
    lane_of_3_is_over(1); /* it is held with what is pending with its owner */
    assert_int_equal(fake.lanes_given_back, 0);
    fake.turn = turn_epoch_2;
    assert_int_equal(fake_recv_inside(text[2], 8, 1, 1, dup), RZM_ROLLBACK);
    assert_int_equal(fake.ops_pending, 0);
    assert_int_equal(fake.tokens_out, 0);
    assert_null(rz_engine.active);
    inject(1, RZ_CONTEXT_OFFSET_POINT, 0, true); /* its sender does not know of the roll-back yet */
    rz_engine_progress();
    assert_int_equal(fake.tokens_out, 0);
    assert_int_equal(rzm_wait(&handles[1], NULL), RZM_ROLLBACK);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 1, 0, fake_comm()), RZM_ROLLBACK);

    int round;
    fake.turn = turn_run;
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(round, MPIX_REINIT_REINITED);
    assert_int_equal(rz_engine.epoch, 2);
    rz_engine_progress();
    assert_int_equal(fake.lanes_given_back, 1);
    assert_true(fake_comm()->context != old_context);
    assert_false(rz_object_is(dup, RZ_OBJECT_COMM)); /* stale, and known to be */
    assert_int_equal(rz_comm_size(fake_comm()), 8);

    struct rz_envelope old = fake_envelope(1, old_context, 0),
                       new = fake_envelope(3, fake_comm()->context, 0);
    old.epoch = 1;
    fake_inject(&old, "old", 4, true);
    fake_inject(&new, "new", 4, true);
    assert_int_equal(new.incarnation, 2);
    assert_int_equal(rzm_recv(text[0], 8, fake_bytes(), MPI_ANY_SOURCE, 0, fake_comm(), NULL),
                     MPI_SUCCESS);
    assert_string_equal(text[0], "new");
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 3, 0, fake_comm()), MPI_SUCCESS);
    assert_int_equal(fake.sent[fake.n_sent - 1].envelope.epoch, 2);
}

static unsigned asked_for[8];

static void hear_question(const struct rz_link_message *message)
{
    if (message->type == RZ_LINK_OPEN) {
        asked_for[message->open.rank]++;
    }
}

static rz_peer_t send_to(int rank)
{
    assert_int_equal(rzm_send("x", 1, fake_bytes(), rank, 0, fake_comm()), MPI_SUCCESS);
    rz_engine_progress();
    assert_int_equal(fake.sent[fake.n_sent - 1].world, rank);
    assert_int_equal(fake.sent[fake.n_sent - 1].envelope.epoch, rz_engine.epoch);
    return fake.sent[fake.n_sent - 1].peer;
}

/* But the replacement of the failed process is another process, and is asked for before it is
 * needed. */
static void the_living_stay_connected_over_a_roll_back(void **state)
{
    (void)state;
    char text[8];
    memset(asked_for, 0, sizeof(asked_for));
    enter_reinit();
    fake.heard = hear_question;
    rz_peer_t one = send_to(1), three = send_to(3);
    fake.turn = turn_epoch_2;
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 3, 0, fake_comm(), NULL), RZM_ROLLBACK);
    assert_null(rz_engine.active);
    int round;
    fake.turn = turn_another_failure; /* two roll-backs in a row */
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(rz_engine.epoch, 3);
    assert_int_equal(asked_for[1], 1);
    assert_int_equal(asked_for[3], 2);
    assert_int_equal(asked_for[5], 0);
    assert_int_equal(send_to(1), one);
    assert_int_not_equal(send_to(3), three);
    assert_int_equal(asked_for[1], 1);
    assert_int_equal(asked_for[3], 2);
}

static void a_failure_in_the_barrier_begins_the_next_epoch(void **state)
{
    (void)state;
    char text[8];
    enter_reinit();
    fake.turn = turn_epoch_2;
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 3, 0, fake_comm(), NULL), RZM_ROLLBACK);
    int round;
    size_t before = fake.n_reached;
    fake.turn = turn_another_failure;
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(rz_engine.epoch, 3);
    assert_int_equal(fake.n_reached - before, 2);
    assert_int_equal(rz_board_incarnation(rz_liveness.members[3].word), 2);
    assert_int_equal(rz_board_incarnation(rz_liveness.members[5].word), 2);
    assert_int_equal(round, MPIX_REINIT_REINITED);
}

static void a_process_that_comes_late_to_reinit_is_held_at_its_entry(void **state)
{
    (void)state;
    turn_epoch_2(NULL);
    int round;
    assert_int_equal(rz_ft_reinit_enter(), MPI_SUCCESS);
    fake.turn = turn_run;
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(round, MPIX_REINIT_NEW);
    assert_int_equal(rz_engine.epoch, 2);
    assert_int_equal(rz_ft_reinit_enter(), MPI_ERR_OTHER);
}

static void a_process_that_has_seen_a_failure_before_reinit_is_held_for_its_repair(void **state)
{
    (void)state;
    fake_process_state(3, RZ_PROCESS_FAILED);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 3, 0, fake_comm()), MPI_ERR_PROC_FAILED);
    int round;
    assert_int_equal(rz_ft_reinit_enter(), MPI_SUCCESS);
    fake.turn = turn_epoch_2_then_run;
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(round, MPIX_REINIT_NEW);
    assert_int_equal(rz_engine.epoch, 2);
    assert_false(fake_comm()->collectives_failed);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 3, 0, fake_comm()), MPI_SUCCESS);
}

static void turn_left(void *arg)
{
    (void)arg;
    fake.turn = NULL;
    fake_epoch(rz_engine.epoch, RZ_PHASE_LEFT);
}

static void after_reinit_failures_are_errors_again(void **state)
{
    (void)state;
    char text[8];
    enter_reinit();
    fake.turn = turn_epoch_2;
    assert_int_equal(rz_ft_reinit_leave(), RZM_ROLLBACK); /* not all have left */
    int round;
    fake.turn = turn_run;
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    fake.turn = turn_left;
    assert_int_equal(rz_ft_reinit_leave(), MPI_SUCCESS);
    fake.turn = turn_failure_of_3;
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 3, 0, fake_comm(), NULL), MPI_ERR_PROC_FAILED);
}

/* ---- Anything in flight, at any moment ---- */

static void random_traffic(struct rz_random *random, int steps)
{
    static char buffers[64][8];
    for (int i = 0; i < steps; i++) {
        int peer = 1 + (int)rz_random_below(random, 7), tag = (int)rz_random_below(random, 3);
        fake.slow_sends = rz_random_below(random, 2);
        fake.slow_fetches = rz_random_below(random, 2);
        fake.mute_daemon = rz_random_below(random, 8) == 0;
        switch (rz_random_below(random, 5)) {
        case 0:
            start_send(peer, rz_random_below(random, 2));
            break;
        case 1:
            start_recv(buffers[i % 64], rz_random_below(random, 3) == 0 ? MPI_ANY_SOURCE : peer,
                       tag);
            break;
        case 2:
            inject((uint32_t)peer, RZ_CONTEXT_OFFSET_POINT, tag, rz_random_below(random, 2));
            break;
        case 3:
            inject((uint32_t)peer, RZ_CONTEXT_OFFSET_COLLECTIVE, tag, rz_random_below(random, 2));
            break;
        default:
            rz_engine_progress();
        }
    }
}

/* After any traffic and a failure no request waits for failed processes, and the communicator's
 * collectives refer to none. */
static void check_no_process_waits_for(uint32_t failed)
{
    for (const struct rz_request *r = rz_engine.active; r; r = r->next) {
        bool open = r->flags & RZ_REQUEST_POSTED && r->peer == MPI_ANY_SOURCE;
        bool fetching = r->flags & RZ_REQUEST_NETWORK && !(r->flags & RZ_REQUEST_SEND);
        assert_true(open || fetching || r->peer != (int)failed);
        assert_true(!open || r->pending_error == MPI_ERR_PROC_FAILED_PENDING);
    }
}

static void random_run(uint64_t seed)
{
    struct rz_random random = {.state = seed};
    int steps = 20 + (int)rz_random_below(&random, 150), round;
    uint32_t victim = 1 + (uint32_t)rz_random_below(&random, 7);
    bool repairing = rz_random_below(&random, 2);
    fake_world_begin(8);
    if (repairing) {
        enter_reinit();
    }
    random_traffic(&random, steps);
    if (repairing) {
        fake_reincarnate(victim, 2);
        fake_epoch(2, RZ_PHASE_ENTER);
        assert_int_equal(rz_engine_begin(), RZM_ROLLBACK);
        assert_int_equal(fake.ops_pending, 0);
        assert_int_equal(fake.tokens_out, 0);
        assert_null(rz_engine.active);
        fake.turn = turn_run;
        assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
        random_traffic(&random, steps);
    } else {
        fake_process_state(victim, RZ_PROCESS_FAILED);
        for (int i = 0; i < 5; i++) {
            rz_engine_progress();
        }
        check_no_process_waits_for(victim);
    }
    /* Let all of the rest end, so that nothing is left behind. */
    fake.mute_daemon = false;
    for (uint32_t rank = 1; rank < 8; rank++) {
        rz_link_send(rz_engine.link,
                     &(struct rz_link_message){.type = RZ_LINK_OPEN, .open = {.rank = rank}}, -1);
    }
    rz_engine_progress();
    rz_engine.reinit_open = false;
    for (uint32_t rank = 1; rank < 8; rank++) {
        fake_process_state(rank, RZ_PROCESS_FAILED);
    }
    fake_world_end();
}

static void random_traffic_survives_failures_and_roll_backs(void **state)
{
    (void)state;
    const char *given = getenv("RZ_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    uint64_t last = given ? first : 300;
    for (uint64_t seed = first; seed <= last; seed++) {
        if (seed % 50 == 1) {
            fprintf(stderr, "seeds from %llu; replay: RZ_SEED=<seed> mpi_failure_test\n",
                    (unsigned long long)seed);
        }
        random_run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_received_message_wins_over_the_failure_of_its_sender),
        IN_WORLD(waits_for_the_failed_end_and_others_go_on),
        IN_WORLD(sends_that_the_transport_still_holds_end_with_the_failure),
        IN_WORLD(a_message_is_received_though_the_send_finds_its_peer_failed),
        IN_WORLD(a_synchronous_receive_ends_when_its_acknowledgement_has_left),
        IN_WORLD(any_source_is_told_until_the_failure_is_acknowledged),
        IN_WORLD(one_that_ended_well_concerns_only_calls_that_name_it),
        IN_WORLD(a_lane_is_given_up_when_the_failure_of_its_owner_was_dealt_with),
        IN_WORLD(a_process_that_was_replaced_ends_though_its_successor_has_ended_too),
        IN_WORLD(failures_are_held_and_the_roll_back_ends_everything),
        IN_WORLD(the_living_stay_connected_over_a_roll_back),
        IN_WORLD(a_failure_in_the_barrier_begins_the_next_epoch),
        IN_WORLD(a_process_that_comes_late_to_reinit_is_held_at_its_entry),
        IN_WORLD(a_process_that_has_seen_a_failure_before_reinit_is_held_for_its_repair),
        IN_WORLD(after_reinit_failures_are_errors_again),
        cmocka_unit_test(random_traffic_survives_failures_and_roll_backs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
