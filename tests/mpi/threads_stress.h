/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of threads_stress share. */
#ifndef THREADS_STRESS_H
#define THREADS_STRESS_H

#include <mpi.h>
#include <pthread.h>

enum { THREADS = 4, SLOTS = 8, RANKS_MAX = 64 };

/* One thread, and the thread of the same number at the other ranks. */
struct worker {
    int thread, rank, size, left, right;
    MPI_Comm comm;  /* theirs alone */
    unsigned state; /* the same at all ranks */
    int *out, *in;
    pthread_t id;
};

static inline int below(struct worker *me, int bound)
{
    me->state = me->state * 1103515245u + 12345u;
    return (int)((me->state >> 16) % (unsigned)bound);
}

/* threads_stress_objects.c: before the threads begin, and after they have ended. */
void objects_begin(void);
void objects_end(void);

/* A request of the user that another thread completes, with a status of 3 integers. */
MPI_Request grequest_hand_over(void);

/* Making, using and freeing. */
void use_comms(struct worker *me);
void use_types(struct worker *me);
void use_errhandlers(struct worker *me);
void use_info(struct worker *me);
void use_info_alone(struct worker *me); /* without a communicator */
void use_tools(struct worker *me);
void use_attributes(struct worker *me);
void use_groups(struct worker *me);

#endif
