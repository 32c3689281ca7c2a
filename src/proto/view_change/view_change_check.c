/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of computing rounds: all processes of a group are told the same views in the same
 * order. */
#include "proto/view_change/view_change_check.h"

#include "proto/view_change/view_change.h"

static bool fails(const struct rz_check_group *group, const struct rz_view_change_seen *seen,
                  uint32_t round, const char *what)
{
    return rz_check_say(group, "group %llu, round %u: %s", (unsigned long long)seen->group, round,
                        what);
}

bool rz_view_change_check_told(const struct rz_check_group *group, struct rz_view_change_seen *seen,
                               const struct rz_action *notice, uint32_t before)
{
    uint32_t round = (uint32_t)notice->arg[1], n = (uint32_t)notice->arg[3];
    uint64_t progress = notice->arg[2], view = notice->items[n];
    if (round == 0 || round >= RZ_VIEW_CHANGE_CHECK_ROUNDS || round < before) {
        return fails(group, seen, round, "rounds are told in order");
    }
    if (view == 0) {
        return fails(group, seen, round, "its view is empty");
    }
    for (uint32_t r = 1; r < RZ_VIEW_CHANGE_CHECK_ROUNDS; r++) {
        if (seen->round[r].view != 0 && ((r < round && seen->round[r].progress > progress) ||
                                         (r > round && seen->round[r].progress < progress))) {
            return fails(group, seen, round, "progress falls");
        }
    }
    if (seen->round[round].view == 0) {
        seen->round[round].view = view;
        seen->round[round].progress = progress;
    }
    if (seen->round[round].view != view || seen->round[round].progress != progress) {
        return fails(group, seen, round, "two daemons were told of it differently");
    }
    if (seen->latest < round) {
        seen->latest = round;
    }
    return true;
}

bool rz_view_change_check_kept(const struct rz_check_group *group,
                               const struct rz_view_change_seen *seen)
{
    struct rz_view_change_look look;
    for (rz_id id = 0; id < group->n_members; id++) {
        if (!group->state[id] || !rz_view_change_look_for(group->state[id], seen->group, &look)) {
            continue;
        }
        if (look.kept.round < seen->latest) {
            return fails(group, seen, seen->latest, "it counts, but not all have kept it");
        }
        if (look.kept.round == seen->latest && seen->latest > 0 &&
            (look.kept.view[0] != seen->round[seen->latest].view ||
             look.kept.progress != seen->round[seen->latest].progress)) {
            return fails(group, seen, seen->latest, "it counts, but was kept differently");
        }
        if (look.kept.round - look.counts.round > 1) {
            return fails(group, seen, look.kept.round, "decided upon a round that does not count");
        }
    }
    return true;
}

/* Whether a process that has arrived considers this rank non-recommended. */
static bool is_out(const void *state, const struct rz_view_change_look *look, uint32_t rank)
{
    struct rz_view_change_arrived arrived;
    for (uint32_t by = 0; by < look->n; by++) {
        if (rz_view_change_arrived_at(state, look->group, by, &arrived)) {
            for (uint32_t i = 0; i < arrived.n_counters; i++) {
                if (arrived.counters[i] >> 32 == rank && arrived.counters[i] % 2 == 1) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool check_decision(const struct rz_check_group *group, struct rz_view_change_seen *seen,
                           const void *state, const struct rz_view_change_look *look)
{
    struct rz_view_change_arrived arrived;
    uint64_t least = UINT64_MAX;
    bool absent = false;
    for (uint32_t rank = 0; rank < look->n; rank++) {
        bool in = look->counts.view[0] >> rank & 1, next = look->kept.view[0] >> rank & 1;
        bool here = rz_view_change_arrived_at(state, look->group, rank, &arrived);
        if (next && !here) {
            return fails(group, seen, look->kept.round, "a process is in that does not wait");
        }
        if (in && !here && !rz_view_change_gone(state, look->group, rank) &&
            !is_out(state, look, rank)) {
            return fails(group, seen, look->kept.round, "not all of the old view have arrived");
        }
        absent = absent || (in && !here);
        if (in && here && arrived.progress < least) {
            least = arrived.progress;
        }
    }
    if (look->counts.round > 0 && (absent || least < look->counts.progress)) {
        least = look->counts.progress;
    }
    /* In round 0 the progress of non-recommended processes does not count, so it may exceed the
     * minimum. */
    if (look->counts.round > 0 ? look->kept.progress != least : look->kept.progress < least) {
        return fails(group, seen, look->kept.round, "its progress is not what they came with");
    }
    return true;
}

bool rz_view_change_check_decided(const struct rz_check_group *group,
                                  struct rz_view_change_seen *seen)
{
    struct rz_view_change_look look;
    for (rz_id id = 0; id < group->n_members; id++) {
        const void *state = group->state[id];
        if (!state || !rz_view_change_look_for(state, seen->group, &look) ||
            look.kept.round <= seen->decided) {
            continue;
        }
        seen->decided =
            look.kept.round; /* decided by that daemon, or by one that has failed since */
        if (look.by == id && look.kept.round > look.counts.round &&
            !check_decision(group, seen, state, &look)) {
            return false;
        }
    }
    return true;
}
