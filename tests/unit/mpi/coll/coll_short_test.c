/* SPDX-License-Identifier: BSD-3-Clause */
/* A short broadcast, by either of its algorithms, or a short reduction, and the same by a schedule:
 * whatever happens while they wait, they
 * end with the same error and have sent the same messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "../fake_world.h"
#include "mpi/coll/algorithm.h"
#include "mpi/coll_plans.h"
#include "mpi/p2p/inquiry.h"

#include <string.h>

enum { RANKS = 8, TAG = 1, SCRIPTS = 3000 };

/* One operation of rank 0, and what the other processes do. */
struct script {
    bool reduces, flat;
    int root;
    struct rz_random random;
};

static uint64_t inside(void)
{
    return rz_comm_context(fake_comm(), RZ_CONTEXT_OFFSET_COLLECTIVE);
}

static uint32_t draw(struct script *script, uint32_t below)
{
    return (uint32_t)rz_random_below(&script->random, below);
}

static void say(enum rz_envelope_kind kind, uint32_t from)
{
    struct rz_envelope envelope = fake_envelope(from, inside(), TAG);
    envelope.kind = kind;
    envelope.serial = fake_process(3);
    fake_inject(&envelope, NULL, 0, false);
}

/* A value for a receive of 8 bytes, rarely too long. */
static void send_value(struct script *script, uint32_t from)
{
    const char values[16] = "a value to send";
    struct rz_envelope envelope = fake_envelope(from, inside(), TAG);
    fake_inject(&envelope, values, draw(script, 8) ? 8 : 16, draw(script, 3) == 0);
}

/* Something happens. */
static void turn(void *arg)
{
    struct script *script = arg;
    uint32_t other = 1 + draw(script, RANKS - 1);
    fake.rounds_without_turn = 0;
    switch (draw(script, 16)) {
    case 0:
        fake_process_state(other, RZ_PROCESS_FAILED);
        break;
    case 1:
        rz_comm_revoked(fake_comm());
        break;
    case 2:
        fake_process_state(3, RZ_PROCESS_FAILED);
        say(RZ_ENVELOPE_ABSENT, other);
        break;
    case 3:
        fake_process_state(3, RZ_PROCESS_FAILED);
        say(RZ_ENVELOPE_INQUIRY, other);
        break;
    default: /* 1, 2 or 4: those next to rank 0 in the tree */
        other = script->flat && script->root != 0 ? (uint32_t)script->root : 1U << draw(script, 3);
        send_value(script, other);
    }
}

static int by_schedule(const struct script *script, void *from, void *to)
{
    struct rz_schedule *schedule;
    const char *call = script->reduces ? "MPI_Reduce" : "MPI_Bcast";
    assert_int_equal(rz_schedule_begin_now(fake_comm(), call, &schedule), MPI_SUCCESS);
    return rz_schedule_run(script->reduces
                               ? rz_coll_reduce(schedule, from, to, 1, rz_datatype_of(MPI_INT64_T),
                                                rz_op_predefined((unsigned)(uintptr_t)MPI_SUM),
                                                script->root)
                               : rz_coll_bcast(schedule, to, 8, fake_bytes(), script->root));
}

static int by_short(const struct script *script, void *from, void *to)
{
    int error;
    bool done = script->reduces
                    ? rz_coll_short_reduce(from, to, 1, rz_datatype_of(MPI_INT64_T),
                                           rz_op_predefined((unsigned)(uintptr_t)MPI_SUM),
                                           script->root, fake_comm(), &error)
                    : rz_coll_short_bcast(to, 8, fake_bytes(), script->root, fake_comm(), &error);
    assert_true(done);
    return error;
}

struct outcome {
    int error;
    int64_t result;
    size_t n_sent;
    struct fake_sent sent[64];
    uint64_t chosen;
};

static void play(uint64_t seed, int (*form)(const struct script *, void *, void *),
                 struct outcome *outcome)
{
    struct script script = {.random = {seed}};
    int64_t own = 7;
    fake_world_begin(RANKS);
    for (int peer = 1; peer < RANKS; peer++) { /* all are connected */
        assert_int_equal(rzm_send("x", 1, fake_bytes(), peer, 0, fake_comm()), MPI_SUCCESS);
    }
    size_t before = fake.n_sent;
    script.reduces = draw(&script, 2);
    script.flat = !script.reduces && draw(&script, 2);
    script.root = (int)draw(&script, RANKS);
    assert_int_equal(rz_coll_set_rules(script.flat ? "bcast=flat" : ""), MPI_SUCCESS);
    enum rz_coll_algorithm algorithm = script.flat ? RZ_COLL_FLAT : RZ_COLL_TREE;
    uint64_t chosen = rz_coll_chosen[algorithm];
    fake.slow_sends = draw(&script, 4) == 0;
    fake.slow_fetches = draw(&script, 2) == 0;
    fake.turn = turn;
    fake.turn_arg = &script;
    outcome->result = 0;
    outcome->error = form(&script, &own, &outcome->result);
    fake.turn = NULL;
    outcome->chosen = rz_coll_chosen[algorithm] - chosen;
    assert_int_equal(rz_coll_set_rules(""), MPI_SUCCESS);
    outcome->n_sent = fake.n_sent - before;
    assert_true(outcome->n_sent <= 64);
    memcpy(outcome->sent, &fake.sent[before], outcome->n_sent * sizeof(outcome->sent[0]));
    assert_null(fake_comm()->participations.first);
    assert_null(rz_engine.active);
    fake_world_end();
}

/* An operation that fails may leave anything in the buffer. */
static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_int_equal(a->error, b->error);
    if (a->error == MPI_SUCCESS) {
        assert_int_equal(a->result, b->result);
    }
    assert_int_equal(a->chosen, b->chosen);
    assert_int_equal(a->n_sent, b->n_sent);
    for (size_t i = 0; i < a->n_sent; i++) {
        const struct fake_sent *x = &a->sent[i], *y = &b->sent[i];
        assert_int_equal(x->world, y->world);
        assert_int_equal(x->envelope.kind, y->envelope.kind);
        assert_int_equal(x->envelope.tag, y->envelope.tag);
        assert_int_equal(x->envelope.context % RZ_CONTEXT_OFFSET_ROOM,
                         y->envelope.context % RZ_CONTEXT_OFFSET_ROOM);
        assert_int_equal(x->bytes, y->bytes);
        assert_memory_equal(x->data, y->data, x->bytes);
    }
}

static void both_forms_end_alike(void **state)
{
    (void)state;
    static struct outcome by[2];
    unsigned ends[4] = {0};
    for (uint64_t seed = 1; seed <= SCRIPTS; seed++) {
        play(seed, by_schedule, &by[0]);
        play(seed, by_short, &by[1]);
        assert_same(&by[0], &by[1]);
        ends[by[0].error == MPI_SUCCESS           ? 0
             : by[0].error == MPI_ERR_PROC_FAILED ? 1
             : by[0].error == MPI_ERR_REVOKED     ? 2
                                                  : 3]++;
        if (by[0].error == MPI_SUCCESS) {
            assert_int_equal(by[0].chosen, 1);
        }
    }
    for (int i = 0; i < 4; i++) { /* the last one: MPI_ERR_TRUNCATE */
        assert_true(ends[i] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_forms_end_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
