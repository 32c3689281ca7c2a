/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that are the same at all ranks, so that every rank knows what every other one
 * sends. */
#ifndef COLL_RANDOM_H
#define COLL_RANDOM_H

#include <stdint.h>
#include <stdlib.h>

static uint64_t random_state;

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline int draw(int bound)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return (int)(mix(random_state) % (uint64_t)bound);
}

/* A communicator for the next rounds: all ranks, all in reverse, or parts of them; to be freed. */
static inline MPI_Comm draw_comm(void)
{
    int rank;
    MPI_Comm comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int kind = draw(4), parts = 1 + draw(3);
    MPI_Comm_split(MPI_COMM_WORLD, kind == 2 ? rank % parts : 0, kind == 1 ? -rank : rank, &comm);
    return comm;
}

/* The arguments of the programs: [SEED [ROUNDS]]. */
static inline int arguments(int argc, char **argv, int rounds)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    return argc > 2 ? atoi(argv[2]) : rounds;
}

#endif
