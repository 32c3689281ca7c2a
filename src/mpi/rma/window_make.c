/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making and freeing windows. The members exchange twice: first what each offers, then whether each
 * could open what it needs. No member leaves before all have entered the second exchange, by which
 * time each serves messages about the window.
 */
#include "mpi/agree/ballot.h"
#include "mpi/create/comm_creation.h"
#include "mpi/engine/waiting.h"
#include "mpi/p2p/message.h"
#include "mpi/request/wait.h"
#include "mpi/rma/rma_owner_request.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_origin.h"
#include "mpi/rma/rma_row.h"
#include "mpi/rma/rma_target.h"
#include "mpi/rma/rma_thread.h"
#include "mpi/rma/window_info.h"
#include "mpi/rma/window_memory.h"
#include "mpi/type/attribute.h"
#include "mpi/rma/window_life.h"

#include <stdlib.h>

/* The arguments of a call. */
struct making {
    const char *call;
    int flavor;
    void *base;
    MPI_Aint size;
    MPI_Count disp_unit;
    struct rz_info *info;
    struct rz_comm *comm;
};

static int check_making(const struct making *making)
{
    if (making->comm->object.flags & RZ_COMM_INTER) {
        return rzm_error(MPI_ERR_COMM, "comm is an inter-communicator");
    }
    if (making->size < 0) {
        return rzm_error(MPI_ERR_SIZE, "size is %lld, less than 0", (long long)making->size);
    }
    if (making->disp_unit <= 0 || making->disp_unit > INT_MAX) {
        return rzm_error(MPI_ERR_DISP, "disp_unit is %lld, not in 1..%d",
                         (long long)making->disp_unit, INT_MAX);
    }
    if (making->flavor == MPI_WIN_FLAVOR_CREATE && !making->base && making->size > 0) {
        return rzm_error(MPI_ERR_BASE, "base is a null pointer, and size is %lld",
                         (long long)making->size);
    }
    return MPI_SUCCESS;
}

/* The segment of a member in the memory of MPI_Win_allocate_shared, which rank 0 makes. */
static MPI_Aint segment(const struct rz_win *win, MPI_Aint size)
{
    const MPI_Aint line = 4096;
    return rz_win_hint(win, RZ_WIN_HINT_NONCONTIG) ? (size + line - 1) / line * line : size;
}

/* *ours: where the memory of this process begins in that of rank 0; *all: how much that is. */
static int add_segments(const struct rz_win *win, const struct rz_win_offer *offers, MPI_Aint *all)
{
    *all = 0;
    for (int i = 0; i < win->members; i++) {
        if (offers[i].node != offers[0].node) {
            return rzm_error(MPI_ERR_RMA_SHARED, "comm has processes on several nodes");
        }
        if (offers[i].size > INT64_MAX - 8192 ||
            __builtin_add_overflow(*all, segment(win, offers[i].size), all)) {
            return rzm_error(MPI_ERR_SIZE, "the sizes of all processes are too much");
        }
    }
    return MPI_SUCCESS;
}

/* What this process contributes. */
static int prepare(struct rz_win *win, const struct making *making, MPI_Aint shared_bytes)
{
    char *memory;
    MPI_Aint bytes = making->flavor == MPI_WIN_FLAVOR_ALLOCATE                   ? making->size
                     : making->flavor == MPI_WIN_FLAVOR_SHARED && win->rank == 0 ? shared_bytes
                                                                                 : 0;
    int error = rz_win_memory_make(win, bytes, &memory);
    if (error == MPI_SUCCESS && making->flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        win->base = memory;
    }
    return error;
}

static int first_error(const struct rz_win_offer *offers, int n)
{
    for (int i = 0; i < n; i++) {
        if (offers[i].error != MPI_SUCCESS) {
            return rzm_error((int)offers[i].error, "rank %d of comm could not make the window", i);
        }
    }
    return MPI_SUCCESS;
}

static int exchange_offers(struct rz_win *win, struct rz_comm *comm, uint64_t operation, int error,
                           struct rz_win_offer *offers)
{
    struct rz_win_offer mine;
    rz_win_memory_offer(win, error, &mine);
    int exchanged = rz_comm_exchange(comm, operation, &mine, sizeof(mine), offers);
    return exchanged != MPI_SUCCESS ? exchanged : first_error(offers, rz_comm_size(comm));
}

/* Every member's segment in the memory of rank 0. */
static int place_segments(struct rz_win *win)
{
    char *at = rz_win_memory_behind(win, 0);
    if (!at) {
        return rzm_error(MPI_ERR_RMA_SHARED, "the memory of rank 0 cannot be opened");
    }
    for (int i = 0; i < win->members; i++) {
        struct rz_win_target *target = rz_win_target(win, i);
        if (!target->control) {
            return rzm_error(MPI_ERR_RMA_SHARED, "the memory of rank %d cannot be opened", i);
        }
        target->reach = RZ_REACH_MEMORY;
        target->memory = at;
        at += segment(win, target->size);
    }
    win->base = rz_win_target(win, win->rank)->memory;
    return MPI_SUCCESS;
}

static int open_all(struct rz_win *win, const struct rz_win_offer *offers)
{
    for (int i = 0; i < win->members; i++) {
        rz_win_memory_take(win, i, &offers[i]);
        win->spans |= rz_win_target(win, i)->reach == RZ_REACH_MESSAGE;
    }
    if (win->flavor != MPI_WIN_FLAVOR_SHARED) {
        return MPI_SUCCESS;
    }
    win->spans = false;
    return place_segments(win);
}

static int make_with(struct rz_win *win, const struct making *making, uint64_t operation,
                     struct rz_win_offer *offers)
{
    struct rz_comm *comm = making->comm;
    MPI_Aint shared_bytes = 0;
    int error = MPI_SUCCESS;
    if (making->flavor == MPI_WIN_FLAVOR_SHARED) {
        error = exchange_offers(win, comm, operation, MPI_SUCCESS, offers);
        error = error != MPI_SUCCESS ? error : add_segments(win, offers, &shared_bytes);
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    error = prepare(win, making, shared_bytes);
    error = exchange_offers(win, comm, operation, error, offers);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = open_all(win, offers);
    if (error == MPI_SUCCESS) {
        rz_rma_owner_requests_begin(win);
        rz_win_begin(win);
        rz_rma_window_begun(win);
    }
    return exchange_offers(win, comm, operation, error, offers);
}

static int freed_by_all(struct rz_comm *comm, const struct rz_proposal *proposal, void *result)
{
    (void)comm, (void)proposal, (void)result;
    return MPI_SUCCESS;
}

/*
 * The window could not be made here. Other members may have it, if a failure was known to some
 * processes only: they are told, and this process agrees now that they free it. Rows that they have
 * begun move first; what comes later is dropped. RZM_ROLLBACK: the window ends with its epoch.
 */
static int give_up(struct rz_win *win, const char *call)
{
    struct rz_request *request;
    win->leaves = true;
    if (rz_rma_rows_await(win, call) == RZM_ROLLBACK) {
        return RZM_ROLLBACK;
    }
    rz_message_close_context(rz_comm_context(win->comm, RZ_CONTEXT_OFFSET_WINDOW));
    for (int i = 0; i < win->members; i++) {
        uint32_t process = rz_win_target(win, i)->process;
        if (i != win->rank && !rz_process_failed(process)) {
            rz_rma_tell_left(process, win->comm->context);
        }
    }
    rz_rma_send_listed();
    if (rz_engine_fault_tolerant() &&
        rz_ballot_begin(win->comm, 0, false, freed_by_all, NULL, &request) == MPI_SUCCESS) {
        rz_request_detach(request);
    }
    rz_win_end(win, false);
    return MPI_SUCCESS;
}

static int make_numbered(const struct making *making, uint64_t operation, struct rz_win **win)
{
    int size = rz_comm_size(making->comm);
    struct rz_win *made = NULL;
    struct rz_win_offer *offers = malloc((size_t)size * sizeof(*offers));
    int error = offers ? rz_win_new(making->comm, operation, &made) : MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS) {
        /* The others wait for this process: it contributes the error. */
        struct rz_win_offer mine = {.error = error};
        if (offers) {
            rz_comm_exchange(making->comm, operation, &mine, sizeof(mine), offers);
        }
        free(offers);
        return error;
    }
    made->flavor = making->flavor;
    made->atomic =
        making->flavor == MPI_WIN_FLAVOR_ALLOCATE || making->flavor == MPI_WIN_FLAVOR_SHARED;
    made->base = making->base;
    made->size = making->size;
    made->disp_unit = (int)making->disp_unit;
    rz_win_take_hints(made, making->info, true);
    error = make_with(made, making, operation, offers);
    free(offers);
    if (error == RZM_ROLLBACK) {
        return error; /* it ends with its epoch, or is not in the list */
    }
    rz_win_memory_taken(made);
    if (error != MPI_SUCCESS) {
        return give_up(made, making->call) == RZM_ROLLBACK ? RZM_ROLLBACK : error;
    }
    *win = made;
    return MPI_SUCCESS;
}

static unsigned making_now; /* calls, of several threads */

bool rz_win_is_made_now(void)
{
    return making_now > 0;
}

static int make(const struct making *making, struct rz_win **win)
{
    uint64_t operation;
    int error = check_making(making);
    error =
        error != MPI_SUCCESS ? error : rz_comm_create_begin(making->comm, making->call, &operation);
    if (error != MPI_SUCCESS) {
        return error;
    }
    making_now++;
    error = make_numbered(making, operation, win);
    making_now--;
    rz_comm_create_end(making->comm);
    if (error == MPI_SUCCESS && (*win)->spans && !rz_win_hint(*win, RZ_WIN_HINT_NO_LOCKS)) {
        rz_rma_thread_start(); /* the last step: from here on threads share the engine */
    }
    return error;
}

int rzm_win_create(void *base, MPI_Aint size, MPI_Count disp_unit, struct rz_info *info,
                   struct rz_comm *comm, struct rz_win **win)
{
    struct making making = {
        "MPI_Win_create", MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info, comm};
    return make(&making, win);
}

int rzm_win_allocate(MPI_Aint size, MPI_Count disp_unit, struct rz_info *info, struct rz_comm *comm,
                     void *baseptr, struct rz_win **win)
{
    struct making making = {
        "MPI_Win_allocate", MPI_WIN_FLAVOR_ALLOCATE, NULL, size, disp_unit, info, comm};
    int error = make(&making, win);
    if (error == MPI_SUCCESS) {
        *(void **)baseptr = (*win)->base;
    }
    return error;
}

int rzm_win_allocate_shared(MPI_Aint size, MPI_Count disp_unit, struct rz_info *info,
                            struct rz_comm *comm, void *baseptr, struct rz_win **win)
{
    struct making making = {
        "MPI_Win_allocate_shared", MPI_WIN_FLAVOR_SHARED, NULL, size, disp_unit, info, comm};
    int error = make(&making, win);
    if (error == MPI_SUCCESS) {
        *(void **)baseptr = (*win)->base;
    }
    return error;
}

int rzm_win_create_dynamic(struct rz_info *info, struct rz_comm *comm, struct rz_win **win)
{
    struct making making = {
        "MPI_Win_create_dynamic", MPI_WIN_FLAVOR_DYNAMIC, NULL, 0, 1, info, comm};
    return make(&making, win);
}

/* ---- Freeing ---- */

/*
 * Returns when all live members have called it, so that none needs the memory of another any more.
 * A barrier would not do that once a member has failed or the window is revoked: an agreement does.
 */
static int await_all(struct rz_win *win)
{
    struct rz_request *request;
    int error;
    if (!rz_engine_fault_tolerant()) {
        error = rz_win_barrier(win, "MPI_Win_free");
        if (error != MPI_ERR_REVOKED) {
            return error; /* else it ends with that error at all members */
        }
    }
    error = rz_ballot_begin(win->comm, 0, false, freed_by_all, NULL, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPI_Win_free", NULL);
}

/* Revoking a window ends all epochs, also those whose last call will never be made: what they hold
 * ends with the window. */
static bool has_open_epoch(const struct rz_win *win)
{
    return !win->comm->revoked && (win->started || win->posted || win->lock_all || win->locks > 0);
}

/* Failed members are no error: the window is freed. */
int rzm_win_free(struct rz_win *win)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && has_open_epoch(win)) {
        error = rzm_error(MPI_ERR_RMA_SYNC, "an epoch has not ended");
    }
    error = error != MPI_SUCCESS ? error : rz_attributes_delete(&win->object, &win->attributes);
    error = error != MPI_SUCCESS ? error : rz_rma_await(win, -1, "MPI_Win_free");
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = await_all(win);
    if (error == RZM_ROLLBACK || error == MPI_ERR_NO_MEM) {
        return error;
    }
    rz_rma_give_up(win, -1, MPI_ERR_PROC_FAILED);
    error = rz_rma_rows_await(win, "MPI_Win_free");
    if (error == RZM_ROLLBACK) {
        return error;
    }
    rz_rma_forget_all(win); /* of a revoked window: requests for a lock that came after the end */
    rz_win_end(win, false);
    return MPI_SUCCESS;
}

/* ---- Dynamic windows ---- */

static int check_dynamic(const struct rz_win *win)
{
    return win->flavor == MPI_WIN_FLAVOR_DYNAMIC
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_RMA_FLAVOR, "the window was not made by MPI_Win_create_dynamic");
}

int rzm_win_attach(struct rz_win *win, void *base, MPI_Aint size)
{
    uint64_t at = (uintptr_t)base;
    int error = check_dynamic(win);
    if (error == MPI_SUCCESS && size < 0) {
        error = rzm_error(MPI_ERR_SIZE, "size is %lld, less than 0", (long long)size);
    }
    if (error == MPI_SUCCESS && size > 0 && !base) {
        error =
            rzm_error(MPI_ERR_BASE, "base is a null pointer, and size is %lld", (long long)size);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (const struct rz_win_region *region = win->regions; region; region = region->next) {
        if (at < region->at + (uint64_t)region->size && region->at < at + (uint64_t)size) {
            return rzm_error(MPI_ERR_RMA_ATTACH, "a part of that memory is attached already");
        }
    }
    struct rz_win_region *region = malloc(sizeof(*region));
    if (!region) {
        return MPI_ERR_NO_MEM;
    }
    *region = (struct rz_win_region){.next = win->regions, .at = at, .size = size};
    win->regions = region;
    return MPI_SUCCESS;
}

int rzm_win_detach(struct rz_win *win, const void *base)
{
    int error = check_dynamic(win);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (struct rz_win_region **place = &win->regions; *place; place = &(*place)->next) {
        struct rz_win_region *region = *place;
        if (region->at == (uintptr_t)base) {
            *place = region->next;
            free(region);
            return MPI_SUCCESS;
        }
    }
    return rzm_error(MPI_ERR_BASE, "no memory that begins at base is attached");
}
