/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Components whose steps are compared with a model: the allowed actions of a member upon an event
 * are predicted before the step.
 */
#include "fuzz_proto_cores.h"

#include "base/idset.h"
#include "proto/commit/commit.h"
#include "proto/commit/commit_state.h"
#include "proto/spread/spread.h"

#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);
RZ_PROTOCOL(commit, RZ_PROTOCOL_COMMIT);

#define MODEL_ITEMS_MAX (1u << 16)

static bool bit(uint64_t set, rz_id id)
{
    return set >> id & 1;
}

/* A message that is no message of this member's group changes nothing. */
static bool foreign(const struct patient *patient, const struct rz_event *event)
{
    return event->kind == RZ_EVENT_RECEIVE &&
           (event->message->view != patient->view || event->message->from >= patient->n);
}

/* ---- spread ---- */

/* What must be sent in a step: kind, receiver, broadcast. */
struct model_news {
    bool to[PATIENT_MEMBERS_MAX];
    uint32_t n_to;
    const uint64_t *items;
    uint32_t n_items;
    rz_id origin;
    bool urgent;
};

static struct {
    uint64_t known[MODEL_ITEMS_MAX], fresh[MODEL_ITEMS_MAX], late[MODEL_ITEMS_MAX];
    uint32_t n_known, n_fresh, n_late, n_failed;
    bool failed[PATIENT_MEMBERS_MAX], late_to[PATIENT_MEMBERS_MAX];
    rz_time after, due;
    /* Of the step: deferred and other messages, in this order, and the notices to the host. */
    struct model_news late_news, news;
    bool delivers;
    rz_id origin;
} spread;

static void begin_spread(struct patient *patient)
{
    static struct rz_spread_config config;
    config = (struct rz_spread_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                       .view = PATIENT_VIEW,
                                       .items_max = (uint32_t)patient_below(patient, 3),
                                       .order = (enum rz_spread_order)patient_below(patient, 2)};
    if (config.order == RZ_SPREAD_TREE_FIRST) {
        config.redundant_after = 500 * patient_below(patient, 3);
    }
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 1;
    memset(&spread, 0, sizeof(spread));
    spread.after = config.redundant_after;
    spread.due = RZ_TIME_NEVER;
}

static bool call_spread(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    event->call = RZ_SPREAD_BROADCAST;
    event->n_items = (uint32_t)patient_below(patient, 4);
    for (uint32_t i = 0; i < event->n_items; i++) {
        items[i] = rz_fuzz_take(patient->input, 2);
    }
    return true;
}

static rz_id living(uint32_t n, rz_id self, uint32_t way)
{
    rz_id id = self;
    do {
        id = (id + way) % n;
    } while (id != self && spread.failed[id]);
    return id;
}

static void expect_to(const struct patient *patient, struct model_news *news, rz_id id)
{
    if (id == patient->self || news->to[id]) {
        return;
    }
    news->to[id] = true;
    news->n_to++;
}

static void expect_not(struct model_news *news, rz_id id)
{
    news->n_to -= news->to[id];
    news->to[id] = false;
}

/* Whether id is below us in the tree of origin: its place without the highest bit is ours. */
static bool child(const struct patient *patient, rz_id origin, rz_id id)
{
    uint32_t n = patient->n, x = (patient->self + n - origin) % n, y = (id + n - origin) % n;
    uint32_t highest = 1;
    while (y >> 1 >= highest) {
        highest *= 2;
    }
    return y > 0 && y - highest == x;
}

static void nothing_late(void)
{
    memset(spread.late_to, 0, sizeof(spread.late_to));
    spread.n_late = 0;
    spread.due = RZ_TIME_NEVER;
}

/* Of the receivers, all except the children receive it later. */
static void expect_late(const struct patient *patient, rz_id origin)
{
    bool any = spread.n_late > 0;
    for (rz_id id = 0; id < patient->n; id++) {
        if (spread.news.to[id] && !child(patient, origin, id)) {
            expect_not(&spread.news, id);
            any = spread.late_to[id] = true;
        }
    }
    if (!any) {
        return;
    }
    if (spread.n_late == 0) {
        spread.due = patient->now + spread.after;
    }
    for (uint32_t i = 0; i < spread.n_fresh; i++) {
        spread.late[spread.n_late++] = spread.fresh[i];
    }
}

/* All live neighbours, and the nearest live ones beside us, except those that have sent it to
 * us. */
static void expect_news(const struct patient *patient, rz_id origin, rz_id from, bool urgent)
{
    struct model_news *news = &spread.news;
    rz_id near[RZ_SPREAD_NEIGHBOURS_MAX];
    uint32_t n = patient->n, n_near = rz_spread_neighbours_near(n, patient->self, near);
    *news = (struct model_news){
        .items = spread.fresh, .n_items = spread.n_fresh, .origin = origin, .urgent = urgent};
    for (uint32_t i = 0; i < n_near; i++) {
        if (!spread.failed[near[i]]) {
            expect_to(patient, news, near[i]);
        }
    }
    if (n > 1) {
        expect_to(patient, news, living(n, patient->self, 1));
        expect_to(patient, news, living(n, patient->self, n - 1));
    }
    if (from < n) {
        expect_not(news, from);
    }
    spread.origin = origin;
    spread.delivers = true;
    if (spread.after > 0 && !urgent && spread.n_failed == 0) {
        expect_late(patient, origin);
    } else {
        news->urgent = spread.after > 0;
    }
}

static void expect_items(const struct patient *patient, const struct rz_event *event, uint32_t n,
                         rz_id origin, rz_id from, bool urgent)
{
    for (uint32_t i = 0; i < n; i++) {
        if (rz_items_insert(spread.known, &spread.n_known, MODEL_ITEMS_MAX, event->items[i])) {
            rz_items_insert(spread.fresh, &spread.n_fresh, MODEL_ITEMS_MAX, event->items[i]);
        }
    }
    if (spread.n_fresh > 0) {
        expect_news(patient, origin, from, urgent);
    }
}

/* Deferred messages are sent, to live members that have not shown that they know. */
static void expect_rest(const struct patient *patient)
{
    struct model_news *news = &spread.late_news;
    *news = (struct model_news){
        .items = spread.late, .n_items = spread.n_late, .origin = patient->self, .urgent = true};
    for (rz_id id = 0; id < patient->n; id++) {
        if (spread.late_to[id] && !spread.failed[id]) {
            expect_to(patient, news, id);
        }
    }
    nothing_late();
}

static void hear(const struct patient *patient, const struct rz_event *event)
{
    bool any = false;
    if (spread.n_late == 0 || event->message->n_items != spread.n_late ||
        memcmp(event->items, spread.late, spread.n_late * sizeof(*spread.late)) != 0) {
        return;
    }
    spread.late_to[event->message->from] = false;
    for (rz_id id = 0; id < patient->n; id++) {
        any |= spread.late_to[id];
    }
    if (!any) {
        nothing_late();
    }
}

static void expect_exchange(const struct patient *patient, rz_id failed)
{
    struct model_news *news = &spread.news;
    uint32_t n = patient->n;
    rz_id next = living(n, patient->self, 1), previous = living(n, patient->self, n - 1);
    spread.n_failed += !spread.failed[failed];
    spread.failed[failed] = true;
    if (spread.n_late > 0) {
        expect_rest(patient);
    }
    *news = (struct model_news){.items = spread.known,
                                .n_items = spread.n_known,
                                .origin = patient->self,
                                .urgent = spread.after > 0};
    if (living(n, patient->self, 1) != next) {
        expect_to(patient, news, living(n, patient->self, 1));
    }
    if (living(n, patient->self, n - 1) != previous) {
        expect_to(patient, news, living(n, patient->self, n - 1));
    }
    if (spread.n_known == 0) {
        news->n_to = 0;
    }
}

static void comes_to_spread(struct patient *patient, const struct rz_event *event)
{
    spread.n_fresh = spread.news.n_to = spread.late_news.n_to = 0;
    spread.delivers = false;
    if (event->kind == RZ_EVENT_CALL) {
        expect_items(patient, event, event->n_items, patient->self, patient->self, false);
    } else if (event->kind == RZ_EVENT_FAILURE) {
        expect_exchange(patient, event->ids[0]);
    } else if (event->kind == RZ_EVENT_TICK && spread.due <= patient->now) {
        expect_rest(patient);
    } else if (event->kind == RZ_EVENT_RECEIVE && !foreign(patient, event) &&
               event->message->type == RZ_SPREAD_NEWS && event->message->origin < patient->n) {
        hear(patient, event);
        expect_items(patient, event, event->message->n_items, event->message->origin,
                     event->message->from, event->message->flags & RZ_SPREAD_URGENT);
    }
}

static void sends_spread(const struct patient *patient, const struct rz_action *action)
{
    struct model_news *news = spread.late_news.n_to > 0 ? &spread.late_news : &spread.news;
    rz_fuzz_holds(action->message.n_items == news->n_items && news->n_items > 0 &&
                  memcmp(action->items, news->items, news->n_items * sizeof(*news->items)) == 0);
    rz_fuzz_holds(action->message.view == patient->view && action->message.origin == news->origin);
    rz_fuzz_holds(action->message.flags == (news->urgent ? RZ_SPREAD_URGENT : 0));
    rz_fuzz_holds(action->n_to == news->n_to);
    for (uint32_t i = 0; i < action->n_to; i++) {
        rz_fuzz_holds(action->to[i] < patient->n && news->to[action->to[i]]);
        news->to[action->to[i]] = false; /* once */
    }
    news->n_to = 0;
}

static void acts_spread(struct patient *patient, const struct rz_action *action)
{
    if (action->kind == RZ_ACTION_SEND) {
        sends_spread(patient, action);
        return;
    }
    rz_fuzz_holds(action->n_items == spread.n_fresh && spread.n_fresh > 0 &&
                  memcmp(action->items, spread.fresh, spread.n_fresh * sizeof(*spread.fresh)) == 0);
    rz_fuzz_holds(action->what == RZ_SPREAD_DELIVER && spread.delivers);
    rz_fuzz_holds(action->arg[0] == spread.origin);
    spread.delivers = false;
}

static void holds_spread(struct patient *patient)
{
    uint32_t n;
    const uint64_t *known = rz_spread_known(patient->state, &n);
    /* all that was due was done */
    rz_fuzz_holds(spread.news.n_to == 0 && spread.late_news.n_to == 0 && !spread.delivers);
    rz_fuzz_holds(rz_spread_deadline(patient->state) == spread.due);
    rz_fuzz_holds(n == spread.n_known && memcmp(known, spread.known, n * sizeof(*known)) == 0);
    for (rz_id id = 0; id < patient->n; id++) {
        rz_fuzz_holds(rz_spread_knows_failed(patient->state, id) == spread.failed[id]);
    }
}

const struct patient_protocol fuzz_protocol_spread = {
    &rz_protocol_spread, begin_spread, call_spread, holds_spread, comes_to_spread, acts_spread};

/* ---- commit ---- */

#define DAEMONS_MAX 16
#define RANKS_MAX (RANKS_PER_DAEMON * DAEMONS_MAX)

/* Sets of daemons are bits. */
static struct {
    uint64_t failed, known; /* failed in the list of the epoch; all that it knows */
    uint32_t epoch;
    uint64_t base, newest, proposed;
    uint64_t proof;                                /* what others have said is committed */
    uint64_t stored[RANKS_MAX], copied[RANKS_MAX]; /* by calls of this epoch */
    rz_id owner[RANKS_MAX], buddy;                 /* buddy: ours */
    uint32_t opened, restored, is_protected;       /* how often it was said in this epoch */
    uint64_t hash;
    bool silent; /* the event must change nothing */
} commit;

static void begin_commit(struct patient *patient)
{
    static struct rz_commit_config config;
    uint32_t n = patient_any_n(patient, 16);
    config = (struct rz_commit_config){
        .n_daemons = n, .n_ranks = RANKS_PER_DAEMON * n, .view = PATIENT_VIEW};
    patient->config = &config;
    patient->n = n;
    patient->types = 6;
    patient->calls = 14; /* it takes some until there is anything to agree on */
    memset(&commit, 0, sizeof(commit));
}

/* The next epoch, in which some more daemons have failed; commit.failed: those failed so far. */
static bool call_epoch(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    uint32_t ranks = RANKS_PER_DAEMON * patient->n;
    if (patient_below(patient, 3) == 0 && patient->n > 1) {
        rz_id failed = (rz_id)patient_below(patient, patient->n);
        if (failed != patient->self) {
            commit.failed |= UINT64_C(1) << failed;
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        rz_id daemon = rank / RANKS_PER_DAEMON;
        items[rank] = commit.failed >> daemon & 1 ? patient->self : daemon;
    }
    event->n_items = ranks;
    for (rz_id daemon = 0; daemon < patient->n; daemon++) {
        if (commit.failed >> daemon & 1) {
            items[event->n_items++] = daemon;
        }
    }
    event->call = RZ_COMMIT_EPOCH;
    event->arg[0] = rz_commit_epoch(patient->state) + 1;
    /* What we contributed to may be committed, though only others have seen it. */
    bool more = commit.base + commit.proposed > commit.newest && patient_below(patient, 2);
    event->arg[1] = commit.newest + more;
    return true;
}

/* What a host that does its duty says next: the rest of this generation's pieces. */
static void call_duly(struct patient *patient, struct rz_event *event)
{
    uint64_t next = commit.newest + 1;
    event->arg[1] = next;
    for (uint32_t i = RANKS_PER_DAEMON; i-- > 0;) {
        uint32_t rank = RANKS_PER_DAEMON * patient->self + i;
        if (commit.stored[rank] >= next && commit.copied[rank] >= next) {
            continue;
        }
        event->call = commit.stored[rank] < next ? RZ_COMMIT_STORED : RZ_COMMIT_COPIED;
        event->arg[2] = rank;
    }
}

static bool call_commit(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    event->call = (uint32_t)patient_below(patient, 5);
    if (event->call == RZ_COMMIT_EPOCH || commit.epoch == 0) {
        return call_epoch(patient, event, items);
    }
    event->arg[0] = rz_commit_epoch(patient->state) - patient_below(patient, 8) / 7;
    event->arg[1] = rz_commit_next(patient->state) - patient_below(patient, 2);
    event->arg[2] = RANKS_PER_DAEMON * patient->self + patient_below(patient, RANKS_PER_DAEMON);
    event->arg[3] = patient_below(patient, 8) ? commit.buddy : patient_below(patient, patient->n);
    if (patient_below(patient, 2)) {
        call_duly(patient, event);
    }
    return true;
}

static rz_id buddy_of(const struct patient *patient, rz_id daemon)
{
    for (uint32_t i = 1; i < patient->n; i++) {
        rz_id next = (daemon + i) % patient->n;
        if (!bit(commit.failed, next)) {
            return next;
        }
    }
    return RZ_ID_NONE;
}

static void comes_epoch(struct patient *patient, const struct rz_event *event)
{
    uint32_t ranks = RANKS_PER_DAEMON * patient->n;
    memset(commit.stored, 0, sizeof(commit.stored));
    memset(commit.copied, 0, sizeof(commit.copied));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        commit.owner[rank] = (rz_id)event->items[rank];
    }
    commit.epoch = (uint32_t)event->arg[0];
    commit.base = commit.newest = event->arg[1];
    commit.known |= commit.failed;
    commit.buddy = buddy_of(patient, patient->self);
    commit.opened = commit.restored = commit.is_protected = 0;
    commit.proposed = commit.proof = 0;
}

static void lift(uint64_t *most, uint64_t generation)
{
    *most = *most > generation ? *most : generation;
}

/* Only the buddy counts. */
static void acknowledged(const struct patient *patient, const struct rz_event *event)
{
    rz_id buddy = buddy_of(patient, commit.owner[event->arg[2]]);
    if (buddy == RZ_ID_NONE || buddy == event->arg[3]) {
        lift(&commit.copied[event->arg[2]], event->arg[1]);
    }
}

static void comes_to_commit(struct patient *patient, const struct rz_event *event)
{
    bool call = event->kind == RZ_EVENT_CALL;
    bool stale = call && event->call != RZ_COMMIT_EPOCH && event->arg[0] != commit.epoch;
    commit.silent = foreign(patient, event) || stale;
    commit.hash = commit.silent ? rz_commit_hash(patient->state) : 0;
    if (event->kind == RZ_EVENT_FAILURE) {
        commit.known |= UINT64_C(1) << event->ids[0];
    }
    if (!call || stale) {
        return;
    }
    if (event->call == RZ_COMMIT_EPOCH) {
        comes_epoch(patient, event);
    } else if (event->call == RZ_COMMIT_STORED) {
        lift(&commit.stored[event->arg[2]], event->arg[1]);
    } else if (event->call == RZ_COMMIT_COPIED) {
        acknowledged(patient, event);
    } else if (event->call == RZ_COMMIT_PROOF) {
        lift(&commit.proof, event->arg[1]);
    } else if (event->call == RZ_COMMIT_OPENED) {
        commit.opened = 1;
    }
}

/* Every piece of ours lies in both places, as far as the host has said. */
static bool safe(const struct patient *patient, uint64_t generation)
{
    for (uint32_t rank = 0; rank < RANKS_PER_DAEMON * patient->n; rank++) {
        if (commit.owner[rank] == patient->self &&
            (commit.stored[rank] < generation ||
             (commit.buddy != RZ_ID_NONE && commit.copied[rank] < generation))) {
            return false;
        }
    }
    return true;
}

/* A decision of this epoch has found a failure. */
static bool found_failure(const struct patient *patient)
{
    uint32_t n;
    const rz_id *failed = rz_agree_failed(rz_commit_agree(patient->state), &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!bit(commit.failed, failed[i])) {
            return true;
        }
    }
    return false;
}

static void acts_commit(struct patient *patient, const struct rz_action *action)
{
    rz_fuzz_holds(!commit.silent);
    if (action->kind == RZ_ACTION_SEND) {
        rz_fuzz_holds(action->message.protocol == RZ_PROTOCOL_COMMIT);
        rz_fuzz_holds(action->message.view == PATIENT_VIEW + commit.epoch);
        return;
    }
    rz_fuzz_holds(commit.epoch > 0 && action->arg[0] == commit.epoch);
    if (action->what == RZ_COMMIT_RESTORE) {
        rz_fuzz_holds(commit.restored++ == 0 && commit.is_protected == 0);
        rz_fuzz_holds(action->arg[1] == 0 || action->arg[1] == commit.base);
    } else if (action->what == RZ_COMMIT_PROTECTED) {
        rz_fuzz_holds(commit.restored == 1 && commit.is_protected++ == 0);
    } else {
        rz_fuzz_holds(action->what == RZ_COMMIT_COMMITTED && commit.opened);
        rz_fuzz_holds(action->arg[1] > commit.newest);
        rz_fuzz_holds(safe(patient, action->arg[1]));
        rz_fuzz_holds(action->arg[1] <= commit.proof || !found_failure(patient));
        commit.newest = action->arg[1];
    }
}

/* A contribution says that the generation is safe here, and that no member has failed in this
 * epoch. */
static void holds_proposed(struct patient *patient)
{
    uint64_t proposed = rz_agree_proposed(rz_commit_agree(patient->state));
    rz_fuzz_holds(proposed >= commit.proposed);
    if (proposed > commit.proposed) {
        rz_fuzz_holds(commit.opened && !(commit.known & ~commit.failed) &&
                      !found_failure(patient) && safe(patient, commit.base + proposed));
    }
    commit.proposed = proposed;
}

static void holds_commit(struct patient *patient)
{
    const struct rz_commit *state = patient->state;
    rz_fuzz_holds(!commit.silent || rz_commit_hash(state) == commit.hash);
    rz_fuzz_holds(rz_commit_epoch(state) == commit.epoch);
    rz_fuzz_holds(rz_commit_next(state) == commit.newest + 1);
    rz_fuzz_holds(commit.restored == (commit.epoch > 0));
    patient->view = PATIENT_VIEW + commit.epoch; /* of the agreement of the epoch */
    holds_proposed(patient);
    for (rz_id id = 0; commit.epoch > 0 && id < patient->n; id++) {
        rz_fuzz_holds(!bit(commit.known, id) || rz_agree_knows_failed(rz_commit_agree(state), id));
    }
    for (uint32_t rank = 0; commit.epoch > 0 && rank < RANKS_PER_DAEMON * patient->n; rank++) {
        rz_id keepers[RZ_COMMIT_MEMBERS_MAX] = {RZ_ID_NONE}, holders[2];
        uint32_t n_holders = rz_commit_holders(state, rank, holders);
        rz_fuzz_holds(rz_commit_keepers(state, rank, keepers) <= 1);
        rz_fuzz_holds(keepers[0] == buddy_of(patient, commit.owner[rank]));
        for (uint32_t i = 0; i < n_holders; i++) {
            rz_fuzz_holds(holders[i] < patient->n && !bit(commit.known, holders[i]));
        }
    }
}

const struct patient_protocol fuzz_protocol_commit = {
    &rz_protocol_commit, begin_commit, call_commit, holds_commit, comes_to_commit, acts_commit};
