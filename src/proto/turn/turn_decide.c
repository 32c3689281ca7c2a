/* Decisions: made by the least living daemon, kept by all, and then they count. */
#include "proto/turn/turn_private.h"

#include "base/assert.h"

#include <string.h>

rz_id rz_turn_leader(const struct rz_turn *turn)
{
    const uint64_t *dead = rz_turn_dead_daemons(turn);
    rz_id id = 0;
    while (id != turn->self && rz_turn_bit(dead, id))
        id++;
    return id;
}

/* Those that wait in the round that counts, and live. */
static uint32_t list_waiting(const struct rz_turn *turn, const struct rz_turn_group *group,
                             struct rz_turn_waiting *waiting)
{
    uint32_t n = 0;
    for (struct rz_turn_record *r = rz_turn_next(turn, &group->record);
         r && r->group == group->record.group; r = rz_turn_next(turn, r)) {
        const struct rz_turn_arrival *arrival = (const struct rz_turn_arrival *)r;
        if (arrival->round == group->counts.round)
            waiting[n++] = (struct rz_turn_waiting){.rank = r->key - 1,
                                                    .progress = arrival->progress,
                                                    .counters = arrival->items,
                                                    .n_counters = arrival->n_items};
    }
    return n;
}

/* Begins to tell the kept decision, as our own. */
static void tell(struct rz_turn *turn, struct rz_turn_group *group)
{
    group->kept.by = turn->self;
    group->say |= RZ_TURN_SAY_DECIDED;
    turn->busy = true;
    memset(rz_turn_set(group, RZ_TURN_SET_CONFIRMED), 0,
           rz_turn_set_words(turn->config.n_members) * sizeof(uint64_t));
}

/* False: nothing is to be decided. */
static bool decide_one(struct rz_turn *turn, struct rz_turn_group *group)
{
    if (rz_turn_leader(turn) != turn->self || group->kept.round != group->counts.round)
        return false;
    uint32_t words = rz_turn_set_words(group->n);
    uint64_t *scratch = rz_turn_scratch(turn), progress;
    struct rz_turn_waiting *waiting = (struct rz_turn_waiting *)scratch;
    struct rz_diagnose_list *lists = (struct rz_diagnose_list *)(waiting + group->n);
    uint64_t *view = (uint64_t *)(lists + group->n);
    struct rz_turn_situation now = {.n = group->n,
                                    .round = group->counts.round,
                                    .progress = group->counts.progress,
                                    .view = rz_turn_set(group, RZ_TURN_SET_COUNTS),
                                    .gone = rz_turn_set(group, RZ_TURN_SET_GONE),
                                    .n_waiting = list_waiting(turn, group, waiting),
                                    .waiting = waiting,
                                    .count_absent = turn->config.mutations & RZ_TURN_COUNT_ABSENT};
    if (group->counts.round == UINT32_MAX ||
        !rz_turn_ends(&now, lists, (uint32_t *)(view + words), view, &progress))
        return false;
    group->kept.round++;
    group->kept.progress = progress;
    memcpy(rz_turn_set(group, RZ_TURN_SET_KEPT), view, words * sizeof *view);
    tell(turn, group);
    return true;
}

void rz_turn_count(struct rz_turn *turn, struct rz_turn_group *group)
{
    if (group->counts.round == group->kept.round)
        return;
    group->counts = group->kept;
    memcpy(rz_turn_set(group, RZ_TURN_SET_COUNTS), rz_turn_set(group, RZ_TURN_SET_KEPT),
           rz_turn_set_words(group->n) * sizeof(uint64_t));
    group->say |= RZ_TURN_SAY_ROUND;
    turn->busy = true;
    struct rz_turn_record *r = rz_turn_next(turn, &group->record);
    while (r && r->group == group->record.group) {
        bool over = ((const struct rz_turn_arrival *)r)->round < group->counts.round;
        r = over ? rz_turn_remove(turn, r) : rz_turn_next(turn, r);
    }
}

/* Whether all others that live have kept it. */
static bool is_confirmed(const struct rz_turn *turn, const struct rz_turn_group *group)
{
    const uint64_t *confirmed = rz_turn_set(group, RZ_TURN_SET_CONFIRMED);
    const uint64_t *dead = rz_turn_dead_daemons(turn);
    if (turn->config.mutations & RZ_TURN_TELL_EARLY)
        return true;
    for (rz_id id = 0; id < turn->config.n_members; id++)
        if (id != turn->self && !rz_turn_bit(dead, id) && !rz_turn_bit(confirmed, id))
            return false;
    return true;
}

void rz_turn_settle(struct rz_turn *turn, struct rz_turn_group *group)
{
    while (group->kept.round != group->counts.round && group->kept.by == turn->self &&
           is_confirmed(turn, group)) {
        rz_turn_count(turn, group);
        group->say |= RZ_TURN_SAY_SETTLED;
        if (!decide_one(turn, group))
            return;
    }
}

void rz_turn_decide(struct rz_turn *turn, struct rz_turn_group *group)
{
    if (decide_one(turn, group))
        rz_turn_settle(turn, group);
}

bool rz_turn_look_at_gone(struct rz_turn *turn, struct rz_turn_group *group)
{
    const uint64_t *gone = rz_turn_set(group, RZ_TURN_SET_GONE);
    uint32_t rank = 0;
    while (rank < group->n && rz_turn_bit(gone, rank))
        rank++;
    if (rank < group->n) {
        rz_turn_decide(turn, group);
        return true;
    }
    turn->n_local -= group->local;
    turn->forgotten[turn->n_forgotten++ % RZ_TURN_FORGOTTEN_MAX] = group->record.group;
    rz_turn_remove_group(turn, group);
    return false;
}

/* Who decides from now on tells what it has kept once more: others may not have heard of it. */
static void take_over(struct rz_turn *turn, struct rz_turn_group *group)
{
    if (group->kept.round != group->counts.round) {
        tell(turn, group);
        rz_turn_settle(turn, group);
        return;
    }
    if (group->counts.round > 0) {
        group->say |= RZ_TURN_SAY_SETTLED;
        turn->busy = true;
    }
    rz_turn_decide(turn, group);
}

void rz_turn_leader_may_change(struct rz_turn *turn, rz_id before)
{
    rz_id leader = rz_turn_leader(turn);
    for (struct rz_turn_record *r = rz_turn_first(turn); r; r = rz_turn_next(turn, r)) {
        if (r->key > 0) {
            struct rz_turn_arrival *arrival = (struct rz_turn_arrival *)r;
            arrival->say = arrival->say || (arrival->local && leader != before);
            turn->busy = turn->busy || arrival->say;
        } else if (leader == turn->self && leader != before) {
            take_over(turn, (struct rz_turn_group *)r);
        } else {
            rz_turn_settle(turn, (struct rz_turn_group *)r);
        }
    }
}
