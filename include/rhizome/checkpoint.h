/*
 * Checkpoints of a Rhizome program: protect memory, checkpoint, restore.
 *
 * A checkpoint is a generation: the protected memory of all processes at one point of the program.
 * It is committed by agreement between the daemons, so it exists whole or not at all. Each
 * process's piece is held by the daemon of its node (it outlives the process) and, as `rzrun
 * --checkpoint` says, by a second node, by parities on several nodes, or by a file (it outlives the
 * node). After a global restart (MPIX_Reinit) every process restores the same
 * generation, wherever it runs now.
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
 * What point begins with comes from the checkpoint; where there is none yet (generation 0) it is
 * set, for who has lived on still has what it had when the job went back. A checkpoint says how
 * many iterations are done: the counter is moved before it is taken.
 *
 * A piece consists of regions, each with an id: memory (RZ_Checkpoint_protect), or what the program
 * wrote to a stream (RZ_Checkpoint_stream_open), which suits programs that can write and read
 * restart files already. Sizes may differ between processes, and from one checkpoint to the next.
 *
 * Only what changed since the checkpoint before the last is copied and sent to the other node: in
 * pages of 4096 bytes of the piece, told by their checksums. There is nothing to set. Regions lie
 * in a piece by their ids; one whose size changes often has the highest id, else those behind it
 * move and count as changed.
 *
 * All functions are called between MPI_Init and MPI_Finalize and return MPI_SUCCESS or an MPI error
 * class (MPI_ERR_OTHER: called before or after; MPI_Error_string says more of any of them), by way
 * of the error handler of MPI_COMM_SELF. An argument that is wrong changes nothing. A restart of
 * the job may take place inside RZ_Checkpoint and RZ_Restore as inside any MPI call. With
 * MPI_THREAD_MULTIPLE any thread may call any of them; but while one is in RZ_Checkpoint or
 * RZ_Restore these two and RZ_Checkpoint_region_bytes are refused to others (MPI_ERR_OTHER).
 *
 * Without a launcher, under `rzrun --no-ft`, or outside MPIX_Reinit, checkpoints are accepted
 * and kept for nothing (but for files, docs/checkpoints.md): a program runs unchanged. In the first
 * two cases generations are 0, and streams take what is written and forget it.
 */
#ifndef RHIZOME_CHECKPOINT_H
#define RHIZOME_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Regions of a process, of either kind. */
#define RZ_CHECKPOINT_REGIONS_MAX 256

/*
 * Names a region of memory to be part of every later checkpoint of this process, under id (0 to
 * RZ_CHECKPOINT_REGIONS_MAX - 1). A second call with the same id replaces the first, and also what
 * a stream wrote under it; bytes 0 takes the region out. The memory stays the caller's and must be
 * valid at each RZ_Checkpoint and RZ_Restore; no other thread writes to it while they run (what
 * changes while it is copied fits no checksum, and ends the job).
 *
 * In a roll-back regions are again what they were when MPIX_Reinit was entered: what was protected
 * since then is not protected any more, also in processes that live on, and the restart point
 * protects again. So memory that the restart point protects may end with it, and what is protected
 * before MPIX_Reinit must stay.
 *
 * MPI_ERR_ARG: bad id, NULL memory, more bytes than memory can have, or a stream writes the region.
 */
int RZ_Checkpoint_protect(int id, void *memory, size_t bytes);

/*
 * *bytes: the size of the region in the generation that RZ_Restore copies, or has copied since the
 * last restart; 0: it has none, or there is no such generation. So memory can be allocated and
 * protected in the size that is needed. The same generation at all processes; asks the daemon, and
 * checks the piece, the first time, which must come before the round's first RZ_Checkpoint.
 * MPI_ERR_ARG: bad id, NULL; MPI_ERR_OTHER: the piece is damaged, or it is too late.
 */
int RZ_Checkpoint_region_bytes(int id, size_t *bytes);

/*
 * Opens a stream on region id; the caller closes it by fclose. It can seek.
 *
 * mode "w": what is written until fclose becomes the region's content, at once and as a whole: it
 * is part of every later checkpoint, until another stream writes the region again. If memory runs
 * out, writes fail, fclose returns EOF, and RZ_Checkpoint is refused (MPI_ERR_NO_MEM) until the
 * region was written again or taken out (RZ_Checkpoint_protect with 0 bytes). While such a stream
 * is open RZ_Checkpoint and RZ_Restore are refused.
 *
 * mode "r": reads the content: what RZ_Restore brought back, or was written since. The stream keeps
 * what it began with, whatever happens to the region.
 *
 * In a roll-back contents, too, are again what they were when MPIX_Reinit was entered, until
 * RZ_Restore brings back others; streams that were open can only be closed, and what they wrote is
 * lost.
 *
 * MPI_ERR_ARG: bad id, another mode, NULL; the region is protected memory, or (r) has no content,
 * or (w) is being written. MPI_ERR_NO_MEM. *stream is set on success only.
 */
int RZ_Checkpoint_stream_open(int id, const char *mode, FILE **stream);

/*
 * Writes all regions as the next generation. Collective over MPI_COMM_WORLD in the sense
 * that every process must call it as often as the others, at the same points. Returns when the own
 * piece is written; copying and commit go on in the background. Waits for the commit of the
 * previous generation first (two generations are kept). *generation (may be NULL): the number of
 * this generation.
 *
 * MPI_ERR_NO_MEM: no room for the piece, or a stream had none; MPI_ERR_OTHER: a stream writes a
 * region, or another thread is here. Then nothing was written, earlier generations are as they
 * were, and the call does not count: remove the cause and call again at this point of the program,
 * or end. Whoever goes on without would put another point of the program beside those of the
 * others.
 */
int RZ_Checkpoint(uint64_t *generation);

/*
 * Copies the newest committed generation into the protected memory, and makes what streams had
 * written the content of their regions again; every process gets the same generation. Once in each
 * round, before its first RZ_Checkpoint. *generation = 0: there is none, memory is untouched, and
 * the program begins at its beginning.
 *
 * MPI_ERR_ARG: memory is protected that has another size in this generation or is not in it, or it
 * has memory that is not protected. MPI_ERR_NO_MEM: no room for contents of streams. MPI_ERR_OTHER:
 * a stream writes a region, or another thread is here. In these cases nothing was copied, and after
 * the cause is removed it can be called again. MPI_ERR_OTHER also: restored already, a checkpoint
 * was taken since the restart, or the piece is damaged.
 */
int RZ_Restore(uint64_t *generation);

/* Tells the tools which iteration this process begins (progress display, faults injected at an
 * iteration). Cheap. */
int RZ_Progress_mark(uint64_t iteration);

/* Tells the runtime that this process is at work: for long computations without MPI calls, where
 * the watchdog (rzrun --hang-timeout) would hold it for hung. Cheap. As in any MPI call, a process
 * that was declared failed ends here, and a restart of the job may take place. */
int RZ_Alive(void);

#ifdef __cplusplus
}
#endif

#endif
