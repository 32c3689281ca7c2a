/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bag by callbacks: no rounds but the last. The monitor calls when a process is excluded or comes
 * back, and each process deals itself its tasks again, by what it knows; each result is sent to all
 * others as soon as it exists. The knowledge of two processes may differ for a while: then a task
 * is done twice, or later.
 *
 * A message is a result, and its tag is the task's id; two more tags are control messages, see enum
 * word.
 */
#include "tasks/tasks_bag.h"
#include "tasks/tasks_deal.h"

#include <stdlib.h>
#include <time.h>

enum { PAUSE_US = 500 };
static const double RECEIVE_SECONDS = 0.0005;

/* Tags above the ids of the tasks: the last messages of a process. */
enum word { WORD_OVER, WORD_GONE };

struct rz_tasks_peers {
    MPI_Comm comm;
    int rank, size;
    bool *is_in;     /* [size]: recommended, as far as is known here */
    bool *is_failed; /* [size] */
    bool *has_gone;  /* [size]: it has sent its last message */
    bool is_open;    /* the others wait for its last message */
    bool changed;    /* since tasks were dealt */
    bool over;       /* a process has said so */
    double received;
    char *spare; /* receives a result that is here already */
    MPI_Request *sends;
    int n_sends, n_room;
};

static void on_change(int rank, int why, void *bag)
{
    struct rz_tasks_peers *peers = ((struct RZ_Tasks_s *)bag)->peers;
    if (rank < peers->size) {
        peers->is_in[rank] = why == RZ_GROUP_RECOMMENDED;
    }
    peers->changed = true;
}

/* ---- Opening ---- */

static int see_group(struct RZ_Tasks_s *t)
{
    struct rz_tasks_peers *peers = t->peers;
    int error = RZ_Group_monitor_on_change(t->monitor, on_change, t);
    for (int k = 0; k < peers->size && error == MPI_SUCCESS; k++) {
        RZ_Group_monitor_state state;
        error = RZ_Group_monitor_get_state(t->monitor, k, &state);
        peers->is_in[k] = error == MPI_SUCCESS && state.why == RZ_GROUP_RECOMMENDED;
    }
    return error;
}

int rz_tasks_peers_open(struct RZ_Tasks_s *t, MPI_Comm comm)
{
    int rank, size, error = MPI_Comm_size(comm, &size);
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_rank(comm, &rank);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_tasks_peers *peers = t->peers = calloc(1, sizeof(*peers));
    if (!peers) {
        return MPI_ERR_NO_MEM;
    }
    *peers = (struct rz_tasks_peers){.comm = comm,
                                     .rank = rank,
                                     .size = size,
                                     .is_in = rz_tasks_zeros((size_t)size, sizeof(bool)),
                                     .is_failed = rz_tasks_zeros((size_t)size, sizeof(bool)),
                                     .has_gone = rz_tasks_zeros((size_t)size, sizeof(bool)),
                                     .changed = true,
                                     .spare = rz_tasks_zeros((size_t)t->result_bytes, 1)};
    if (!peers->is_in || !peers->is_failed || !peers->has_gone || !peers->spare) {
        return MPI_ERR_NO_MEM;
    }
    error = see_group(t);
    peers->is_open = error == MPI_SUCCESS;
    return error;
}

/* ---- Messages ---- */

/* A loss is recorded, and is no error. */
static int note_loss(struct rz_tasks_peers *peers, int rank, int error)
{
    if (error == MPI_SUCCESS || !rz_tasks_is_loss(error)) {
        return error;
    }
    peers->is_failed[rank] = true;
    peers->is_in[rank] = false;
    peers->changed = true;
    return MPI_SUCCESS;
}

/* Removes sends that have arrived, or never will. */
static void forget_sent(struct rz_tasks_peers *peers)
{
    int kept = 0, done;
    for (int i = 0; i < peers->n_sends; i++) {
        done = 1;
        if (MPI_Test(&peers->sends[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
            peers->sends[kept++] = peers->sends[i];
        }
    }
    peers->n_sends = kept;
}

static bool make_room(struct rz_tasks_peers *peers)
{
    if (peers->n_sends < peers->n_room) {
        return true;
    }
    int room = 2 * peers->n_room + peers->size;
    MPI_Request *sends = realloc(peers->sends, (size_t)room * sizeof(MPI_Request));
    if (!sends) {
        return false;
    }
    peers->sends = sends;
    peers->n_room = room;
    return true;
}

static int send_to_all(struct RZ_Tasks_s *t, const void *bytes, int n, int tag)
{
    struct rz_tasks_peers *peers = t->peers;
    int error = MPI_SUCCESS;
    for (int i = 1; i < peers->size && error == MPI_SUCCESS; i++) {
        int to = (peers->rank + i) % peers->size, done = 1;
        MPI_Request send = MPI_REQUEST_NULL;
        if (peers->is_failed[to]) {
            continue;
        }
        if (!make_room(peers)) {
            return MPI_ERR_NO_MEM;
        }
        error = MPI_Isend(bytes, n, MPI_BYTE, to, tag, peers->comm, &send);
        if (error == MPI_SUCCESS) {
            error = MPI_Test(&send, &done, MPI_STATUS_IGNORE);
        }
        if (error == MPI_SUCCESS && !done) {
            peers->sends[peers->n_sends++] = send;
        }
        error = note_loss(peers, to, error);
    }
    return error;
}

int rz_tasks_publish(struct RZ_Tasks_s *t, int id)
{
    return send_to_all(t, rz_tasks_result(t, id), t->result_bytes, id);
}

static void take_word(struct rz_tasks_peers *peers, int from, int word)
{
    peers->has_gone[from] = true;
    peers->over |= word == WORD_OVER;
}

/* A received message. */
static int receive(struct RZ_Tasks_s *t, int from, int tag)
{
    struct rz_tasks_peers *peers = t->peers;
    bool is_new = tag < t->n_tasks && !t->done[tag];
    int error = MPI_Recv(is_new ? rz_tasks_result(t, tag) : peers->spare, t->result_bytes, MPI_BYTE,
                         from, tag, peers->comm, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS && is_new) {
        rz_tasks_note(t, tag);
    } else if (error == MPI_SUCCESS && tag >= t->n_tasks) {
        take_word(peers, from, tag - t->n_tasks);
    }
    return error;
}

static int receive_from(struct RZ_Tasks_s *t, int from)
{
    struct rz_tasks_peers *peers = t->peers;
    int there = 1, error = MPI_SUCCESS;
    while (there && error == MPI_SUCCESS && !peers->has_gone[from]) {
        MPI_Status status;
        error = MPI_Iprobe(from, MPI_ANY_TAG, peers->comm, &there, &status);
        if (error == MPI_SUCCESS && there) {
            error = receive(t, from, status.MPI_TAG);
        }
    }
    return note_loss(peers, from, error);
}

/* All received messages. Callbacks of the monitor run within. */
static int receive_all(struct RZ_Tasks_s *t)
{
    struct rz_tasks_peers *peers = t->peers;
    int error = MPI_SUCCESS;
    for (int k = 0; k < peers->size && error == MPI_SUCCESS; k++) {
        if (k != peers->rank && !peers->is_failed[k] && !peers->has_gone[k]) {
            error = receive_from(t, k);
        }
    }
    forget_sent(peers);
    peers->received = MPI_Wtime();
    return error;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_US * 1000L}, NULL);
}

/* ---- Tasks ---- */

/* If no process is recommended, a task done twice is better than none. */
static bool is_member(const struct rz_tasks_peers *peers, int rank, bool any_is_in)
{
    return any_is_in ? peers->is_in[rank] : !peers->is_failed[rank];
}

static void deal(struct RZ_Tasks_s *t)
{
    struct rz_tasks_peers *peers = t->peers;
    int place = 0, size = 0;
    bool any_is_in = false;
    peers->changed = false;
    for (int k = 0; k < peers->size; k++) {
        any_is_in |= peers->is_in[k];
    }
    for (int k = 0; k < peers->size; k++) {
        bool is_one = is_member(peers, k, any_is_in);
        size += is_one;
        place += is_one && k < peers->rank;
    }
    t->next = t->n_dealt = 0;
    if (is_member(peers, peers->rank, any_is_in)) {
        t->n_dealt = rz_tasks_list(t->done, t->n_tasks, place, size, t->dealt);
    }
}

/* All results are here: the end is a round like others, so that all members of its view know of
 * it. */
static int finish(struct RZ_Tasks_s *t)
{
    MPI_Comm comm;
    int error = rz_tasks_round(t, &comm);
    return error == MPI_SUCCESS ? receive_all(t) : error;
}

/* The others continued without this process: it sees their last round. */
static int end_late(struct RZ_Tasks_s *t)
{
    MPI_Comm comm;
    int error = rz_tasks_round(t, &comm);
    t->agreed = (MPI_Count)t->n_tasks + 1;
    return error;
}

static int look_around(struct RZ_Tasks_s *t)
{
    bool is_time = MPI_Wtime() - t->peers->received >= RECEIVE_SECONDS;
    int error = is_time ? receive_all(t) : MPI_SUCCESS;
    if (error == MPI_SUCCESS && (t->peers->changed || !rz_tasks_is_due(t))) {
        deal(t);
    }
    return error;
}

int rz_tasks_follow_callbacks(struct RZ_Tasks_s *t)
{
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS && !rz_tasks_is_over(t)) {
        if (t->n_done == t->n_tasks) {
            error = finish(t);
            continue;
        }
        error = look_around(t);
        if (error == MPI_SUCCESS && t->peers->over) {
            error = end_late(t);
        } else if (error == MPI_SUCCESS && rz_tasks_is_due(t)) {
            break;
        } else if (t->n_done < t->n_tasks) {
            wait_a_little();
        }
    }
    return error;
}

/* ---- The end ---- */

static bool all_have_gone(const struct rz_tasks_peers *peers)
{
    int k = 0;
    while (k < peers->size && (k == peers->rank || peers->is_failed[k] || peers->has_gone[k])) {
        k++;
    }
    return k == peers->size && peers->n_sends == 0;
}

/* The last message is sent; what others have sent, and what was sent to them, arrives. */
static void part(struct RZ_Tasks_s *t)
{
    int word = rz_tasks_is_over(t) ? WORD_OVER : WORD_GONE;
    int error = send_to_all(t, NULL, 0, t->n_tasks + word);
    while (error == MPI_SUCCESS && !all_have_gone(t->peers)) {
        error = receive_all(t);
        if (!all_have_gone(t->peers)) {
            wait_a_little();
        }
    }
}

void rz_tasks_peers_close(struct RZ_Tasks_s *t)
{
    struct rz_tasks_peers *peers = t->peers;
    if (!peers) {
        return;
    }
    if (peers->is_open) {
        part(t);
    }
    free(peers->is_in);
    free(peers->is_failed);
    free(peers->has_gone);
    free(peers->spare);
    free(peers->sends);
    free(peers);
    t->peers = NULL;
}
