/* SPDX-License-Identifier: BSD-3-Clause */
/* Consensus by Paxos: initial state, the choice of the leader, one step of a member, and the
 * accessors. */
#include "proto/paxos/paxos.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"
#include "proto/paxos/paxos_private.h"
#include "proto/emit.h"

#include <string.h>

/* ---- init ---- */

size_t rz_paxos_size(const struct rz_paxos_config *config)
{
    uint32_t max = config->instances_max > 0 ? config->instances_max : RZ_PAXOS_INSTANCES_DEFAULT;
    return rz_paxos_bytes(config->n_members, max);
}

/* members NULL: all. Bits of members that do not exist are left out. */
static void view_set(struct rz_paxos *paxos, uint32_t number, const uint64_t *members,
                     uint32_t words)
{
    uint64_t *set = rz_paxos_set(paxos, RZ_PAXOS_MEMBERS);
    memset(set, 0, paxos->words * sizeof(*set));
    paxos->view = number;
    paxos->view_size = 0;
    for (rz_id id = 0; id < paxos->config.n_members; id++) {
        if (members && (id / 64 >= words || !rz_paxos_bit(members, id))) {
            continue;
        }
        rz_paxos_bit_set(set, id);
        paxos->view_size++;
    }
    rz_assert(paxos->view_size > 0);
    paxos->n = 0;
}

void rz_paxos_init(struct rz_paxos *paxos, const struct rz_paxos_config *config, rz_id self,
                   rz_time now, uint64_t seed)
{
    (void)now;
    rz_assert(self < config->n_members && config->retry > 0);
    memset(paxos, 0, rz_paxos_size(config));
    paxos->config = *config;
    paxos->config.members = NULL;
    if (config->patience == 0) {
        paxos->config.patience = 4 * config->retry;
    }
    paxos->self = self;
    paxos->seed = seed;
    paxos->words = (config->n_members + 63) / 64;
    paxos->max = config->instances_max > 0 ? config->instances_max : RZ_PAXOS_INSTANCES_DEFAULT;
    paxos->deadline = RZ_TIME_NEVER;
    view_set(paxos, config->view, config->members, paxos->words);
}

/* ---- actions ---- */

struct rz_action *rz_paxos_send(struct rz_paxos *paxos, enum rz_paxos_message type,
                                const struct rz_paxos_instance *in, struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_PAXOS,
                                          .type = (uint8_t)type,
                                          .view = paxos->view,
                                          .from = paxos->self,
                                          .origin = paxos->self,
                                          .seq = in->number};
    return action;
}

void rz_paxos_reply(struct rz_paxos *paxos, enum rz_paxos_message type,
                    const struct rz_paxos_instance *in, rz_id to, const uint64_t word[2],
                    struct rz_actions *out)
{
    rz_assert(out->count < RZ_ACTIONS_MIN && to != paxos->self);
    uint32_t slot = out->count;
    struct rz_action *action = rz_paxos_send(paxos, type, in, out);
    paxos->one[slot] = to;
    action->to = &paxos->one[slot];
    action->n_to = 1;
    action->message.word[0] = word[0];
    action->message.word[1] = word[1];
}

void rz_paxos_tell_host(enum rz_paxos_notice what, const struct rz_paxos_instance *in,
                        struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = what;
    action->arg[0] = in->number;
    action->arg[1] = what == RZ_PAXOS_DECIDED ? in->value : 0;
}

void rz_paxos_learn(struct rz_paxos_instance *in, uint64_t value, struct rz_actions *out)
{
    if (in->decided) {
        return;
    }
    in->decided = true;
    in->value = value;
    in->owes = false;
    in->phase = RZ_PAXOS_IDLE;
    in->due = RZ_TIME_NEVER;
    rz_paxos_tell_host(RZ_PAXOS_DECIDED, in, out);
}

/* ---- leader ---- */

bool rz_paxos_out(const struct rz_paxos *paxos, rz_id id)
{
    return rz_paxos_bit(rz_paxos_set_at(paxos, RZ_PAXOS_DOUBTED), id) ||
           rz_paxos_bit(rz_paxos_set_at(paxos, RZ_PAXOS_FAILED), id);
}

rz_id rz_paxos_leader(const struct rz_paxos *paxos)
{
    const uint64_t *members = rz_paxos_set_at(paxos, RZ_PAXOS_MEMBERS);
    const uint64_t *failed = rz_paxos_set_at(paxos, RZ_PAXOS_FAILED);
    rz_id least = RZ_ID_NONE;
    for (rz_id id = 0; id < paxos->config.n_members; id++) {
        if (!rz_paxos_bit(members, id) || rz_paxos_bit(failed, id)) {
            continue;
        }
        if (!rz_paxos_out(paxos, id)) {
            return id;
        }
        least = least == RZ_ID_NONE ? id : least;
    }
    return least; /* all members are doubted */
}

static bool takes_part(const struct rz_paxos *paxos, rz_id id)
{
    return id < paxos->config.n_members &&
           rz_paxos_bit(rz_paxos_set_at(paxos, RZ_PAXOS_MEMBERS), id);
}

/* ---- messages ---- */

/* No correct member uses rounds beyond: a ballot must leave room for higher ones. */
#define ROUND_MAX INT32_MAX

static bool is_ballot(const struct rz_paxos *paxos, uint64_t ballot)
{
    return ballot >> 32 > 0 && ballot >> 32 <= ROUND_MAX &&
           takes_part(paxos, rz_paxos_ballot_owner(ballot));
}

static bool is_well_formed(const struct rz_paxos *paxos, const struct rz_event *event)
{
    const struct rz_message *message = event->message;
    const uint64_t *word = message->word;
    bool promises = message->type == RZ_PAXOS_PROMISE;
    if (message->n_items != 0 && !(promises && message->n_items == 2)) {
        return false;
    }
    switch ((enum rz_paxos_message)message->type) {
    case RZ_PAXOS_PREPARE:
        return is_ballot(paxos, word[0]) && rz_paxos_ballot_owner(word[0]) == message->from;
    case RZ_PAXOS_ACCEPT:
        return is_ballot(paxos, word[0]) && rz_paxos_ballot_owner(word[0]) == message->from &&
               (!paxos->config.votes || word[1] <= RZ_PAXOS_YES);
    case RZ_PAXOS_PROMISE:
        return is_ballot(paxos, word[0]) && word[1] <= RZ_PAXOS_UNKNOWN &&
               (message->n_items == 0 ||
                (is_ballot(paxos, event->items[0]) && event->items[0] < word[0]));
    case RZ_PAXOS_ACCEPTED:
        return is_ballot(paxos, word[0]);
    case RZ_PAXOS_REFUSED:
        return is_ballot(paxos, word[0]) && is_ballot(paxos, word[1]);
    case RZ_PAXOS_TOLD:
        return !paxos->config.votes || word[0] <= RZ_PAXOS_YES;
    case RZ_PAXOS_REQUEST:
        return true;
    }
    return false;
}

/* A second request for an instance in progress changes nothing. */
static enum rz_more paxos_on_request(struct rz_paxos *paxos, const struct rz_event *event,
                                     struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    struct rz_paxos_instance *in = rz_paxos_find(paxos, message->seq);
    if (in && in->decided) {
        rz_paxos_reply(paxos, RZ_PAXOS_TOLD, in, message->from, (const uint64_t[2]){in->value},
                       out);
    }
    if (in || rz_paxos_leader(paxos) != paxos->self) {
        return RZ_DONE;
    }
    in = rz_paxos_enter(paxos, message->seq, out);
    if (!in) {
        return RZ_NEED;
    }
    in->proposal = message->word[0];
    rz_paxos_begin(paxos, in, event->now, out);
    return RZ_DONE;
}

static void on_told(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                    const struct rz_event *event, struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    rz_paxos_learn(in, message->word[0], out);
    if (message->flags & RZ_PAXOS_ANSWER) {
        rz_paxos_reply(paxos, RZ_PAXOS_TOLD, in, message->from, (const uint64_t[2]){in->value},
                       out);
    } else {
        rz_paxos_on_knows(paxos, in, message->from);
    }
}

/* Messages about an instance create it here; answers need one that is known. */
static enum rz_more paxos_on_receive(struct rz_paxos *paxos, const struct rz_event *event,
                                     struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->view != paxos->view || message->from == paxos->self ||
        !takes_part(paxos, message->from) || !takes_part(paxos, paxos->self) ||
        !is_well_formed(paxos, event)) {
        return RZ_DONE;
    }
    if (message->type == RZ_PAXOS_REQUEST) {
        return paxos_on_request(paxos, event, out);
    }
    bool tells = message->type == RZ_PAXOS_PREPARE || message->type == RZ_PAXOS_ACCEPT ||
                 message->type == RZ_PAXOS_TOLD;
    struct rz_paxos_instance *in =
        tells ? rz_paxos_enter(paxos, message->seq, out) : rz_paxos_find(paxos, message->seq);
    if (!in) {
        return tells ? RZ_NEED : RZ_DONE;
    }
    if (message->type == RZ_PAXOS_PREPARE) {
        rz_paxos_on_prepare(paxos, in, event, out);
    } else if (message->type == RZ_PAXOS_PROMISE) {
        rz_paxos_on_promise(paxos, in, event, out);
    } else if (message->type == RZ_PAXOS_ACCEPT) {
        rz_paxos_on_accept(paxos, in, event, out);
    } else if (message->type == RZ_PAXOS_ACCEPTED) {
        rz_paxos_on_accepted(paxos, in, event, out);
    } else if (message->type == RZ_PAXOS_REFUSED) {
        rz_paxos_on_refused(paxos, in, event);
    } else if (message->type == RZ_PAXOS_TOLD) {
        on_told(paxos, in, event, out);
    }
    return RZ_DONE;
}

/* ---- calls and time ---- */

/* Processes one instance that is due; RZ_MORE: there are others. */
static enum rz_more paxos_work(struct rz_paxos *paxos, rz_time now, struct rz_actions *out)
{
    struct rz_paxos_instance *all = rz_paxos_instances(paxos), *due = NULL;
    for (uint32_t i = 0; i < paxos->n; i++) {
        if (all[i].due > now) {
            continue;
        }
        if (due) {
            return rz_paxos_work(paxos, due, now, out), RZ_MORE;
        }
        due = &all[i];
    }
    if (due) {
        rz_paxos_work(paxos, due, now, out);
    }
    return RZ_DONE;
}

static enum rz_more on_propose(struct rz_paxos *paxos, const struct rz_event *event,
                               struct rz_actions *out)
{
    if (!takes_part(paxos, paxos->self) || rz_paxos_find(paxos, event->arg[0])) {
        return RZ_DONE;
    }
    struct rz_paxos_instance *in = rz_paxos_enter(paxos, event->arg[0], out);
    if (!in) {
        return RZ_NEED;
    }
    in->proposal = event->arg[1];
    rz_paxos_work(paxos, in, event->now, out);
    return RZ_DONE;
}

static void on_vote(struct rz_paxos *paxos, const struct rz_event *event, struct rz_actions *out)
{
    struct rz_paxos_instance *in = rz_paxos_find(paxos, event->arg[0]);
    rz_assert(event->arg[1] <= RZ_PAXOS_YES);
    if (!in || !in->asked || in->vote != RZ_PAXOS_UNKNOWN) {
        return; /* of another view, or a repeated vote */
    }
    in->vote = (uint8_t)event->arg[1];
    rz_paxos_own_vote(paxos, in, event->now, out);
    rz_paxos_pay(paxos, in, out);
}

/* Another member may have become leader, or may be reachable again: all open instances are examined
 * again. */
static enum rz_more look_anew(struct rz_paxos *paxos, rz_time now, struct rz_actions *out)
{
    struct rz_paxos_instance *all = rz_paxos_instances(paxos);
    for (uint32_t i = 0; i < paxos->n; i++) {
        if (!all[i].decided || all[i].phase == RZ_PAXOS_TELLING) {
            all[i].due = now;
        }
    }
    return paxos_work(paxos, now, out);
}

static enum rz_more on_doubt(struct rz_paxos *paxos, const struct rz_event *event,
                             struct rz_actions *out)
{
    uint64_t *doubted = rz_paxos_set(paxos, RZ_PAXOS_DOUBTED);
    bool changed = false;
    for (uint32_t i = 0; i < paxos->words; i++) {
        uint64_t word = i < event->n_items ? event->items[i] : 0;
        changed = changed || word != doubted[i];
        doubted[i] = word;
    }
    return changed ? look_anew(paxos, event->now, out) : RZ_DONE;
}

static enum rz_more paxos_on_call(struct rz_paxos *paxos, const struct rz_event *event,
                                  struct rz_actions *out)
{
    switch (event->call) {
    case RZ_PAXOS_PROPOSE:
        return on_propose(paxos, event, out);
    case RZ_PAXOS_VOTE:
        on_vote(paxos, event, out);
        return RZ_DONE;
    case RZ_PAXOS_DOUBT:
        return on_doubt(paxos, event, out);
    case RZ_PAXOS_VIEW:
        view_set(paxos, (uint32_t)event->arg[0], event->items, event->n_items);
        return RZ_DONE;
    }
    rz_assert(!"no such call");
    return RZ_DONE;
}

static enum rz_more paxos_on_failure(struct rz_paxos *paxos, const struct rz_event *event,
                                     struct rz_actions *out)
{
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_assert(event->ids[i] < paxos->config.n_members && event->ids[i] != paxos->self);
        rz_paxos_bit_set(rz_paxos_set(paxos, RZ_PAXOS_FAILED), event->ids[i]);
    }
    return look_anew(paxos, event->now, out);
}

enum rz_more rz_paxos_step(struct rz_paxos *paxos, const struct rz_event *event,
                           struct rz_actions *out)
{
    enum rz_more more = RZ_DONE;
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        more = paxos_on_receive(paxos, event, out);
        break;
    case RZ_EVENT_CALL:
        more = paxos_on_call(paxos, event, out);
        break;
    case RZ_EVENT_FAILURE:
        more = paxos_on_failure(paxos, event, out);
        break;
    case RZ_EVENT_TICK:
    case RZ_EVENT_CONTINUE:
        more = paxos_work(paxos, event->now, out);
        break;
    }
    const struct rz_paxos_instance *all = rz_paxos_instances(paxos);
    paxos->deadline = RZ_TIME_NEVER;
    for (uint32_t i = 0; i < paxos->n; i++) {
        if (all[i].due < paxos->deadline) {
            paxos->deadline = all[i].due;
        }
    }
    return more;
}

/* ---- accessors ---- */

rz_time rz_paxos_deadline(const struct rz_paxos *paxos)
{
    return paxos->deadline;
}

uint64_t rz_paxos_hash(const struct rz_paxos *paxos)
{
    uint64_t hash = rz_mix(paxos->self, ((uint64_t)paxos->view << 32) + paxos->n);
    for (uint32_t i = 0; i < RZ_PAXOS_SETS * paxos->words; i++) {
        hash = rz_mix(hash, paxos->block[i]);
    }
    const struct rz_paxos_instance *all = rz_paxos_instances_at(paxos);
    const uint64_t *rows = (const uint64_t *)(all + paxos->max);
    for (uint32_t i = 0; i < paxos->n; i++) {
        const struct rz_paxos_instance *in = &all[i];
        const uint64_t words[] = {in->number,   in->promised, in->accepted, in->value,
                                  in->ballot,   in->top,      in->found,    in->found_value,
                                  in->proposal, in->due,      in->began};
        for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
            hash = rz_mix(hash, words[k]);
        }
        if (RZ_MUTATED(paxos->config.mutations, RZ_PAXOS_COUNT_MESSAGES)) {
            hash = rz_mix(hash, in->yes_heard);
        }
        hash = rz_mix(hash, in->phase | (uint64_t)in->vote << 8 | (uint64_t)in->asked << 16 |
                                (uint64_t)in->owes << 17 | (uint64_t)in->decided << 18);
    }
    for (size_t i = 0; i < (size_t)paxos->n * RZ_PAXOS_ROWS * paxos->words; i++) {
        hash = rz_mix(hash, rows[i]);
    }
    return hash;
}

bool rz_paxos_decision(const struct rz_paxos *paxos, uint64_t instance, uint64_t *value)
{
    const struct rz_paxos_instance *in = rz_paxos_find_at(paxos, instance);
    if (!in || !in->decided) {
        return false;
    }
    if (value) {
        *value = in->value;
    }
    return true;
}

bool rz_paxos_knows(const struct rz_paxos *paxos, uint64_t instance)
{
    return rz_paxos_find_at(paxos, instance) != NULL;
}

uint64_t rz_paxos_accepted(const struct rz_paxos *paxos, uint64_t instance, uint64_t *value)
{
    const struct rz_paxos_instance *in = rz_paxos_find_at(paxos, instance);
    if (!in || in->accepted == RZ_PAXOS_NO_BALLOT) {
        return RZ_PAXOS_NO_BALLOT;
    }
    *value = in->value;
    return in->accepted;
}

uint64_t rz_paxos_promised(const struct rz_paxos *paxos, uint64_t instance)
{
    const struct rz_paxos_instance *in = rz_paxos_find_at(paxos, instance);
    return in ? in->promised : RZ_PAXOS_NO_BALLOT;
}

enum rz_paxos_vote rz_paxos_vote(const struct rz_paxos *paxos, uint64_t instance)
{
    const struct rz_paxos_instance *in = rz_paxos_find_at(paxos, instance);
    return in ? (enum rz_paxos_vote)in->vote : RZ_PAXOS_UNKNOWN;
}

uint32_t rz_paxos_view(const struct rz_paxos *paxos)
{
    return paxos->view;
}

uint32_t rz_paxos_view_size(const struct rz_paxos *paxos)
{
    return paxos->view_size;
}
