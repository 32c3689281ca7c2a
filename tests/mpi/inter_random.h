/* SPDX-License-Identifier: BSD-3-Clause */
/* Random pairs of groups for inter-communicators; all ranks of the world draw the same. */
#ifndef INTER_RANDOM_H
#define INTER_RANDOM_H

#include "check.h"
#include "coll_random.h"

enum { GROUP_MAX = 8, WORLD_MAX = 64 };

/* The world ranks of both groups, in order of rank. */
static int members[2][GROUP_MAX], n_members[2];
static int world_rank, world_size;

/* Of this process: its group (-1: in none), its rank there, and the sizes of both. */
static int side, rank, size, peers;

static inline int *order_of_world(void)
{
    static int order[WORLD_MAX];
    for (int i = 0; i < world_size; i++) {
        int at = draw(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

/* Sizes 1..8 each, as far as there are processes (two at least), members in any order. */
static inline void draw_members(void)
{
    const int *order = order_of_world();
    int most = world_size - 1 < GROUP_MAX ? world_size - 1 : GROUP_MAX;
    n_members[0] = 1 + draw(most);
    most = world_size - n_members[0] < GROUP_MAX ? world_size - n_members[0] : GROUP_MAX;
    n_members[1] = 1 + draw(most);
    side = -1;
    for (int i = 0; i < n_members[0] + n_members[1]; i++) {
        int s = i >= n_members[0], at = s ? i - n_members[0] : i;
        members[s][at] = order[i];
        if (order[i] == world_rank) {
            side = s;
            rank = at;
            size = n_members[s];
            peers = n_members[1 - s];
        }
    }
}

/* The local communicator of members[side]; MPI_COMM_NULL for those in neither. */
static inline MPI_Comm local_of_members(void)
{
    MPI_Comm local;
    MPI_Comm_split(MPI_COMM_WORLD, side < 0 ? MPI_UNDEFINED : side, side < 0 ? 0 : rank, &local);
    return local;
}

/* The inter-communicator between the two, by leaders drawn; MPI_COMM_NULL for those in neither. */
static inline MPI_Comm inter_of_members(void)
{
    int leaders[2] = {draw(n_members[0]), draw(n_members[1])}, tag = draw(100);
    MPI_Comm local = local_of_members(), inter = MPI_COMM_NULL;
    if (local != MPI_COMM_NULL) {
        int leads = rank == leaders[side];
        MPI_Intercomm_create(local, leaders[side], leads ? MPI_COMM_WORLD : MPI_COMM_NULL,
                             leads ? members[1 - side][leaders[1 - side]] : -77, tag, &inter);
        MPI_Comm_free(&local);
    }
    return inter;
}

static inline int inter_begin(int argc, char **argv, int rounds)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    CHECK(world_size >= 2 && world_size <= WORLD_MAX);
    return arguments(argc, argv, rounds);
}

#endif
