/* SPDX-License-Identifier: BSD-3-Clause */
/* Before a snapshot the payloads that are still with their senders come here, and their messages
 * stay what and where they were, whatever happens to them on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../fake_world.h"
#include "mpi/impl.h"
#include "mpi/engine/peer.h"
#include "mpi/p2p/early_fetch.h"
#include "mpi/request/request.h"
#include "mpi/p2p/probe.h"

#include <string.h>

static uint64_t user_context(void)
{
    return rz_comm_context(fake_comm(), RZ_CONTEXT_OFFSET_POINT);
}

/* The text, without its end, arrives, and meets no receive. */
static struct rz_envelope comes_early(uint32_t from, int tag, const char *text, bool by_token)
{
    static uint64_t serial;
    struct rz_envelope envelope = fake_envelope(from, user_context(), tag);
    envelope.serial = ++serial;
    fake_inject(&envelope, text, strlen(text), by_token);
    fake_rounds(1);
    return envelope;
}

static void receives(int source, int tag, const char *want)
{
    char text[64] = "";
    MPI_Status status;
    assert_int_equal(rzm_recv(text, sizeof(text), fake_bytes(), source, tag, fake_comm(), &status),
                     MPI_SUCCESS);
    assert_string_equal(text, want);
    assert_int_equal(rz_status_bytes(&status), strlen(want));
}

static void all_payloads_are_fetched_once(void **state)
{
    (void)state;
    fake.slow_fetches = true;
    comes_early(3, 0, "first", true);
    comes_early(3, 0, "is here", false);
    comes_early(4, 1, "other", true);
    assert_int_equal(fake.tokens_out, 2);
    assert_int_equal(rz_early_fetch_all(), strlen("first") + strlen("other"));
    assert_int_equal(fake.tokens_out, 0);
    assert_int_equal(fake.ops_pending, 2);
    assert_int_equal(rz_early_fetch_all(), strlen("first") + strlen("other"));
    assert_int_equal(fake.ops_pending, 2);
    comes_early(4, 1, "later", true); /* the round ends the other fetches */
    assert_int_equal(rz_early_fetch_all(), strlen("later"));
    fake_rounds(2);
    assert_int_equal(rz_early_fetch_all(), 0);
    receives(3, MPI_ANY_TAG, "first"); /* in the order in which they came */
    receives(3, MPI_ANY_TAG, "is here");
    receives(MPI_ANY_SOURCE, MPI_ANY_TAG, "other");
    receives(4, 1, "later");
}

static void a_fetch_may_end_at_once(void **state)
{
    (void)state;
    comes_early(2, 0, "quick", true);
    assert_int_equal(rz_early_fetch_all(), 0);
    assert_int_equal(fake.tokens_out, 0);
    receives(2, 0, "quick");
}

static void messages_that_a_probe_has_taken_are_fetched(void **state)
{
    (void)state;
    struct rz_matched *matched;
    char text[16] = "";
    MPI_Status status;
    fake.slow_fetches = true;
    comes_early(5, 7, "matched", true);
    assert_int_equal(rzm_mprobe(5, 7, fake_comm(), &matched, &status), MPI_SUCCESS);
    assert_int_equal(rz_early_fetch_all(), strlen("matched"));
    fake_rounds(2);
    assert_int_equal(rz_early_fetch_all(), 0);
    assert_int_equal(rzm_mrecv(text, sizeof(text), fake_bytes(), matched, &status), MPI_SUCCESS);
    assert_string_equal(text, "matched");
}

/* The snapshot was refused, and the program goes on. */
static void a_receive_waits_for_the_fetch(void **state)
{
    (void)state;
    char whole[16] = "", part[4] = "xxx";
    struct rz_request *requests[2];
    MPI_Status status;
    int flag;
    fake.slow_fetches = true;
    comes_early(1, 0, "on its way", true);
    comes_early(1, 1, "too long", true);
    assert_int_equal(rz_early_fetch_all(), strlen("on its way") + strlen("too long"));
    assert_int_equal(rzm_irecv(whole, sizeof(whole), fake_bytes(), 1, 0, fake_comm(), &requests[0]),
                     MPI_SUCCESS);
    assert_int_equal(rzm_irecv(part, 2, fake_bytes(), 1, 1, fake_comm(), &requests[1]),
                     MPI_SUCCESS);
    assert_string_equal(whole, "");
    assert_int_equal(rzm_iprobe(1, MPI_ANY_TAG, fake_comm(), &flag, NULL), MPI_SUCCESS);
    assert_false(flag); /* both have met their receives */
    MPI_Request handle = rz_request_handle(requests[0]);
    assert_int_equal(rzm_wait(&handle, &status), MPI_SUCCESS);
    assert_string_equal(whole, "on its way");
    assert_int_equal(status.MPI_SOURCE, 1);
    handle = rz_request_handle(requests[1]);
    assert_int_equal(rzm_wait(&handle, &status), MPI_ERR_TRUNCATE);
    assert_memory_equal(part, "tox", 4);
    assert_int_equal(rz_early_fetch_all(), 0);
}

static void a_message_may_be_cancelled_on_its_way(void **state)
{
    (void)state;
    fake.slow_fetches = true;
    const struct rz_envelope envelope = comes_early(6, 0, "taken back", true);
    assert_int_equal(rz_early_fetch_all(), strlen("taken back"));
    assert_true(rz_message_take_back(&envelope));
    assert_int_equal(rz_early_fetch_all(), strlen("taken back")); /* it still writes somewhere */
    fake_rounds(2);
    assert_int_equal(rz_early_fetch_all(), 0);
    int flag;
    assert_int_equal(rzm_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, fake_comm(), &flag, NULL),
                     MPI_SUCCESS);
    assert_false(flag);
}

static void a_message_fails_its_receive_when_the_sender_is_gone(void **state)
{
    (void)state;
    fake.slow_fetches = true;
    assert_int_equal(rzm_send("", 0, fake_bytes(), 3, 0, fake_comm()), MPI_SUCCESS); /* connects */
    comes_early(3, 0, "lost", true);
    assert_int_equal(rz_early_fetch_all(), strlen("lost"));
    rz_peer_close(3, false, RZ_ERR_CLOSED);
    assert_int_equal(rz_early_fetch_all(), 0);
    char text[8];
    struct rz_request *request;
    assert_int_equal(rzm_irecv(text, sizeof(text), fake_bytes(), 3, 0, fake_comm(), &request),
                     MPI_SUCCESS);
    fake_rounds(4);
    assert_false(request->complete); /* until the failure is known */
    fake_process_state(3, RZ_PROCESS_FAILED);
    fake_rounds(4);
    MPI_Request handle = rz_request_handle(request);
    assert_int_equal(rzm_wait(&handle, MPI_STATUS_IGNORE), MPI_ERR_PROC_FAILED);
}

/* ---- After a restoration ---- */

static size_t n_of_epoch;

static void count_of_epoch(struct rz_early *message, void *arg)
{
    const uint32_t *incarnation = arg;
    assert_int_equal(message->envelope.epoch, rz_engine.epoch);
    assert_int_equal(message->envelope.incarnation, *incarnation);
    n_of_epoch++;
}

static void kept_messages_go_with_the_epoch(void **state)
{
    (void)state;
    struct rz_comm *ended = fake_duplicate();
    struct rz_matched *matched;
    uint32_t incarnation = 2;
    struct rz_envelope dropped =
        fake_envelope(3, rz_comm_context(ended, RZ_CONTEXT_OFFSET_POINT), 0);
    dropped.kind = RZ_ENVELOPE_SYNC;
    dropped.serial = 77;
    rz_message_close_context(dropped.context);
    fake_inject(&dropped, "dropped", 7, false);
    comes_early(3, 0, "kept", false);
    comes_early(3, 1, "matched", false);
    assert_int_equal(rzm_mprobe(3, 1, fake_comm(), &matched, NULL), MPI_SUCCESS);

    rz_engine.epoch++;
    rz_liveness.members[3].word = rz_board_rank_word(incarnation, 0, RZ_PROCESS_ALIVE);
    rz_early_into_epoch();
    n_of_epoch = 0;
    rz_messages_each(count_of_epoch, &incarnation);
    assert_int_equal(n_of_epoch, 1);
    rz_matched_each(count_of_epoch, &incarnation);
    assert_int_equal(n_of_epoch, 2);
    assert_false(rz_message_take_back(&dropped)); /* as its sender calls itself no more */
    dropped.incarnation = incarnation;
    assert_true(rz_message_take_back(&dropped));

    rz_engine.epoch--;
    rz_liveness.members[3].word = fake.board->rank[3];
    rz_early_into_epoch();
    char text[16];
    receives(3, 0, "kept");
    assert_int_equal(rzm_mrecv(text, sizeof(text), fake_bytes(), matched, NULL), MPI_SUCCESS);
    rz_comm_release(ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(all_payloads_are_fetched_once),
        IN_WORLD(a_fetch_may_end_at_once),
        IN_WORLD(messages_that_a_probe_has_taken_are_fetched),
        IN_WORLD(a_receive_waits_for_the_fetch),
        IN_WORLD(a_message_may_be_cancelled_on_its_way),
        IN_WORLD(a_message_fails_its_receive_when_the_sender_is_gone),
        IN_WORLD(kept_messages_go_with_the_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
