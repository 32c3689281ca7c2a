/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing rounds: one step of a daemon (arrivals, leaving processes, decisions, failures), and
 * the accessors. */
#include "proto/view_change/view_change.h"

#include "proto/mutation.h"
#include "base/assert.h"
#include "base/random.h"
#include "proto/emit.h"
#include "proto/view_change/view_change_private.h"

#include <string.h>

/* ---- actions ---- */

static struct rz_action *view_change_send(struct rz_view_change *vc,
                                          enum rz_view_change_message type, uint64_t group,
                                          struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_VIEW_CHANGE,
                                          .type = (uint8_t)type,
                                          .view = vc->config.view,
                                          .from = vc->self,
                                          .origin = vc->self,
                                          .seq = group};
    action->to = &vc->one;
    action->n_to = 1;
    return action;
}

/* To all other living members; false: there are none. */
static bool send_to_all(struct rz_view_change *vc, enum rz_view_change_message type,
                        const struct rz_view_change_group *group, struct rz_actions *out)
{
    rz_id *to = rz_view_change_destinations(vc);
    uint32_t n = 0;
    for (rz_id id = 0; id < vc->config.n_members; id++) {
        if (id != vc->self && !rz_view_change_bit(rz_view_change_failed_daemons(vc), id)) {
            to[n++] = id;
        }
    }
    if (n == 0) {
        return false;
    }
    struct rz_action *action = view_change_send(vc, type, group->record.group, out);
    action->to = to;
    action->n_to = n;
    return true;
}

static void refuse(uint64_t group, uint32_t rank, rz_status_t why, struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = RZ_VIEW_CHANGE_REFUSED;
    action->arg[0] = group;
    action->arg[1] = rank;
    action->arg[2] = (uint64_t)why;
}

/* In the scratch area: a number, the processes, a view. */
static uint64_t *compose(const struct rz_view_change *vc, const struct rz_view_change_group *group,
                         uint64_t number, const uint64_t *view)
{
    uint64_t *items = rz_view_change_scratch(vc);
    items[0] = number;
    memcpy(items + 1, rz_view_change_processes(group), group->n * sizeof(*items));
    if (view) {
        memcpy(items + 1 + group->n, view, rz_view_change_set_words(group->n) * sizeof(*items));
    }
    return items;
}

static void say_round(struct rz_view_change *vc, const struct rz_view_change_group *group,
                      struct rz_actions *out)
{
    struct rz_action *action = rz_emit(out, RZ_ACTION_NOTIFY);
    action->what = RZ_VIEW_CHANGE_ROUND;
    action->arg[0] = group->record.group;
    action->arg[1] = group->counts.round;
    action->arg[2] = group->counts.progress;
    action->arg[3] = group->n;
    action->items = compose(vc, group, 0, rz_view_change_set(group, RZ_VIEW_CHANGE_SET_COUNTS)) + 1;
    action->n_items = group->n + rz_view_change_set_words(group->n);
}

static void say_decided(struct rz_view_change *vc, const struct rz_view_change_group *group,
                        struct rz_actions *out)
{
    if (!send_to_all(vc, RZ_VIEW_CHANGE_DECIDED, group, out)) {
        return;
    }
    struct rz_action *action = &out->v[out->count - 1];
    action->message.word[0] = group->kept.round;
    action->message.word[1] = group->kept.progress;
    action->message.n_items = 1 + group->n + rz_view_change_set_words(group->n);
    action->items =
        compose(vc, group, group->n, rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT));
}

/* One pending message or notice of a group. */
static void say_of_group(struct rz_view_change *vc, struct rz_view_change_group *group,
                         struct rz_actions *out)
{
    if (group->say & RZ_VIEW_CHANGE_LOOK_AT_GONE) {
        group->say &= ~(uint32_t)RZ_VIEW_CHANGE_LOOK_AT_GONE;
        rz_view_change_look_at_gone(vc, group);
    } else if (group->say & RZ_VIEW_CHANGE_SAY_SETTLED) {
        group->say &= ~(uint32_t)RZ_VIEW_CHANGE_SAY_SETTLED;
        if (send_to_all(vc, RZ_VIEW_CHANGE_SETTLED, group, out)) {
            out->v[out->count - 1].message.word[0] = group->counts.round;
        }
    } else if (group->say & RZ_VIEW_CHANGE_SAY_ROUND) {
        group->say &= ~(uint32_t)RZ_VIEW_CHANGE_SAY_ROUND;
        say_round(vc, group, out);
    } else {
        group->say &= ~(uint32_t)RZ_VIEW_CHANGE_SAY_DECIDED;
        say_decided(vc, group, out);
    }
}

static void say_arrived(struct rz_view_change *vc, const struct rz_view_change_group *group,
                        struct rz_view_change_arrival *arrival, struct rz_actions *out)
{
    arrival->say = false;
    vc->one = rz_view_change_leader(vc);
    if (vc->one == vc->self) {
        return;
    }
    uint64_t rank = arrival->record.key - 1;
    struct rz_action *action =
        view_change_send(vc, RZ_VIEW_CHANGE_ARRIVED, arrival->record.group, out);
    action->message.word[0] = (uint64_t)arrival->count << 32 | arrival->round;
    action->message.word[1] = arrival->progress;
    action->message.n_items = 1 + group->n + arrival->n_items;
    uint64_t *items = compose(vc, group, rank << 32 | group->n, NULL);
    memcpy(items + 1 + group->n, arrival->items, arrival->n_items * sizeof(*items));
    action->items = items;
}

/* The first pending message or notice of all groups: one, because its items are in the scratch
 * area. */
static enum rz_more view_change_work(struct rz_view_change *vc, struct rz_actions *out)
{
    struct rz_view_change_group *group = NULL;
    for (struct rz_view_change_record *r = rz_view_change_first(vc); r;
         r = rz_view_change_next(vc, r)) {
        struct rz_view_change_arrival *arrival =
            r->key > 0 ? (struct rz_view_change_arrival *)r : NULL;
        if (!arrival) {
            group = (struct rz_view_change_group *)r;
        }
        if (arrival ? !arrival->say : group->say == 0) {
            continue;
        }
        if (arrival) {
            say_arrived(vc, group, arrival, out);
        } else {
            say_of_group(vc, group, out);
        }
        return RZ_MORE;
    }
    vc->busy = false;
    return RZ_DONE;
}

/* ---- processes ---- */

static bool are_processes(const struct rz_view_change *vc, uint32_t n, const uint64_t *processes)
{
    for (uint32_t i = 0; i < n; i++) {
        if ((uint32_t)processes[i] >= vc->config.n_slots || processes[i] >> 32 == 0) {
            return false;
        }
    }
    return true;
}

static bool was_forgotten(const struct rz_view_change *vc, uint64_t group)
{
    uint32_t n = vc->n_forgotten;
    for (uint32_t i = 0; i < n && i < RZ_VIEW_CHANGE_FORGOTTEN_MAX; i++) {
        if (vc->forgotten[i] == group) {
            return true;
        }
    }
    return false;
}

static bool same_processes(const struct rz_view_change_group *group, uint32_t n,
                           const uint64_t *processes)
{
    return group->n == n &&
           memcmp(rz_view_change_processes(group), processes, n * sizeof(*processes)) == 0;
}

/* The items of an arrival or a leave: rank << 32 | n, the processes, counters. */
static bool is_arrival(const struct rz_view_change *vc, uint64_t rank_and_n, const uint64_t *items,
                       uint32_t n_items)
{
    uint32_t n = (uint32_t)rank_and_n;
    return n > 0 && n <= RZ_VIEW_CHANGE_PROCESSES_MAX && rank_and_n >> 32 < n && n_items >= n &&
           are_processes(vc, n, items) && rz_diagnose_are_counters(n, items + n, n_items - n);
}

/* Whether the call is valid; otherwise the process is refused. */
static bool is_welcome(const struct rz_view_change *vc, const struct rz_event *event,
                       struct rz_actions *out)
{
    const uint64_t *arg = event->arg;
    const struct rz_view_change_group *group = rz_view_change_find(vc, arg[0]);
    rz_status_t why = RZ_OK;
    if (!is_arrival(vc, arg[2], event->items, event->n_items) ||
        (group && !same_processes(group, (uint32_t)arg[2], event->items))) {
        why = RZ_ERR_INVALID;
    } else if (arg[1] > (group ? group->counts.round : 0) || was_forgotten(vc, arg[0])) {
        why = RZ_ERR_NOT_FOUND;
    } else if (!(group && group->local) && vc->n_local >= vc->config.groups_max) {
        why = RZ_ERR_NO_MEMORY;
    }
    if (why != RZ_OK) {
        refuse(arg[0], (uint32_t)(arg[2] >> 32), why, out);
    }
    return why == RZ_OK;
}

static enum rz_more on_arrive(struct rz_view_change *vc, const struct rz_event *event,
                              struct rz_actions *out)
{
    const uint64_t *arg = event->arg;
    uint32_t rank = (uint32_t)(arg[2] >> 32), n = (uint32_t)arg[2];
    if (!is_welcome(vc, event, out)) {
        return RZ_DONE;
    }
    if (!rz_view_change_has_room(vc, n, event->n_items - n, out)) {
        return RZ_NEED;
    }
    struct rz_view_change_group *group = rz_view_change_enter(vc, arg[0], n, event->items);
    vc->n_local += !group->local;
    group->local = true;
    if (rz_view_change_bit(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), rank)) {
        rz_view_change_look_at_gone(vc, group);
    } else if (arg[1] < group->counts.round) {
        group->say |= RZ_VIEW_CHANGE_SAY_ROUND;
        vc->busy = true;
    } else {
        struct rz_view_change_arrival *arrival = rz_view_change_arrival(vc, group, rank);
        uint32_t count = arrival ? arrival->count + 1 : 1;
        arrival =
            rz_view_change_enter_arrival(vc, group, rank, event->items + n, event->n_items - n);
        arrival->round = (uint32_t)arg[1];
        arrival->count = count;
        arrival->progress = arg[3];
        arrival->local = arrival->say = true;
        vc->busy = true;
        rz_view_change_decide(vc, group);
    }
    return RZ_MORE;
}

static void goes(struct rz_view_change *vc, struct rz_view_change_group *group, uint32_t rank)
{
    struct rz_view_change_arrival *arrival = rz_view_change_arrival(vc, group, rank);
    if (arrival) {
        rz_view_change_remove(vc, &arrival->record);
    }
    rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), rank);
}

static enum rz_more view_change_on_leave(struct rz_view_change *vc, const struct rz_event *event,
                                         struct rz_actions *out)
{
    struct rz_view_change_group *group = rz_view_change_find(vc, event->arg[0]);
    uint64_t rank = event->arg[1];
    if (!group || rank >= group->n ||
        rz_view_change_bit(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), (uint32_t)rank)) {
        return RZ_DONE;
    }
    goes(vc, group, (uint32_t)rank);
    group->say |= RZ_VIEW_CHANGE_LOOK_AT_GONE;
    vc->busy = true;
    if (send_to_all(vc, RZ_VIEW_CHANGE_ARRIVED, group, out)) {
        struct rz_action *action = &out->v[out->count - 1];
        action->message.flags = RZ_VIEW_CHANGE_LEFT;
        action->message.n_items = 1 + group->n;
        action->items = compose(vc, group, rank << 32 | group->n, NULL);
    }
    return RZ_MORE;
}

/* False: the group is forgotten. */
static bool forget_group(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    const uint64_t *gone = rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE);
    bool any = false;
    for (uint32_t rank = 0; rank < group->n; rank++) {
        if (!rz_view_change_bit(gone, rank) &&
            rz_view_change_process_failed(vc, rz_view_change_processes(group)[rank])) {
            goes(vc, group, rank);
            any = true;
        }
    }
    return !any || rz_view_change_look_at_gone(vc, group);
}

static void on_process_failed(struct rz_view_change *vc, const struct rz_event *event)
{
    uint32_t *failed = rz_view_change_failed_incarnations(vc);
    for (uint32_t i = 0; i < event->n_items; i++) {
        uint32_t slot = (uint32_t)event->items[i], incarnation = (uint32_t)(event->items[i] >> 32);
        rz_assert(slot < vc->config.n_slots);
        if (failed[slot] < incarnation) {
            failed[slot] = incarnation;
        }
    }
    struct rz_view_change_record *r = rz_view_change_first(vc);
    while (r) {
        uint64_t number = r->group;
        if (r->key == 0 && !forget_group(vc, (struct rz_view_change_group *)r)) {
            r = rz_view_change_behind(vc, number);
        } else {
            r = rz_view_change_next(vc, r);
        }
    }
}

static enum rz_more view_change_on_call(struct rz_view_change *vc, const struct rz_event *event,
                                        struct rz_actions *out)
{
    switch (event->call) {
    case RZ_VIEW_CHANGE_ARRIVE:
        return on_arrive(vc, event, out);
    case RZ_VIEW_CHANGE_LEAVE:
        return view_change_on_leave(vc, event, out);
    case RZ_VIEW_CHANGE_PROCESS_FAILED:
        on_process_failed(vc, event);
        return RZ_MORE;
    }
    rz_assert(!"no such call");
    return RZ_DONE;
}

/* ---- messages ---- */

/* Of two arrivals of one process the later one wins, whichever message comes first. */
static void take_arrival(struct rz_view_change *vc, struct rz_view_change_group *group,
                         const struct rz_event *event)
{
    const struct rz_message *message = event->message;
    uint32_t rank = (uint32_t)(event->items[0] >> 32), n = group->n;
    uint32_t round = (uint32_t)message->word[0], count = (uint32_t)(message->word[0] >> 32);
    struct rz_view_change_arrival *arrival = rz_view_change_arrival(vc, group, rank);
    if (round < group->counts.round ||
        (arrival && (arrival->local || arrival->round > round ||
                     (arrival->round == round && arrival->count >= count)))) {
        return;
    }
    arrival = rz_view_change_enter_arrival(vc, group, rank, event->items + 1 + n,
                                           message->n_items - 1 - n);
    arrival->round = round;
    arrival->count = count;
    arrival->progress = message->word[1];
}

static enum rz_more on_arrived(struct rz_view_change *vc, const struct rz_event *event,
                               struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    const uint64_t *items = event->items;
    if (message->n_items == 0 || !is_arrival(vc, items[0], items + 1, message->n_items - 1) ||
        was_forgotten(vc, message->seq)) {
        return RZ_DONE;
    }
    uint32_t n = (uint32_t)items[0], rank = (uint32_t)(items[0] >> 32);
    if (!rz_view_change_has_room(vc, n, message->n_items - 1 - n, out)) {
        return RZ_NEED;
    }
    struct rz_view_change_group *group = rz_view_change_enter(vc, message->seq, n, items + 1);
    if (!same_processes(group, n, items + 1)) {
        return RZ_DONE;
    }
    if (message->flags & RZ_VIEW_CHANGE_LEFT) {
        goes(vc, group, rank);
    } else if (!rz_view_change_bit(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), rank)) {
        take_arrival(vc, group, event);
    }
    rz_view_change_look_at_gone(vc, group);
    return RZ_MORE;
}

static bool is_decision(const struct rz_view_change *vc, const struct rz_message *message,
                        const uint64_t *items)
{
    if (message->n_items == 0 || items[0] == 0 || items[0] > RZ_VIEW_CHANGE_PROCESSES_MAX) {
        return false;
    }
    uint32_t n = (uint32_t)items[0], words = rz_view_change_set_words(n);
    if (message->n_items != 1 + n + words || !are_processes(vc, n, items + 1) ||
        message->word[0] == 0 || message->word[0] > UINT32_MAX) {
        return false;
    }
    const uint64_t *view = items + 1 + n;
    uint64_t any = 0;
    for (uint32_t i = 0; i < words; i++) {
        any |= view[i];
    }
    return any != 0 && (n % 64 == 0 || view[words - 1] >> n % 64 == 0);
}

/* Whether the decision is kept here, and so must be confirmed: one of a later round, or of the same
 * round by no earlier daemon. A decision that counts here is repeated by a daemon that did not know
 * that it counts. */
static bool take_decision(struct rz_view_change *vc, struct rz_view_change_group *group,
                          const struct rz_message *message, const uint64_t *items)
{
    uint32_t round = (uint32_t)message->word[0];
    if (round < group->kept.round) {
        return round <= group->counts.round;
    }
    if (round == group->kept.round && message->from < group->kept.by &&
        !RZ_MUTATED(vc->config.mutations, RZ_VIEW_CHANGE_KEEP_LATER)) {
        return false;
    }
    if (round == group->kept.round + 1) {
        rz_view_change_count(vc, group); /* the decision that it is based on counts */
    }
    group->kept.by = message->from;
    if (round == group->counts.round) {
        return true;
    }
    group->kept.round = round;
    group->kept.progress = message->word[1];
    memcpy(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT), items + 1 + group->n,
           rz_view_change_set_words(group->n) * sizeof(*items));
    return true;
}

static enum rz_more on_decided(struct rz_view_change *vc, const struct rz_event *event,
                               struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    const uint64_t *items = event->items;
    if (!is_decision(vc, message, items) || was_forgotten(vc, message->seq)) {
        return RZ_DONE;
    }
    uint32_t n = (uint32_t)items[0];
    if (!rz_view_change_has_room(vc, n, 0, out)) {
        return RZ_NEED;
    }
    struct rz_view_change_group *group = rz_view_change_enter(vc, message->seq, n, items + 1);
    if (same_processes(group, n, items + 1) && take_decision(vc, group, message, items)) {
        vc->one = message->from;
        view_change_send(vc, RZ_VIEW_CHANGE_KEPT, message->seq, out)->message.word[0] =
            message->word[0];
    }
    rz_view_change_look_at_gone(vc, group);
    return RZ_MORE;
}

static enum rz_more view_change_on_receive(struct rz_view_change *vc, const struct rz_event *event,
                                           struct rz_actions *out)
{
    const struct rz_message *message = event->message;
    if (message->view != vc->config.view || message->from == vc->self ||
        message->from >= vc->config.n_members ||
        rz_view_change_bit(rz_view_change_failed_daemons(vc), message->from)) {
        return RZ_DONE;
    }
    if (message->type == RZ_VIEW_CHANGE_ARRIVED) {
        return on_arrived(vc, event, out);
    }
    if (message->type == RZ_VIEW_CHANGE_DECIDED) {
        return on_decided(vc, event, out);
    }
    struct rz_view_change_group *group = rz_view_change_find(vc, message->seq);
    if (!group || message->word[0] != group->kept.round) {
        return RZ_DONE;
    }
    if (message->type == RZ_VIEW_CHANGE_KEPT && group->kept.by == vc->self) {
        rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_CONFIRMED),
                               message->from);
        rz_view_change_settle(vc, group);
    } else if (message->type == RZ_VIEW_CHANGE_SETTLED) {
        rz_view_change_count(vc, group);
    }
    return RZ_MORE;
}

/* ---- steps ---- */

static void view_change_on_failure(struct rz_view_change *vc, const struct rz_event *event)
{
    rz_id before = rz_view_change_leader(vc);
    for (uint32_t i = 0; i < event->n_ids; i++) {
        rz_assert(event->ids[i] < vc->config.n_members && event->ids[i] != vc->self);
        rz_view_change_bit_set(rz_view_change_failed_daemons(vc), event->ids[i]);
    }
    rz_view_change_leader_may_change(vc, before);
}

enum rz_more rz_view_change_step(struct rz_view_change *vc, const struct rz_event *event,
                                 struct rz_actions *out)
{
    enum rz_more more = RZ_MORE;
    switch (event->kind) {
    case RZ_EVENT_RECEIVE:
        more = view_change_on_receive(vc, event, out);
        break;
    case RZ_EVENT_CALL:
        more = view_change_on_call(vc, event, out);
        break;
    case RZ_EVENT_FAILURE:
        view_change_on_failure(vc, event);
        break;
    case RZ_EVENT_CONTINUE:
        return vc->busy ? view_change_work(vc, out) : RZ_DONE;
    case RZ_EVENT_TICK:
        break;
    }
    return more == RZ_MORE && !vc->busy ? RZ_DONE : more;
}

rz_time rz_view_change_deadline(const struct rz_view_change *vc)
{
    (void)vc;
    return RZ_TIME_NEVER;
}

uint64_t rz_view_change_hash(const struct rz_view_change *vc)
{
    uint64_t hash = rz_mix(vc->self, ((uint64_t)vc->n_local << 32) + vc->n_forgotten);
    const uint64_t *at = rz_view_change_failed_daemons(vc);
    for (uint32_t i = 0; i < rz_view_change_set_words(vc->config.n_members); i++) {
        hash = rz_mix(hash, at[i]);
    }
    for (uint32_t slot = 0; slot < vc->config.n_slots; slot++) {
        hash = rz_mix(hash, rz_view_change_failed_incarnations(vc)[slot]);
    }
    for (uint32_t i = 0; i < RZ_VIEW_CHANGE_FORGOTTEN_MAX; i++) {
        hash = rz_mix(hash, vc->forgotten[i]);
    }
    at = (const uint64_t *)rz_view_change_first(vc);
    for (uint64_t i = 0; i < vc->used; i++) {
        hash = rz_mix(hash, at[i]);
    }
    return hash;
}

/* ---- accessors ---- */

static void look(const struct rz_view_change_group *group, struct rz_view_change_look *look)
{
    *look = (struct rz_view_change_look){
        .group = group->record.group,
        .n = group->n,
        .processes = rz_view_change_processes(group),
        .kept = {group->kept.round, group->kept.progress,
                 rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT)},
        .by = group->kept.by,
        .counts = {group->counts.round, group->counts.progress,
                   rz_view_change_set(group, RZ_VIEW_CHANGE_SET_COUNTS)}};
}

bool rz_view_change_look_at(const struct rz_view_change *vc, uint32_t i,
                            struct rz_view_change_look *result)
{
    for (struct rz_view_change_record *r = rz_view_change_first(vc); r;
         r = rz_view_change_next(vc, r)) {
        if (r->key == 0 && i-- == 0) {
            look((const struct rz_view_change_group *)r, result);
            return true;
        }
    }
    return false;
}

bool rz_view_change_look_for(const struct rz_view_change *vc, uint64_t number,
                             struct rz_view_change_look *result)
{
    const struct rz_view_change_group *group = rz_view_change_find(vc, number);
    if (group) {
        look(group, result);
    }
    return group != NULL;
}

bool rz_view_change_arrived_at(const struct rz_view_change *vc, uint64_t number, uint32_t rank,
                               struct rz_view_change_arrived *arrived)
{
    const struct rz_view_change_group *group = rz_view_change_find(vc, number);
    const struct rz_view_change_arrival *arrival =
        group ? rz_view_change_arrival(vc, group, rank) : NULL;
    if (!arrival || arrival->round != group->counts.round) {
        return false;
    }
    *arrived = (struct rz_view_change_arrived){
        .progress = arrival->progress, .counters = arrival->items, .n_counters = arrival->n_items};
    return true;
}

bool rz_view_change_gone(const struct rz_view_change *vc, uint64_t number, uint32_t rank)
{
    const struct rz_view_change_group *group = rz_view_change_find(vc, number);
    return group && rank < group->n &&
           rz_view_change_bit(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), rank);
}
