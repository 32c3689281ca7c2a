/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ULFM way, for recovery.c: a world that is repaired by its processes.
 *
 * The rule: on each world every process takes part in the same sequence of agreements. An agreement
 * stands at the end of each checkpoint, of each repair, and of the loop. A process with an error
 * anywhere else revokes the world, so that all get an error, and takes part, with a no, in the
 * agreement that the others are in or will reach. After a no all repair; after a yes none does.
 */
#ifndef RECOVERY_ULFM_H
#define RECOVERY_ULFM_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this MPI has the needed calls; else only `plain` exists. */
#if __has_include(<mpi-ext.h>) && __has_include(<rhizome/checkpoint.h>)
#define RECOVERY_SURVIVES 1
#endif

enum recovery_repair {
    RECOVERY_REPLACE, /* RZ_Comm_replace */
    RECOVERY_SPAWN    /* MPIX_Comm_shrink, MPI_Comm_spawn, MPI_Intercomm_merge, MPI_Comm_split */
};

/*
 * Where its checkpoints are: each process has a valid copy of its own, and the next one. A version
 * is a number of iterations, and not 0. Functions that communicate return an error class of MPI;
 * the caller revokes the communicator then, and agrees with all others on the result.
 */
struct recovery_store {
    /* A new world, the first or a repaired one: finds the newest version that can be completed, and
     * gives processes without a copy theirs. Until settle nothing that another process may need is
     * dropped. */
    int (*refill)(MPI_Comm world);
    /* All have succeeded in it, or in save: that version is valid. */
    void (*settle)(void);
    /* The bytes of the own valid copy; NULL: there is none. */
    const void *(*own)(size_t *bytes);
    /* Memory for the next version of the own copy, to be filled before save. */
    void *(*next)(size_t bytes);
    /* Stores what was filled where it can be found again. Collective. */
    int (*save)(MPI_Comm world, uint64_t version);
    /* The loop has come to its end. */
    void (*close)(void);
};

/* For stores: memory for this number of bytes of a copy, replacing *room bytes; its content may be
 * lost. Ends the program if there is none. */
void recovery_reserve(unsigned char **memory, size_t *room, size_t bytes);

/* Runs the loop until it has come to its end in all processes. again: after a repair. */
int recovery_ulfm_run(char **argv, enum recovery_repair way, const struct recovery_store *store,
                      int (*loop)(bool again));

/* The same at all, in the loop. */
uint64_t recovery_ulfm_repairs(void);

MPI_Comm recovery_ulfm_world(void);
void recovery_ulfm_use(MPI_Comm comm);

/* The end of a step of all: returns if all processes say yes, else jumps to the repair. */
void recovery_ulfm_commit(void);

#endif
