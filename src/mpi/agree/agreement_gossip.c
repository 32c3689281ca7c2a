/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gossip finds the failed members, proposal by proposal. The members return from it when each
 * believes that all know the same, which holds with high probability only. So no member acts on it
 * before a check: one ERA agreement, which carries the flags, and a word for the set that each
 * member has found. If all words are equal, and are the word of the members that the check agreed
 * to have failed, gossip was right. Otherwise (the sets differ, gossip gave up, a member failed
 * meanwhile) the result is that of the check, so that no two members ever continue with different
 * sets.
 *
 * A member that decides the check knows that all members that are alive have returned from this
 * gossip, since all have made proposals in the check. Then no member needs an answer of this gossip
 * any more, and it ends.
 *
 * Silence is no evidence of a failure here: processes compute between their calls, and answer in
 * calls only. Failures are reported by the daemons. So a member's clock stops just before the
 * timeout while the member it has pinged is alive and has not answered: push-sum then takes no half
 * back that has arrived, and a member that calls late does not use up the cycles of the others.
 */
#include "mpi/agree/agreement_state.h"

#include "base/assert.h"
#include "base/random.h"
#include "port/kill_point.h"
#include "proto/agree/agree.h"
#include "proto/gossip/gossip.h"

#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(gossip, RZ_PROTOCOL_GOSSIP);

#define CYCLE RZ_MILLISECOND
#define TIMEOUT (CYCLE / 2)

/* The word of a member whose gossip gave up. The words of sets are odd. */
#define NOTHING_FOUND UINT64_C(0)

/* A message of the gossip for the next proposal: its sender has decided the present one. */
struct later {
    struct later *next;
    struct rz_message message;
    uint64_t items[];
};

struct gossip {
    struct rz_embedded core; /* open from the first message about a proposal until it is decided */
    uint64_t proposal;       /* the proposal that the core, or the next one, is for */
    bool proposed;           /* this member has made its proposal */
    bool returned, checked;
    bool reported; /* another member considers this one failed */
    uint64_t found;
    struct later *later, **later_last;
    /* The clock of the core. */
    rz_time clock, real; /* the core's time; `real` is the real time at which it was set */
    bool held; /* the clock stops before `limit`: target is alive, and has not answered its ping */
    rz_time limit;
    rz_id target;
};

static struct gossip *gossip_of(const struct rz_agreement *agreement)
{
    return agreement->more;
}

/* ---- The clock ---- */

static rz_time advance(struct gossip *gossip, rz_time now)
{
    rz_time passed = now > gossip->real ? now - gossip->real : 0;
    gossip->real = now;
    gossip->clock += passed;
    if (gossip->held && gossip->clock > gossip->limit) {
        gossip->clock = gossip->limit;
    }
    return gossip->clock;
}

/* A ping is sent: the clock waits for its answer. */
static void sending(struct rz_agreement *agreement, const struct rz_action *action)
{
    struct gossip *gossip = gossip_of(agreement);
    if (action->message.protocol == RZ_PROTOCOL_GOSSIP && action->message.type == RZ_GOSSIP_PING) {
        gossip->held = true;
        gossip->limit = gossip->clock + TIMEOUT - 1;
        gossip->target = action->to[0];
    }
}

static rz_time deadline(const struct rz_agreement *agreement)
{
    const struct gossip *gossip = gossip_of(agreement);
    if (!gossip->core.state) {
        return RZ_TIME_NEVER;
    }
    rz_time at = rz_gossip_deadline(gossip->core.state);
    if (at == RZ_TIME_NEVER || (gossip->held && at > gossip->limit)) {
        return RZ_TIME_NEVER;
    }
    return gossip->real + (at > gossip->clock ? at - gossip->clock : 0);
}

/* ---- Stepping gossip ---- */

/* The word of a set: odd, equal for equal sets. */
static uint64_t word_of(const rz_id *ids, const uint64_t *items, uint32_t n)
{
    uint64_t word = n;
    for (uint32_t i = 0; i < n; i++) {
        word = rz_mix(word, ids ? ids[i] : items[i]);
    }
    return word | 1;
}

static void hear_notice(struct rz_agreement *agreement, const struct rz_action *action)
{
    struct gossip *gossip = gossip_of(agreement);
    if (action->what == RZ_GOSSIP_DETECTED && action->arg[0] == agreement->config.self) {
        gossip->reported = true;
    } else if (action->what == RZ_GOSSIP_RETURNED) {
        gossip->returned = true;
        gossip->found =
            action->arg[0] != 0 ? word_of(NULL, action->items, action->n_items) : NOTHING_FOUND;
    }
}

static void step_gossip(struct rz_agreement *agreement, struct rz_event *event)
{
    struct gossip *gossip = gossip_of(agreement);
    event->now = advance(gossip, agreement->now);
    rz_agreement_step(agreement, &gossip->core, event, hear_notice);
}

/* Opens a core for the proposal and tells it of the failures so far. */
static void begin_gossip(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    const struct rz_agreement_config *config = &agreement->config;
    const struct rz_gossip_config core = {
        .n_members = config->n_members,
        .view = (uint32_t)config->context + (uint32_t)gossip->proposal,
        .kind = (enum rz_gossip_kind)(config->engine - RZ_AGREEMENT_GOSSIP1),
        .cycle = CYCLE,
        .timeout = TIMEOUT,
        .cycles_max = config->cycles_max,
    };
    uint64_t seed = rz_mix(rz_mix(config->context, gossip->proposal), config->self);
    gossip->clock = 0;
    gossip->real = agreement->now;
    if (!rz_embedded_open(&gossip->core, &rz_protocol_gossip, &core, config->self, 0, seed)) {
        agreement->host.no_memory();
    }
    for (rz_id id = 0; id < config->n_members; id++) {
        if (rz_agree_knows_failed(agreement->core.state, id)) {
            step_gossip(agreement,
                        &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = &id, .n_ids = 1});
        }
    }
}

/* ---- The check ---- */

static void check_told(struct rz_agreement *agreement, const struct rz_action *action)
{
    if (action->what != RZ_AGREE_DECIDED) {
        return;
    }
    rz_agreement_era_decided(agreement, action);
    const struct rz_decision *decision = &agreement->decision;
    bool alike = action->n_items == 1 &&
                 action->items[0] == word_of(decision->failed, NULL, decision->n_failed);
    rz_agreement_counters.fallbacks += !alike;
}

static void check_step(struct rz_agreement *agreement, const struct rz_event *event)
{
    rz_agreement_step(agreement, &agreement->core, event, check_told);
}

static void check(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    rz_kill_here(RZ_KILL_GOSSIP);
    gossip->checked = true;
    check_step(agreement,
               &(struct rz_event){.kind = RZ_EVENT_CALL,
                                  .call = RZ_AGREE_PROPOSE,
                                  .items = &gossip->found,
                                  .n_items = 1,
                                  .arg = {agreement->and, agreement->min, agreement->max}});
}

/* ---- From proposal to proposal ---- */

static void hear(struct rz_agreement *agreement, const struct rz_message *message,
                 const uint64_t *items)
{
    struct gossip *gossip = gossip_of(agreement);
    if (!gossip->core.state) {
        begin_gossip(agreement);
    }
    advance(gossip, agreement->now);
    if (message->type == RZ_GOSSIP_REPLY && message->from == gossip->target) {
        gossip->held = false;
    }
    step_gossip(agreement,
                &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = message, .items = items});
}

static void keep_for_later(struct rz_agreement *agreement, const struct rz_message *message,
                           const uint64_t *items)
{
    struct gossip *gossip = gossip_of(agreement);
    size_t bytes = message->n_items * sizeof(*items);
    struct later *later = malloc(sizeof(*later) + bytes);
    if (!later) {
        agreement->host.no_memory();
    }
    later->next = NULL;
    later->message = *message;
    memcpy(later->items, items, bytes);
    *gossip->later_last = later;
    gossip->later_last = &later->next;
}

static void next_proposal(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    struct later *later = gossip->later;
    rz_embedded_close(&gossip->core);
    gossip->proposal++;
    gossip->proposed = gossip->returned = gossip->checked = gossip->held = false;
    gossip->later = NULL;
    gossip->later_last = &gossip->later;
    while (later) {
        struct later *next = later->next;
        hear(agreement, &later->message, later->items);
        free(later);
        later = next;
    }
}

/* After each event, when no core is on the stack. */
static void go_on(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    if (gossip->returned && !gossip->checked) {
        check(agreement);
    }
    if (agreement->decided && gossip->checked) {
        next_proposal(agreement);
    }
}

/* ---- Events ---- */

static void gossip_propose(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    rz_assert(!gossip->proposed && agreement->proposed == gossip->proposal);
    gossip->proposed = true;
    if (!gossip->core.state) {
        begin_gossip(agreement);
    }
    step_gossip(agreement, &(struct rz_event){.kind = RZ_EVENT_CALL, .call = RZ_GOSSIP_BEGIN});
    go_on(agreement);
}

static void gossip_message(struct rz_agreement *agreement, const struct rz_event *event)
{
    struct gossip *gossip = gossip_of(agreement);
    const struct rz_message *message = event->message;
    if (message->protocol == RZ_PROTOCOL_AGREE) {
        check_step(agreement, event);
    } else if (message->protocol == RZ_PROTOCOL_GOSSIP) {
        uint64_t proposal = rz_agreement_proposal_of(agreement->config.context, message);
        if (proposal == gossip->proposal) {
            hear(agreement, message, event->items);
        } else if (proposal == gossip->proposal + 1) {
            keep_for_later(agreement, message, event->items);
        }
    }
    go_on(agreement);
}

static void gossip_failure(struct rz_agreement *agreement, rz_id member)
{
    struct gossip *gossip = gossip_of(agreement);
    check_step(agreement, &(struct rz_event){
                              .kind = RZ_EVENT_FAILURE, .ids = &member, .n_ids = 1, .arg = {true}});
    if (gossip->core.state) {
        advance(gossip, agreement->now);
        gossip->held = gossip->held && gossip->target != member;
        step_gossip(agreement,
                    &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = &member, .n_ids = 1});
    }
    go_on(agreement);
}

static void tick(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    if (gossip->core.state) {
        step_gossip(agreement, &(struct rz_event){.kind = RZ_EVENT_TICK});
    }
    go_on(agreement);
}

static rz_id awaited(const struct rz_agreement *agreement)
{
    const struct gossip *gossip = gossip_of(agreement);
    return gossip->proposed && !gossip->checked ? (gossip->held ? gossip->target : RZ_ID_NONE)
                                                : rz_agreement_era_awaited(agreement);
}

static bool gossip_knows_failed(const struct rz_agreement *agreement, rz_id member)
{
    return rz_agree_knows_failed(agreement->core.state, member) ||
           (member == agreement->config.self && gossip_of(agreement)->reported);
}

/* ---- Opening and closing ---- */

static bool open_both(struct rz_agreement *agreement)
{
    struct gossip *gossip = calloc(1, sizeof(*gossip));
    if (!gossip || !rz_agreement_era_open(agreement)) {
        free(gossip);
        return false;
    }
    gossip->proposal = 1;
    gossip->later_last = &gossip->later;
    agreement->more = gossip;
    return true;
}

static void close_gossip(struct rz_agreement *agreement)
{
    struct gossip *gossip = gossip_of(agreement);
    while (gossip->later) {
        struct later *next = gossip->later->next;
        free(gossip->later);
        gossip->later = next;
    }
    rz_embedded_close(&gossip->core);
    free(gossip);
}

const struct rz_agreement_class rz_agreement_gossip = {
    .open = open_both,
    .propose = gossip_propose,
    .message = gossip_message,
    .failure = gossip_failure,
    .tick = tick,
    .close = close_gossip,
    .sending = sending,
    .deadline = deadline,
    .awaited = awaited,
    .knows_failed = gossip_knows_failed,
    .cached = true, /* of the check: a member past it knows that no member is in this gossip */
};
