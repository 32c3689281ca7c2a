/*
 * Turns by the dynamic group: a turn is a round of the monitor. What all have agreed on is a word:
 * the step to be done next, and the round that completed the one before, so that a process that
 * comes to the group knows which checkpoints count without having seen earlier rounds.
 */
#include "sort.h"

#include "leave.h"

#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND_BITS = 32 };

static struct {
    MPIX_Group_monitor monitor;
    MPI_Comm comm; /* all that began */
    MPI_Count agreed;
    int size, dead;
    int *members, *place; /* of a round; of each rank in it, -1: none */
} group;

static _Noreturn void fail(const char *what, int error)
{
    char words[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(error, words, &n);
    sort_fatal("%s: %s", what, words);
}

/* All find the same wrong: one says so. */
static _Noreturn void refuse(int error)
{
    int rank;
    MPI_Comm_rank(group.comm, &rank);
    if (rank != 0)
        MPI_Barrier(group.comm); /* that ends with the job */
    fail("the group cannot be watched", error);
}

/* first: "key=value" that stands below the user's, or NULL. */
static MPI_Info make_info(const char *first)
{
    const struct sort_options *o = &sort_options;
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = -1; i < o->n_keys; i++) {
        char key[MPI_MAX_INFO_KEY];
        const char *pair = i < 0 ? first : o->keys[i];
        if (!pair)
            continue;
        size_t n = strcspn(pair, "=");
        snprintf(key, sizeof key, "%.*s", (int)n, pair);
        MPI_Info_set(info, key, pair + n + 1);
    }
    return info;
}

static MPI_Comm open_group(const char *first)
{
    MPI_Info info = make_info(first);
    group.comm = MPI_COMM_WORLD;
    for (;;) {
        group.monitor = MPIX_GROUP_MONITOR_NULL;
        int error = MPIX_Group_monitor_start(group.comm, info, leave_test, NULL, &group.monitor);
        if (error != MPI_SUCCESS && !sort_is_loss(error))
            refuse(error);
        if (sort_all_agree(group.comm, error == MPI_SUCCESS))
            break;
        if (error == MPI_SUCCESS)
            MPIX_Group_monitor_stop(&group.monitor);
        sort_shrink(&group.comm);
    }
    MPI_Info_free(&info);
    MPI_Comm_size(group.comm, &group.size);
    group.members = sort_memory(NULL, (uint64_t)group.size, sizeof *group.members);
    group.place = sort_memory(NULL, (uint64_t)group.size, sizeof *group.place);
    return group.comm;
}

static MPI_Comm open_returning(void)
{
    return open_group(NULL);
}

/* Nobody answers so often in a row. */
static MPI_Comm open_leaving(void)
{
    return open_group("zeta=1000000");
}

static bool is_over(void)
{
    int changed = 0;
    MPIX_Group_monitor_changed(group.monitor, &changed);
    return changed;
}

/* The job may end well: we know of the deaths, and go on without these processes. */
static void acknowledge(void)
{
    int dead = 0;
    MPI_Group failed;
    if (MPIX_Comm_get_failed(group.comm, &failed) != MPI_SUCCESS)
        return;
    MPI_Group_size(failed, &dead);
    MPI_Group_free(&failed);
    if (dead > group.dead)
        MPIX_Comm_ack_failed(group.comm, dead, &group.dead);
}

static void see_owners(struct sort_turn *turn)
{
    for (int i = 0; i < group.size; i++)
        group.place[i] = -1;
    for (int i = 0; i < turn->size; i++)
        group.place[group.members[i]] = i;
    for (uint32_t v = 0; v < sort_options.virtuals; v++) {
        int rank = -1;
        int error = MPIX_Group_monitor_owner(group.monitor, (int)v, &rank);
        if (error != MPI_SUCCESS)
            fail("a list has no owner", error);
        turn->owner[v] = group.place[rank];
    }
}

static void next(struct sort_turn *turn, bool done)
{
    MPI_Count progress = group.agreed, round;
    double since = MPI_Wtime();
    if (done)
        progress = (MPI_Count)(turn->step + 1) << ROUND_BITS | (MPI_Count)turn->round;
    int error = MPIX_Group_monitor_round(group.monitor, progress, &group.agreed, &turn->comm);
    if (error != MPI_SUCCESS)
        fail("the group has no further round", error);
    MPIX_Group_monitor_get_round(group.monitor, &round, &turn->size, group.members);
    turn->is_over = is_over;
    turn->step = (uint32_t)(group.agreed >> ROUND_BITS);
    turn->made = (uint64_t)group.agreed & UINT32_MAX;
    turn->round = (uint64_t)round;
    acknowledge();
    if (turn->comm != MPI_COMM_NULL) {
        MPI_Comm_rank(turn->comm, &turn->rank);
        see_owners(turn);
    }
    sort_times.turn += MPI_Wtime() - since;
}

static void close_group(void)
{
    acknowledge();
    MPIX_Group_monitor_stop(&group.monitor);
    free(group.members);
    free(group.place);
}

const struct sort_way sort_group_way = {"dgrp", open_returning, next, close_group};
const struct sort_way sort_group_leave_way = {"no-rejoin", open_leaving, next, close_group};
