/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking for, withdrawing and carrying out requests. */
#include "mpi/rma/rma_owner_request.h"

#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_share.h"
#include "mpi/rma/window_words.h"
#include "port/clock.h"
#include "port/kill_point.h"

#include <string.h>

/* About what two system calls take: a withdrawn request has cost as much again. */
#define PATIENCE_NS (2 * RZ_MICROSECOND)

/* After a request that the owner did not take it is not asked for a while: once, then twice as many
 * times, up to so many. */
enum { PAUSE_MAX = 256 };

static struct rz_win_owner_request *owner_request_of(const struct rz_win *win, int rank)
{
    return &rz_win_target(win, rank)->control->owner_request;
}

void rz_rma_owner_requests_begin(struct rz_win *win)
{
    for (int i = 0; i < win->members && win->flavor == MPI_WIN_FLAVOR_CREATE; i++) {
        win->serves_requests |= rz_win_target(win, i)->reach == RZ_REACH_COPY;
    }
    if (win->serves_requests) {
        rz_work_set(RZ_WORK_OWNER_REQUESTS, true);
    }
}

/* ---- The owner ---- */

static bool carry_out(const struct rz_win *win, struct rz_win_owner_request *request)
{
    void *at = (void *)(uintptr_t)request->at;
    if (!rz_win_has(win, request->at, request->size) ||
        !rz_rma_is_element(request->size, request->size, at)) {
        return false;
    }
    if (request->what == RZ_RMA_SWAP) {
        rz_rma_swap_element(request->size, request->data[0], request->data[1], request->result, at);
        return true;
    }
    const struct rz_rma_element element = {.op = request->op,
                                           .number = (enum rz_number)request->number,
                                           .size = request->size,
                                           .data = request->has_data ? request->data[0] : NULL,
                                           .result =
                                               request->wants_result ? request->result : NULL};
    return rz_rma_change_element(&element, at);
}

static bool serve_at(struct rz_win *win)
{
    struct rz_win_owner_request *request = &win->control->owner_request;
    uint32_t state = RZ_OWNER_REQUEST_ASKED;
    if (atomic_load_explicit(&request->state, memory_order_relaxed) != RZ_OWNER_REQUEST_ASKED ||
        !atomic_compare_exchange_strong(&request->state, &state, RZ_OWNER_REQUEST_TAKEN)) {
        return false;
    }
    rz_kill_here(RZ_KILL_OWNER_REQUEST_TAKEN);
    request->refused = !carry_out(win, request);
    rz_kill_here(RZ_KILL_OWNER_REQUEST_DONE);
    atomic_store(&request->state, RZ_OWNER_REQUEST_DONE);
    if (request->asker < (uint32_t)win->members) {
        rz_win_wake(win, (int)request->asker);
    }
    return true;
}

unsigned rz_rma_owner_requests_serve(bool *expected)
{
    unsigned done = 0;
    *expected = false;
    for (struct rz_win *win = rz_wins_first(); win; win = win->next) {
        if (win->serves_requests) {
            *expected = true;
            done += serve_at(win);
            done += rz_rma_share_serve(win);
        }
    }
    return done;
}

/* ---- The asker ---- */

struct wait {
    const struct rz_win *win;
    int rank;
};

static bool is_over(void *arg)
{
    const struct wait *wait = arg;
    return atomic_load(&owner_request_of(wait->win, wait->rank)->state) == RZ_OWNER_REQUEST_DONE ||
           rz_win_check(wait->win, wait->rank) != MPI_SUCCESS;
}

/* The owner carries it out now, unless it has failed, or is stopped. */
static int await_done(const struct rz_rma_call *call)
{
    struct wait wait = {call->win, call->rank};
    struct rz_win_owner_request *request = owner_request_of(call->win, call->rank);
    rz_win_set_waits(call->win, call->rank, true);
    int error = rz_win_wait(call->win, call->rank, call->name, is_over, &wait);
    rz_win_set_waits(call->win, call->rank, false);
    bool done = atomic_load(&request->state) == RZ_OWNER_REQUEST_DONE;
    return error != MPI_SUCCESS || done ? error : rz_win_check(call->win, call->rank);
}

/* For so long; then a state other than ASKED is TAKEN or DONE. */
static bool is_done_soon(const struct rz_win_owner_request *request)
{
    rz_time begun = rz_clock_now();
    do {
        if (atomic_load_explicit(&request->state, memory_order_acquire) == RZ_OWNER_REQUEST_DONE) {
            return true;
        }
    } while (rz_clock_now() - begun < PATIENCE_NS);
    return false;
}

static bool withdraw(struct rz_win_owner_request *request)
{
    uint32_t state = RZ_OWNER_REQUEST_ASKED;
    return atomic_compare_exchange_strong(&request->state, &state, RZ_OWNER_REQUEST_NONE);
}

/* What a process that had the right before, and failed, has left. */
static int settle(const struct rz_rma_call *call)
{
    struct rz_win_owner_request *request = owner_request_of(call->win, call->rank);
    uint32_t state = atomic_load(&request->state);
    if (state == RZ_OWNER_REQUEST_NONE || state == RZ_OWNER_REQUEST_DONE || withdraw(request)) {
        return MPI_SUCCESS;
    }
    return await_done(call);
}

static bool fits(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                 uint64_t at)
{
    const struct rz_shape *basic = &operation->basic;
    return call->win->serves_requests && operation->shape.contiguous && basic->contiguous &&
           rz_rma_bytes(operation) == basic->size &&
           rz_rma_is_element(basic->size, basic->extent, (const void *)(uintptr_t)at);
}

static void ask(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                uint64_t at)
{
    struct rz_win_owner_request *request = owner_request_of(call->win, call->rank);
    size_t size = (size_t)operation->basic.size;
    request->asker = (uint32_t)call->win->rank;
    request->op = operation->op;
    request->what = (uint8_t)operation->what;
    request->number = (uint8_t)operation->number;
    request->size = (uint8_t)size;
    request->has_data = operation->data != NULL;
    request->wants_result = operation->result != NULL;
    request->at = at;
    if (operation->data) {
        memcpy(request->data[0], operation->data, size);
    }
    if (operation->what == RZ_RMA_SWAP) {
        memcpy(request->data[1], operation->data + size, size);
    }
    atomic_store(&request->state, RZ_OWNER_REQUEST_ASKED);
    rz_kill_here(RZ_KILL_OWNER_REQUEST_ASKED);
}

/* How long the owner is not asked, after it has or has not taken a request. */
static void remember(struct rz_win_target *target, bool taken)
{
    unsigned longer = 2 * target->asks_pause + 1;
    target->asks_pause = taken ? 0 : longer < PAUSE_MAX ? longer : PAUSE_MAX;
    target->asks_off = target->asks_pause;
}

static int ask_and_await(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                         uint64_t at, bool *done)
{
    struct rz_win_owner_request *request = owner_request_of(call->win, call->rank);
    ask(call, operation, at);
    bool taken = is_done_soon(request) || !withdraw(request);
    remember(rz_win_target(call->win, call->rank), taken);
    bool due = taken && atomic_load(&request->state) != RZ_OWNER_REQUEST_DONE;
    int error = due ? await_done(call) : MPI_SUCCESS;
    *done = taken && error == MPI_SUCCESS && !request->refused;
    if (*done && operation->result) {
        memcpy(operation->result, request->result, (size_t)operation->basic.size);
    }
    return error;
}

int rz_rma_ask_owner(const struct rz_rma_call *call, const struct rz_rma_operation *operation,
                     uint64_t at, bool *done)
{
    struct rz_win_target *target = rz_win_target(call->win, call->rank);
    uint64_t element = at + (uint64_t)operation->shape.true_lb;
    *done = false;
    int error = settle(call);
    if (error != MPI_SUCCESS || !fits(call, operation, element)) {
        return error;
    }
    if (target->asks_off > 0) {
        target->asks_off--;
        return MPI_SUCCESS;
    }
    return ask_and_await(call, operation, element, done);
}
