/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns by ULFM: an agreement ends each; after a failure the survivors shrink to a smaller
 * communicator and repeat the step. A process that is only slow is waited for.
 */
#include "sort.h"

#include "group_program.h"

#include <stdlib.h>

static struct {
    MPI_Comm comm;
    MPI_Group all; /* the initial processes: owners are computed by these ranks */
    int size;
    uint64_t round;
    bool *lives;
    int *ranks, *place; /* in comm, of each rank that began; -1: failed */
} way;

/* Whether an error means that a process has failed, or that a communicator has ended because of
 * this. */
static bool is_loss(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_PROC_FAILED_PENDING ||
           class == MPIX_ERR_REVOKED;
}

void sort_broken(MPI_Comm comm, int error)
{
    if (!is_loss(error)) {
        group_fail("an MPI call failed", error);
    }
    MPIX_Comm_revoke(comm);
}

/* Whether all of comm say yes and live: the same answer at all. */
static bool all_agree(MPI_Comm comm, bool yes)
{
    int flag = yes;
    return MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag;
}

/* To the survivors of *comm, after a no. */
static void shrink(MPI_Comm *comm)
{
    MPI_Comm living;
    MPIX_Comm_revoke(*comm);
    int error = MPIX_Comm_shrink(*comm, &living);
    if (error != MPI_SUCCESS) {
        sort_broken(*comm, error);
    }
    if (*comm != MPI_COMM_WORLD) {
        MPI_Comm_free(comm);
    }
    *comm = living;
}

static void see_living(void)
{
    MPI_Group living;
    MPI_Comm_group(way.comm, &living);
    MPI_Group_translate_ranks(way.all, way.size, way.ranks, living, way.place);
    for (int i = 0; i < way.size; i++) {
        way.lives[i] = way.place[i] != MPI_UNDEFINED;
    }
    MPI_Group_free(&living);
}

static MPI_Comm open_all(void)
{
    way.comm = MPI_COMM_WORLD;
    while (!all_agree(way.comm, true)) {
        shrink(&way.comm);
    }
    MPI_Comm_size(way.comm, &way.size);
    MPI_Comm_group(way.comm, &way.all);
    way.lives = sort_memory(NULL, (uint64_t)way.size, sizeof(*way.lives));
    way.ranks = sort_memory(NULL, (uint64_t)way.size, sizeof(*way.ranks));
    way.place = sort_memory(NULL, (uint64_t)way.size, sizeof(*way.place));
    for (int i = 0; i < way.size; i++) {
        way.ranks[i] = i;
    }
    see_living();
    return way.comm;
}

static bool is_over(void)
{
    return false; /* no process reports this before a call fails */
}

static void next(struct sort_turn *turn, bool done)
{
    double since = MPI_Wtime();
    if (way.round == 0) {
        turn->is_over = is_over;
    } else if (all_agree(way.comm, done)) {
        turn->step++;
        turn->made = way.round;
    } else {
        shrink(&way.comm);
        see_living();
    }
    turn->round = ++way.round;
    turn->comm = way.comm;
    MPI_Comm_rank(way.comm, &turn->rank);
    MPI_Comm_size(way.comm, &turn->size);
    for (uint32_t v = 0; v < sort_options.virtuals; v++) {
        turn->owner[v] = way.place[sort_owner(way.lives, way.size, v)];
    }
    sort_times.turn += MPI_Wtime() - since;
}

static int close_all(bool done)
{
    (void)done; /* no process leaves this loop before */
    MPI_Group_free(&way.all);
    if (way.comm != MPI_COMM_WORLD) {
        MPI_Comm_free(&way.comm);
    }
    free(way.lives);
    free(way.ranks);
    free(way.place);
    return 0;
}

const struct sort_way sort_ulfm_way = {"ulfm", open_all, next, close_all};
