/* SPDX-License-Identifier: BSD-3-Clause */
/* A bag by rounds: all results that any member knows are exchanged when a round begins. */
#include "tasks/tasks_bag.h"
#include "tasks/tasks_deal.h"

#include <stdlib.h>
#include <string.h>

/* ---- The exchange of results: of the tasks [from, to) ---- */

/* Results in transfer: the number of each member, and where they begin. */
struct send_desc {
    int *counts, *offsets;
    char *sent, *got;
    int n_got;
};

static void send_desc_free(struct send_desc *send_desc)
{
    free(send_desc->counts);
    free(send_desc->offsets);
    free(send_desc->sent);
    free(send_desc->got);
}

static int send_desc_make(struct send_desc *send_desc, const struct RZ_Tasks_s *t, int from, int to,
                          int place, int size)
{
    size_t bytes = (size_t)t->result_bytes;
    *send_desc =
        (struct send_desc){.counts = rz_tasks_zeros((size_t)size, sizeof(*send_desc->counts)),
                           .offsets = rz_tasks_zeros((size_t)size, sizeof(*send_desc->offsets))};
    if (!send_desc->counts || !send_desc->offsets) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < to - from; i++) {
        if (rz_tasks_sender(t->words, i) >= 0) {
            send_desc->counts[rz_tasks_sender(t->words, i)]++;
        }
    }
    for (int i = 0; i < size; i++) {
        send_desc->offsets[i] = send_desc->n_got;
        send_desc->n_got += send_desc->counts[i];
    }
    send_desc->got = rz_tasks_zeros((size_t)send_desc->n_got, bytes);
    send_desc->sent = rz_tasks_zeros((size_t)send_desc->counts[place], bytes);
    if (!send_desc->got || !send_desc->sent) {
        return MPI_ERR_NO_MEM;
    }
    char *at = send_desc->sent;
    for (int i = 0; i < to - from; i++) {
        if (rz_tasks_sender(t->words, i) == place) {
            memcpy(at, rz_tasks_result(t, from + i), bytes);
            at += bytes;
        }
    }
    return MPI_SUCCESS;
}

/* Results are ordered in the buffer by their senders, then by their ids; results that were here
 * stay. */
static void send_desc_open(const struct send_desc *send_desc, struct RZ_Tasks_s *t, int from,
                           int to)
{
    size_t bytes = (size_t)t->result_bytes;
    for (int id = from; id < to; id++) {
        int sender = rz_tasks_sender(t->words, id - from);
        if (sender < 0) {
            continue;
        }
        const char *result = send_desc->got + (size_t)send_desc->offsets[sender]++ * bytes;
        if (!t->done[id] && bytes > 0) {
            memcpy(rz_tasks_result(t, id), result, bytes);
        }
        rz_tasks_note(t, id);
    }
}

static int send_results(struct RZ_Tasks_s *t, int from, int to, int place, int size)
{
    struct send_desc send_desc;
    MPI_Datatype type;
    int error = send_desc_make(&send_desc, t, from, to, place, size);
    if (error == MPI_SUCCESS && t->result_bytes > 0 && send_desc.n_got > 0) {
        MPI_Type_contiguous(t->result_bytes, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        error = MPI_Allgatherv(send_desc.sent, send_desc.counts[place], type, send_desc.got,
                               send_desc.counts, send_desc.offsets, type, t->comm);
        MPI_Type_free(&type);
    }
    if (error == MPI_SUCCESS) {
        send_desc_open(&send_desc, t, from, to);
    }
    send_desc_free(&send_desc);
    return error;
}

/* What any member of the view knows of these tasks becomes known to all. *least: all know the tasks
 * below, as before. */
static int join(struct RZ_Tasks_s *t, int from, int to, int place, int size, int *least)
{
    int n = to - from;
    rz_tasks_say(t->done + from, n, place, t->words);
    t->words[2 * n] = t->n_first;
    int error =
        MPI_Allreduce_c(MPI_IN_PLACE, t->words, (MPI_Count)n * 2 + 1, MPI_INT, MPI_MIN, t->comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    *least = t->words[2 * n];
    return send_results(t, from, to, place, size);
}

/* Deals the tasks that no process has of the first unfinished phase in [from, to), from the reduced
 * values; false: nothing is left. */
static bool deal_left(struct RZ_Tasks_s *t, int from, int to, int place, int size)
{
    int left = rz_tasks_first_left(t->words, to - from);
    if (left == to - from) {
        return false;
    }
    int end = (from + left) / t->phase;
    end = end < (to - 1) / t->phase ? (end + 1) * t->phase : to;
    t->n_dealt = rz_tasks_deal(t->words, end - from, place, size, t->dealt);
    for (int i = 0; i < t->n_dealt; i++) {
        t->dealt[i] += from;
    }
    return true;
}

/* A phase without any values: tasks of it that are done already are skipped. */
static void deal_next(struct RZ_Tasks_s *t, int from, int place, int size)
{
    int to = from < t->n_tasks - t->phase ? from + t->phase : t->n_tasks;
    rz_tasks_say_nothing(to - from, t->words);
    t->n_dealt = 0;
    deal_left(t, from, to, place, size);
}

/*
 * Exchanges the phase that not all have done, and deals what is left. A process that was excluded
 * may lack results that all had agreed on before: these are exchanged, too, and those that only
 * failed processes had are computed again first.
 */
static int exchange(struct RZ_Tasks_s *t)
{
    int place, size, least = 0, unused;
    double begun = MPI_Wtime();
    int from = (int)(t->agreed / t->phase) * t->phase;
    int to = from < t->n_tasks - t->phase ? from + t->phase : t->n_tasks;
    MPI_Comm_rank(t->comm, &place);
    MPI_Comm_size(t->comm, &size);
    int error = join(t, from, to, place, size, &least);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!deal_left(t, from, to, place, size)) {
        deal_next(t, to, place, size);
    }
    if (least < from) {
        error = join(t, least, from, place, size, &unused);
        if (error == MPI_SUCCESS) {
            deal_left(t, least, from, place, size);
        }
    }
    t->begun = MPI_Wtime();
    t->cost = t->begun - begun;
    return error;
}

/* ---- Rounds ---- */

/* The next round, with its dealt tasks; none if this process, or any other, is excluded. */
static int next_round(struct RZ_Tasks_s *t)
{
    t->n_dealt = t->next = 0;
    t->claimed = false;
    int error = rz_tasks_round(t, &t->comm);
    if (error != MPI_SUCCESS || t->comm == MPI_COMM_NULL || rz_tasks_is_over(t)) {
        return error;
    }
    error = exchange(t);
    if (error == MPI_SUCCESS || !rz_tasks_is_loss(error)) {
        return error;
    }
    t->n_dealt = 0;
    MPIX_Comm_revoke(t->comm); /* no process waits for us */
    return MPI_SUCCESS;
}

/* Whether this process's part of the round is over. */
static bool has_ended(struct RZ_Tasks_s *t)
{
    int changed = 0;
    if (!rz_tasks_is_due(t)) {
        return true;
    }
    RZ_Group_monitor_changed(t->monitor, &changed);
    double length = rz_tasks_round_seconds(t->cost, t->failure_seconds);
    return changed || (t->claimed && MPI_Wtime() - t->begun >= length);
}

int rz_tasks_follow_rounds(struct RZ_Tasks_s *t)
{
    while (!rz_tasks_is_over(t) && has_ended(t)) {
        int error = next_round(t);
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}
