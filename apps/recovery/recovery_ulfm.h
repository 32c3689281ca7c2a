/*
 * The ULFM way, for recovery.c: a world that is repaired by its processes.
 *
 * The rule that keeps all together: on each world every process takes part in the same sequence of
 * agreements. An agreement stands at the end of each checkpoint, of each repair, and of the loop.
 * Whoever meets an error anywhere else revokes the world, so that everybody meets one, and takes
 * part in the agreement at which the others stand or will stand, with a no. After a no everybody
 * repairs; after a yes nobody does.
 */
#ifndef RECOVERY_ULFM_H
#define RECOVERY_ULFM_H

#include <mpi.h>

#include <stdbool.h>

/* Whether this MPI has what it takes; else only `plain` is there. */
#if __has_include(<mpi-ext.h>) && __has_include(<rhizome/checkpoint.h>)
#define RECOVERY_SURVIVES 1
#endif

enum recovery_repair {
    RECOVERY_REPLACE, /* MPIX_Comm_replace */
    RECOVERY_SPAWN    /* MPIX_Comm_shrink, MPI_Comm_spawn, MPI_Intercomm_merge, MPI_Comm_split */
};

/* Runs the loop until it has come to its end in all processes. again: after a repair. */
int recovery_ulfm_run(char **argv, enum recovery_repair way, int (*loop)(bool again));

MPI_Comm recovery_ulfm_world(void);
void recovery_ulfm_use(MPI_Comm comm);

/* The end of a step of all: returns where all processes say yes, else jumps to the repair. */
void recovery_ulfm_commit(void);

#endif
