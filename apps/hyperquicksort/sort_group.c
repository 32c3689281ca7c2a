/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns by the dynamic group: a turn is a round of the monitor. All agree on the next step and the
 * round that completed the one before, so that a process that joins the group knows which
 * checkpoints are valid without having seen earlier rounds.
 */
#include "sort.h"

#include "group_program.h"

#include <stdlib.h>

enum { ROUND_BITS = 32 };

static struct {
    struct group all; /* that began */
    MPI_Count agreed;
    int *members, *place; /* of a round; of each rank in it, -1: none */
} way;

static MPI_Comm open_group(const char *fixed)
{
    group_open(&way.all, fixed);
    way.members = sort_memory(NULL, (uint64_t)way.all.size, sizeof(*way.members));
    way.place = sort_memory(NULL, (uint64_t)way.all.size, sizeof(*way.place));
    return way.all.comm;
}

static MPI_Comm open_returning(void)
{
    return open_group(NULL);
}

/* Bound of rounds in a row without an answer. */
static MPI_Comm open_leaving(void)
{
    return open_group("zeta=1000000");
}

static bool is_over(void)
{
    int changed = 0;
    RZ_Group_monitor_changed(way.all.monitor, &changed);
    return changed;
}

static void see_owners(struct sort_turn *turn)
{
    for (int i = 0; i < way.all.size; i++) {
        way.place[i] = -1;
    }
    for (int i = 0; i < turn->size; i++) {
        way.place[way.members[i]] = i;
    }
    for (uint32_t v = 0; v < sort_options.virtuals; v++) {
        int rank = -1;
        group_must("a list has no owner", RZ_Group_monitor_owner(way.all.monitor, (int)v, &rank));
        turn->owner[v] = way.place[rank];
    }
}

static void next(struct sort_turn *turn, bool done)
{
    MPI_Count progress = way.agreed, round;
    double since = MPI_Wtime();
    if (done) {
        progress = (MPI_Count)(turn->step + 1) << ROUND_BITS | (MPI_Count)turn->round;
    }
    group_must("the group has no further round",
               RZ_Group_monitor_round(way.all.monitor, progress, &way.agreed, &turn->comm));
    RZ_Group_monitor_get_round(way.all.monitor, &round, &turn->size, way.members);
    turn->is_over = is_over;
    turn->step = (uint32_t)(way.agreed >> ROUND_BITS);
    turn->made = (uint64_t)way.agreed & UINT32_MAX;
    turn->round = (uint64_t)round;
    group_acknowledge(&way.all);
    if (turn->comm != MPI_COMM_NULL) {
        MPI_Comm_rank(turn->comm, &turn->rank);
        see_owners(turn);
    }
    sort_times.turn += MPI_Wtime() - since;
}

static int close_group(bool done)
{
    group_acknowledge(&way.all);
    int status = group_close(&way.all, done);
    free(way.members);
    free(way.place);
    return status;
}

const struct sort_way sort_group_way = {"dgrp", open_returning, next, close_group};
const struct sort_way sort_group_leave_way = {"no-rejoin", open_leaving, next, close_group};
