/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One loop, three ways to survive the loss of processes and nodes: what an iterative program needs
 * besides its loop.
 *
 *   reinit    MPIX_Reinit, checkpoints by RZ_Checkpoint: the runtime replaces the failed processes
 *             and takes all processes back to the loop's beginning
 *   ulfm      the program itself: an error handler that revokes and jumps, RZ_Comm_replace (or
 *             shrink, spawn, merge and a new order), checkpoints in the memory of the processes or,
 *             with --checkpoint-files, in files
 *   restart   the job ends and is deployed again, checkpoints by RZ_Checkpoint, in files:
 *             `rzrun --on-failure restart --checkpoint-dir DIR`
 *   plain     none of it; the only one with an MPI that has none of these
 *
 *     static int loop(void) {
 *         open(recovery_world());                      all memory stays from one entry to the next
 *         recovery_protect(0, &iteration, sizeof iteration);
 *         recovery_protect(1, x, n * sizeof *x);
 *         if (!recovery_restore())
 *             begin();
 *         while (iteration < last) {
 *             recovery_mark(iteration);
 *             work(recovery_world());                  no check of errors of MPI calls
 *             recovery_checkpoint(++iteration);
 *         }
 *         return 0;
 *     }
 *     int main(int argc, char **argv) {
 *         MPI_Init(&argc, &argv);
 *         int status = recovery_run(argc, argv, loop);
 *         if (recovery_rank() == 0) print what the loop has left;
 *         MPI_Finalize();
 *         return status;
 *     }
 *
 * The loop is entered again after each failure, in all processes, from a call of MPI or of this
 * module that does not return. Then recovery_world() is the only valid MPI object: make
 * communicators again, and name them by recovery_use. Locals are lost; variables that must stay are
 * static. Only the thread that runs the loop may call MPI.
 *
 * Written against mpi.h, mpi-ext.h and rhizome/checkpoint.h alone: copy it into a program.
 */
#ifndef RECOVERY_H
#define RECOVERY_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECOVERY_REGIONS_MAX = 60 };

/* Settings of a program, made before it reads its options, which may change both. */
struct recovery_defaults {
    const char *program;       /* begins every message; the string stays the caller's */
    uint64_t checkpoint_every; /* iterations between checkpoints without --method; with it 1 */
};

void recovery_open(const struct recovery_defaults *defaults);

enum recovery_taken { RECOVERY_NOT_MINE, RECOVERY_TAKEN, RECOVERY_WRONG };

/* Takes an option and its value, which may be NULL. WRONG: it has printed on standard error, with a
 * line of its own, what is wrong (if `loud`, which should be set at one rank). */
enum recovery_taken recovery_option(const char *name, const char *value, bool loud);

/* The lines of a usage text for these options, each ended by a newline. */
extern const char recovery_usage[];

/* The faults of --fail are drawn from this many iterations; call it before recovery_run. */
void recovery_iterations(uint64_t iterations);

/* Runs the loop to its end in all processes; returns what it returned. Collective, after MPI_Init,
 * once. argv: the program's own, for the processes that are started in the place of failed ones.
 * With --method rank 0 prints the times at its end on standard error:
 *     times total T application T checkpoint T restore T recovery T        (seconds)
 * each the largest of all ranks: a process that was started late knows nothing of what was before.
 * application is the rest; recovery counts from the begin of the iteration that was cut off. With
 * restart, the times of earlier attempts count up to the checkpoint that was restored. */
int recovery_run(int argc, char **argv, int (*loop)(void));

/* All processes, in the order and number of the start. Its handle changes after a repair. */
MPI_Comm recovery_world(void);
int recovery_rank(void);

/* Names a communicator that was made from the world, in the same order at all ranks (collective):
 * it is revoked and freed with the world. */
void recovery_use(MPI_Comm comm);

/* Memory to be part of each checkpoint, id from 0 to RECOVERY_REGIONS_MAX - 1; again after each
 * entry to the loop, with the same sizes. */
void recovery_protect(int id, void *memory, size_t bytes);

/* Fills the protected memory from the newest checkpoint that all have; false: there is none, and
 * the program begins at its beginning. */
bool recovery_restore(void);

/* An iteration begins, its number counted from 0. A fault ordered by --fail occurs here. */
void recovery_mark(uint64_t iteration);

/* This number of iterations is complete; writes a checkpoint when it is time for one.
 * Collective. */
void recovery_checkpoint(uint64_t iterations);

/* Whether it would, for programs that prepare the data to save. */
bool recovery_checkpoint_due(uint64_t iterations);

/* Whether checkpoints are written at all: a program can save memory if they are not. */
bool recovery_checkpoints(void);

/* Ends the program, printed as for printf. */
_Noreturn void recovery_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
