/*
 * Checkpoints in the memory of the processes, for the ULFM way: each keeps its own and that of a
 * buddy on another node, in two versions, the newest that is complete at all and the next one.
 *
 * A version is a number of iterations, and not 0. Functions that talk return an error class of MPI;
 * the caller revokes the communicator then, and agrees with all others on how it went.
 */
#ifndef RECOVERY_BUDDY_H
#define RECOVERY_BUDDY_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new world, the first or a repaired one: finds the newest version that can be
 * made whole, gives processes without a copy theirs, and everybody's copy to its buddy of now.
 * Until recovery_buddy_settle nothing that another process may need is given up. */
int recovery_buddy_refill(MPI_Comm world);

/* All have succeeded in it, or in recovery_buddy_save: that version is the one that counts. */
void recovery_buddy_settle(void);

/* The bytes of the own copy that counts; NULL: there is none. */
const void *recovery_buddy_own(size_t *bytes);

/* Room for the next version of the own copy, to be filled before recovery_buddy_save. */
void *recovery_buddy_next(size_t bytes);

/* Sends what was filled to the buddy, and takes what another one sends. Collective. */
int recovery_buddy_save(MPI_Comm world, uint64_t version);

/* One more repair begins. */
void recovery_buddy_repaired(void);

/* Repairs this process took part in or was told of: the same at all after a refill. */
uint64_t recovery_buddy_repairs(void);

void recovery_buddy_close(void);

#endif
