/* SPDX-License-Identifier: BSD-3-Clause */
/* At least half of the time is the program's. */
#include "proto/snapshot/snapshot_pace.h"

void rz_snapshot_pace_init(struct rz_snapshot_pace *pace, rz_time every, rz_time now)
{
    *pace = (struct rz_snapshot_pace){.every = every, .earliest = now + every};
}

static void pace_no_sooner(struct rz_snapshot_pace *pace, rz_time than)
{
    pace->earliest = pace->earliest > than ? pace->earliest : than;
}

/* The disturbance is over: as long again without one. */
static void pace_rests(struct rz_snapshot_pace *pace, rz_time now)
{
    pace->awaited = 0;
    pace_no_sooner(pace, now + (now - pace->begun));
}

void rz_snapshot_pace_begins(struct rz_snapshot_pace *pace, rz_time now)
{
    pace->begun = now;
    pace->under_way = true;
}

void rz_snapshot_pace_ends(struct rz_snapshot_pace *pace, uint64_t number, rz_time now)
{
    pace->under_way = false;
    pace_no_sooner(pace, now + pace->every);
    if (number == 0) {
        pace_no_sooner(pace, now + 2 * (now - pace->begun));
    } else if (number <= pace->committed) {
        pace_rests(pace, now);
    } else {
        pace->awaited = number;
    }
}

void rz_snapshot_pace_commits(struct rz_snapshot_pace *pace, uint64_t number, rz_time now)
{
    pace->committed = number > pace->committed ? number : pace->committed;
    if (pace->awaited > 0 && pace->awaited <= pace->committed) {
        pace_rests(pace, now);
    }
}

rz_time rz_snapshot_pace_due(const struct rz_snapshot_pace *pace)
{
    bool waits = pace->every == 0 || pace->under_way || pace->awaited > 0;
    return waits ? RZ_TIME_NEVER : pace->earliest;
}
