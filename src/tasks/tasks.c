/* Bags of tasks (rhizome/tasks.h), by public calls alone. */
#include "tasks/tasks_deal.h"

#include <rhizome/tasks.h>

#include <stdlib.h>
#include <string.h>

struct RZ_Tasks_s {
    MPIX_Group_monitor monitor;
    int n_tasks, result_bytes;
    double failure_seconds;

    bool *done;    /* [n_tasks]: the result is here */
    char *results; /* [n_tasks * result_bytes] */
    int n_done, rounds, completed;

    MPI_Comm comm; /* of the round; MPI_COMM_NULL: this process is out, or before the first one */
    MPI_Count agreed; /* 1: all members of a view have all results */
    int *words;       /* [2 n_tasks]: of the exchange */
    int *dealt;       /* [n_tasks]: of the round */
    int n_dealt, next;
    double begun, cost; /* of the round; of the exchange, in seconds */
};

/* malloc(0) may be NULL, and means nothing. */
static void *zeros(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size > 0 ? size : 1);
}

int RZ_Tasks_open(MPIX_Group_monitor monitor, int n_tasks, int result_bytes,
                  const RZ_Tasks_options *options, RZ_Tasks *tasks)
{
    if (monitor == MPIX_GROUP_MONITOR_NULL || n_tasks < 0 || n_tasks > RZ_TASKS_MAX ||
        result_bytes < 0 || !tasks || (options && !(options->failure_seconds >= 0)))
        return MPI_ERR_ARG;
    RZ_Tasks t = calloc(1, sizeof *t);
    if (!t)
        return MPI_ERR_NO_MEM;
    *t = (struct RZ_Tasks_s){.monitor = monitor,
                             .n_tasks = n_tasks,
                             .result_bytes = result_bytes,
                             .failure_seconds = options ? options->failure_seconds : 0,
                             .done = zeros((size_t)n_tasks, sizeof *t->done),
                             .results = zeros((size_t)n_tasks, (size_t)result_bytes),
                             .words = zeros((size_t)n_tasks, 2 * sizeof *t->words),
                             .dealt = zeros((size_t)n_tasks, sizeof *t->dealt),
                             .comm = MPI_COMM_NULL};
    if (!t->done || !t->results || !t->words || !t->dealt)
        RZ_Tasks_close(&t);
    if (!t)
        return MPI_ERR_NO_MEM;
    *tasks = t;
    return MPI_SUCCESS;
}

static char *result_of(const struct RZ_Tasks_s *t, int id)
{
    return t->results + (size_t)id * (size_t)t->result_bytes;
}

static void take_result(struct RZ_Tasks_s *t, int id, const void *result)
{
    if (t->done[id])
        return;
    if (t->result_bytes > 0)
        memcpy(result_of(t, id), result, (size_t)t->result_bytes);
    t->done[id] = true;
    t->n_done++;
}

/* ---- The exchange */

/* Results on their way: of each member how many, and where they begin. */
struct parcel {
    int *counts, *offsets;
    char *sent, *got;
    int n_got;
};

static void parcel_free(struct parcel *parcel)
{
    free(parcel->counts);
    free(parcel->offsets);
    free(parcel->sent);
    free(parcel->got);
}

static int parcel_make(struct parcel *parcel, const struct RZ_Tasks_s *t, int place, int size)
{
    size_t bytes = (size_t)t->result_bytes;
    *parcel = (struct parcel){.counts = zeros((size_t)size, sizeof *parcel->counts),
                              .offsets = zeros((size_t)size, sizeof *parcel->offsets)};
    if (!parcel->counts || !parcel->offsets)
        return MPI_ERR_NO_MEM;
    for (int id = 0; id < t->n_tasks; id++)
        if (rz_tasks_sender(t->words, id) >= 0)
            parcel->counts[rz_tasks_sender(t->words, id)]++;
    for (int i = 0; i < size; i++) {
        parcel->offsets[i] = parcel->n_got;
        parcel->n_got += parcel->counts[i];
    }
    parcel->got = zeros((size_t)parcel->n_got, bytes);
    parcel->sent = zeros((size_t)parcel->counts[place], bytes);
    if (!parcel->got || !parcel->sent)
        return MPI_ERR_NO_MEM;
    char *at = parcel->sent;
    for (int id = 0; id < t->n_tasks; id++)
        if (rz_tasks_sender(t->words, id) == place) {
            memcpy(at, result_of(t, id), bytes);
            at += bytes;
        }
    return MPI_SUCCESS;
}

/* Results stand in the parcel by their senders, and by their ids. */
static void parcel_open(const struct parcel *parcel, struct RZ_Tasks_s *t)
{
    for (int id = 0; id < t->n_tasks; id++) {
        int sender = rz_tasks_sender(t->words, id);
        if (sender >= 0)
            take_result(t, id,
                        parcel->got + (size_t)parcel->offsets[sender]++ * (size_t)t->result_bytes);
    }
}

static int send_results(struct RZ_Tasks_s *t, int place, int size)
{
    struct parcel parcel;
    MPI_Datatype type;
    int error = parcel_make(&parcel, t, place, size);
    if (error == MPI_SUCCESS && t->result_bytes > 0 && parcel.n_got > 0) {
        MPI_Type_contiguous(t->result_bytes, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        error = MPI_Allgatherv(parcel.sent, parcel.counts[place], type, parcel.got, parcel.counts,
                               parcel.offsets, type, t->comm);
        MPI_Type_free(&type);
    }
    if (error == MPI_SUCCESS)
        parcel_open(&parcel, t);
    parcel_free(&parcel);
    return error;
}

/* All that anybody in the view knows becomes known to all; what is left is dealt. */
static int exchange(struct RZ_Tasks_s *t)
{
    int place, size;
    double begun = MPI_Wtime();
    MPI_Comm_rank(t->comm, &place);
    MPI_Comm_size(t->comm, &size);
    rz_tasks_say(t->done, t->n_tasks, place, t->words);
    int error = MPI_Allreduce_c(MPI_IN_PLACE, t->words, (MPI_Count)t->n_tasks * 2, MPI_INT, MPI_MIN,
                                t->comm);
    if (error == MPI_SUCCESS)
        error = send_results(t, place, size);
    if (error != MPI_SUCCESS)
        return error;
    t->n_dealt = rz_tasks_deal(t->words, t->n_tasks, place, size, t->dealt);
    t->begun = MPI_Wtime();
    t->cost = t->begun - begun;
    return MPI_SUCCESS;
}

/* ---- Rounds */

/* Whether an error tells that the view has lost somebody: the round is to be done again. */
static bool is_loss(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_PROC_FAILED_PENDING ||
           class == MPIX_ERR_REVOKED;
}

/* The next round, with what was dealt in it; nothing where this process is out, or somebody is. */
static int next_round(struct RZ_Tasks_s *t)
{
    MPI_Count progress = t->n_done == t->n_tasks;
    t->n_dealt = t->next = 0;
    int error = MPIX_Group_monitor_round(t->monitor, progress, &t->agreed, &t->comm);
    if (error != MPI_SUCCESS || t->comm == MPI_COMM_NULL)
        return error;
    t->rounds++;
    error = exchange(t);
    if (error == MPI_SUCCESS || !is_loss(error))
        return error;
    t->n_dealt = 0;
    MPIX_Comm_revoke(t->comm); /* nobody waits for us */
    return MPI_SUCCESS;
}

/* Whether this process's part of the round is over. */
static bool has_ended(const struct RZ_Tasks_s *t)
{
    int changed = 0;
    if (t->next >= t->n_dealt)
        return true;
    MPIX_Group_monitor_changed(t->monitor, &changed);
    double length = rz_tasks_round_seconds(t->cost, t->failure_seconds);
    return changed || (t->next > 0 && MPI_Wtime() - t->begun >= length);
}

int RZ_Tasks_claim(RZ_Tasks tasks, int *id, int *flag)
{
    if (!tasks || !id || !flag)
        return MPI_ERR_ARG;
    while (tasks->agreed == 0 && has_ended(tasks)) {
        int error = next_round(tasks);
        if (error != MPI_SUCCESS)
            return error;
    }
    *flag = tasks->agreed == 0;
    if (*flag)
        *id = tasks->dealt[tasks->next++];
    return MPI_SUCCESS;
}

int RZ_Tasks_complete(RZ_Tasks tasks, int id, const void *result)
{
    if (!tasks || id < 0 || id >= tasks->n_tasks || (!result && tasks->result_bytes > 0))
        return MPI_ERR_ARG;
    tasks->completed++;
    take_result(tasks, id, result);
    return MPI_SUCCESS;
}

int RZ_Tasks_results(RZ_Tasks tasks, const void **results)
{
    if (!tasks || !results)
        return MPI_ERR_ARG;
    if (tasks->n_done < tasks->n_tasks)
        return MPI_ERR_PENDING;
    *results = tasks->results;
    return MPI_SUCCESS;
}

int RZ_Tasks_count(RZ_Tasks tasks, int *rounds, int *completed)
{
    if (!tasks)
        return MPI_ERR_ARG;
    if (rounds)
        *rounds = tasks->rounds;
    if (completed)
        *completed = tasks->completed;
    return MPI_SUCCESS;
}

int RZ_Tasks_close(RZ_Tasks *tasks)
{
    if (!tasks)
        return MPI_ERR_ARG;
    if (*tasks) {
        free((*tasks)->done);
        free((*tasks)->results);
        free((*tasks)->words);
        free((*tasks)->dealt);
        free(*tasks);
    }
    *tasks = NULL;
    return MPI_SUCCESS;
}
