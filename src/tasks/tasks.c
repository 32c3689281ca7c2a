/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags of tasks (rhizome/tasks.h), by public calls alone: the common part of both modes. */
#include "tasks/tasks_bag.h"

#include <stdlib.h>
#include <string.h>

/* ---- Parts ---- */

void *rz_tasks_zeros(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size > 0 ? size : 1);
}

char *rz_tasks_result(const struct RZ_Tasks_s *t, int id)
{
    return t->results + (size_t)id * (size_t)t->result_bytes;
}

void rz_tasks_note(struct RZ_Tasks_s *t, int id)
{
    t->n_done += !t->done[id];
    t->done[id] = true;
    while (t->n_first < t->n_tasks && t->done[t->n_first]) {
        t->n_first++;
    }
}

bool rz_tasks_is_due(struct RZ_Tasks_s *t)
{
    while (t->next < t->n_dealt && t->done[t->dealt[t->next]]) {
        t->next++;
    }
    return t->next < t->n_dealt;
}

bool rz_tasks_is_over(const struct RZ_Tasks_s *t)
{
    return t->agreed > t->n_tasks;
}

bool rz_tasks_is_loss(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_PROC_FAILED_PENDING ||
           class == MPIX_ERR_REVOKED;
}

/* ---- Rounds of the monitor ---- */

static const char not_its_own[] =
    "the group monitor has had rounds that are not this bag's: a bag is opened once for each "
    "monitor, before any round; number the tasks of all phases in one bag, or start a monitor "
    "for each";

/* An error code with this text; made once. */
static int refusal(void)
{
    static int code;
    if (code == 0 && (MPI_Add_error_code(MPI_ERR_ARG, &code) != MPI_SUCCESS ||
                      MPI_Add_error_string(code, not_its_own) != MPI_SUCCESS)) {
        return MPI_ERR_ARG;
    }
    return code;
}

/* A monitor that has moved to another communicator counts from 0. */
static int look_at_round(const struct RZ_Tasks_s *t)
{
    MPI_Count round;
    int size, error = RZ_Group_monitor_get_round(t->monitor, &round, &size, NULL);
    if (error != MPI_SUCCESS) {
        return error;
    }
    return round == 0 || round == t->round ? MPI_SUCCESS : refusal();
}

int rz_tasks_round(struct RZ_Tasks_s *t, MPI_Comm *comm)
{
    int size, error = look_at_round(t);
    if (error != MPI_SUCCESS) {
        return error;
    }
    MPI_Count progress = (MPI_Count)t->n_first + (t->n_done == t->n_tasks);
    error = RZ_Group_monitor_round(t->monitor, progress, &t->agreed, comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    t->rounds += *comm != MPI_COMM_NULL;
    return RZ_Group_monitor_get_round(t->monitor, &t->round, &size, NULL);
}

/* ---- Calls ---- */

static bool is_right(RZ_Group_monitor monitor, int n_tasks, int result_bytes,
                     const RZ_Tasks_options *options)
{
    return monitor != RZ_GROUP_MONITOR_NULL && n_tasks >= 0 && n_tasks <= RZ_TASKS_MAX &&
           result_bytes >= 0 && options->failure_seconds >= 0 && options->phase_tasks >= 0 &&
           !(options->by_callbacks && (options->phase_tasks > 0 || options->failure_seconds > 0));
}

static RZ_Tasks bag_new(RZ_Group_monitor monitor, int n_tasks, int result_bytes,
                        const RZ_Tasks_options *options)
{
    RZ_Tasks t = calloc(1, sizeof(*t));
    if (!t) {
        return NULL;
    }
    int phase = options->phase_tasks > 0 ? options->phase_tasks : n_tasks;
    *t = (struct RZ_Tasks_s){.monitor = monitor,
                             .n_tasks = n_tasks,
                             .result_bytes = result_bytes,
                             .failure_seconds = options->failure_seconds,
                             .phase = phase > 0 ? phase : 1,
                             .done = rz_tasks_zeros((size_t)n_tasks, sizeof(*t->done)),
                             .results = rz_tasks_zeros((size_t)n_tasks, (size_t)result_bytes),
                             .words = rz_tasks_zeros((size_t)n_tasks * 2 + 1, sizeof(*t->words)),
                             .dealt = rz_tasks_zeros((size_t)n_tasks, sizeof(*t->dealt)),
                             .comm = MPI_COMM_NULL};
    if (!t->done || !t->results || !t->words || !t->dealt) {
        RZ_Tasks_close(&t);
    }
    return t;
}

int RZ_Tasks_open(RZ_Group_monitor monitor, int n_tasks, int result_bytes,
                  const RZ_Tasks_options *options, RZ_Tasks *tasks)
{
    static const RZ_Tasks_options none;
    options = options ? options : &none;
    if (!tasks || !is_right(monitor, n_tasks, result_bytes, options)) {
        return MPI_ERR_ARG;
    }
    RZ_Tasks t = bag_new(monitor, n_tasks, result_bytes, options);
    if (!t) {
        return MPI_ERR_NO_MEM;
    }
    int error = look_at_round(t);
    if (error == MPI_SUCCESS && options->by_callbacks) {
        error = rz_tasks_peers_open(t, *options->by_callbacks);
    }
    if (error == MPI_SUCCESS) {
        *tasks = t;
    } else {
        RZ_Tasks_close(&t);
    }
    return error;
}

int RZ_Tasks_claim(RZ_Tasks tasks, int *id, int *flag)
{
    if (!tasks || !id || !flag) {
        return MPI_ERR_ARG;
    }
    int error = tasks->peers ? rz_tasks_follow_callbacks(tasks) : rz_tasks_follow_rounds(tasks);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *flag = !rz_tasks_is_over(tasks);
    if (*flag) {
        *id = tasks->dealt[tasks->next++];
        tasks->claimed = true;
    }
    return MPI_SUCCESS;
}

int RZ_Tasks_complete(RZ_Tasks tasks, int id, const void *result)
{
    if (!tasks || id < 0 || id >= tasks->n_tasks || (!result && tasks->result_bytes > 0)) {
        return MPI_ERR_ARG;
    }
    tasks->completed++;
    if (tasks->done[id]) {
        return MPI_SUCCESS;
    }
    if (tasks->result_bytes > 0) {
        memcpy(rz_tasks_result(tasks, id), result, (size_t)tasks->result_bytes);
    }
    rz_tasks_note(tasks, id);
    return tasks->peers ? rz_tasks_publish(tasks, id) : MPI_SUCCESS;
}

int RZ_Tasks_results(RZ_Tasks tasks, const void **results)
{
    if (!tasks || !results) {
        return MPI_ERR_ARG;
    }
    if (tasks->n_done < tasks->n_tasks) {
        return MPI_ERR_PENDING;
    }
    *results = tasks->results;
    return MPI_SUCCESS;
}

int RZ_Tasks_count(RZ_Tasks tasks, int *rounds, int *completed)
{
    if (!tasks) {
        return MPI_ERR_ARG;
    }
    if (rounds) {
        *rounds = tasks->rounds;
    }
    if (completed) {
        *completed = tasks->completed;
    }
    return MPI_SUCCESS;
}

int RZ_Tasks_close(RZ_Tasks *tasks)
{
    if (!tasks) {
        return MPI_ERR_ARG;
    }
    if (*tasks) {
        rz_tasks_peers_close(*tasks);
        free((*tasks)->done);
        free((*tasks)->results);
        free((*tasks)->words);
        free((*tasks)->dealt);
        free(*tasks);
    }
    *tasks = NULL;
    return MPI_SUCCESS;
}
