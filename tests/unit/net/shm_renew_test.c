/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Roll-backs between two processes that live on, under random traffic: each goes back when it
 * likes, by renewing its connection or by ending it and connecting again, and neither knows which
 * way the other went. RZ_SEED=<seed> net_shm_renew_test replays one.
 */
#include "shm_rig.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { EPOCHS = 4, STEPS = 200, BYTES_MAX = 60 * 1000, OPS_MAX = EPOCHS * STEPS, SETTLED = 20000 };

/* What stands in memory that its owner uses for something else by now. */
enum { FOREIGN = 0xEE };

/* One send, or one fetch: the number identifies the payload, and in its upper half the epoch. */
struct transfer {
    struct rig_op op;
    uint64_t number;
    size_t bytes;
    unsigned char *data;
    bool pending;
};

struct held {
    uint64_t number;
    size_t bytes;
    rz_net_token_t token;
};

struct side {
    struct rig_user user;
    struct rz_net *net;
    unsigned self;
    rz_peer_t peer;                /* the other's number here */
    uint32_t epoch, sent, arrived; /* messages of this epoch */
    struct transfer send[OPS_MAX], fetch[OPS_MAX];
    unsigned n_send, n_fetch;
    struct held held[OPS_MAX];
    unsigned n_held;
};

static struct rig rig;
static struct side sides[2];

static unsigned char *payload(uint64_t number, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)rz_mix(number, i);
    }
    return data;
}

static void assert_payload(uint64_t number, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(data[i], (unsigned char)rz_mix(number, i));
    }
}

/* The epoch check, and behind it what came in order. */
static void on_arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                       const void *data, size_t bytes, rz_net_token_t token)
{
    struct side *side = user->arg;
    uint64_t number;
    assert_int_equal(header_bytes, sizeof(number));
    memcpy(&number, header, sizeof(number));
    if (number >> 32 != side->epoch) {
        assert_true(number >> 32 < side->epoch);
        if (token) {
            rz_shm_ops.drop(side->net, token);
        }
        return;
    }
    assert_int_equal((uint32_t)number, side->arrived++);
    if (token) {
        side->held[side->n_held++] = (struct held){number, bytes, token};
    } else {
        assert_payload(number, data, bytes);
    }
}

/* ---- What a side does ---- */

static void begin_send(struct side *side, struct rz_random *random)
{
    struct transfer *send = &side->send[side->n_send++];
    send->number = (uint64_t)side->epoch << 32 | side->sent++;
    send->bytes = rz_random_below(random, rz_random_below(random, 3) ? 5000 : BYTES_MAX);
    send->data = payload(send->number, send->bytes);
    rig_op_init(&send->op, &send->number, sizeof(send->number));
    rz_status_t status =
        rz_shm_ops.send(side->net, side->peer, send->data, send->bytes, &send->op.op);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    send->pending = status == RZ_IN_PROGRESS;
}

static void begin_fetch(struct side *side, bool drop)
{
    if (side->n_held == 0) {
        return;
    }
    struct held held = side->held[0];
    memmove(side->held, side->held + 1, --side->n_held * sizeof(*side->held));
    if (drop) {
        rz_shm_ops.drop(side->net, held.token);
        return;
    }
    struct transfer *fetch = &side->fetch[side->n_fetch++];
    *fetch = (struct transfer){
        .number = held.number, .bytes = held.bytes, .data = malloc(held.bytes), .pending = true};
    rig_op_init(&fetch->op, "", 0);
    rz_status_t status =
        rz_shm_ops.fetch(side->net, held.token, fetch->data, held.bytes, &fetch->op.op);
    if (status != RZ_IN_PROGRESS) {
        fetch->op.ended = 1;
        fetch->op.status = status;
    }
}

/* Fetches that ended with success are whole, or the other side has rolled back meanwhile. */
static void look_at_fetches(struct side *side, bool settled)
{
    for (unsigned i = 0; i < side->n_fetch; i++) {
        struct transfer *fetch = &side->fetch[i];
        if (!fetch->pending || !fetch->op.ended) {
            continue;
        }
        fetch->pending = false;
        assert_int_equal(fetch->op.ended, 1);
        if (fetch->op.status == RZ_OK) {
            assert_payload(fetch->number, fetch->data, fetch->bytes);
        } else {
            assert_true(!settled && fetch->op.status == RZ_ERR_CANCELLED);
        }
    }
}

/* All has ended, and its memory serves something else from now on. */
static void all_is_over(struct transfer *transfers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(!transfers[i].pending || transfers[i].op.ended == 1);
        transfers[i].pending = false;
        memset(transfers[i].data, FOREIGN, transfers[i].bytes);
    }
}

static void go_back(struct side *side, struct rz_random *random)
{
    look_at_fetches(side, false);
    bool renews = rz_random_below(random, 3) != 0;
    if (renews) {
        rz_shm_ops.renew(side->net, side->peer, RZ_ERR_ROLLBACK);
    } else {
        rz_shm_ops.disconnect(side->net, side->peer, false, RZ_ERR_ROLLBACK);
    }
    all_is_over(side->send, side->n_send);
    all_is_over(side->fetch, side->n_fetch);
    for (unsigned i = 0; i < side->n_held; i++) {
        struct rig_op late;
        unsigned char byte;
        rig_op_init(&late, "", 0);
        if (i % 2) {
            rz_shm_ops.drop(side->net, side->held[i].token);
        } else {
            assert_int_equal(rz_shm_ops.fetch(side->net, side->held[i].token, &byte, 1, &late.op),
                             RZ_ERR_ROLLBACK);
        }
    }
    side->n_held = 0;
    side->epoch++;
    side->sent = side->arrived = 0;
    if (!renews) {
        assert_int_equal(
            rig_connect(&rig, side->net, !side->self, ++side->peer, (uint32_t)getpid()), RZ_OK);
    }
}

static void any_step(struct side *side, struct rz_random *random, bool may_send)
{
    switch (rz_random_below(random, 4)) {
    case 0:
        if (may_send) {
            begin_send(side, random);
        }
        break;
    case 1:
        begin_fetch(side, rz_random_below(random, 4) == 0);
        break;
    default:
        rig_progress(side->net);
        look_at_fetches(side, false);
    }
}

/* ---- A run ---- */

static bool is_settled(const struct side *side, const struct side *other)
{
    bool all = side->arrived == other->sent && side->n_held == 0;
    for (unsigned i = 0; all && i < side->n_send; i++) {
        all = !side->send[i].pending || side->send[i].op.ended;
    }
    for (unsigned i = 0; all && i < side->n_fetch; i++) {
        all = !side->fetch[i].pending;
    }
    return all;
}

/* Both stand in the last epoch: what was sent in it arrives, all of it. */
static void settle(void)
{
    unsigned turns = 0;
    while (!is_settled(&sides[0], &sides[1]) || !is_settled(&sides[1], &sides[0])) {
        assert_true(turns++ < SETTLED);
        for (unsigned i = 0; i < 2; i++) {
            begin_fetch(&sides[i], false);
            rig_progress(sides[i].net);
            look_at_fetches(&sides[i], true);
        }
    }
}

/* Each ended once, and memory that was given back is as its owner left it. */
static void end_transfers(struct transfer *transfers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct transfer *one = &transfers[i];
        bool old = (one->number >> 32) + 1 < EPOCHS;
        assert_in_range(one->op.ended, 0, 1);
        for (size_t at = 0; old && at < one->bytes; at++) {
            assert_int_equal(one->data[at], FOREIGN);
        }
        free(one->data);
    }
}

static void end_side(struct side *side)
{
    end_transfers(side->send, side->n_send);
    end_transfers(side->fetch, side->n_fetch);
    rz_shm_ops.close(side->net);
}

/* From one epoch to the next; a process that has rolled back sends nothing before both have. */
static void live_through(uint32_t epoch, struct rz_random *random)
{
    uint64_t first = rz_random_below(random, STEPS);
    uint64_t second = first + rz_random_below(random, STEPS - first);
    unsigned faster = (unsigned)rz_random_below(random, 2);
    for (uint64_t step = 0; step < second; step++) {
        unsigned side = (unsigned)rz_random_below(random, 2);
        if (step == first) {
            go_back(&sides[faster], random);
        }
        any_step(&sides[side], random, sides[side].epoch == epoch);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (sides[i].epoch == epoch) {
            go_back(&sides[i], random);
        }
    }
}

static void setup(enum rz_shm_copy copy)
{
    rig_open(&rig, 2, copy);
    memset(sides, 0, sizeof(sides));
    for (unsigned i = 0; i < 2; i++) {
        sides[i].user = (struct rig_user){.arrived = on_arrived, .arg = &sides[i]};
        sides[i].self = i;
        sides[i].net = rig_join(&rig, i, &sides[i].user);
        assert_int_equal(rig_connect(&rig, sides[i].net, !i, 0, (uint32_t)getpid()), RZ_OK);
    }
}

static void teardown(void)
{
    end_side(&sides[0]);
    end_side(&sides[1]);
    rig_close(&rig);
}

static void run(uint64_t seed)
{
    struct rz_random random = {.state = seed};
    setup(seed % 2 ? RZ_SHM_COPY_RING : RZ_SHM_COPY_AUTO);
    for (uint32_t epoch = 0; epoch + 1 < EPOCHS; epoch++) {
        live_through(epoch, &random);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        any_step(&sides[rz_random_below(&random, 2)], &random, true);
    }
    settle();
    teardown();
}

/* Ring and places for offers are full when all goes back, again and again. */
static void a_renewed_connection_has_all_its_room(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    unsigned char *data = payload(1, BYTES_MAX);
    for (uint32_t epoch = 0; epoch < 10; epoch++) {
        struct rig_op ops[200];
        for (unsigned i = 0; i < 200; i++) {
            uint64_t number = (uint64_t)epoch << 32 | i;
            rig_op_init(&ops[i], &number, sizeof(number));
            ops[i].ended = rz_shm_ops.send(sides[0].net, 0, data, i < 100 ? BYTES_MAX : 5000,
                                           &ops[i].op) == RZ_OK;
        }
        for (unsigned i = 0; i < 2; i++) {
            rz_shm_ops.renew(sides[i].net, 0, RZ_ERR_ROLLBACK);
            sides[i].epoch++;
        }
        for (unsigned i = 0; i < 200; i++) {
            assert_int_equal(ops[i].ended, 1);
        }
        rig_progress(sides[1].net); /* all of it is of the last epoch */
        assert_int_equal(sides[1].arrived, 0);
    }
    struct rz_random random = {.state = 1};
    for (unsigned i = 0; i < 20; i++) {
        begin_send(&sides[0], &random);
    }
    settle();
    free(data);
    teardown();
}

static void what_was_before_a_roll_back_is_not_received_after_it(void **state)
{
    (void)state;
    const char *given = getenv("RZ_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1, last = given ? first : 300;
    for (uint64_t seed = first; seed <= last; seed++) {
        if (seed % 100 == 1) {
            fprintf(stderr, "seeds from %llu; replay: RZ_SEED=<seed> net_shm_renew_test\n",
                    (unsigned long long)seed);
        }
        run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renewed_connection_has_all_its_room),
        cmocka_unit_test(what_was_before_a_roll_back_is_not_received_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
