/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages through all of p2p: the epoch check, meeting, payloads inline and by token,
 * acknowledgements, probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "fake_world.h"
#include "mpi/p2p/p2p_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes 0 and 2 of every 4. */
static struct rz_datatype *gaps(void)
{
    struct rz_datatype *two, *made;
    assert_int_equal(rzm_type_vector(2, 1, 2, fake_bytes(), &two, false), MPI_SUCCESS);
    assert_int_equal(rzm_type_create_resized(two, 0, 4, &made, false), MPI_SUCCESS);
    assert_int_equal(rzm_type_commit(made), MPI_SUCCESS);
    rz_datatype_release(two);
    return made;
}

static uint64_t user_context(void)
{
    return rz_comm_context(fake_comm(), RZ_CONTEXT_OFFSET_POINT);
}

static void inject(uint32_t from, int tag, const char *text, bool by_token)
{
    struct rz_envelope envelope = fake_envelope(from, user_context(), tag);
    fake_inject(&envelope, text, strlen(text) + 1, by_token);
}

/* ---- Receiving ---- */

static void receives_what_came_before_and_after(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        char text[64] = "";
        MPI_Status status;
        fake.slow_fetches = way & 1;
        inject(3, 5, "hello", way & 2);
        assert_int_equal(rzm_recv(text, 64, fake_bytes(), 3, 5, fake_comm(), &status), MPI_SUCCESS);
        assert_string_equal(text, "hello");
        assert_int_equal(status.MPI_SOURCE, 3);
        assert_int_equal(status.MPI_TAG, 5);
        assert_int_equal(rz_status_bytes(&status), 6);
        MPI_Count count;
        rzm_get_count(&status, fake_bytes(), &count);
        assert_int_equal(count, 6);

        struct rz_request *request;
        assert_int_equal(
            rzm_irecv(text, 64, fake_bytes(), MPI_ANY_SOURCE, MPI_ANY_TAG, fake_comm(), &request),
            MPI_SUCCESS);
        inject(4, 9, "again", way & 2);
        MPI_Request handle = rz_request_handle(request);
        assert_int_equal(rzm_wait(&handle, &status), MPI_SUCCESS);
        assert_true(handle == MPI_REQUEST_NULL);
        assert_string_equal(text, "again");
        assert_int_equal(status.MPI_SOURCE, 4);
    }
}

static void too_long_a_message_is_truncated_and_told(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        char text[8] = "xxxxxxx";
        MPI_Status status;
        fake.slow_fetches = way & 1;
        inject(1, 0, "abcdefgh", way & 2);
        assert_int_equal(rzm_recv(text, 3, fake_bytes(), 1, 0, fake_comm(), &status),
                         MPI_ERR_TRUNCATE);
        assert_memory_equal(text, "abcxxxx", 8);
        assert_int_equal(rz_status_bytes(&status), 3);
        inject(1, 0, "abc", way & 2);
        assert_int_equal(rzm_recv(NULL, 0, fake_bytes(), 1, 0, fake_comm(), &status),
                         MPI_ERR_TRUNCATE);
    }
}

static void types_with_gaps_are_packed_and_spread(void **state)
{
    (void)state;
    char user[12] = "a.b.c.d.e.f";
    struct rz_datatype *type = gaps();
    assert_int_equal(rzm_send(user, 3, type, 2, 1, fake_comm()), MPI_SUCCESS);
    assert_int_equal(fake.n_sent, 1);
    assert_int_equal(fake.sent[0].bytes, 6);
    assert_memory_equal(fake.sent[0].data, "abcdef", 6);
    for (int way = 0; way < 4; way++) {
        char into[13] = "............";
        struct rz_envelope envelope = fake_envelope(2, user_context(), 1);
        fake.slow_fetches = way & 1;
        fake_inject(&envelope, "uvwxy", 5, way & 2); /* ends inside an element */
        assert_int_equal(rzm_recv(into, 3, type, 2, 1, fake_comm(), NULL), MPI_SUCCESS);
        assert_memory_equal(into, "u.v.w.x.y...", 12);
    }
    rz_datatype_release(type);
}

/* ---- The epoch check ---- */

static void the_epoch_check_drops_what_is_not_of_this_epoch_and_incarnation(void **state)
{
    (void)state;
    struct rz_envelope good = fake_envelope(1, user_context(), 0), bad[6];
    for (int i = 0; i < 6; i++) {
        bad[i] = good;
    }
    bad[0].job_token++;
    bad[1].slot = 1000;
    bad[2].epoch--;
    bad[3].epoch++;
    bad[4].incarnation++; /* waits until the board says whether it was spawned */
    bad[5].incarnation--;
    for (int i = 0; i < 6; i++) {
        fake_inject(&bad[i], "bad", 4, i & 1);
    }
    fake_inject(&good, "good", 5, true);
    char text[8];
    assert_int_equal(
        rzm_recv(text, 8, fake_bytes(), MPI_ANY_SOURCE, MPI_ANY_TAG, fake_comm(), NULL),
        MPI_SUCCESS);
    assert_string_equal(text, "good");
    int flag;
    assert_int_equal(rzm_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, fake_comm(), &flag, NULL),
                     MPI_SUCCESS);
    assert_false(flag);
    assert_int_equal(rz_engine.counters.foreign, 2);
    assert_int_equal(rz_engine.counters.old_epoch, 1);
    assert_int_equal(rz_engine.counters.future_epoch, 1);
    assert_int_equal(rz_engine.counters.old_incarnation, 1);
}

static struct rz_comm *half(void)
{
    struct rz_group *all, *part;
    struct rz_comm *made;
    const int ranks[] = {0, 2, 4};
    assert_int_equal(rzm_comm_group(fake_comm(), &all), MPI_SUCCESS);
    assert_int_equal(rzm_group_incl(all, 3, ranks, &part), MPI_SUCCESS);
    assert_int_equal(rz_comm_derive(fake_comm(), part, 1, 0, &made), MPI_SUCCESS);
    rz_group_release(all);
    rz_group_release(part);
    return made;
}

/* Ranks that a smaller communicator has not, or that are another's there. */
static void a_message_of_no_member_meets_no_receive(void **state)
{
    (void)state;
    struct rz_comm *comm = half();
    struct rz_envelope good = fake_envelope(4, comm->context, 7), bad[2];
    struct rz_request *request;
    char text[8];
    int flag;
    good.source = 2;
    bad[0] = bad[1] = good;
    bad[0].source = 5; /* a rank of the job only */
    bad[1].source = 1; /* that is rank 2 of the job */
    for (int way = 0; way < 4; way++) {
        uint64_t before = rz_engine.counters.foreign;
        struct rz_envelope *wrong = &bad[way & 1];
        if (way & 2) { /* they meet a receive */
            assert_int_equal(
                rzm_irecv(text, 8, fake_bytes(), MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request),
                MPI_SUCCESS);
        }
        fake_inject(wrong, "bad", 4, way & 1);
        if (way & 2) {
            rz_engine_progress();
            assert_int_equal(rz_engine.counters.foreign, before + 1);
            fake_inject(&good, "good", 5, true);
            MPI_Request handle = rz_request_handle(request);
            MPI_Status status;
            assert_int_equal(rzm_wait(&handle, &status), MPI_SUCCESS);
            assert_int_equal(status.MPI_SOURCE, 2);
        } else { /* they wait for one */
            fake_inject(wrong, "bad", 4, true);
            rz_engine_progress();
            assert_int_equal(rz_engine.counters.foreign, before);
            if (way == 0) {
                assert_int_equal(rzm_iprobe(MPI_ANY_SOURCE, 7, comm, &flag, NULL), MPI_SUCCESS);
                assert_false(flag);
                assert_int_equal(rz_engine.counters.foreign, before + 2);
            }
            fake_inject(&good, "good", 5, false);
            assert_int_equal(rzm_recv(text, 8, fake_bytes(), MPI_ANY_SOURCE, 7, comm, NULL),
                             MPI_SUCCESS);
            assert_int_equal(rz_engine.counters.foreign, before + 2);
        }
        assert_string_equal(text, "good");
    }
    assert_int_equal(rzm_comm_free(comm), MPI_SUCCESS);
}

static void context_offsets_and_communicators_never_meet(void **state)
{
    (void)state;
    struct rz_comm *other = fake_duplicate();
    assert_true(other->context != fake_comm()->context);
    struct rz_envelope inside =
        fake_envelope(1, rz_comm_context(fake_comm(), RZ_CONTEXT_OFFSET_COLLECTIVE), 0);
    struct rz_envelope dup = fake_envelope(1, other->context, 0);
    fake_inject(&inside, "c", 2, false);
    fake_inject(&dup, "d", 2, false);
    char text[2] = "";
    int flag;
    assert_int_equal(rzm_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, fake_comm(), &flag, NULL),
                     MPI_SUCCESS);
    assert_false(flag);
    assert_int_equal(rzm_recv(text, 2, fake_bytes(), 1, MPI_ANY_TAG, other, NULL), MPI_SUCCESS);
    assert_string_equal(text, "d");
    assert_int_equal(fake_recv_inside(text, 2, 1, 0, fake_comm()), MPI_SUCCESS);
    assert_string_equal(text, "c");
    assert_int_equal(rzm_comm_free(other), MPI_SUCCESS);
}

/* ---- Sending ---- */

static void sends_queue_until_the_peer_is_known_and_keep_their_order(void **state)
{
    (void)state;
    struct rz_request *requests[3];
    MPI_Request handles[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rzm_isend(&"abc"[i], 1, fake_bytes(), 6, i, fake_comm(), &requests[i]),
                         MPI_SUCCESS);
        handles[i] = rz_request_handle(requests[i]);
        assert_int_equal(fake.n_sent, 0);
    }
    assert_int_equal(rzm_waitall(3, handles, NULL), MPI_SUCCESS);
    assert_int_equal(fake.n_sent, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fake.sent[i].world, 6);
        assert_int_equal(fake.sent[i].envelope.tag, i);
        assert_int_equal(fake.sent[i].data[0], 'a' + i);
    }
}

static void turn_acknowledge(void *arg)
{
    (void)arg;
    const struct rz_envelope *sent = &fake.sent[fake.n_sent - 1].envelope;
    struct rz_envelope ack = fake_envelope(2, sent->context, sent->tag);
    ack.kind = RZ_ENVELOPE_ACK;
    ack.serial = sent->serial;
    fake.turn = NULL;
    fake_inject(&ack, "", 0, false);
}

static void a_synchronous_send_waits_for_its_own_acknowledgement(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        fake.slow_sends = slow;
        struct rz_request *request;
        assert_int_equal(rzm_issend("x", 1, fake_bytes(), 2, 0, fake_comm(), &request),
                         MPI_SUCCESS);
        MPI_Request handle = rz_request_handle(request);
        int flag = 0;
        for (int i = 0; i < 5; i++) {
            struct rz_envelope wrong = fake_envelope(i == 4 ? 3 : 2, user_context(), 0);
            wrong.kind = RZ_ENVELOPE_ACK;
            /* another slot, an earlier use of the slot, and the right one from the wrong rank */
            wrong.serial = request->serial + (i == 4 ? 0 : i % 2 ? 1 : UINT64_C(1) << 32);
            fake_inject(&wrong, "", 0, false);
            assert_int_equal(rzm_test(&handle, &flag, NULL), MPI_SUCCESS);
            assert_false(flag);
        }
        fake.turn = turn_acknowledge;
        assert_int_equal(rzm_wait(&handle, NULL), MPI_SUCCESS);
    }
}

static void a_receive_acknowledges_a_synchronous_send(void **state)
{
    (void)state;
    struct rz_envelope envelope = fake_envelope(5, user_context(), 1);
    envelope.kind = RZ_ENVELOPE_SYNC;
    envelope.serial = 4711;
    fake_inject(&envelope, "x", 2, false);
    char text[2];
    int flag;
    assert_int_equal(rzm_iprobe(5, 1, fake_comm(), &flag, NULL), MPI_SUCCESS);
    assert_true(flag);
    assert_int_equal(fake.n_sent, 0);
    assert_int_equal(rzm_recv(text, 2, fake_bytes(), 5, 1, fake_comm(), NULL), MPI_SUCCESS);
    rz_engine_progress();
    assert_int_equal(fake.n_sent, 1);
    assert_int_equal(fake.sent[0].envelope.kind, RZ_ENVELOPE_ACK);
    assert_int_equal(fake.sent[0].envelope.serial, 4711);
    assert_int_equal(fake.sent[0].envelope.incarnation, 1);
}

static void messages_to_oneself_need_no_transport(void **state)
{
    (void)state;
    char text[4];
    int flag = 0;
    struct rz_request *request;
    assert_int_equal(rzm_send("own", 4, fake_bytes(), 0, 1, fake_comm()), MPI_SUCCESS);
    assert_int_equal(rzm_recv(text, 4, fake_bytes(), 0, 1, fake_comm(), NULL), MPI_SUCCESS);
    assert_string_equal(text, "own");
    assert_int_equal(rzm_issend("syn", 4, fake_bytes(), 0, 1, fake_comm(), &request), MPI_SUCCESS);
    MPI_Request handle = rz_request_handle(request);
    assert_int_equal(rzm_test(&handle, &flag, NULL), MPI_SUCCESS);
    assert_false(flag);
    assert_int_equal(rzm_recv(text, 4, fake_bytes(), MPI_ANY_SOURCE, 1, fake_comm(), NULL),
                     MPI_SUCCESS);
    assert_int_equal(rzm_wait(&handle, NULL), MPI_SUCCESS);
    assert_int_equal(rzm_irecv(text, 4, fake_bytes(), 0, 2, fake_comm(), &request), MPI_SUCCESS);
    handle = rz_request_handle(request);
    assert_int_equal(rzm_ssend("fin", 4, fake_bytes(), 0, 2, fake_comm()), MPI_SUCCESS);
    assert_int_equal(rzm_wait(&handle, NULL), MPI_SUCCESS);
    assert_string_equal(text, "fin");
    assert_int_equal(fake.n_sent, 0);
}

static void no_process_is_a_valid_partner(void **state)
{
    (void)state;
    MPI_Status status;
    assert_int_equal(rzm_send("x", 1, fake_bytes(), MPI_PROC_NULL, 0, fake_comm()), MPI_SUCCESS);
    assert_int_equal(rzm_recv(NULL, 0, fake_bytes(), MPI_PROC_NULL, 0, fake_comm(), &status),
                     MPI_SUCCESS);
    assert_int_equal(status.MPI_SOURCE, MPI_PROC_NULL);
    assert_int_equal(status.MPI_TAG, MPI_ANY_TAG);
    assert_int_equal(rz_status_bytes(&status), 0);
    assert_int_equal(rzm_probe(MPI_PROC_NULL, 0, fake_comm(), &status), MPI_SUCCESS);
    char buffer[1];
    assert_int_equal(rzm_sendrecv_replace(buffer, 1, fake_bytes(), MPI_PROC_NULL, 0, MPI_PROC_NULL,
                                          0, fake_comm(), &status),
                     MPI_SUCCESS);
    assert_int_equal(fake.n_sent, 0);
}

/* ---- The rest ---- */

static void a_probed_message_can_be_taken_out(void **state)
{
    (void)state;
    struct rz_matched *first, *second;
    MPI_Status status;
    char text[8];
    int flag;
    inject(1, 7, "one", true);
    inject(1, 7, "two", false);
    assert_int_equal(rzm_mprobe(MPI_ANY_SOURCE, 7, fake_comm(), &first, &status), MPI_SUCCESS);
    assert_int_equal(rz_status_bytes(&status), 4);
    assert_int_equal(rzm_improbe(1, MPI_ANY_TAG, fake_comm(), &flag, &second, &status),
                     MPI_SUCCESS);
    assert_true(flag);
    assert_int_equal(rzm_mrecv(text, 8, fake_bytes(), second, NULL), MPI_SUCCESS);
    assert_string_equal(text, "two");
    assert_int_equal(rzm_mrecv(text, 8, fake_bytes(), first, &status), MPI_SUCCESS);
    assert_string_equal(text, "one");
    assert_int_equal(rzm_mrecv(NULL, 0, fake_bytes(), rz_matched_predefined(0x129), &status),
                     MPI_SUCCESS);
    assert_int_equal(status.MPI_SOURCE, MPI_PROC_NULL);
}

static void a_receive_can_be_cancelled_until_it_has_met(void **state)
{
    (void)state;
    char text[8];
    MPI_Status status;
    struct rz_request *request;
    assert_int_equal(rzm_irecv(text, 8, fake_bytes(), 1, 0, fake_comm(), &request), MPI_SUCCESS);
    assert_int_equal(rzm_cancel(request), MPI_SUCCESS);
    MPI_Request handle = rz_request_handle(request);
    assert_int_equal(rzm_wait(&handle, &status), MPI_SUCCESS);
    assert_true(rz_status_cancelled(&status));
    inject(1, 0, "late", false);
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), 1, 0, fake_comm(), &status), MPI_SUCCESS);
    assert_false(rz_status_cancelled(&status));
}

static void persistent_requests_start_again_and_again(void **state)
{
    (void)state;
    char text[8];
    struct rz_request *receive, *send;
    assert_int_equal(rzm_recv_init(text, 8, fake_bytes(), 1, 0, fake_comm(), &receive),
                     MPI_SUCCESS);
    assert_int_equal(rzm_send_init("p", 1, fake_bytes(), 1, 0, fake_comm(), &send), MPI_SUCCESS);
    MPI_Request handles[2] = {rz_request_handle(receive), rz_request_handle(send)};
    MPI_Status statuses[2];
    assert_int_equal(rzm_waitall(2, handles, statuses),
                     MPI_SUCCESS); /* inactive: nothing to wait for */
    for (int i = 0; i < 3; i++) {
        fake.slow_sends = i == 1;
        inject(1, 0, "again", i == 2);
        assert_int_equal(rzm_startall(2, handles), MPI_SUCCESS);
        assert_int_equal(rzm_start(receive), MPI_ERR_REQUEST);
        assert_int_equal(rzm_waitall(2, handles, statuses), MPI_SUCCESS);
        assert_string_equal(text, "again");
        text[0] = '\0';
        assert_true(handles[0] != MPI_REQUEST_NULL);
        assert_int_equal(fake.n_sent, i + 1);
    }
    assert_int_equal(rzm_request_free(receive), MPI_SUCCESS);
    assert_int_equal(rzm_request_free(send), MPI_SUCCESS);
}

static void buffered_sends_are_done_at_once_and_bounded_by_the_buffer(void **state)
{
    (void)state;
    static char buffer[2 * (100 + MPI_BSEND_OVERHEAD)];
    char data[100] = "data";
    void *address;
    MPI_Count size;
    fake.slow_sends = true;
    assert_int_equal(rzm_bsend(data, 100, fake_bytes(), 1, 0, fake_comm()), MPI_ERR_BUFFER);
    assert_int_equal(rzm_buffer_attach(buffer, sizeof(buffer)), MPI_SUCCESS);
    fake.mute_daemon = true;
    assert_int_equal(rzm_bsend(data, 100, fake_bytes(), 1, 0, fake_comm()), MPI_SUCCESS);
    data[0] = 'D';
    assert_int_equal(rzm_bsend(data, 100, fake_bytes(), 1, 0, fake_comm()), MPI_SUCCESS);
    assert_int_equal(rzm_bsend(data, 1, fake_bytes(), 1, 0, fake_comm()), MPI_ERR_BUFFER);
    fake.mute_daemon = false;
    assert_int_equal(rzm_send(data, 1, fake_bytes(), 2, 0, fake_comm()),
                     MPI_SUCCESS); /* so that the daemon is asked */
    struct rz_link_message ask = {.type = RZ_LINK_OPEN, .open = {.rank = 1}};
    rz_link_send(rz_engine.link, &ask, -1);
    assert_int_equal(rzm_buffer_detach(&address, &size), MPI_SUCCESS);
    assert_ptr_equal(address, buffer);
    assert_int_equal(size, sizeof(buffer));
    assert_int_equal(fake.n_sent, 3);
    assert_int_equal(fake.sent[1].data[0], 'd');
    assert_int_equal(fake.sent[2].data[0], 'D');
}

static void wait_families_tell_of_each_request(void **state)
{
    (void)state;
    char text[4][8];
    MPI_Request handles[5] = {[4] = MPI_REQUEST_NULL};
    MPI_Status statuses[5];
    int index, outcount, indices[5], flag;
    for (int i = 0; i < 4; i++) {
        struct rz_request *request;
        assert_int_equal(
            rzm_irecv(text[i], i == 2 ? 1 : 8, fake_bytes(), i + 1, 0, fake_comm(), &request),
            MPI_SUCCESS);
        handles[i] = rz_request_handle(request);
    }
    assert_int_equal(rzm_testany(5, handles, &index, &flag, statuses), MPI_SUCCESS);
    assert_false(flag);
    inject(2, 0, "two", false);
    assert_int_equal(rzm_waitany(5, handles, &index, statuses), MPI_SUCCESS);
    assert_int_equal(index, 1);
    inject(3, 0, "long", false);
    inject(1, 0, "one", false);
    assert_int_equal(rzm_waitsome(5, handles, &outcount, indices, statuses), MPI_ERR_IN_STATUS);
    assert_int_equal(outcount, 2);
    assert_int_equal(indices[0], 0);
    assert_int_equal(indices[1], 2);
    assert_int_equal(statuses[0].MPI_ERROR, MPI_SUCCESS);
    assert_int_equal(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    assert_int_equal(rzm_testall(5, handles, &flag, statuses), MPI_SUCCESS);
    assert_false(flag);
    inject(4, 0, "four", false);
    assert_int_equal(rzm_waitall(5, handles, statuses), MPI_SUCCESS);
    assert_int_equal(rzm_waitsome(5, handles, &outcount, indices, statuses), MPI_SUCCESS);
    assert_int_equal(outcount, MPI_UNDEFINED);
}

/* ---- Random orders against a reference ---- */

enum { MESSAGES = 400 };

struct model {
    struct {
        int source, tag;
        bool taken;
    } messages[MESSAGES];
    int n;
};

/* The first message the reference gives to a receive with this key, or -1. */
static int model_find(const struct model *model, int source, int tag)
{
    for (int i = 0; i < model->n; i++) {
        bool fits = (source == MPI_ANY_SOURCE || source == model->messages[i].source) &&
                    (tag == MPI_ANY_TAG || tag == model->messages[i].tag);
        if (fits && !model->messages[i].taken) {
            return i;
        }
    }
    return -1;
}

static void run_random(uint64_t seed)
{
    struct rz_random random = {.state = seed};
    static struct model model;
    memset(&model, 0, sizeof(model));
    while (model.n < MESSAGES) {
        fake.slow_fetches = rz_random_below(&random, 2);
        if (rz_random_below(&random, 2) == 0) {
            int source = 1 + (int)rz_random_below(&random, 7),
                tag = (int)rz_random_below(&random, 3);
            struct rz_envelope envelope = fake_envelope((uint32_t)source, user_context(), tag);
            fake_inject(&envelope, &model.n, sizeof(model.n), rz_random_below(&random, 2));
            model.messages[model.n].source = source;
            model.messages[model.n++].tag = tag;
            rz_engine_progress();
            continue;
        }
        int source = 1 + (int)rz_random_below(&random, 7), tag = (int)rz_random_below(&random, 3);
        source = rz_random_below(&random, 3) == 0 ? MPI_ANY_SOURCE : source;
        tag = rz_random_below(&random, 3) == 0 ? MPI_ANY_TAG : tag;
        int expected = model_find(&model, source, tag), got = -1, flag;
        MPI_Status status;
        assert_int_equal(rzm_iprobe(source, tag, fake_comm(), &flag, &status), MPI_SUCCESS);
        assert_int_equal(flag, expected >= 0);
        if (flag) {
            assert_int_equal(
                rzm_recv(&got, sizeof(got), fake_bytes(), source, tag, fake_comm(), &status),
                MPI_SUCCESS);
            assert_int_equal(got, expected);
            assert_int_equal(status.MPI_SOURCE, model.messages[expected].source);
            model.messages[expected].taken = true;
        }
    }
}

static void random_orders_meet_as_in_the_reference(void **state)
{
    (void)state;
    const char *given = getenv("RZ_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    uint64_t last = given ? first : 30;
    for (uint64_t seed = first; seed <= last; seed++) {
        fake_world_begin(8);
        run_random(seed);
        fake_world_end();
    }
}

/* ---- Many messages without a receive ---- */

static size_t length_of(int i)
{
    static const size_t lengths[] = {0, 5, 8, 64, 65, 200};
    return lengths[i % 6];
}

/* More than the memory that is kept for small ones, in another order, twice. */
static void many_messages_wait_for_their_receives(void **state)
{
    (void)state;
    enum { N = 3000 };
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < N; i++) {
            unsigned char text[256];
            struct rz_envelope envelope = fake_envelope(1, user_context(), i);
            memset(text, i + again, sizeof(text));
            fake_inject(&envelope, text, length_of(i), length_of(i) > 0 && i % 7 == 0);
            fake_rounds(1);
        }
        for (int i = 0; i < N; i++) {
            int tag = i % 2 == 0 ? i : N - i;
            unsigned char text[256] = {0}, wanted[256];
            MPI_Status status;
            assert_int_equal(rzm_recv(text, 256, fake_bytes(), 1, tag, fake_comm(), &status),
                             MPI_SUCCESS);
            assert_int_equal(rz_status_bytes(&status), length_of(tag));
            memset(wanted, tag + again, sizeof(wanted));
            assert_memory_equal(text, wanted, length_of(tag));
        }
    }
}

/* ---- A loop of tests of all ---- */

enum { TESTED = 512 };
static int n_come;

static void one_comes(void *arg)
{
    (void)arg;
    if (n_come < TESTED) {
        struct rz_envelope envelope = fake_envelope(1, user_context(), n_come);
        fake_inject(&envelope, &n_come, sizeof(n_come), false);
        n_come++;
    }
}

/* Each call looks at all from the first one on: it takes more than the one message of a round. */
static void tests_of_all_are_few(void **state)
{
    MPI_Request requests[TESTED];
    struct rz_request *request;
    static int values[TESTED];
    int calls = 0;
    (void)state;
    for (int i = 0; i < TESTED; i++) {
        assert_int_equal(
            rzm_irecv(&values[i], sizeof(int), fake_bytes(), 1, i, fake_comm(), &request),
            MPI_SUCCESS);
        requests[i] = rz_request_handle(request);
    }
    n_come = 0;
    fake.turn = one_comes;
    fake.turns_always = true;
    for (int all = 0; !all; calls++) {
        assert_int_equal(rzm_testall(TESTED, requests, &all, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
    assert_in_range(calls, 1, TESTED / 16);
    for (int i = 0; i < TESTED; i++) {
        assert_int_equal(values[i], i);
    }
    fake.turn = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(receives_what_came_before_and_after),
        IN_WORLD(too_long_a_message_is_truncated_and_told),
        IN_WORLD(types_with_gaps_are_packed_and_spread),
        IN_WORLD(the_epoch_check_drops_what_is_not_of_this_epoch_and_incarnation),
        IN_WORLD(a_message_of_no_member_meets_no_receive),
        IN_WORLD(context_offsets_and_communicators_never_meet),
        IN_WORLD(sends_queue_until_the_peer_is_known_and_keep_their_order),
        IN_WORLD(a_synchronous_send_waits_for_its_own_acknowledgement),
        IN_WORLD(a_receive_acknowledges_a_synchronous_send),
        IN_WORLD(messages_to_oneself_need_no_transport),
        IN_WORLD(no_process_is_a_valid_partner),
        IN_WORLD(a_probed_message_can_be_taken_out),
        IN_WORLD(a_receive_can_be_cancelled_until_it_has_met),
        IN_WORLD(persistent_requests_start_again_and_again),
        IN_WORLD(buffered_sends_are_done_at_once_and_bounded_by_the_buffer),
        IN_WORLD(wait_families_tell_of_each_request),
        IN_WORLD(many_messages_wait_for_their_receives),
        IN_WORLD(tests_of_all_are_few),
        cmocka_unit_test(random_orders_meet_as_in_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
