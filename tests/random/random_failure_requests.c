/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests are completed by one of eight calls. Each must end, with or without an error; what a
 * call says of a request must fit what has become of its handle.
 */
#include "random_failures.h"

#include <stdlib.h>

struct wait *wait_new(struct game *game, struct comm *comm, int peer)
{
    if (game->n_waits == game->room) {
        game->room = game->room ? 2 * game->room : 64;
        game->wait = realloc(game->wait, (size_t)game->room * sizeof(struct wait));
    }
    struct wait *wait = &game->wait[game->n_waits++];
    *wait = (struct wait){
        .op = number_of(game), .request = MPI_REQUEST_NULL, .comm = comm, .peer = peer};
    return wait;
}

static void check_failing(struct wait *wait, MPI_Status *status)
{
    MPI_Count elements;
    if (status->MPI_SOURCE != wait->source || status->MPI_TAG != wait->tag) {
        wrong(wait->op, "the status says source %d and tag %d for %d and %d", status->MPI_SOURCE,
              status->MPI_TAG, wait->source, wait->tag);
    }
    MPI_Get_elements_x(status, wait->side->type, &elements);
    if ((uint64_t)elements != wait->elements) {
        wrong(wait->op, "%lld elements came for %llu", (long long)elements,
              (unsigned long long)wait->elements);
    }
}

static void check_words(struct wait *wait)
{
    for (uint32_t i = 0; i < wait->n_words; i++) {
        if (wait->want && wait->got[i] != wait->want[i]) {
            wrong(wait->op, "word %u of %u is %x for %x", i, wait->n_words, wait->got[i],
                  wait->want[i]);
        }
    }
}

static void check_side(struct wait *wait, struct side *side, bool right)
{
    char text[300];
    const char *what = side ? side_end(side, text, sizeof(text)) : NULL;
    if (what && right) {
        wrong(wait->op, "buffer: %s", what);
    }
    free(side);
}

static void agreed(struct game *game, struct wait *wait, int error)
{
    if (error != MPI_SUCCESS && class_of(error) != MPIX_ERR_PROC_FAILED) {
        refused(game, error, "MPIX_Comm_iagree");
    }
    note_entry(game, wait->op % ROUND, wait->comm, wait->mine, (uint32_t)*wait->flag, error);
    free(wait->flag);
}

void wait_over(struct game *game, struct wait *wait, int error, MPI_Status *status,
               const char *call)
{
    if (wait->flag) {
        agreed(game, wait, error);
        return;
    }
    int op = game->op;
    game->op = wait->op % ROUND;
    bool good = went_well(game, wait->comm, wait->peer, error, call);
    game->op = op;
    if (wait->uniform) {
        note_entry(game, wait->op % ROUND, wait->comm, ~UINT64_C(0), 0, error);
    }
    if (good && wait->must_fail) {
        wrong(wait->op, "%s: success, and a failure was known when it began", call);
    }
    if (good && wait->receives) {
        check_failing(wait, status);
    }
    if (good && wait->n_words) {
        check_words(wait);
    }
    check_side(wait, wait->side, good || !wait->receives);
    check_side(wait, wait->more, true);
    if (wait->persistent) {
        MPI_Request_free(&wait->request);
    }
    free(wait->sent), free(wait->got), free(wait->want);
}

/* ---- A receive from any source that a failure suspends ---- */

/* A receive from any source whose sender has failed, and that is acknowledged: no failure ends it
 * any more. It is cancelled, unless the message has arrived. */
static void cancel(struct game *game, struct wait *wait)
{
    MPI_Status status;
    int cancelled = 0;
    MPI_Cancel(&wait->request);
    int error = MPI_Wait(&wait->request, &status);
    if (error == MPI_SUCCESS) {
        MPI_Test_cancelled(&status, &cancelled);
    }
    wait_over(game, wait, cancelled ? MPIX_ERR_PROC_FAILED : error, &status, "a cancelled receive");
}

/* Its sender lives: it is waited for again. True: it is over. */
static bool resume(struct game *game, struct wait *wait)
{
    if (!wait->any_source || wait->request == MPI_REQUEST_NULL) {
        wrong(wait->op, "PROC_FAILED_PENDING for %s",
              wait->any_source ? "a completed request" : "a request that names its process");
    }
    went_well(game, wait->comm, ALL, MPIX_ERR_PROC_FAILED, "MPIX_ERR_PROC_FAILED_PENDING");
    game->seen[2]++;
    uint64_t known = known_failed(game, wait->comm);
    acknowledge_all(game, wait->comm);
    if (!is_in(known, wait->peer)) {
        return false;
    }
    cancel(game, wait);
    return true;
}

/* ---- Completion ---- */

enum way { WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME, WAIT, TEST, WAYS };
static const char *const names[WAYS] = {"MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
                                        "MPI_Testall", "MPI_Testany", "MPI_Testsome",
                                        "MPI_Wait",    "MPI_Test"};

struct batch {
    int n, *which; /* of the game's waits */
    MPI_Request *request;
    MPI_Status *status;
    int *index, count; /* those that the call has completed, or says something of */
    int *error;
};

static struct batch *batch_new(struct game *game)
{
    size_t most = (size_t)game->n_waits + 1;
    struct batch *batch = calloc(1, sizeof(*batch));
    batch->which = malloc(most * sizeof(int));
    batch->request = malloc(most * sizeof(MPI_Request));
    batch->status = calloc(most, sizeof(MPI_Status));
    batch->index = malloc(most * sizeof(int));
    batch->error = malloc(most * sizeof(int));
    return batch;
}

static void batch_free(struct batch *batch)
{
    free(batch->which), free(batch->request), free(batch->status), free(batch->index);
    free(batch->error), free(batch);
}

static int call_all(struct batch *batch, enum way way)
{
    int flag = 0, error = MPI_SUCCESS;
    if (way == WAITALL) {
        error = MPI_Waitall(batch->n, batch->request, batch->status);
    }
    while (way == TESTALL && !flag && error == MPI_SUCCESS) {
        error = MPI_Testall(batch->n, batch->request, &flag, batch->status);
    }
    batch->count = batch->n;
    for (int i = 0; i < batch->n; i++) {
        batch->index[i] = i;
    }
    return error;
}

static int call_some(struct batch *batch, enum way way)
{
    int error = MPI_SUCCESS;
    batch->count = 0;
    if (way == WAITSOME) {
        error = MPI_Waitsome(batch->n, batch->request, &batch->count, batch->index, batch->status);
    }
    while (way == TESTSOME && batch->count == 0 && error == MPI_SUCCESS) {
        error = MPI_Testsome(batch->n, batch->request, &batch->count, batch->index, batch->status);
    }
    return error;
}

static int call_one(struct batch *batch, enum way way)
{
    int flag = 0, error = MPI_SUCCESS, one = 0;
    if (way == WAITANY) {
        error = MPI_Waitany(batch->n, batch->request, &one, batch->status);
    } else if (way == WAIT) {
        error = MPI_Wait(batch->request, batch->status);
    }
    while (way == TESTANY && !flag && error == MPI_SUCCESS) {
        error = MPI_Testany(batch->n, batch->request, &one, &flag, batch->status);
    }
    while (way == TEST && !flag && error == MPI_SUCCESS) {
        error = MPI_Test(batch->request, &flag, batch->status);
    }
    batch->count = 1;
    batch->index[0] = one;
    return error;
}

/* The error of each request that the call says something of. */
static void find_errors(struct game *game, struct batch *batch, enum way way, int error)
{
    bool many = way == WAITALL || way == TESTALL || way == WAITSOME || way == TESTSOME;
    int bad = 0;
    if (batch->count < 1 || batch->count > batch->n) {
        wrong(number_of(game), "%s says something of %d requests of %d", names[way], batch->count,
              batch->n);
    }
    if (many && error != MPI_SUCCESS && class_of(error) != MPI_ERR_IN_STATUS) {
        wrong(number_of(game), "%s returns class %d", names[way], class_of(error));
    }
    for (int i = 0; i < batch->count; i++) {
        batch->error[i] = many && error != MPI_SUCCESS ? batch->status[i].MPI_ERROR : error;
        int class = class_of(batch->error[i]);
        bad += class != MPI_SUCCESS && class != MPI_ERR_PENDING;
        if (class == MPI_ERR_PENDING && way != WAITALL && way != TESTALL) {
            wrong(number_of(game), "%s says MPI_ERR_PENDING", names[way]);
        }
    }
    if (error != MPI_SUCCESS && bad == 0) {
        wrong(number_of(game), "%s: MPI_ERR_IN_STATUS, and no status has an error", names[way]);
    }
}

/* What one request has become; true: it is over. */
static bool settle(struct game *game, struct wait *wait, int error, MPI_Status *status,
                   enum way way)
{
    int class = class_of(error);
    bool active = class == MPI_ERR_PENDING || class == MPIX_ERR_PROC_FAILED_PENDING;
    if (!wait->persistent && active != (wait->request != MPI_REQUEST_NULL)) {
        wrong(wait->op, "%s: class %d, and the request is %s", names[way], class,
              active ? "null" : "not null");
    }
    if (class == MPI_ERR_PENDING) {
        return false;
    }
    if (class == MPIX_ERR_PROC_FAILED_PENDING) {
        return resume(game, wait);
    }
    wait_over(game, wait, error, status, names[way]);
    return true;
}

static void take_out(struct game *game, const bool *over)
{
    int left = 0;
    for (int i = 0; i < game->n_waits; i++) {
        if (!over[i]) {
            game->wait[left++] = game->wait[i];
        }
    }
    game->n_waits = left;
}

static void complete(struct game *game, struct batch *batch, enum way way)
{
    bool *over = calloc((size_t)game->n_waits + 1, sizeof(bool));
    int error = way == WAITALL || way == TESTALL     ? call_all(batch, way)
                : way == WAITSOME || way == TESTSOME ? call_some(batch, way)
                                                     : call_one(batch, way);
    find_errors(game, batch, way, error);
    for (int i = 0; i < batch->n; i++) {
        game->wait[batch->which[i]].request = batch->request[i];
    }
    for (int i = 0; i < batch->count; i++) {
        int k = batch->which[batch->index[i]];
        over[k] = settle(game, &game->wait[k], batch->error[i], &batch->status[i], way);
    }
    take_out(game, over);
    free(over);
}

static void cancel_orphans(struct game *game)
{
    bool *over = calloc((size_t)game->n_waits + 1, sizeof(bool));
    for (int i = 0; i < game->n_waits; i++) {
        struct wait *wait = &game->wait[i];
        over[i] = wait->any_source && is_in(wait->comm->acknowledged, wait->peer);
        if (over[i]) {
            cancel(game, wait);
        }
    }
    take_out(game, over);
    free(over);
}

static int choose(struct game *game, struct batch *batch, struct dice *dice, struct comm *comm)
{
    batch->n = 0;
    cancel_orphans(game);
    for (int i = 0; i < game->n_waits; i++) {
        if ((!comm || game->wait[i].comm == comm) && (!dice || chance(dice, 60))) {
            batch->which[batch->n] = i;
            batch->request[batch->n++] = game->wait[i].request;
        }
    }
    return batch->n;
}

void wait_some(struct game *game, struct dice *dice)
{
    struct batch *batch = batch_new(game);
    if (choose(game, batch, dice, NULL) > 0) {
        complete(game, batch, (enum way)below(dice, WAYS));
    }
    batch_free(batch);
}

void wait_all(struct game *game, struct comm *comm)
{
    struct batch *batch = batch_new(game);
    while (choose(game, batch, NULL, comm) > 0) {
        complete(game, batch, WAITALL);
    }
    batch_free(batch);
}
