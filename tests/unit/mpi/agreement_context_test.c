/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement contexts of one process; the test plays the other members: the effect of a decision on
 * waiting proposals, and the set of failed members after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_world.h"
#include "mpi/agree/agreement_context.h"
#include "mpi/agree/comm_revoke.h"
#include "mpi/agree/comm_uniform.h"
#include "mpi/p2p/p2p_inside.h"
#include "proto/agree/agree_private.h"
#include "wire/protocol_encoding.h"

#include <mpi-ext.h>
#include <stdlib.h>
#include <string.h>

#define RZ_PRIVATE_ITEMS 64

static struct rz_comm *comm_of(int n, const uint32_t *rank)
{
    static uint64_t made;
    uint64_t words[3] = {78, ++made, rz_engine.info->self.job};
    uint32_t process[8];
    struct rz_comm *comm;
    for (int i = 0; i < n; i++) {
        process[i] = fake_process(rank[i]);
    }
    struct rz_group *group = rz_group_new(n, process);
    assert_int_equal(rz_comm_make(words, group, NULL, rz_errhandler_initial(), &comm), MPI_SUCCESS);
    rz_group_release(group);
    return comm;
}

static void set_hint(struct rz_comm *comm, const char *key, const char *value, int wanted)
{
    struct rz_info *info;
    assert_int_equal(rzm_info_create(&info), MPI_SUCCESS);
    assert_int_equal(rzm_info_set(info, key, value), MPI_SUCCESS);
    assert_int_equal(rzm_comm_set_info(comm, info), wanted);
    rzm_info_free(info);
}

/* ---- Protocol messages ---- */

struct protocol_message {
    uint32_t to;
    uint64_t context;
    struct rz_message message;
    uint64_t items[RZ_PRIVATE_ITEMS];
};

/* The newest protocol message of that type that this process has sent; false: there is none. */
static bool last_sent(unsigned type, struct protocol_message *protocol_message)
{
    for (size_t i = fake.n_sent; i > 0; i--) {
        const struct fake_sent *sent = &fake.sent[i - 1];
        if (sent->envelope.kind == RZ_ENVELOPE_PROTOCOL &&
            rz_protocol_message_decode(&protocol_message->message, protocol_message->items,
                                       RZ_PRIVATE_ITEMS, sent->data, sent->bytes) == RZ_OK &&
            protocol_message->message.protocol == RZ_PROTOCOL_AGREE &&
            protocol_message->message.type == type) {
            protocol_message->to = sent->world;
            protocol_message->context = sent->envelope.context;
            return true;
        }
    }
    return false;
}

/* From the process to which this message was sent. */
static void answer(const struct protocol_message *sent, const struct rz_message *message,
                   const uint64_t *items)
{
    unsigned char data[256];
    size_t bytes = rz_protocol_message_encode(message, items, data, sizeof(data));
    assert_true(bytes > 0);
    struct rz_envelope envelope = fake_envelope(sent->to, sent->context, 0);
    envelope.kind = RZ_ENVELOPE_PROTOCOL;
    fake_inject(&envelope, data, bytes, false);
}

/* The decision on what this process has sent up: just that, without member `failed`, if there is
 * one. */
static void decide(const struct protocol_message *up, rz_id failed)
{
    uint64_t items[RZ_PRIVATE_ITEMS];
    struct rz_message down = up->message;
    uint32_t n_failed = (uint32_t)up->message.word[0];
    assert_int_equal(n_failed, 0);
    assert_int_equal(up->message.n_items, RZ_AGREE_VALUE_WORDS);
    down.type = RZ_AGREE_DOWN;
    down.from = down.origin = 0;
    memcpy(items, up->items, RZ_AGREE_VALUE_WORDS * sizeof(*items));
    if (failed != RZ_ID_NONE) {
        down.word[0] = 1;
        items[down.n_items++] = failed;
    }
    answer(up, &down, items);
}

/* ---- Tests ---- */

/*
 * All know that the communicator is revoked, and all further uniform results are refused; the
 * decision that says so names a failed member unknown to this process. A proposal begun here
 * meanwhile waits for no member: it must not be voted on while that failure is learnt.
 */
static void a_refusal_withdraws_what_waits_behind_it(void **state)
{
    (void)state;
    struct rz_comm *comm = comm_of(3, (const uint32_t[]){1, 2, 0});
    struct rz_uniform_result result = {.all = true};
    struct protocol_message up;
    set_hint(comm, "mpi_error_uniform", "coll", MPI_SUCCESS);
    rz_comm_revoked(comm);
    fake_rounds(4); /* it refuses */
    assert_true(last_sent(RZ_AGREE_UP, &up));
    assert_int_equal(up.message.seq, 1);
    assert_int_equal(up.to, 1);
    rz_uniform_result_begin(rz_uniform_results_of(comm), &result);
    rz_uniform_result_tell(&result, MPI_ERR_REVOKED);
    fake_rounds(4);
    assert_false(result.over);
    decide(&up, 1);
    fake_rounds(8);
    assert_true(result.over);
    assert_int_equal(result.error, MPI_ERR_REVOKED);
    assert_true(rz_process_failed(fake_process(2)));
    assert_true(last_sent(RZ_AGREE_UP, &up));
    assert_int_equal(up.message.seq, 1);
    rzm_comm_free(comm);
}

/* A member that learns that all have ended the communicator tells the others, which may wait for
 * it. */
static void the_end_of_all_is_passed_on(void **state)
{
    (void)state;
    enum { OVER = 255 };
    struct rz_comm *comm = comm_of(3, (const uint32_t[]){5, 6, 0});
    struct rz_request *agreement;
    struct protocol_message up, told;
    int flag = 1;
    assert_int_equal(rzm_comm_iagree(comm, &flag, &agreement), MPI_SUCCESS);
    fake_rounds(4);
    assert_true(last_sent(RZ_AGREE_UP, &up));
    decide(&up, RZ_ID_NONE);
    MPI_Request handle = rz_request_handle(agreement);
    assert_int_equal(rzm_wait(&handle, MPI_STATUS_IGNORE), MPI_SUCCESS);
    rzm_comm_free(comm); /* it goes on voting, for the others */
    fake_rounds(4);
    assert_false(last_sent(OVER, &told));
    answer(&up, &(struct rz_message){.protocol = RZ_PROTOCOL_AGREE, .type = OVER}, NULL);
    fake_rounds(4);
    assert_true(last_sent(OVER, &told));
    assert_int_equal(told.to, 6);
    assert_true(told.context == up.context);
}

/* A member that has left in order takes part in nothing: a process that is told so finds it among
 * the failed ones, and the loop of acknowledging and agreeing ends. */
static void a_process_that_left_is_named_once_an_agreement_did_without_it(void **state)
{
    (void)state;
    struct rz_comm *comm = comm_of(2, (const uint32_t[]){0, 3});
    int flag = 1, acked = 0;
    fake_process_state(3, RZ_PROCESS_ENDED);
    fake_rounds(4);
    assert_int_equal(fake_failed_count(comm), 0);
    assert_int_equal(rzm_comm_agree(comm, &flag), MPI_ERR_PROC_FAILED);
    assert_int_equal(fake_failed_count(comm), 1);
    assert_int_equal(rzm_comm_ack_failed(comm, 2, &acked), MPI_SUCCESS);
    assert_int_equal(acked, 1);
    assert_int_equal(rzm_comm_agree(comm, &flag), MPI_SUCCESS);
    assert_int_equal(flag, 1);
    rzm_comm_free(comm);
}

/* Members that spell it right would take another engine. */
static void an_unknown_engine_is_refused(void **state)
{
    (void)state;
    struct rz_comm *comm = comm_of(2, (const uint32_t[]){0, 4});
    set_hint(comm, "rz_agree", "twophase", MPI_SUCCESS);
    set_hint(comm, "rz_agree", "paxos", MPI_ERR_INFO_VALUE);
    assert_int_equal(rz_comm_agreement(comm), RZ_AGREEMENT_TWOPHASE);
    set_hint(comm, "rz_revoke", "shout", MPI_ERR_INFO_VALUE);
    set_hint(comm, "mpi_error_uniform", "everywhere", MPI_SUCCESS); /* the standard's: ignored */
    rzm_comm_free(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_refusal_withdraws_what_waits_behind_it),
        IN_WORLD(the_end_of_all_is_passed_on),
        IN_WORLD(a_process_that_left_is_named_once_an_agreement_did_without_it),
        IN_WORLD(an_unknown_engine_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
