/* SPDX-License-Identifier: BSD-3-Clause */
/* The leader: two phases, then the dissemination of the decision; and the steps of a waiting
 * member. */
#include "proto/paxos/paxos_private.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"

#include <string.h>

/* Competing leaders retry at different dates. */
static rz_time retry_later(const struct rz_paxos *paxos, const struct rz_paxos_instance *in)
{
    rz_time retry = paxos->config.retry;
    return retry + rz_mix(rz_mix(paxos->seed, paxos->self), in->top) % (4 * retry);
}

/* A quorum of the set: more than half of the view. */
static bool paxos_quorum(struct rz_paxos *paxos, const struct rz_paxos_instance *in)
{
    uint32_t count = rz_paxos_row_count(paxos, in, RZ_PAXOS_HEARD);
    if (RZ_MUTATED(paxos->config.mutations, RZ_PAXOS_SELF_TWICE)) {
        count++;
    }
    if (RZ_MUTATED(paxos->config.mutations, RZ_PAXOS_HALF) && paxos->config.n_members % 2 == 0) {
        count++;
    }
    return count >= rz_paxos_majority(paxos);
}

/* To all members that have not answered and are not doubted; false: there are none. */
static bool send_to_unheard(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                            enum rz_paxos_message type, uint64_t word0, uint64_t word1,
                            struct rz_actions *out)
{
    const uint64_t *heard = rz_paxos_row(paxos, in, RZ_PAXOS_HEARD);
    const uint64_t *members = rz_paxos_set(paxos, RZ_PAXOS_MEMBERS);
    rz_id *to = rz_paxos_destinations(paxos);
    uint32_t n_to = 0;
    for (rz_id id = 0; id < paxos->config.n_members; id++) {
        if (id != paxos->self && rz_paxos_bit(members, id) && !rz_paxos_bit(heard, id) &&
            !rz_paxos_out(paxos, id)) {
            to[n_to++] = id;
        }
    }
    if (n_to == 0) {
        return false;
    }
    struct rz_action *action = rz_paxos_send(paxos, type, in, out);
    action->to = to;
    action->n_to = n_to;
    action->message.word[0] = word0;
    action->message.word[1] = word1;
    return true;
}

static void hear(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_id id)
{
    rz_paxos_bit_set(rz_paxos_row(paxos, in, RZ_PAXOS_HEARD), id);
}

static void forget_votes(struct rz_paxos *paxos, struct rz_paxos_instance *in)
{
    memset(rz_paxos_row(paxos, in, RZ_PAXOS_HEARD), 0, paxos->words * sizeof(uint64_t));
}

static void note_vote(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_id id,
                      enum rz_paxos_vote vote)
{
    if (vote == RZ_PAXOS_UNKNOWN) {
        return;
    }
    in->yes_heard += vote == RZ_PAXOS_YES;
    rz_paxos_bit_set(rz_paxos_row(paxos, in, RZ_PAXOS_VOTED), id);
    if (vote == RZ_PAXOS_YES) {
        rz_paxos_bit_set(rz_paxos_row(paxos, in, RZ_PAXOS_VOTED_YES), id);
    }
}

/* A majority has accepted: this is the decision. Members that accepted will request it if TOLD is
 * lost; the others may not know the instance, and get TOLD until they answer. */
static void paxos_decide(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                         struct rz_actions *out)
{
    rz_paxos_learn(in, in->value, out);
    in->phase = RZ_PAXOS_TELLING;
    in->due = now + paxos->config.retry;
    rz_id *to = rz_paxos_destinations(paxos);
    const uint64_t *members = rz_paxos_set(paxos, RZ_PAXOS_MEMBERS);
    uint32_t n_to = 0;
    for (rz_id id = 0; id < paxos->config.n_members; id++) {
        if (id != paxos->self && rz_paxos_bit(members, id) && !rz_paxos_out(paxos, id)) {
            to[n_to++] = id;
        }
    }
    if (n_to == 0) {
        return;
    }
    struct rz_action *action = rz_paxos_send(paxos, RZ_PAXOS_TOLD, in, out);
    action->to = to;
    action->n_to = n_to;
    action->message.word[0] = in->value;
}

static void second_phase(struct rz_paxos *paxos, struct rz_paxos_instance *in, uint64_t value,
                         rz_time now, struct rz_actions *out)
{
    rz_assert(in->promised == in->ballot);
    in->phase = RZ_PAXOS_ACCEPTING;
    in->began = now;
    in->due = now + paxos->config.retry;
    in->accepted = in->ballot;
    in->value = value;
    forget_votes(paxos, in);
    hear(paxos, in, paxos->self);
    send_to_unheard(paxos, in, RZ_PAXOS_ACCEPT, in->ballot, value, out);
    if (paxos_quorum(paxos, in) && paxos->view_size == 1) {
        paxos_decide(paxos, in, now, out);
    }
}

/* Whether the first phase is over; a value that may have been decided takes precedence. */
static void conclude_first_phase(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                                 struct rz_actions *out)
{
    if (in->phase != RZ_PAXOS_PREPARING || !paxos_quorum(paxos, in)) {
        return;
    }
    bool bound = in->found != RZ_PAXOS_NO_BALLOT &&
                 !RZ_MUTATED(paxos->config.mutations, RZ_PAXOS_IGNORE_ACCEPTED);
    if (bound) {
        second_phase(paxos, in, in->found_value, now, out);
        return;
    }
    if (!paxos->config.votes) {
        second_phase(paxos, in, in->proposal, now, out);
        return;
    }
    uint32_t voted = rz_paxos_row_count(paxos, in, RZ_PAXOS_VOTED);
    uint32_t yes = rz_paxos_row_count(paxos, in, RZ_PAXOS_VOTED_YES);
    if (RZ_MUTATED(paxos->config.mutations, RZ_PAXOS_COUNT_MESSAGES)) {
        yes = in->yes_heard;
        voted = yes > voted ? yes : voted;
    }
    enum rz_paxos_vote diagnosis =
        rz_paxos_count(paxos->view_size, yes, voted, now >= in->began + paxos->config.patience);
    if (diagnosis != RZ_PAXOS_UNKNOWN) {
        second_phase(paxos, in, diagnosis, now, out);
    }
}

void rz_paxos_begin(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                    struct rz_actions *out)
{
    uint64_t round = (in->top >> 32) + 1;
    in->ballot = round << 32 | paxos->self;
    rz_assert(in->ballot > in->promised && in->promised <= in->top);
    in->top = in->promised = in->ballot;
    in->found = in->accepted;
    in->found_value = in->value;
    in->phase = RZ_PAXOS_PREPARING;
    in->began = now;
    in->due = now + paxos->config.retry;
    in->owes = false;
    forget_votes(paxos, in);
    hear(paxos, in, paxos->self);
    send_to_unheard(paxos, in, RZ_PAXOS_PREPARE, in->ballot, in->proposal, out);
    if (paxos->config.votes && in->accepted == RZ_PAXOS_NO_BALLOT && in->vote == RZ_PAXOS_UNKNOWN) {
        rz_paxos_ask_host(in, out);
    } else {
        conclude_first_phase(paxos, in, now, out);
    }
}

void rz_paxos_own_vote(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                       struct rz_actions *out)
{
    note_vote(paxos, in, paxos->self, (enum rz_paxos_vote)in->vote);
    conclude_first_phase(paxos, in, now, out);
}

void rz_paxos_on_promise(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                         const struct rz_event *event, struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (in->decided || in->phase != RZ_PAXOS_PREPARING || message->word[0] != in->ballot) {
        return;
    }
    hear(paxos, in, message->from);
    if (message->word[1] <= RZ_PAXOS_YES) {
        note_vote(paxos, in, message->from, (enum rz_paxos_vote)message->word[1]);
    }
    if (message->n_items == 2 && event->items[0] > in->found) {
        in->found = event->items[0];
        in->found_value = event->items[1];
    }
    conclude_first_phase(paxos, in, event->now, out);
}

void rz_paxos_on_accepted(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                          const struct rz_event *event, struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->word[0] != in->ballot) {
        return;
    }
    if (in->phase == RZ_PAXOS_TELLING || in->phase == RZ_PAXOS_ACCEPTING) {
        hear(paxos, in, message->from);
    }
    if (in->phase == RZ_PAXOS_ACCEPTING && paxos_quorum(paxos, in)) {
        paxos_decide(paxos, in, event->now, out);
    }
}

void rz_paxos_on_knows(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_id from)
{
    if (in->phase == RZ_PAXOS_TELLING) {
        hear(paxos, in, from);
    }
}

void rz_paxos_on_refused(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                         const struct rz_event *event)
{
    const struct rz_message *message = event->message;
    if (message->word[1] > in->top) {
        in->top = message->word[1];
    }
    if (message->word[0] == in->ballot && !in->decided) {
        rz_paxos_give_up(paxos, in, event->now);
    }
}

void rz_paxos_give_up(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now)
{
    if (in->phase == RZ_PAXOS_IDLE) {
        return;
    }
    in->phase = RZ_PAXOS_IDLE;
    in->due = now + retry_later(paxos, in);
}

static void work_leader(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                        struct rz_actions *out)
{
    in->due = now + paxos->config.retry;
    if (in->phase == RZ_PAXOS_IDLE) {
        rz_paxos_begin(paxos, in, now, out);
        return;
    }
    if (in->phase == RZ_PAXOS_ACCEPTING) {
        send_to_unheard(paxos, in, RZ_PAXOS_ACCEPT, in->ballot, in->value, out);
        return;
    }
    conclude_first_phase(paxos, in, now, out);
    if (in->phase == RZ_PAXOS_PREPARING) {
        send_to_unheard(paxos, in, RZ_PAXOS_PREPARE, in->ballot, in->proposal, out);
    }
}

static void work_told(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                      struct rz_actions *out)
{
    in->due = RZ_TIME_NEVER;
    if (in->phase != RZ_PAXOS_TELLING ||
        !send_to_unheard(paxos, in, RZ_PAXOS_TOLD, in->value, 0, out)) {
        return;
    }
    out->v[out->count - 1].message.flags = RZ_PAXOS_ANSWER;
    in->due = now + paxos->config.retry;
}

void rz_paxos_work(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                   struct rz_actions *out)
{
    rz_id leader = rz_paxos_leader(paxos);
    if (in->decided) {
        work_told(paxos, in, now, out);
    } else if (leader == paxos->self) {
        work_leader(paxos, in, now, out);
    } else {
        in->phase = RZ_PAXOS_IDLE;
        in->due = now + paxos->config.patience;
        if (leader != RZ_ID_NONE) {
            rz_paxos_reply(paxos, RZ_PAXOS_REQUEST, in, leader, (const uint64_t[2]){in->proposal},
                           out);
        }
    }
}
