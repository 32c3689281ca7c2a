/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of a failure inside collective operations: which processes continue, which get an
 * error, which are informed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_world.h"
#include "mpi/p2p/inquiry.h"
#include "mpi/coll/algorithm.h"
#include "mpi/p2p/p2p_inside.h"

#include <mpi-ext.h>
#include <stdlib.h>

static void inject(uint32_t from, enum rz_context_offset context_offset, int tag, bool by_token)
{
    struct rz_envelope envelope =
        fake_envelope(from, rz_comm_context(fake_comm(), context_offset), tag);
    fake_inject(&envelope, "payload", 8, by_token);
}

static void turn_failure_of_3(void *arg)
{
    (void)arg;
    fake.turn = NULL;
    fake_process_state(3, RZ_PROCESS_FAILED);
}

/* How many messages of that kind this process has sent to that rank about an operation. */
static int said(enum rz_envelope_kind kind, uint32_t to, uint64_t context, int tag)
{
    int n = 0;
    for (size_t i = 0; i < fake.n_sent; i++) {
        const struct fake_sent *sent = &fake.sent[i];
        n += sent->envelope.kind == kind && sent->world == to &&
             sent->envelope.context == context && sent->envelope.tag == tag;
    }
    return n;
}

static void others_say(enum rz_envelope_kind kind, uint32_t from, uint64_t context, int tag)
{
    struct rz_envelope envelope = fake_envelope(from, context, tag);
    envelope.kind = kind;
    envelope.serial = fake_process(3);
    fake_inject(&envelope, NULL, 0, false);
}

static uint64_t inside(void)
{
    return rz_comm_context(fake_comm(), RZ_CONTEXT_OFFSET_COLLECTIVE);
}

static struct rz_request *receive_inside(char *text, uint32_t from, int tag)
{
    struct rz_request *request;
    const struct rz_p2p_message message = {.buffer = text,
                                           .count = 8,
                                           .datatype = fake_bytes(),
                                           .peer = (int)from,
                                           .tag = tag,
                                           .comm = fake_comm(),
                                           .context_offset = RZ_CONTEXT_OFFSET_COLLECTIVE};
    assert_int_equal(rz_p2p_irecv(&message, &request), MPI_SUCCESS);
    return request;
}

static int end_of(struct rz_request *request)
{
    assert_true(request->complete);
    int error = request->error;
    rz_request_destroy(request);
    return error;
}

/* Of a continuing operation only the messages of the failed member fail. */
static void messages_of_the_living_go_on_inside_collectives(void **state)
{
    (void)state;
    char text[4][8];
    struct rz_participation going_on;
    rz_operation_begin(fake_comm(), &going_on, 1);
    struct rz_request *of_failed = receive_inside(text[0], 3, 1),
                      *of_living = receive_inside(text[1], 2, 1),
                      *of_absent = receive_inside(text[2], 4, 1);
    inject(1, RZ_CONTEXT_OFFSET_COLLECTIVE, 1, false);
    fake_process_state(3, RZ_PROCESS_FAILED);
    fake_rounds(3);
    assert_int_equal(end_of(of_failed), MPI_ERR_PROC_FAILED);
    assert_false(of_living->complete);
    assert_int_equal(said(RZ_ENVELOPE_INQUIRY, 2, inside(), 1), 1);
    assert_int_equal(said(RZ_ENVELOPE_INQUIRY, 4, inside(), 1), 1);
    fake_process_state(6, RZ_PROCESS_FAILED); /* no member is asked twice */
    inject(2, RZ_CONTEXT_OFFSET_COLLECTIVE, 1, false);
    others_say(RZ_ENVELOPE_ABSENT, 2, inside(), 1); /* after its message it changes nothing */
    others_say(RZ_ENVELOPE_ABSENT, 4, inside(), 1);
    fake_rounds(3);
    assert_int_equal(said(RZ_ENVELOPE_INQUIRY, 2, inside(), 1), 1);
    assert_int_equal(end_of(of_living), MPI_SUCCESS);
    assert_int_equal(end_of(of_absent), MPI_ERR_PROC_FAILED);
    assert_int_equal(end_of(receive_inside(text[3], 1, 1)), MPI_SUCCESS); /* it lay here */
    rz_operation_end(fake_comm(), &going_on);
}

static void one_that_leaves_a_collective_answers_all_questions(void **state)
{
    (void)state;
    char text[8];
    struct rz_participation going_on;
    rz_operation_begin(fake_comm(), &going_on, 1);
    others_say(RZ_ENVELOPE_INQUIRY, 2, inside(),
               1); /* it knows of a failure, and this process now */
    others_say(RZ_ENVELOPE_INQUIRY, 2, inside(), 1);
    others_say(RZ_ENVELOPE_INQUIRY, 4, inside(), 2);
    inject(2, RZ_CONTEXT_OFFSET_COLLECTIVE, 1,
           true); /* no member will receive it: its sender must be released */
    fake_rounds(3);
    assert_true(fake_comm()->collectives_failed);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 2, inside(), 1), 0);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 4, inside(), 2), 1);
    assert_int_equal(fake.tokens_out, 1);
    rz_operation_end(fake_comm(), &going_on);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 2, inside(), 1), 1);
    assert_int_equal(fake.tokens_out, 0);
    inject(5, RZ_CONTEXT_OFFSET_COLLECTIVE, 1, true);
    others_say(RZ_ENVELOPE_INQUIRY, 5, inside(), 1);
    others_say(RZ_ENVELOPE_INQUIRY, 5, UINT64_C(0x5678000) | RZ_CONTEXT_OFFSET_COLLECTIVE,
               1); /* unknown */
    fake_rounds(3);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 5, inside(), 1), 1);
    assert_int_equal(
        said(RZ_ENVELOPE_ABSENT, 5, UINT64_C(0x5678000) | RZ_CONTEXT_OFFSET_COLLECTIVE, 1), 1);
    assert_int_equal(fake.tokens_out, 0);
    /* What it said it does. */
    assert_int_equal(end_of(receive_inside(text, 5, 3)), MPI_ERR_PROC_FAILED);
}

/* A member that gives up may be outside of MPI when others ask: it has told them before. */
static void one_that_gives_up_tells_those_it_owes_messages_unasked(void **state)
{
    (void)state;
    struct rz_request *request;
    inject(1, RZ_CONTEXT_OFFSET_POINT, 0, false);
    for (int peer = 1; peer < 8; peer++) { /* all are connected */
        assert_int_equal(rzm_send("x", 1, fake_bytes(), peer, 0, fake_comm()), MPI_SUCCESS);
    }
    assert_int_equal(rz_coll_set_rules("barrier=tree"), MPI_SUCCESS);
    assert_int_equal(rzm_ibarrier(fake_comm(), &request), MPI_SUCCESS);
    MPI_Request handle = rz_request_handle(request);
    const struct rz_participation *going_on = fake_comm()->participations.first;
    assert_non_null(going_on);
    int tag = going_on->tag;
    fake_process_state(4, RZ_PROCESS_FAILED); /* the root waits for it */
    assert_int_equal(rzm_wait(&handle, NULL), MPI_ERR_PROC_FAILED);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 1, inside(), tag), 1);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 2, inside(), tag), 1);
    assert_int_equal(said(RZ_ENVELOPE_ABSENT, 3, inside(), tag), 0); /* it waits for 2 */
}

/* By it this process learns of the failure, and remembers what will not come. */
static void what_was_told_unasked_counts_as_an_answer(void **state)
{
    (void)state;
    char text[3][8];
    struct rz_participation going_on;
    rz_operation_begin(fake_comm(), &going_on, 1);
    struct rz_request *waits = receive_inside(text[0], 2, 1);
    inject(2, RZ_CONTEXT_OFFSET_COLLECTIVE, 2, false);
    others_say(RZ_ENVELOPE_ABSENT, 2, inside(), 1);
    others_say(RZ_ENVELOPE_ABSENT, 4, inside(), 1);
    fake_rounds(3);
    assert_true(rz_process_failed(fake_process(3)));
    assert_int_equal(end_of(waits), MPI_ERR_PROC_FAILED);
    assert_int_equal(end_of(receive_inside(text[1], 4, 1)), MPI_ERR_PROC_FAILED);
    assert_int_equal(said(RZ_ENVELOPE_INQUIRY, 4, inside(), 1), 0);
    struct rz_request *of_other = receive_inside(text[2], 5, 1);
    assert_false(of_other->complete);
    inject(5, RZ_CONTEXT_OFFSET_COLLECTIVE, 1, false);
    fake_rounds(3);
    assert_int_equal(end_of(of_other), MPI_SUCCESS);
    rz_operation_end(fake_comm(), &going_on);
    assert_null(going_on.absences);
    assert_null(fake_comm()->participations.first);
}

static void collectives_that_begin_after_a_failure_fail_at_once(void **state)
{
    (void)state;
    char text[8];
    struct rz_comm *without, *with = fake_duplicate();
    int ranks[2] = {0, 1};
    struct rz_group *pair;
    assert_int_equal(rzm_group_incl(fake_comm()->group, 2, ranks, &pair), MPI_SUCCESS);
    assert_int_equal(rz_comm_derive(fake_comm(), pair, 99, 0, &without), MPI_SUCCESS);
    fake.turn = turn_failure_of_3;
    fake_rounds(3);
    assert_int_equal(fake_recv_inside(text, 8, 2, 1, fake_comm()), MPI_ERR_PROC_FAILED);
    assert_int_equal(fake_send_inside("x", 1, 1, 1, fake_comm()), MPI_ERR_PROC_FAILED);
    assert_int_equal(fake_send_inside("x", 1, 1, 1, with), MPI_ERR_PROC_FAILED);
    assert_int_equal(fake_send_inside("x", 1, 1, 1, without), MPI_SUCCESS);
    /* A member sees only that the operation fails, and this once: a member that may wait in it. */
    size_t sent = fake.n_sent;
    assert_int_equal(rzm_barrier(fake_comm()), MPI_ERR_PROC_FAILED);
    assert_true(fake.n_sent > sent);
    for (size_t i = sent; i < fake.n_sent; i++) {
        assert_int_equal(fake.sent[i].envelope.kind, RZ_ENVELOPE_ABSENT);
        assert_int_equal(fake.sent[i].envelope.serial, fake_process(3));
    }
    sent = fake.n_sent;
    assert_int_equal(rzm_barrier(fake_comm()), MPI_ERR_PROC_FAILED);
    struct rz_comm *made;
    assert_int_equal(rzm_comm_dup(fake_comm(), &made), MPI_ERR_PROC_FAILED);
    assert_int_equal(rzm_comm_create(fake_comm(), pair, &made), MPI_ERR_PROC_FAILED);
    /* By the request, where there is one. */
    struct rz_request *request;
    assert_int_equal(rzm_ibarrier(fake_comm(), &request), MPI_SUCCESS);
    MPI_Request handle = rz_request_handle(request);
    assert_int_equal(rzm_wait(&handle, NULL), MPI_ERR_PROC_FAILED);
    assert_true(handle == MPI_REQUEST_NULL);
    assert_int_equal(fake.n_sent, sent);
    struct rz_comm *late = fake_duplicate();
    assert_true(late->collectives_failed);
    rz_comm_release(late);
    rz_comm_release(with);
    rz_comm_release(without);
    rz_group_release(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(messages_of_the_living_go_on_inside_collectives),
        IN_WORLD(one_that_leaves_a_collective_answers_all_questions),
        IN_WORLD(one_that_gives_up_tells_those_it_owes_messages_unasked),
        IN_WORLD(what_was_told_unasked_counts_as_an_answer),
        IN_WORLD(collectives_that_begin_after_a_failure_fail_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
