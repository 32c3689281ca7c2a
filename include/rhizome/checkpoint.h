/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints of a Rhizome program: protect memory, checkpoint, restore.
 *
 * A checkpoint is a generation: the protected memory of all processes at one point of the program.
 * It is committed by agreement between the daemons, so it exists completely or not at all. Each
 * process's piece is held by the daemon of its node (it outlives the process) and, by the scheme of
 * `rzrun --checkpoint`, by a second node, by parities on several nodes, or by a file (it outlives
 * the node). After a global restart (MPIX_Reinit) every process restores the same generation,
 * wherever it runs now.
 *
 *     int iteration;
 *     double x[N];
 *
 *     int point(int argc, char **argv, MPIX_Reinit_state_t state) {
 *         uint64_t generation;
 *         RZ_Checkpoint_protect(0, &iteration, sizeof iteration);
 *         RZ_Checkpoint_protect(1, x, sizeof x);
 *         RZ_Restore(&generation);
 *         if (generation == 0) {
 *             iteration = 0;
 *             ...;
 *         }
 *         while (iteration < LAST) {
 *             RZ_Progress_mark(iteration);
 *             ...;
 *             iteration++;
 *             RZ_Checkpoint(NULL);
 *         }
 *         return 0;
 *     }
 *
 *     int main(int argc, char **argv) {
 *         MPI_Init(&argc, &argv);
 *         MPIX_Reinit(argc, argv, point);
 *         ...;
 *         MPI_Finalize();
 *     }
 *
 * The restart point begins with the state in the checkpoint. If there is none yet (generation 0) it
 * must set its variables, because a surviving process still has their values of before the
 * roll-back. A checkpoint contains the number of completed iterations: the counter is incremented
 * before the call.
 *
 * A piece consists of regions, each with an id: memory (RZ_Checkpoint_protect), or what the program
 * wrote to a stream (RZ_Checkpoint_stream_open), which suits programs that can write and read
 * restart files already. Sizes may differ between processes, and from one checkpoint to the next.
 *
 * Only pages that changed since the checkpoint before the last are copied and sent to the other
 * node: pages of 4096 bytes of the piece, compared by their checksums. There is nothing to
 * configure. Regions are stored in a piece in the order of their ids; a region whose size changes
 * often should have the highest id, because those behind it move and count as changed.
 *
 * All functions are called between MPI_Init and MPI_Finalize and return MPI_SUCCESS or an MPI error
 * class (MPI_ERR_OTHER: called before or after; MPI_Error_string gives details), through the error
 * handler of MPI_COMM_SELF. A call with a wrong argument has no effect. A restart of the job may
 * take place inside RZ_Checkpoint and RZ_Restore as inside any MPI call. With MPI_THREAD_MULTIPLE
 * any thread may call any of them; but while one is in RZ_Checkpoint or RZ_Restore these two and
 * RZ_Checkpoint_region_bytes are refused to others (MPI_ERR_OTHER).
 *
 * Without a launcher, under `rzrun --no-ft`, or outside MPIX_Reinit, checkpoints are accepted and
 * discarded (except files, docs/checkpoints.md): a program runs unchanged. In the first two cases
 * generations are 0, and data written to streams is discarded.
 */
#ifndef RHIZOME_CHECKPOINT_H
#define RHIZOME_CHECKPOINT_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Regions of a process, of either kind. */
#define RZ_CHECKPOINT_REGIONS_MAX 256

/**
 * Registers a region of memory as a part of every later checkpoint of this process.
 *
 * A second call with the same id replaces the first, and also what a stream wrote under it. No
 * other thread may write to the memory during RZ_Checkpoint and RZ_Restore: memory that changes
 * while it is copied does not match its checksum, which ends the job.
 *
 * In a roll-back regions are restored to the state of the call of MPIX_Reinit: memory protected
 * since then is not protected any more, also in surviving processes, and the restart point protects
 * it again. So memory that the restart point protects may be local to it, and memory protected
 * before MPIX_Reinit must stay valid.
 *
 * @param id 0 to RZ_CHECKPOINT_REGIONS_MAX - 1.
 * @param memory stays owned by the caller; must be valid at each RZ_Checkpoint and RZ_Restore.
 * @param bytes size of the region; 0 removes it.
 * @return MPI_SUCCESS; MPI_ERR_ARG: bad id, NULL memory, more bytes than memory can have, or a
 *   stream writes the region.
 */
int RZ_Checkpoint_protect(int id, void *memory, size_t bytes);

/**
 * Registers the memory of a window at this process as a part of every later checkpoint.
 *
 * All members of the window make this call, each before its next RZ_Checkpoint or RZ_Restore; the
 * ids may differ. It replaces what was registered under the id. From then on
 *
 * - RZ_Checkpoint also synchronises the window, whatever epochs are open: operations that a member
 *   has begun before the call are in the checkpoint, at the target, and those that it begins
 *   afterwards are not. So there is one state of the whole window. All members must make the call,
 *   as for MPI_Win_fence.
 * - No member returns from RZ_Restore before the memory of all of them is restored. Between this
 *   call and RZ_Restore no process may use the window.
 *
 * The protection ends with the window: in MPI_Win_free or by a roll-back. The restart point makes
 * the window again, with the same size, and protects it again. MPI_Win_allocate suits best:
 *
 *     MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
 *     RZ_Checkpoint_protect_win(0, win);
 *     RZ_Restore(&generation);
 *
 * @param id 0 to RZ_CHECKPOINT_REGIONS_MAX - 1.
 * @param win a window of any kind but MPI_Win_create_dynamic.
 * @return MPI_SUCCESS; MPI_ERR_ARG: bad id, a stream writes the region, or the window is another
 *   region already; MPI_ERR_WIN: no window; MPI_ERR_RMA_FLAVOR: a dynamic window. Errors go through
 *   the error handler of the window.
 */
int RZ_Checkpoint_protect_win(int id, MPI_Win win);

/**
 * Returns the size of a region in the generation that RZ_Restore copies, or has copied since the
 * last restart, so that memory can be allocated and protected in that size.
 *
 * The generation is the same at all processes. The first call asks the daemon and checks the piece;
 * it must precede the first RZ_Checkpoint of the round.
 *
 * @param id the region.
 * @param bytes the size; 0 if the region is not in the generation, or there is none.
 * @return MPI_SUCCESS; MPI_ERR_ARG: bad id, NULL; MPI_ERR_OTHER: the piece is damaged, or the call
 *   is too late.
 */
int RZ_Checkpoint_region_bytes(int id, size_t *bytes);

/**
 * Opens a stream on a region; the caller closes it by fclose. It can seek.
 *
 * Mode "w": the data written until fclose becomes the content of the region, atomically: it is part
 * of every later checkpoint, until another stream writes the region again. If memory runs out,
 * writes fail, fclose returns EOF, and RZ_Checkpoint is refused (MPI_ERR_NO_MEM) until the region
 * is written again or removed (RZ_Checkpoint_protect with 0 bytes). While such a stream is open
 * RZ_Checkpoint and RZ_Restore are refused.
 *
 * Mode "r": reads the content: that of RZ_Restore, or what was written since. The stream keeps its
 * initial content, whatever happens to the region.
 *
 * In a roll-back contents are restored to the state of the call of MPIX_Reinit, until RZ_Restore
 * replaces them; streams that were open can only be closed, and data written to them is lost.
 *
 * @param id the region.
 * @param mode "w" or "r".
 * @param stream set on success only.
 * @return MPI_SUCCESS; MPI_ERR_ARG: bad id, another mode, NULL; the region is protected memory, or
 *   (r) has no content, or (w) is being written; MPI_ERR_NO_MEM.
 */
int RZ_Checkpoint_stream_open(int id, const char *mode, FILE **stream);

/**
 * Writes all regions as the next generation.
 *
 * Collective over MPI_COMM_WORLD in the sense that every process must call it as often as the
 * others, at the same points. Returns when the own piece is written; copying and commit continue in
 * the background. First waits for the commit of the previous generation (two generations are kept).
 *
 * On an error nothing was written, earlier generations are unchanged, and the call does not count:
 * remove the cause and call again at this point of the program, or end. A process that continues
 * without it would combine another point of the program with those of the other processes.
 *
 * @param generation the number of this generation; may be NULL.
 * @return MPI_SUCCESS; MPI_ERR_NO_MEM: no memory for the piece, or for a stream; MPI_ERR_OTHER: a
 *   stream writes a region, or another thread is in this call; MPI_ERR_PROC_FAILED,
 *   MPI_ERR_REVOKED: a member of a protected window has failed, outside MPIX_Reinit, or the window
 *   is revoked.
 */
int RZ_Checkpoint(uint64_t *generation);

/**
 * Copies the newest committed generation into the protected memory, and restores the contents of
 * regions written by streams.
 *
 * Every process gets the same generation. To be called once in each round, before its first
 * RZ_Checkpoint. If nothing was copied, the call may be repeated after the cause is removed.
 *
 * @param generation the number of the generation; 0: there is none, memory is unchanged, and the
 *   program begins at its beginning.
 * @return MPI_SUCCESS; MPI_ERR_ARG: protected memory has another size in this generation or is not
 *   in it, or the generation has memory that is not protected; MPI_ERR_NO_MEM: no memory for
 *   contents of streams; MPI_ERR_OTHER: a stream writes a region, or another thread is in this
 *   call. In these cases nothing was copied. MPI_ERR_OTHER also: restored already, a checkpoint was
 *   taken since the restart, or the piece is damaged.
 */
int RZ_Restore(uint64_t *generation);

/** Reports to the tools which iteration this process begins (progress display, faults injected at
 * an iteration). Cheap; any thread. */
int RZ_Progress_mark(uint64_t iteration);

/**
 * Reports to the runtime that this process is active: for long computations without MPI calls,
 * during which the watchdog (rzrun --hang-timeout) would consider it hung.
 *
 * Cheap; any thread. As in any MPI call, a process that was declared failed ends here, and a
 * restart of the job may take place.
 */
int RZ_Alive(void);

#ifdef __cplusplus
}
#endif

#endif
