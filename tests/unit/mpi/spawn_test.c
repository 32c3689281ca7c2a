/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that are spawned into slots of the job's table: their numbers, their messages before
 * our board shows them, the list of failed processes, control messages outside of communicators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "fake_world.h"
#include "mpi/create/setup_message.h"
#include "mpi/ft/comm_repair.h"
#include "mpi/ft/restart.h"
#include "mpi/p2p/p2p_inside.h"
#include "proto/recover/recover.h"
#include "wire/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void replace(uint32_t slot, uint32_t incarnation)
{
    fake_process_state(slot, RZ_PROCESS_FAILED);
    fake_rounds(2);
    fake_reincarnate(slot, incarnation);
    fake_rounds(2);
}

/* A communicator of these processes, as those that replace failed ones make it. */
static struct rz_comm *comm_of(int n, const uint32_t *process)
{
    static uint64_t made;
    uint64_t words[3] = {77, ++made, rz_engine.info->self.job};
    struct rz_group *group = rz_group_new(n, process);
    struct rz_comm *comm;
    assert_int_equal(rz_comm_make(words, group, NULL, rz_errhandler_initial(), &comm), MPI_SUCCESS);
    rz_group_release(group);
    return comm;
}

/* All processes as the board shows them. */
static struct rz_comm *comm_of_all(void)
{
    uint32_t process[8];
    for (uint32_t i = 0; i < 8; i++) {
        process[i] = fake_process(i);
    }
    return comm_of(8, process);
}

static struct rz_envelope envelope_of(struct rz_comm *comm, uint32_t from, uint32_t incarnation,
                                      int tag)
{
    struct rz_envelope envelope =
        fake_envelope(from, rz_comm_context(comm, RZ_CONTEXT_OFFSET_POINT), tag);
    envelope.incarnation = incarnation;
    return envelope;
}

/* ---- Numbers ---- */

static void a_slot_has_one_living_process_and_any_number_of_failed(void **state)
{
    (void)state;
    for (int seen = 0; seen < 2; seen++) { /* the board may show the spawn at once */
        uint32_t slot = seen ? 3 : 4, old = fake_process(slot);
        if (seen) {
            fake_process_state(slot, RZ_PROCESS_FAILED);
            fake_rounds(2);
            assert_true(rz_process_failed(old));
        }
        fake_reincarnate(slot, 2);
        fake_rounds(2);
        uint32_t new = fake_process(slot);
        assert_true(old != new);
        assert_true(rz_process_failed(old));
        assert_false(rz_process_failed(new));
        assert_int_equal(rzm_send("x", 1, fake_bytes(), (int)slot, 0, fake_comm()),
                         MPI_ERR_PROC_FAILED);
        struct rz_comm *comm = comm_of_all();
        assert_int_equal(rzm_send("x", 1, fake_bytes(), (int)slot, 0, comm), MPI_SUCCESS);
        fake_rounds(2);
        assert_int_equal(fake.sent[fake.n_sent - 1].world, slot);
        assert_false(comm->collectives_failed);
        assert_int_equal(fake_failed_count(comm), 0);
        assert_int_equal(fake_failed_count(fake_comm()), seen ? 2 : 1);
        rz_comm_release(comm);
    }
}

static void one_that_was_spawned_and_failed_between_two_looks_is_failed(void **state)
{
    (void)state;
    fake_reincarnate(3, 2);
    fake_process_state(3, RZ_PROCESS_FAILED);
    uint32_t middle = fake_process(3);
    fake_rounds(2);
    assert_true(rz_process_failed(middle));
    fake_reincarnate(3, 4);
    fake_rounds(2);
    assert_false(rz_process_failed(fake_process(3)));
    assert_true(rz_process_failed(rz_process(3, 3))); /* which we never saw */
    fake_process_state(3, RZ_PROCESS_FAILED);
    fake_rounds(2);
    assert_true(rz_process_failed(rz_process(3, 4)));
}

static void an_empty_slot_is_filled(void **state)
{
    (void)state;
    uint32_t failed = fake_process(12);
    assert_true(rz_process_failed(failed));
    fake_reincarnate(12, 1);
    fake_rounds(2);
    assert_false(rz_process_failed(fake_process(12)));
    uint32_t pair[2] = {rz_engine.self, fake_process(12)};
    struct rz_comm *comm = comm_of(2, pair);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 1, 0, comm), MPI_SUCCESS);
    fake_process_state(12, RZ_PROCESS_ENDED);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 1, 0, comm), MPI_ERR_PROC_FAILED);
    assert_false(comm->collectives_failed);
    fake_reincarnate(12, 2);
    fake_rounds(2);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 1, 0, comm), MPI_ERR_PROC_FAILED);
    assert_false(rz_process_failed(fake_process(12)));
    rz_comm_release(comm);
}

static void numbers_of_a_slot_have_an_order(void **state)
{
    (void)state;
    assert_true(rz_process_newer(rz_process(5, 3), rz_process(5, 2)));
    assert_false(rz_process_newer(rz_process(5, 2), rz_process(5, 3)));
    assert_false(rz_process_newer(rz_process(5, 2), rz_process(5, 2)));
    assert_true(rz_process_newer(rz_process(5, 4097), rz_process(5, 4095)));
    assert_true(rz_process_newer(rz_process(5, 1), rz_process(5, 0)));
}

static void turn_spawn_of_3(void *arg)
{
    if (++*(int *)arg == 20) {
        fake_reincarnate(3, 2);
    }
}

static void one_can_wait_until_the_board_knows_them(void **state)
{
    (void)state;
    uint32_t process[3] = {fake_process(1), rz_process(3, 2), rz_process(4, 0)};
    int turns = 0;
    fake.turn = turn_spawn_of_3;
    fake.turn_arg = &turns;
    assert_false(rz_process_known(process[1]));
    assert_int_equal(rz_engine_await(process, 3, "test"), MPI_SUCCESS);
    assert_true(turns >= 20);
    assert_true(rz_process_known(process[1]));
    fake.turn = NULL;
    process[0] = rz_process(FAKE_SLOTS, 1);
    assert_int_equal(rz_engine_await(process, 3, "test"), MPI_ERR_OTHER);
}

/* ---- Groups ---- */

static void groups_hold_two_processes_of_one_slot(void **state)
{
    (void)state;
    uint32_t first[] = {rz_process(0, 1), rz_process(3, 1), rz_process(3, 2), rz_process(15, 7)};
    uint32_t second[] = {rz_process(3, 2), rz_process(3, 9), rz_process(0, 1)};
    struct rz_group *a = rz_group_new(4, first), *b = rz_group_new(3, second), *made;
    int ranks[] = {0, 1, 2, 3, MPI_PROC_NULL}, there[5], result;
    assert_int_equal(rzm_group_translate_ranks(a, 5, ranks, b, there), MPI_SUCCESS);
    assert_int_equal(there[0], 2);
    assert_int_equal(there[1], MPI_UNDEFINED);
    assert_int_equal(there[2], 0);
    assert_int_equal(there[3], MPI_UNDEFINED);
    assert_int_equal(there[4], MPI_PROC_NULL);
    assert_int_equal(rzm_group_intersection(a, b, &made), MPI_SUCCESS);
    assert_int_equal(made->size, 2);
    assert_int_equal(made->process[1], rz_process(3, 2));
    assert_int_equal(rzm_group_compare(a, b, &result), MPI_SUCCESS);
    assert_int_equal(result, MPI_UNEQUAL);
    rz_group_release(made);
    assert_int_equal(rzm_group_union(a, b, &made), MPI_SUCCESS);
    assert_int_equal(made->size, 5);
    assert_int_equal(made->process[4], rz_process(3, 9));
    rz_group_release(made);
    assert_int_equal(rzm_group_difference(a, b, &made), MPI_SUCCESS);
    assert_int_equal(made->size, 2);
    assert_int_equal(made->process[0], rz_process(3, 1));
    rz_group_release(made);
    rz_group_release(a);
    rz_group_release(b);
}

/* The table by number against a search, with numbers that fall on one another. */
static void group_tables_find_all_ranks(void **state)
{
    (void)state;
    struct rz_random random = {.state = 5};
    for (int run = 0; run < 200; run++) {
        uint32_t process[64];
        int n = 0, ranks[64], there[64];
        while (n < 64) {
            uint32_t drawn = rz_process((uint32_t)rz_random_below(&random, 8),
                                        (uint32_t)rz_random_below(&random, 64));
            int i = 0;
            while (i < n && process[i] != drawn) {
                i++;
            }
            if (i == n) {
                ranks[n] = n;
                process[n++] = drawn;
            }
        }
        struct rz_group *all = rz_group_new(64, process), *half = rz_group_new(32, process + 16);
        assert_int_equal(rzm_group_translate_ranks(all, 64, ranks, half, there), MPI_SUCCESS);
        for (int i = 0; i < 64; i++) {
            assert_int_equal(there[i], i >= 16 && i < 48 ? i - 16 : MPI_UNDEFINED);
        }
        rz_group_release(all);
        rz_group_release(half);
    }
}

/* ---- The epoch check ---- */

static void a_process_that_speaks_before_the_board_knows_it_is_heard_later(void **state)
{
    (void)state;
    uint32_t process[2] = {rz_engine.self, rz_process(3, 2)};
    struct rz_comm *comm = comm_of(2, process); /* made too early, for the test's sake */
    char text[8] = "";
    MPI_Status status;
    for (int i = 0; i < 4; i++) {
        struct rz_envelope envelope = envelope_of(comm, 3, 2, 0);
        envelope.source = 1;
        text[0] = (char)('0' + i);
        fake_inject(&envelope, text, sizeof(text), i & 1);
    }
    fake_rounds(3);
    assert_int_equal(rz_engine.counters.unexpected, 0);
    assert_int_equal(fake.tokens_out, 2);
    fake_process_state(3, RZ_PROCESS_FAILED);
    fake_rounds(3);
    assert_int_equal(fake.tokens_out, 2);
    fake_reincarnate(3, 2);
    fake_rounds(3);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rzm_recv(text, 8, fake_bytes(), 1, 0, comm, &status), MPI_SUCCESS);
        assert_int_equal(text[0], '0' + i);
    }
    assert_int_equal(fake.tokens_out, 0);
    assert_int_equal(rz_engine.counters.old_incarnation, 0);
    rz_comm_release(comm);
}

static void what_a_process_unknown_to_the_board_said_is_dropped(void **state)
{
    (void)state;
    struct rz_envelope second = envelope_of(fake_comm(), 3, 2, 0), third = second, fourth = second;
    third.incarnation = 3;
    fourth.incarnation = 4;
    fake_inject(&fourth, "four", 5, true);
    fake_inject(&second, "two", 4, true);
    fake_inject(&third, "three", 6, true);
    fake_inject(&second, "two", 4, false);
    fake_rounds(3);
    assert_int_equal(fake.tokens_out, 3);
    fake_reincarnate(3, 3); /* past the second: it failed unseen */
    fake_rounds(3);
    assert_int_equal(rz_engine.counters.unexpected, 1);
    assert_int_equal(fake.tokens_out, 2);
    fake_inject(&second, "late", 5, true);
    fake_rounds(3);
    assert_int_equal(fake.tokens_out, 2);
    assert_int_equal(rz_engine.counters.old_incarnation, 1);
    /* The fourth's stays until the end; the third's is never requested. */
}

static void messages_that_wait_outside_go_with_the_epoch(void **state)
{
    (void)state;
    int round;
    assert_int_equal(rz_ft_reinit_enter(), MPI_SUCCESS);
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    struct rz_envelope early = envelope_of(fake_comm(), 3, 2, 0);
    fake_inject(&early, "early", 6, true);
    fake_rounds(3);
    assert_int_equal(fake.tokens_out, 1);
    fake_reincarnate(3, 2);
    fake_rounds(3);
    assert_int_equal(fake.tokens_out, 1); /* the roll-back follows: no process is adopted here */
    fake_epoch(2, RZ_PHASE_ENTER);
    assert_int_equal(rz_engine_begin(), RZM_ROLLBACK);
    assert_int_equal(fake.tokens_out, 0);
    fake_epoch(2, RZ_PHASE_RUN);
    assert_int_equal(rz_ft_reinit_wait(&round), MPI_SUCCESS);
    assert_int_equal(rz_engine.counters.unexpected, 0);
    assert_int_equal(fake_comm()->group->process[3], rz_process(3, 2));
    assert_int_equal(fake_comm()->group->process[4], rz_process(4, 1));
}

static uint32_t opened;

static void count_opens(const struct rz_link_message *message)
{
    opened += message->type == RZ_LINK_OPEN;
}

static void a_stranger_that_comes_early_is_met_when_it_is_known(void **state)
{
    (void)state;
    opened = 0;
    fake.heard = count_opens;
    fake_stranger(3, 2);
    fake_stranger(5, 1);
    fake_stranger(6, 0);
    fake_rounds(2);
    assert_int_equal(opened, 1);
    replace(3, 2);
    assert_int_equal(opened, 2);
    assert_non_null(rz_liveness.members[3].peer);
    fake_stranger(3, 1);
    fake_stranger(FAKE_SLOTS, 1);
    assert_int_equal(opened, 2);
}

/* ---- The list of the failed ---- */

static void the_list_of_the_failed_stays_short(void **state)
{
    (void)state;
    int acked;
    fake_process_state(5, RZ_PROCESS_FAILED);
    fake_rounds(2);
    struct rz_comm *comm = comm_of_all();
    for (uint32_t cycle = 2; cycle < 1000; cycle++) {
        uint32_t slot = 1 + cycle % 3;
        replace(slot, rz_board_incarnation(fake.board->rank[slot]) + 1);
        assert_true(comm->collectives_failed);
        struct rz_comm *next = comm_of_all();
        rz_comm_release(comm);
        comm = next;
        assert_int_equal(fake_failed_count(comm), 1); /* the fifth, which is not replaced */
        assert_int_equal(fake_failed_count(fake_comm()), cycle < 4 ? cycle : 4);
        assert_int_equal(rzm_comm_ack_failed(fake_comm(), 8, &acked), MPI_SUCCESS);
        assert_int_equal(acked, cycle < 4 ? cycle : 4);
    }
    assert_true(rz_liveness.failed_max <= 32);
    struct rz_group *known;
    assert_int_equal(rzm_comm_failure_get_acked(fake_comm(), &known), MPI_SUCCESS);
    const uint32_t order[] = {5, 3, 1, 2};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(known->process[i], rz_process(order[i], 1));
    }
    rz_group_release(known);
    rz_comm_release(comm);
}

static void a_communicator_made_after_a_failure_knows_of_it(void **state)
{
    (void)state;
    uint32_t pair[2] = {rz_engine.self, fake_process(3)};
    for (uint32_t i = 0; i < 40; i++) { /* so that it is on no list any more */
        replace(3, i + 2);
    }
    struct rz_comm *comm = comm_of(2, pair);
    char text[8];
    assert_true(comm->collectives_failed);
    assert_int_equal(fake_failed_count(comm), 1);
    assert_int_equal(rzm_recv(text, 8, fake_bytes(), MPI_ANY_SOURCE, 0, comm, NULL),
                     MPI_ERR_PROC_FAILED);
    rz_comm_release(comm);
    pair[1] = rz_process(3, 20); /* never held by any process */
    comm = comm_of(2, pair);
    assert_int_equal(fake_failed_count(comm), 1);
    rz_comm_release(comm);
}

/* ---- Control messages ---- */

static void inject_word(uint32_t from, uint32_t kind, uint64_t about, const void *data,
                        size_t length, bool by_token)
{
    struct rz_envelope envelope = fake_envelope(from, about, (int)kind);
    envelope.kind = RZ_ENVELOPE_SETUP;
    envelope.source = 0;
    fake_inject(&envelope, data, length, by_token);
}

static void words_wait_by_kind_and_subject(void **state)
{
    (void)state;
    static unsigned char large[65536];
    memset(large, 7, sizeof(large));
    inject_word(1, RZ_SETUP_BOOTSTRAP, 9, "first", 6, false);
    inject_word(2, RZ_SETUP_GO, 9, large, sizeof(large), true);
    inject_word(3, RZ_SETUP_BOOTSTRAP, 9, "second", 7, false);
    inject_word(4, RZ_SETUP_BOOTSTRAP, 8, NULL, 0, false);
    inject_word(4, RZ_SETUP_COUNT, 9, "what", 5, false);
    fake.slow_fetches = true;
    fake_rounds(10);
    fake_process_state(1, RZ_PROCESS_FAILED); /* what it said stays */
    fake_rounds(2);
    assert_int_equal(rz_engine.counters.foreign, 1);
    assert_null(rz_setup_message_take(RZ_SETUP_READY, 9));
    struct rz_setup_message *word = rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 9);
    assert_string_equal(word->data, "first");
    assert_int_equal(word->process, fake_process(1));
    free(word);
    word = rz_setup_message_take(RZ_SETUP_GO, 9);
    assert_non_null(word);
    assert_int_equal(word->bytes, sizeof(large));
    assert_memory_equal(word->data, large, sizeof(large));
    assert_int_equal(word->process, fake_process(2));
    free(word);
    word = rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 8);
    assert_int_equal(word->bytes, 0);
    free(word);
    word = rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 9);
    assert_string_equal(word->data, "second");
    free(word);
    assert_null(rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 9));
    inject_word(1, RZ_SETUP_BOOTSTRAP, 9, "of the failed", 12, true);
    inject_word(5, RZ_SETUP_BOOTSTRAP, 9, "unread", 7, true);
    fake_rounds(10);
    word = rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 9);
    assert_non_null(word);
    assert_string_equal(word->data, "unread");
    free(word);
    inject_word(5, RZ_SETUP_BOOTSTRAP, 9, "unread", 7, true);
    fake_rounds(10); /* the end frees it */
}

static void words_are_told_to_the_living(void **state)
{
    (void)state;
    fake.slow_sends = true;
    assert_int_equal(rz_setup_message_send(fake_process(3), RZ_SETUP_REFUSE, 11, "no", 3),
                     MPI_SUCCESS);
    fake_rounds(10);
    const struct fake_sent *sent = &fake.sent[fake.n_sent - 1];
    assert_int_equal(sent->world, 3);
    assert_int_equal(sent->envelope.kind, RZ_ENVELOPE_SETUP);
    assert_int_equal(sent->envelope.context, 11);
    assert_int_equal(sent->envelope.tag, RZ_SETUP_REFUSE);
    assert_int_equal(sent->bytes, 3);
    assert_string_equal(sent->data, "no");
    size_t before = fake.n_sent;
    replace(3, 2);
    assert_int_equal(rz_setup_message_send(rz_process(3, 1), RZ_SETUP_BOOTSTRAP, 0, "x", 1),
                     MPI_SUCCESS);
    fake_rounds(10);
    assert_int_equal(fake.n_sent, before);
    assert_int_equal(rz_setup_message_send(rz_process(3, 2), RZ_SETUP_BOOTSTRAP, 0, NULL, 0),
                     MPI_SUCCESS);
    fake_rounds(10);
    assert_int_equal(fake.n_sent, before + 1);
    assert_int_equal(rz_setup_message_send(rz_engine.self, RZ_SETUP_BOOTSTRAP, 5, "me", 3),
                     MPI_SUCCESS);
    struct rz_setup_message *word = rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 5);
    assert_int_equal(word->process, rz_engine.self);
    free(word);
}

static void bootstraps_are_taken_once(void **state)
{
    (void)state;
    uint32_t pair[2] = {rz_engine.self, fake_process(1)};
    struct rz_comm *comm = comm_of(2, pair);
    uint64_t context = comm->context;
    for (int turn = 0; turn < 3; turn++) { /* it is there, has ended, was never here */
        unsigned char bootstrap[24 + 2 * 8];
        struct rz_wire_writer writer;
        rz_wire_writer_init(&writer, bootstrap, sizeof(bootstrap));
        rz_wire_put_u64(&writer, turn < 2 ? context : context + RZ_CONTEXT_OFFSET_ROOM);
        const uint32_t words[8] = {1, 0, 0, 2, pair[0], 1, pair[1], 0};
        for (int i = 0; i < 8; i++) {
            rz_wire_put_u32(&writer, words[i]);
        }
        inject_word(1, RZ_SETUP_BOOTSTRAP, 0, bootstrap, sizeof(bootstrap), false);
        fake_rounds(3);
        assert_true((rz_setup_message_next(RZ_SETUP_BOOTSTRAP, NULL) != NULL) == (turn == 2));
        if (turn == 0) {
            rz_comm_release(comm);
        }
    }
    free(rz_setup_message_take(RZ_SETUP_BOOTSTRAP, 0)); /* an invited process must not finalize */
}

/* ---- Replacement of a failed process ---- */

static unsigned spawns_asked;

/* The first one is granted, the next refused. */
static void answer_for_spawns(const struct rz_link_message *message)
{
    if (message->type == RZ_LINK_REPLACE) {
        rz_status_t status = ++spawns_asked == 1 ? RZ_OK : RZ_ERR_UNSUPPORTED;
        fake_say(&(struct rz_link_message){
            .type = RZ_LINK_REPLACED,
            .spawned = {.question = message->replace.question, .status = (uint32_t)status}});
    }
}

/* While the answer is read the board changes: after the engine has looked at it. */
static void bear_when_it_is_told(void)
{
    if (spawns_asked == 1 && fake_process(3) == rz_process(3, 1)) {
        fake_reincarnate(3, 2);
    }
}

static unsigned bootstraps_sent(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < fake.n_sent; i++) {
        const struct rz_envelope *envelope = &fake.sent[i].envelope;
        count += envelope->kind == RZ_ENVELOPE_SETUP && envelope->tag == RZ_SETUP_BOOTSTRAP &&
                 fake.sent[i].world == 3;
    }
    return count;
}

/* An invited process fails before it answers. */
static void fail_when_bootstrapped(void *arg)
{
    (void)arg;
    if (bootstraps_sent() > 0) {
        fake_process_state(3, RZ_PROCESS_FAILED);
        fake.turn = NULL;
    }
}

static void a_process_that_is_spawned_while_the_answer_is_read_is_bootstrapped(void **state)
{
    (void)state;
    uint32_t pair[2] = {rz_engine.self, fake_process(3)};
    struct rz_comm *comm = comm_of(2, pair), *made;
    fake_process_state(3, RZ_PROCESS_FAILED);
    fake_rounds(2);
    spawns_asked = 0;
    fake.quiet_daemon = true;
    fake.heard = answer_for_spawns;
    fake.before_read = bear_when_it_is_told;
    fake.turn = fail_when_bootstrapped;
    assert_int_equal(rz_repair("test", 1, &comm, &made), MPI_ERR_SPAWN);
    assert_null(made);
    assert_int_equal(spawns_asked, 2);
    assert_int_equal(bootstraps_sent(), 1);
    fake.quiet_daemon = false;
    rz_comm_release(comm);
}

static void the_world_of_a_spawned_process_is_its_own(void **state)
{
    (void)state;
    fake_world_begin_as(8, 3);
    int flag, incarnation, value = 0;
    struct rz_request *request;
    assert_int_equal(rz_comm_size(fake_comm()), 8);
    assert_int_equal(rz_comm_rank(fake_comm()), 0);
    assert_int_equal(fake_comm()->group->process[0], rz_process(0, 3));
    assert_int_equal(rzm_comm_is_revoked(fake_comm(), &flag), MPI_SUCCESS);
    assert_true(flag);
    assert_int_equal(rzm_send("x", 1, fake_bytes(), 1, 0, fake_comm()), MPI_ERR_REVOKED);
    assert_int_equal(rzm_recv(&flag, 1, fake_bytes(), 1, 0, fake_comm(), NULL), MPI_ERR_REVOKED);
    assert_int_equal(rzm_barrier(fake_comm()), MPI_ERR_REVOKED);
    assert_int_equal(rzm_comm_iagree(fake_comm(), &value, &request), MPI_ERR_COMM);
    assert_int_equal(rzm_comm_revoke(fake_comm()), MPI_SUCCESS);
    assert_int_equal(fake.n_sent, 0);
    assert_int_equal(rzm_incarnation(&incarnation), MPI_SUCCESS);
    assert_int_equal(incarnation, 3);
    struct rz_comm *own = rz_comm_predefined(0x102);
    assert_int_equal(rzm_barrier(own), MPI_SUCCESS);
    fake_world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_slot_has_one_living_process_and_any_number_of_failed),
        IN_WORLD(one_that_was_spawned_and_failed_between_two_looks_is_failed),
        IN_WORLD(an_empty_slot_is_filled),
        IN_WORLD(numbers_of_a_slot_have_an_order),
        IN_WORLD(one_can_wait_until_the_board_knows_them),
        IN_WORLD(groups_hold_two_processes_of_one_slot),
        IN_WORLD(group_tables_find_all_ranks),
        IN_WORLD(a_process_that_speaks_before_the_board_knows_it_is_heard_later),
        IN_WORLD(what_a_process_unknown_to_the_board_said_is_dropped),
        IN_WORLD(messages_that_wait_outside_go_with_the_epoch),
        IN_WORLD(a_stranger_that_comes_early_is_met_when_it_is_known),
        IN_WORLD(the_list_of_the_failed_stays_short),
        IN_WORLD(a_communicator_made_after_a_failure_knows_of_it),
        IN_WORLD(words_wait_by_kind_and_subject),
        IN_WORLD(words_are_told_to_the_living),
        IN_WORLD(bootstraps_are_taken_once),
        IN_WORLD(a_process_that_is_spawned_while_the_answer_is_read_is_bootstrapped),
        cmocka_unit_test(the_world_of_a_spawned_process_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
