/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of snapshots: all have stopped, nothing is in flight, the images are one cut. */
#include "proto/snapshot/snapshot_check.h"

static const struct rz_snapshot *member_of(const struct rz_check_group *group, rz_id i)
{
    const struct rz_snapshot *snapshot = group->state[i];
    return snapshot && rz_snapshot_phase(snapshot) != RZ_SNAPSHOT_BROKEN ? snapshot : NULL;
}

/* a has ended the attempt that b is in, or both have. */
static bool check_pair(const struct rz_check_group *group, rz_id i, rz_id j)
{
    const struct rz_snapshot *a = member_of(group, i), *b = member_of(group, j);
    uint32_t ended = rz_snapshot_attempt(a) - 1;
    struct rz_snapshot_end end = rz_snapshot_end(a), other = rz_snapshot_end(b);
    enum rz_snapshot_phase phase = rz_snapshot_phase(b);
    if (rz_snapshot_attempt(b) == ended + 1) {
        return (end.member == other.member && end.reason == other.reason) ||
               rz_check_say(group, "S8-2: %u and %u ended attempt %u differently", i, j, ended);
    }
    if (rz_snapshot_attempt(b) != ended || phase == RZ_SNAPSHOT_RUNNING) {
        return rz_check_say(group, "S8-1: %u has ended attempt %u, which %u has not started", i,
                            ended, j);
    }
    return end.reason != 0 || phase == RZ_SNAPSHOT_WAITING ||
           rz_check_say(group, "S8-1: %u has ended attempt %u, and %u has not saved", i, ended, j);
}

/* A member that is to save, or has saved: all have stopped, and none has gone on before this. */
static bool check_stopped(const struct rz_check_group *group, rz_id i, rz_id j)
{
    const struct rz_snapshot *a = member_of(group, i), *b = member_of(group, j);
    bool saves = rz_snapshot_phase(a) >= RZ_SNAPSHOT_SAVING;
    return !saves || rz_snapshot_attempt(b) > rz_snapshot_attempt(a) ||
           rz_snapshot_phase(b) != RZ_SNAPSHOT_RUNNING ||
           rz_check_say(group, "S8-1: %u saves in attempt %u, which %u has not started", i,
                        rz_snapshot_attempt(a), j);
}

bool rz_snapshot_check(const struct rz_check_group *group)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        for (rz_id j = 0; j < group->n_members; j++) {
            const struct rz_snapshot *a = member_of(group, i), *b = member_of(group, j);
            if (!a || !b || rz_snapshot_attempt(a) < rz_snapshot_attempt(b)) {
                continue;
            }
            if (!check_pair(group, i, j) || !check_stopped(group, i, j)) {
                return false;
            }
        }
    }
    return true;
}

/* The latest attempt in which a member saves, or has saved, and which no member has ended; 0: none,
 * or a member has failed, which may have ended it. */
static uint32_t quiet_attempt(const struct rz_check_group *group)
{
    uint32_t attempt = 0, ended = 0;
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_snapshot *snapshot = member_of(group, i);
        if (!group->state[i]) {
            return 0;
        }
        if (!snapshot) {
            continue;
        }
        uint32_t own = rz_snapshot_attempt(snapshot);
        if (own - 1 > ended) {
            ended = own - 1;
        }
        if (rz_snapshot_phase(snapshot) >= RZ_SNAPSHOT_SAVING && own > attempt) {
            attempt = own;
        }
    }
    return attempt > ended ? attempt : 0;
}

bool rz_snapshot_check_quiet(const struct rz_check_group *group,
                             const struct rz_snapshot_program *now)
{
    uint32_t attempt = quiet_attempt(group);
    for (rz_id i = 0; attempt > 0 && i < group->n_members; i++) {
        if (member_of(group, i) && now[i].busy) {
            return rz_check_say(group, "S8-3: quiet in attempt %u, and %u is busy", attempt, i);
        }
        for (rz_id j = 0; j < group->n_members; j++) {
            if (member_of(group, i) && member_of(group, j) &&
                now[i].sent[j] != now[j].delivered[i]) {
                return rz_check_say(
                    group, "S8-3: quiet in attempt %u, and a message from %u to %u is in flight",
                    attempt, i, j);
            }
        }
    }
    return true;
}

bool rz_snapshot_check_cut(const struct rz_check_group *group,
                           const struct rz_snapshot_program *images)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        for (rz_id j = 0; j < group->n_members; j++) {
            const struct rz_snapshot_program *from = &images[i], *to = &images[j];
            if (from->attempt == 0 || from->attempt != to->attempt) {
                continue;
            }
            if (to->delivered[i] & ~from->sent[j]) {
                return rz_check_say(group, "S8-4: attempt %u has an orphan from %u to %u",
                                    to->attempt, i, j);
            }
            if (from->sent[j] & ~to->delivered[i]) {
                return rz_check_say(group, "S8-4: attempt %u has lost a message from %u to %u",
                                    to->attempt, i, j);
            }
        }
    }
    return true;
}

bool rz_snapshot_check_liveness(const struct rz_check_group *group, uint32_t attempts)
{
    for (rz_id i = 0; i < group->n_members; i++) {
        const struct rz_snapshot *snapshot = group->state[i];
        if (snapshot && rz_snapshot_attempt(snapshot) != attempts + 1) {
            return rz_check_say(group, "L8-1: %u is in attempt %u", i,
                                rz_snapshot_attempt(snapshot));
        }
    }
    return true;
}
