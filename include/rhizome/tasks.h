/*
 * A bag of tasks for a dynamic group of recommended processes (docs/group.md): tasks are dealt
 * evenly to the members of each round's view, their results exchanged when the next round begins,
 * and what a process that fell out had not done is dealt again.
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
 * A bag is opened once in the life of a monitor, by all of its processes alike, before any round;
 * all rounds are the bag's, and after the bag the monitor is only stopped. A bag on a monitor that
 * has had other rounds is refused (MPI_ERR_ARG, and MPI_Error_string says why). So a program with
 * several phases numbers the tasks of all phases in one bag (phase_tasks), or starts a monitor for
 * each.
 *
 * A task is an id from 0 to n_tasks - 1. What it computes depends on the id alone: it may be done
 * by any process, and by two, when one fell out and came back: then it counts once, and a process
 * keeps the result that it has.
 *
 * Round: ends for a process when it has done all that it was dealt; when somebody has fallen out;
 * or when the round has taken its length, but not before it has done one task. The length is
 * Young's sqrt(2 * cost * failure_seconds) (Communications of the ACM 17:9, 1974), where cost is
 * the time that the last exchange of results took here: what is not exchanged is lost with its
 * process. So failure_seconds is the expected time between two events in which somebody of the
 * group falls out, however. Without it a round is all that is left: right where nothing fails, and
 * tasks are of one length.
 *
 * Phases: with phase_tasks = p the tasks from k p to (k + 1) p - 1 are dealt when all before them
 * are done, in a round of their own at least, and their results are at all members of its view.
 *
 * By callbacks, without a round for each exchange: with by_callbacks the monitor calls the bag when
 * somebody falls out or comes back (its RZ_Group_monitor_on_change is the bag's), each process
 * deals itself its share by what it knows of the group, and sends each result to all others when it
 * is complete. Who has done its share goes on with that of others, from the far end: nobody waits
 * for a slow one, and some tasks are done twice. Only the end is a round. Right for tasks much
 * longer than a message to each process; a process that is out gets all results meanwhile. The
 * communicator is that of the monitor, or of the same processes in the same order, with an error
 * handler that returns; it is the bag's alone until it is closed. The monitor is stopped first, and
 * RZ_Tasks_close is collective: it returns when all that live have closed theirs.
 *
 * Costs: a round's exchange is an MPI_Allreduce of 2 ints for each task of the phase and an
 * MPI_Allgatherv of the results that not all have; by callbacks a result is a message to each
 * process. Memory, at each process: n_tasks times result_bytes and 13 bytes.
 *
 * All functions return MPI_SUCCESS or an error of MPI (MPI_Error_class, MPI_Error_string). What a
 * bag finds wrong itself goes to no error handler; what an MPI call in it finds does first: that of
 * the communicator that the monitor was started on, or, where there is no monitor any more, of
 * MPI_COMM_SELF. A bag is for one thread at a time. Link with -lrhizome_tasks -lm, before the MPI
 * library (pkg-config: rhizome-tasks); it is written against mpi.h and mpi-ext.h alone.
 */
#ifndef RHIZOME_TASKS_H
#define RHIZOME_TASKS_H

#include <mpi.h>

#include <mpi-ext.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RZ_TASKS_MAX 100000000 /* in a bag */

typedef struct RZ_Tasks_s *RZ_Tasks;

typedef struct RZ_Tasks_options {
    double failure_seconds; /* expected between failures; 0: none are expected */
    int phase_tasks;        /* tasks of a phase, the last one may have fewer; 0: all are one */
    const MPI_Comm *by_callbacks; /* NULL: by rounds; else neither of the two above */
} RZ_Tasks_options;

/*
 * A bag of n_tasks tasks with results of result_bytes bytes (0: tasks have none); the same at all
 * processes of the monitor. options: NULL for none, and what it does not name is 0. Local.
 * MPI_ERR_ARG: a number out of its bounds, NULL, or a monitor that has had rounds; MPI_ERR_NO_MEM.
 * *tasks is set on success only; RZ_Tasks_close frees it.
 */
int RZ_Tasks_open(RZ_Group_monitor monitor, int n_tasks, int result_bytes,
                  const RZ_Tasks_options *options, RZ_Tasks *tasks);

/*
 * *flag = 1: *id is for this process to do next. *flag = 0: all tasks are done, and all members of
 * the last view have all results. Waits for the next round where there is nothing left to do in
 * this one, or where this process is out of the group: then, until it is in again or all is done.
 * A task that is claimed and not completed is dealt again. Errors: those of
 * RZ_Group_monitor_round; MPI_ERR_NO_MEM; MPI_ERR_ARG: NULL, or rounds of the monitor that were
 * not this bag's.
 */
int RZ_Tasks_claim(RZ_Tasks tasks, int *id, int *flag);

/* The task is done; its result (result_bytes, may be NULL for 0) is copied. The first result
 * counts. MPI_ERR_ARG: no such task. */
int RZ_Tasks_complete(RZ_Tasks tasks, int id, const void *result);

/*
 * All results, in the order of the ids; the memory is the bag's, until it is closed.
 * MPI_ERR_PENDING: not all are here: the bag is not done yet, or it was done while this process was
 * out of the group, and the others had gone before they could tell it.
 */
int RZ_Tasks_results(RZ_Tasks tasks, const void **results);

/* What happened here so far: rounds this process took part in, and tasks it completed; either may
 * be NULL. */
int RZ_Tasks_count(RZ_Tasks tasks, int *rounds, int *completed);

/* Local, but by callbacks collective, see above; *tasks becomes NULL, which is allowed. */
int RZ_Tasks_close(RZ_Tasks *tasks);

#ifdef __cplusplus
}
#endif

#endif
