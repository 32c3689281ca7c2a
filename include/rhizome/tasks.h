/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bag of tasks for a dynamic group of recommended processes (docs/group.md): tasks are assigned
 * evenly to the members of each round's view, their results are exchanged when the next round
 * begins, and tasks that a removed process had not done are assigned again.
 *
 *     RZ_Group_monitor_start(comm, MPI_INFO_NULL, NULL, NULL, &monitor);
 *     RZ_Tasks_open(monitor, 1000, sizeof result, NULL, &tasks);
 *     while (RZ_Tasks_claim(tasks, &id, &flag) == MPI_SUCCESS && flag) {
 *         result = work(id);                                  no MPI calls are needed
 *         RZ_Tasks_complete(tasks, id, &result);
 *     }
 *     RZ_Tasks_results(tasks, &results);                      result of task i at i * sizeof result
 *     RZ_Group_monitor_stop(&monitor);
 *     RZ_Tasks_close(&tasks);
 *
 * A bag is opened once per monitor, by all of its processes alike, before any round; all rounds
 * belong to the bag, and after the bag the monitor is only stopped. A bag on a monitor that has had
 * other rounds is refused (MPI_ERR_ARG, and MPI_Error_string says why). So a program with several
 * phases numbers the tasks of all phases in one bag (phase_tasks), or starts a monitor for each.
 *
 * A task is an id from 0 to n_tasks - 1. Its result depends on the id alone: it may be done by any
 * process, and by two, if one was removed and rejoined: then it counts once, and a process keeps
 * its first result.
 *
 * Round: ends for a process when it has done all its tasks; when a process was removed from the
 * group; or when the round has reached its length, but not before it has done one task. The length
 * is Young's sqrt(2 * cost * failure_seconds) (Communications of the ACM 17:9, 1974), where cost is
 * the duration of the last exchange of results here: results that are not exchanged are lost with
 * their process. So failure_seconds is the expected time between two removals from the group, for
 * any reason. Without it a round is all remaining tasks: suitable if no process fails and tasks
 * have equal lengths.
 *
 * Phases: with phase_tasks = p the tasks from k p to (k + 1) p - 1 are assigned when all before
 * them are done, in a round of their own at least, and their results are at all members of its
 * view.
 *
 * By callbacks, without a round for each exchange: with by_callbacks the monitor calls the bag when
 * a process is removed or rejoins (RZ_Group_monitor_on_change is used by the bag), each process
 * computes its share from its view of the group, and sends each result to all others when it is
 * complete. A process that has done its share continues with the shares of others, from their ends:
 * no process waits for a slow one, and some tasks are done twice. Only the end is a round. Suitable
 * for tasks much longer than a message to each process; a process that is not in the group gets all
 * results meanwhile. The communicator is that of the monitor, or of the same processes in the same
 * order, with an error handler that returns; only the bag may use it until it is closed. The
 * monitor is stopped first, and RZ_Tasks_close is collective: it returns when all living processes
 * have closed theirs.
 *
 * Costs: a round's exchange is an MPI_Allreduce of 2 ints for each task of the phase and an
 * MPI_Allgatherv of the results that not all have; by callbacks a result is a message to each
 * process. Memory, at each process: n_tasks times result_bytes and 13 bytes.
 *
 * All functions return MPI_SUCCESS or an error of MPI (MPI_Error_class, MPI_Error_string). Errors
 * that the bag itself detects are not passed to an error handler; errors of MPI calls in it are
 * passed first to that of the communicator that the monitor was started on, or, if there is no
 * monitor any more, of MPI_COMM_SELF. A bag may be used by one thread at a time. Link with
 * -lrhizome_tasks -lm, before the MPI library (pkg-config: rhizome-tasks); it is written against
 * mpi.h and mpi-ext.h alone.
 */
#ifndef RHIZOME_TASKS_H
#define RHIZOME_TASKS_H

#include <mpi.h>

#include <mpi-ext.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RZ_TASKS_MAX 100000000 /* of one bag */

typedef struct RZ_Tasks_s *RZ_Tasks;

typedef struct RZ_Tasks_options {
    double failure_seconds;       /* expected between failures; 0: none are expected */
    int phase_tasks;              /* tasks of a phase, the last one may have fewer; 0: one phase */
    const MPI_Comm *by_callbacks; /* NULL: by rounds; otherwise neither of the two above is used */
} RZ_Tasks_options;

/**
 * Opens a bag; the same arguments at all processes of the monitor. Local.
 *
 * @param monitor of the group; must not have had rounds.
 * @param n_tasks number of tasks.
 * @param result_bytes bytes of one result; 0: tasks have none.
 * @param options NULL for none; fields that are not set are 0.
 * @param tasks set on success only; freed by RZ_Tasks_close.
 * @return MPI_SUCCESS; MPI_ERR_ARG: a number out of its bounds, NULL, or a monitor that has had
 *   rounds; MPI_ERR_NO_MEM.
 */
int RZ_Tasks_open(RZ_Group_monitor monitor, int n_tasks, int result_bytes,
                  const RZ_Tasks_options *options, RZ_Tasks *tasks);

/**
 * Claims the next task of this process.
 *
 * Waits for the next round if nothing is left to do in this one, or if this process is not in the
 * group: then until it is in it again or all is done. A task that is claimed and not completed is
 * assigned again.
 *
 * @param id the task, if *flag is 1.
 * @param flag 1: a task was claimed; 0: all tasks are done, and all members of the last view have
 *   all results.
 * @return MPI_SUCCESS; the errors of RZ_Group_monitor_round; MPI_ERR_NO_MEM; MPI_ERR_ARG: NULL, or
 *   rounds of the monitor that were not of this bag.
 */
int RZ_Tasks_claim(RZ_Tasks tasks, int *id, int *flag);

/**
 * Completes a task.
 *
 * @param id the task.
 * @param result result_bytes bytes, which are copied; may be NULL for 0. The first result counts.
 * @return MPI_SUCCESS; MPI_ERR_ARG: no such task.
 */
int RZ_Tasks_complete(RZ_Tasks tasks, int id, const void *result);

/**
 * Returns all results, in the order of the ids.
 *
 * @param results memory of the bag, valid until it is closed.
 * @return MPI_SUCCESS; MPI_ERR_PENDING: some are missing: the bag is not done yet, or it was done
 *   while this process was not in the group, and the others had ended before they could send them.
 */
int RZ_Tasks_results(RZ_Tasks tasks, const void **results);

/** Returns the rounds in which this process took part, and the tasks it completed; either pointer
 * may be NULL. */
int RZ_Tasks_count(RZ_Tasks tasks, int *rounds, int *completed);

/**
 * Closes the bag. Local, but collective with callbacks, see above; *tasks becomes NULL, which is
 * allowed as an argument.
 */
int RZ_Tasks_close(RZ_Tasks *tasks);

#ifdef __cplusplus
}
#endif

#endif
