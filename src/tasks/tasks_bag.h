/* SPDX-License-Identifier: BSD-3-Clause */
/* A bag of tasks, as the files of this component share it. */
#ifndef RZ_TASKS_BAG_H
#define RZ_TASKS_BAG_H

#include <rhizome/tasks.h>

#include <stdbool.h>
#include <stddef.h>

struct rz_tasks_peers; /* of a bag by callbacks */

struct RZ_Tasks_s {
    RZ_Group_monitor monitor;
    int n_tasks, result_bytes;

    bool *done;          /* [n_tasks]: the result is here */
    char *results;       /* [n_tasks * result_bytes] */
    int n_done, n_first; /* number of the first ones that are here, without a gap */
    int rounds, completed;

    MPI_Count round;  /* of the monitor, the latest that the bag began; 0: none */
    MPI_Count agreed; /* number of tasks, from the first on, whose results all know; one more: all
                         are done */
    int *dealt;       /* [n_tasks]: the tasks of this process, in this order */
    int n_dealt, next;
    bool claimed; /* one of these */

    /* By rounds. */
    double failure_seconds;
    int phase;     /* tasks of a phase, at least 1 */
    MPI_Comm comm; /* of the round; MPI_COMM_NULL: this process is excluded, or before the first */
    int *words;    /* [2 n_tasks + 1]: of the exchange */
    double begun, cost; /* of the round; of the exchange, in seconds */

    struct rz_tasks_peers *peers; /* by callbacks; NULL: by rounds */
};

/* tasks.c */

/* malloc(0) may be NULL, and this is no error. */
void *rz_tasks_zeros(size_t n, size_t size);
char *rz_tasks_result(const struct RZ_Tasks_s *t, int id);
/* The result is in its place. */
void rz_tasks_note(struct RZ_Tasks_s *t, int id);
/* Skips tasks that were done meanwhile; whether some are left. */
bool rz_tasks_is_due(struct RZ_Tasks_s *t);
bool rz_tasks_is_over(const struct RZ_Tasks_s *t);
/* Whether an error means that a process is lost: then the bag continues. */
bool rz_tasks_is_loss(int error);
/* The bag's next round; *comm is of its view, MPI_COMM_NULL: this process is excluded from it. */
int rz_tasks_round(struct RZ_Tasks_s *t, MPI_Comm *comm);

/* tasks_rounds.c: until a task is due here, or all is over. */
int rz_tasks_follow_rounds(struct RZ_Tasks_s *t);

/* tasks_callbacks.c: the same; further functions of a bag by callbacks. */
int rz_tasks_follow_callbacks(struct RZ_Tasks_s *t);
int rz_tasks_peers_open(struct RZ_Tasks_s *t, MPI_Comm comm);
/* The result is sent to all others. */
int rz_tasks_publish(struct RZ_Tasks_s *t, int id);
void rz_tasks_peers_close(struct RZ_Tasks_s *t);

#endif
