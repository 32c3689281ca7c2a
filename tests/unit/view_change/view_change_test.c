/* SPDX-License-Identifier: BSD-3-Clause */
/* Daemons that settle rounds on a table: messages wait in a queue, and arrive in order. */
#include "proto/diagnose/diagnose.h"
#include "proto/view_change/view_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DAEMONS_MAX 4
#define QUEUE_MAX 256
#define VIEW 9
#define GROUP 70
#define SLOTS 4096

struct send_desc {
    struct rz_message message;
    uint64_t *items;
    rz_id to;
};

/* The last notice of a daemon to its host, and how often. */
struct told {
    uint32_t rounds, refusals;
    uint64_t group, round, progress, view, refused;
};

struct table {
    uint32_t n;
    void *state[DAEMONS_MAX]; /* NULL: failed */
    size_t bytes[DAEMONS_MAX];
    struct told told[DAEMONS_MAX];
    struct send_desc queue[QUEUE_MAX];
    uint32_t head, tail;
    uint64_t sent[RZ_VIEW_CHANGE_SETTLED + 1];
};

static struct table *open_with(uint32_t n, struct rz_view_change_config config)
{
    static struct table t;
    memset(&t, 0, sizeof(t));
    t.n = n;
    config.n_members = n;
    config.view = VIEW;
    config.n_slots = SLOTS;
    for (rz_id id = 0; id < n; id++) {
        t.bytes[id] = rz_view_change_size(&config);
        t.state[id] = malloc(t.bytes[id]);
        assert_non_null(t.state[id]);
        rz_view_change_init(t.state[id], &config, id, 0, 0);
    }
    return &t;
}

static struct table *open_table(uint32_t n)
{
    return open_with(n, (struct rz_view_change_config){0});
}

static void carry_out(struct table *t, rz_id id, const struct rz_action *action)
{
    struct told *told = &t->told[id];
    if (action->kind == RZ_ACTION_NOTIFY && action->what == RZ_VIEW_CHANGE_REFUSED) {
        told->refusals++;
        told->refused = action->arg[2];
    } else if (action->kind == RZ_ACTION_NOTIFY) {
        told->rounds++;
        told->group = action->arg[0];
        told->round = action->arg[1];
        told->progress = action->arg[2];
        told->view = action->items[action->arg[3]];
        assert_int_equal(action->n_items, action->arg[3] + (action->arg[3] + 63) / 64);
    } else {
        t->sent[action->message.type] += action->n_to;
        for (uint32_t k = 0; k < action->n_to; k++) {
            struct send_desc *send_desc = &t->queue[t->tail++ % QUEUE_MAX];
            assert_true(t->tail - t->head < QUEUE_MAX && action->to[k] != id);
            *send_desc = (struct send_desc){.message = action->message, .to = action->to[k]};
            send_desc->items = malloc((action->message.n_items + 1) * sizeof(uint64_t));
            for (uint32_t i = 0; i < action->message.n_items; i++) {
                send_desc->items[i] = action->items[i];
            }
        }
    }
}

static void step(struct table *t, rz_id id, const struct rz_event *event)
{
    struct rz_action actions[RZ_ACTIONS_MIN];
    struct rz_event now = *event;
    enum rz_more more;
    do {
        struct rz_actions out = {.v = actions, .max = RZ_ACTIONS_MIN};
        more = rz_view_change_step(t->state[id], &now, &out);
        if (more == RZ_NEED) {
            assert_int_equal(out.count, 0);
            assert_true(out.need > t->bytes[id]);
            t->state[id] = realloc(t->state[id], out.need);
            memset((char *)t->state[id] + t->bytes[id], 0xA5, out.need - t->bytes[id]);
            t->bytes[id] = out.need;
            rz_view_change_grow(t->state[id], out.need);
            continue;
        }
        for (uint32_t i = 0; i < out.count; i++) {
            carry_out(t, id, &actions[i]);
        }
        now = (struct rz_event){.kind = RZ_EVENT_CONTINUE};
    } while (more != RZ_DONE);
}

/* The oldest message arrives, or is lost with its receiver. */
static void deliver_one(struct table *t)
{
    struct send_desc send_desc = t->queue[t->head++ % QUEUE_MAX];
    if (t->state[send_desc.to]) {
        step(t, send_desc.to,
             &(struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                .message = &send_desc.message,
                                .items = send_desc.items});
    }
    free(send_desc.items);
}

static void deliver(struct table *t)
{
    while (t->head != t->tail) {
        deliver_one(t);
    }
}

static void lose_all(struct table *t)
{
    while (t->head != t->tail) {
        free(t->queue[t->head++ % QUEUE_MAX].items);
    }
}

static void close_table(struct table *t)
{
    lose_all(t);
    for (rz_id id = 0; id < t->n; id++) {
        free(t->state[id]);
    }
}

/* Process `rank` of n, slots 0..n-1, waits at daemon rank % t->n; counters: up to four, a digit
 * each, or NULL. */
static void arrive_in(struct table *t, uint64_t group, uint64_t round, uint32_t rank, uint32_t n,
                      uint64_t progress, const char *counters)
{
    uint64_t *items = calloc(n + 4, sizeof(*items));
    uint32_t n_items = n;
    assert_non_null(items);
    for (uint32_t i = 0; i < n; i++) {
        items[i] = RZ_VIEW_CHANGE_PROCESS(i, 1);
    }
    for (uint32_t i = 0; counters && counters[i]; i++) {
        if (counters[i] != '0') {
            items[n_items++] = RZ_DIAGNOSE_ITEM(i, (uint32_t)(counters[i] - '0'));
        }
    }
    step(t, rank % t->n,
         &(struct rz_event){.kind = RZ_EVENT_CALL,
                            .call = RZ_VIEW_CHANGE_ARRIVE,
                            .arg = {group, round, (uint64_t)rank << 32 | n, progress},
                            .items = items,
                            .n_items = n_items});
    free(items);
}

static void arrive(struct table *t, uint64_t round, uint32_t rank, uint32_t n, uint64_t progress,
                   const char *counters)
{
    arrive_in(t, GROUP, round, rank, n, progress, counters);
}

static void leave(struct table *t, uint32_t rank)
{
    step(t, rank % t->n,
         &(struct rz_event){
             .kind = RZ_EVENT_CALL, .call = RZ_VIEW_CHANGE_LEAVE, .arg = {GROUP, rank, 0, 0}});
}

static void process_fails(struct table *t, uint32_t slot, uint32_t incarnation)
{
    const uint64_t process = RZ_VIEW_CHANGE_PROCESS(slot, incarnation);
    for (rz_id id = 0; id < t->n; id++) {
        if (t->state[id]) {
            step(t, id,
                 &(struct rz_event){.kind = RZ_EVENT_CALL,
                                    .call = RZ_VIEW_CHANGE_PROCESS_FAILED,
                                    .items = &process,
                                    .n_items = 1});
        }
    }
}

static void learn(struct table *t, rz_id id, rz_id failed)
{
    step(t, id, &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = &failed, .n_ids = 1});
}

/* What it had sent is still on its way. */
static void daemon_fails(struct table *t, rz_id failed)
{
    free(t->state[failed]);
    t->state[failed] = NULL;
    for (uint32_t slot = failed; slot < 2 * t->n; slot += t->n) {
        process_fails(t, slot, 1);
    }
}

static void daemon_is_failed(struct table *t, rz_id failed)
{
    daemon_fails(t, failed);
    for (rz_id id = 0; id < t->n; id++) {
        if (t->state[id]) {
            learn(t, id, failed);
        }
    }
}

static void expect(struct table *t, rz_id id, uint64_t round, uint64_t progress, uint64_t view)
{
    assert_int_equal(t->told[id].round, round);
    assert_int_equal(t->told[id].progress, progress);
    assert_int_equal(t->told[id].view, view);
}

static bool known(struct table *t, rz_id id)
{
    struct rz_view_change_look look;
    return rz_view_change_look_for(t->state[id], GROUP, &look);
}

/* ---- rounds ---- */

static void a_group_of_one_needs_no_other(void **state)
{
    (void)state;
    struct table *t = open_table(1);
    for (uint64_t round = 0; round < 5; round++) {
        arrive(t, round, 0, 1, 10 + round, NULL);
        expect(t, 0, round + 1, 10 + round, 1);
    }
    assert_int_equal(t->told[0].rounds, 5);
    assert_int_equal(t->tail, 0);
    close_table(t);
}

static void a_round_costs_one_message_to_arrive_and_three_to_each(void **state)
{
    (void)state;
    struct table *t = open_table(4);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint32_t rank = 0; rank < 8; rank++) {
            arrive(t, round, rank, 8, round, NULL);
            deliver(t);
            assert_int_equal(t->told[0].rounds, round + (rank == 7));
        }
        for (rz_id id = 0; id < 4; id++) {
            expect(t, id, round + 1, round, 0xFF);
        }
    }
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_ARRIVED], 3 * 6); /* the least daemon needs none */
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_DECIDED], 3 * 3);
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_KEPT], 3 * 3);
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_SETTLED], 3 * 3);
    close_table(t);
}

static void a_decision_counts_when_all_have_kept_it(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(t, 0, rank, 3, 0, NULL);
    }
    deliver_one(t), deliver_one(t); /* the arrivals */
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_DECIDED], 2);
    deliver_one(t), deliver_one(t); /* the decision */
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_KEPT], 2);
    deliver_one(t);
    assert_int_equal(t->told[0].rounds, 0);
    deliver_one(t);
    assert_int_equal(t->told[0].rounds, 1);
    assert_int_equal(t->told[1].rounds, 0);
    deliver(t);
    assert_int_equal(t->told[1].rounds, 1);
    close_table(t);
}

static void later_counters_replace_former_ones(void **state)
{
    (void)state;
    struct table *t = open_table(2);
    arrive(t, 0, 1, 3, 0, NULL); /* ranks 0 and 2 are with daemon 0 */
    deliver(t);
    arrive(t, 0, 0, 3, 0, NULL);
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_DECIDED], 0); /* 2 is awaited */
    arrive(t, 0, 1, 3, 0, "001");
    deliver(t);
    expect(t, 0, 1, 0, 0x3);
    expect(t, 1, 1, 0, 0x3);
    close_table(t);
}

static void a_process_that_is_behind_is_told_at_once(void **state)
{
    (void)state;
    struct table *t = open_table(2);
    arrive(t, 0, 0, 3, 0, "010");
    arrive(t, 0, 2, 3, 0, NULL);
    deliver(t);
    expect(t, 1, 1, 0, 0x5);
    t->told[1] = (struct told){0};
    arrive(t, 0, 1, 3, 0, NULL);
    expect(t, 1, 1, 0, 0x5);
    arrive(t, 1, 1, 3, 0, NULL);
    deliver(t);
    arrive(t, 1, 0, 3, 1, "020");
    arrive(t, 1, 2, 3, 1, NULL);
    deliver(t);
    expect(t, 1, 2, 1, 0x7);
    close_table(t);
}

/* ---- failures ---- */

static void the_failed_and_their_elders_are_not_awaited(void **state)
{
    (void)state;
    struct table *t = open_table(2);
    process_fails(t, 3, 2); /* before anything is known of the group */
    arrive(t, 0, 0, 4, 0, NULL);
    arrive(t, 0, 1, 4, 0, NULL);
    deliver(t);
    assert_int_equal(t->told[0].rounds, 0);
    process_fails(t, 2, 1);
    deliver(t);
    expect(t, 1, 1, 0, 0x3);
    close_table(t);
}

static void a_process_that_leaves_is_as_failed(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(t, 0, rank, 3, 0, NULL);
    }
    deliver(t);
    uint64_t arrived = t->sent[RZ_VIEW_CHANGE_ARRIVED];
    arrive(t, 1, 0, 3, 1, NULL);
    arrive(t, 1, 2, 3, 1, NULL);
    leave(t, 1);
    deliver(t);
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_ARRIVED] - arrived,
                     1 + 2); /* all learn which process leaves */
    expect(t, 2, 2, 0, 0x5);
    leave(t, 1); /* again: nothing */
    assert_int_equal(t->head, t->tail);
    close_table(t);
}

static void a_group_without_processes_is_forgotten(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(t, 0, rank, 3, 0, NULL);
    }
    deliver(t);
    leave(t, 0);
    leave(t, 1);
    deliver(t);
    assert_true(known(t, 0) && known(t, 1) && known(t, 2));
    process_fails(t, 2, 1);
    assert_false(known(t, 0) || known(t, 1) || known(t, 2));
    arrive(t, 0, 0, 3, 0, NULL); /* its number is over */
    assert_int_equal(t->told[0].refused, RZ_ERR_NOT_FOUND);
    assert_false(known(t, 0));
    close_table(t);
}

static void the_next_daemon_decides_when_the_first_one_is_failed(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    arrive(t, 0, 1, 6, 0, NULL);
    arrive(t, 0, 2, 6, 0, NULL);
    arrive(t, 0, 4, 6, 0, NULL);
    arrive(t, 0, 5, 6, 0, NULL);
    lose_all(t);
    daemon_is_failed(t, 0); /* with ranks 0 and 3 */
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_ARRIVED], 4 + 2);
    deliver(t);
    expect(t, 1, 1, 0, 0x36);
    expect(t, 2, 1, 0, 0x36);
    close_table(t);
}

/* All have kept it, one may have been told to count it: the next daemon must not decide
 * differently. */
static void what_was_kept_is_told_again(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(t, 0, rank, 3, 0, NULL);
    }
    for (uint32_t i = 0; i < 6; i++) { /* two arrivals, two decisions, two that have kept it */
        deliver_one(t);
    }
    expect(t, 0, 1, 0, 0x7);
    lose_all(t);
    daemon_is_failed(t, 0);
    deliver(t);
    expect(t, 1, 1, 0, 0x7); /* with the failed processes */
    expect(t, 2, 1, 0, 0x7);
    close_table(t);
}

static void what_the_next_one_has_not_kept_is_decided_anew(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        arrive(t, 0, rank, 3, 0, NULL);
    }
    deliver_one(t), deliver_one(t); /* the arrivals */
    t->queue[t->head % QUEUE_MAX].to = 0;
    daemon_fails(t, 0); /* its decision reaches 2 alone */
    deliver(t);
    learn(t, 2, 0);
    learn(t, 1, 0);
    deliver(t);
    expect(t, 1, 1, 0, 0x6);
    expect(t, 2, 1, 0, 0x6);
    close_table(t);
}

/* 2 has received the later one first; it does not know yet that 0 has failed. */
static void of_two_decisions_that_of_the_later_daemon_holds(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    arrive(t, 0, 0, 2, 0, NULL); /* daemon 2 has no process */
    arrive(t, 0, 1, 2, 0, NULL);
    deliver_one(t);
    struct send_desc late = t->queue[(t->head + 1) % QUEUE_MAX];
    assert_int_equal(late.to, 2);
    t->head += 2;
    free(t->queue[(t->head - 2) % QUEUE_MAX].items);
    daemon_fails(t, 0);
    learn(t, 1, 0);
    deliver_one(t); /* the decision of 1 */
    t->queue[t->tail++ % QUEUE_MAX] = late;
    deliver(t);
    expect(t, 1, 1, 0, 0x2);
    expect(t, 2, 1, 0, 0x2);
    close_table(t);
}

/* 1 has kept round 1 and was not told that it counts, 2 has even kept round 2. */
static void a_round_that_counts_is_confirmed_to_a_late_sender(void **state)
{
    (void)state;
    struct table *t = open_table(3);
    arrive(t, 0, 0, 2, 0, "01"); /* rank 1 is out */
    deliver_one(t), deliver_one(t), deliver_one(t), deliver_one(t);
    arrive(t, 1, 0, 2, 1, "01");
    while (t->head != t->tail) { /* SETTLED and DECIDED to 1 are lost */
        struct send_desc *next = &t->queue[t->head % QUEUE_MAX];
        if (next->to == 1) {
            next->to = 0, next->message.view = 0;
        }
        deliver_one(t);
    }
    assert_int_equal(t->told[2].round, 1);
    assert_int_equal(t->told[1].round, 0);
    daemon_is_failed(t, 0);
    deliver(t);
    assert_int_equal(t->told[1].round, 1);
    arrive(t, 1, 1, 2, 5, NULL); /* outside, and the view has failed */
    deliver(t);
    expect(t, 1, 2, 0, 0x2);
    expect(t, 2, 2, 0, 0x2);
    close_table(t);
}

/* ---- what cannot be ---- */

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct table *t = open_with(2, (struct rz_view_change_config){.groups_max = 2});
    arrive(t, 1, 0, 3, 0, NULL);
    assert_int_equal(t->told[0].refused, RZ_ERR_NOT_FOUND);
    arrive(t, 0, 0, 3, 0, "0001");
    assert_int_equal(t->told[0].refused, RZ_ERR_INVALID); /* there is no rank 3 */
    arrive(t, 0, 0, RZ_VIEW_CHANGE_PROCESSES_MAX + 1, 0, NULL);
    assert_int_equal(t->told[0].refusals, 3);
    arrive(t, 0, 0, 3, 0, NULL);
    assert_int_equal(t->told[0].refusals, 3);
    arrive(t, 0, 2, 4, 0, NULL); /* other processes */
    assert_int_equal(t->told[0].refused, RZ_ERR_INVALID);
    arrive_in(t, GROUP + 1, 0, 0, 3, 0, NULL);
    arrive_in(t, GROUP + 2, 0, 0, 3, 0, NULL);
    assert_int_equal(t->told[0].refused, RZ_ERR_NO_MEMORY);
    arrive_in(t, GROUP + 3, 0, 1, 3, 0, NULL); /* of another daemon: its own bound */
    deliver(t);
    assert_int_equal(t->told[0].refusals, 5);
    assert_int_equal(t->told[1].refusals, 0);
    close_table(t);
}

static void receive(struct table *t, struct rz_message message, const uint64_t *items)
{
    message.seq = GROUP;
    step(t, 1, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items});
}

static void messages_that_cannot_be_are_dropped(void **state)
{
    (void)state;
    struct table *t = open_table(2);
    const uint64_t two[] = {2, RZ_VIEW_CHANGE_PROCESS(0, 1), RZ_VIEW_CHANGE_PROCESS(1, 1), 0x3};
    const uint64_t none[] = {2, RZ_VIEW_CHANGE_PROCESS(0, 1), RZ_VIEW_CHANGE_PROCESS(1, 1), 0};
    const uint64_t third[] = {2, RZ_VIEW_CHANGE_PROCESS(0, 1), RZ_VIEW_CHANGE_PROCESS(1, 1), 0x4};
    const uint64_t nowhere[] = {2, RZ_VIEW_CHANGE_PROCESS(SLOTS, 1), RZ_VIEW_CHANGE_PROCESS(1, 1),
                                0x3};
    const uint64_t unstarted[] = {2, RZ_VIEW_CHANGE_PROCESS(0, 0), RZ_VIEW_CHANGE_PROCESS(1, 1),
                                  0x3};
    const struct rz_message decided = {
        .type = RZ_VIEW_CHANGE_DECIDED, .view = VIEW, .word = {1, 0}, .n_items = 4};
    struct rz_message wrong = decided;
    wrong.view++;
    receive(t, wrong, two);
    wrong = decided, wrong.from = 2;
    receive(t, wrong, two);
    wrong = decided, wrong.n_items = 3;
    receive(t, wrong, two);
    wrong = decided, wrong.n_items = 0;
    receive(t, wrong, two);
    wrong = decided, wrong.word[0] = 0;
    receive(t, wrong, two);
    receive(t, decided, none);
    receive(t, decided, third);
    receive(t, decided, nowhere);
    receive(t, decided, unstarted);
    wrong = decided, wrong.type = RZ_VIEW_CHANGE_ARRIVED, wrong.n_items = 2;
    receive(t, wrong, two);
    wrong.n_items = 4; /* the fourth is no counter */
    receive(t, wrong, nowhere);
    wrong = decided, wrong.type = RZ_VIEW_CHANGE_SETTLED + 1;
    receive(t, wrong, two);
    assert_false(known(t, 1));
    assert_int_equal(t->tail, 0);
    receive(t, decided, two);
    assert_true(known(t, 1));
    assert_int_equal(t->sent[RZ_VIEW_CHANGE_KEPT], 1);
    close_table(t);
}

static void the_largest_group_fits(void **state)
{
    (void)state;
    struct table *t = open_table(2);
    for (uint32_t rank = 0; rank < RZ_VIEW_CHANGE_PROCESSES_MAX; rank++) {
        arrive(t, 0, rank, RZ_VIEW_CHANGE_PROCESSES_MAX, 7, rank % 100 == 0 ? "0002" : NULL);
        deliver(t);
    }
    struct rz_view_change_look look;
    for (rz_id id = 0; id < 2; id++) {
        expect(t, id, 1, 7, UINT64_MAX);
        assert_true(rz_view_change_look_at(t->state[id], 0, &look));
        assert_int_equal(look.n, RZ_VIEW_CHANGE_PROCESSES_MAX);
        for (uint32_t rank = 0; rank < look.n; rank++) {
            assert_true(look.counts.view[rank / 64] >> rank % 64 & 1);
        }
    }
    close_table(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_one_needs_no_other),
        cmocka_unit_test(a_round_costs_one_message_to_arrive_and_three_to_each),
        cmocka_unit_test(a_decision_counts_when_all_have_kept_it),
        cmocka_unit_test(later_counters_replace_former_ones),
        cmocka_unit_test(a_process_that_is_behind_is_told_at_once),
        cmocka_unit_test(the_failed_and_their_elders_are_not_awaited),
        cmocka_unit_test(a_process_that_leaves_is_as_failed),
        cmocka_unit_test(a_group_without_processes_is_forgotten),
        cmocka_unit_test(the_next_daemon_decides_when_the_first_one_is_failed),
        cmocka_unit_test(what_was_kept_is_told_again),
        cmocka_unit_test(what_the_next_one_has_not_kept_is_decided_anew),
        cmocka_unit_test(of_two_decisions_that_of_the_later_daemon_holds),
        cmocka_unit_test(a_round_that_counts_is_confirmed_to_a_late_sender),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(messages_that_cannot_be_are_dropped),
        cmocka_unit_test(the_largest_group_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
