/*
 * Checkpoints of a Rhizome program: protect memory, checkpoint, restore.
 *
 * A checkpoint is a generation: the protected memory of all processes at one point of the program.
 * It is committed by agreement between the daemons, so it exists whole or not at all. Each
 * process's piece is held by the daemon of its node (it outlives the process) and by a second node
 * (it outlives the node). After a global restart (MPIX_Reinit) every process restores the same
 * generation, wherever it runs now.
 *
 *     MPIX_Reinit(argc, argv, point);                  in main
 *     int point(int argc, char **argv, MPIX_Reinit_state_t state) {
 *         RZ_Checkpoint_protect(0, &iteration, sizeof iteration);
 *         RZ_Checkpoint_protect(1, x, n * sizeof *x);
 *         RZ_Restore(&generation);                     0: nothing to restore, begin at the
 * beginning for (; iteration < last; iteration++) { RZ_Progress_mark(iteration); ...;
 * RZ_Checkpoint(NULL); }
 *     }
 *
 * All functions are called between MPI_Init and MPI_Finalize and return MPI_SUCCESS or an MPI error
 * class; a restart of the job may take place inside RZ_Checkpoint and RZ_Restore as inside any MPI
 * call. Without a launcher, under `rzrun --no-ft`, or outside MPIX_Reinit, checkpoints are accepted
 * and kept for nothing: a program runs unchanged. In the first two cases generations are 0.
 */
#ifndef RHIZOME_CHECKPOINT_H
#define RHIZOME_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RZ_CHECKPOINT_REGIONS_MAX 64

/*
 * Names a region of memory to be part of every later checkpoint of this process, under id (0 to
 * RZ_CHECKPOINT_REGIONS_MAX - 1). A second call with the same id replaces the first; bytes 0 takes
 * the region out. The memory stays the caller's and must be valid at each RZ_Checkpoint and
 * RZ_Restore. MPI_ERR_ARG: bad id, or NULL memory.
 */
int RZ_Checkpoint_protect(int id, void *memory, size_t bytes);

/*
 * Writes all protected memory as the next generation. Collective over MPI_COMM_WORLD in the sense
 * that every process must call it as often as the others, at the same points. Returns when the own
 * piece is written; copying and commit go on in the background. Waits for the commit of the
 * previous generation first (two generations are kept). *generation (may be NULL): the number of
 * this generation. MPI_ERR_NO_MEM: no room for the piece.
 */
int RZ_Checkpoint(uint64_t *generation);

/*
 * Copies the newest committed generation into the protected memory; every process gets the same
 * generation. Regions must have been protected with the sizes they had at the checkpoint, else
 * MPI_ERR_ARG. *generation = 0: there is none, memory is untouched, and the program begins at its
 * beginning.
 */
int RZ_Restore(uint64_t *generation);

/* Tells the tools which iteration this process begins (progress display, faults injected at an
 * iteration). Cheap. */
int RZ_Progress_mark(uint64_t iteration);

/* Tells the runtime that this process is at work: for long computations without MPI calls, where
 * the watchdog (rzrun --hang-timeout) would hold it for hung. Cheap. As in any MPI call, a process
 * that was declared dead ends here, and a restart of the job may take place. */
int RZ_Alive(void);

#ifdef __cplusplus
}
#endif

#endif
