/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of operations, and their ends. Accumulates to one target take effect in the order of
 * the calls: their parts are short enough to keep their order on the way; after one that is not,
 * an oversize one, the messages of later accumulates are held until it is done.
 */
#include "mpi/rma/rma_origin.h"

#include "mpi/engine/control_message.h"
#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_row.h"
#include "mpi/rma/window_info.h"

#include <stdlib.h>

/* Bytes of data in one part, where the type allows it; on their way to one target, few, so that the
 * copies stay in the processor's cache; and to all targets: beyond that each target has the least
 * for itself, so that none waits for the others. */
enum { PART_MAX = 128 * 1024, ORDERED_DATA_MAX = RZ_RMA_ORDERED_MAX - 1024 };
#define ON_WAY_TO_ONE_MAX ((size_t)512 << 10)
#define ON_THEIR_WAY_MAX ((size_t)4 << 20)
#define ON_WAY_TO_ONE_LEAST ((size_t)64 << 10)

static size_t on_their_way;
static uint64_t last_number;

/* One operation of the user. */
struct access {
    size_t parts; /* that are not done, and 1 while parts are being sent */
    int error;
    char *packed; /* the result, packed; NULL: it goes to result.at directly */
    char *row;    /* where the packed result is */
    struct rz_rma_result result;
    struct rz_request *request;
};

struct rz_rma_part {
    struct rz_rma_part *next;
    struct access *access;
    uint64_t number;
    size_t offset, bytes, weight;
    bool oversize;                   /* an accumulate that others may overtake */
    bool moves;                      /* a row that has not moved yet: its memory is in use */
    bool due;                        /* its acknowledgement */
    int error;                       /* while it moves */
    struct rz_control_message *held; /* its message, not sent yet */
};

/* ---- Requests ---- */

static const struct rz_request_class rma_class = {.name = "one-sided operation",
                                                  .waited_for = false};

struct rz_request *rz_rma_request_new(struct rz_win *win)
{
    struct rz_request *request = rz_request_new(&rma_class, win->comm);
    if (request) {
        rz_request_activate(request);
    }
    return request;
}

/* ---- The end of operations ---- */

static void access_release(struct access *access)
{
    if (--access->parts > 0) {
        return;
    }
    const struct rz_rma_result *result = &access->result;
    if (result->type && access->packed && access->error == MPI_SUCCESS) {
        rz_datatype_unpack(result->type, result->count, access->packed,
                           rz_datatype_bytes(result->type, result->count), result->at);
    }
    if (result->type) {
        rz_datatype_release(result->type);
    }
    /* At a roll-back requests have ended before. */
    if (access->request && access->request->active) {
        rz_request_complete(access->request, access->error);
    }
    free(access->packed);
    free(access);
}

/* Whether that accumulate has to wait for an oversize one of an earlier call. */
static bool is_behind(const struct rz_win_target *target, const struct access *access)
{
    const struct rz_rma_part *part = target->oversize > 0 ? target->parts : NULL;
    while (part && (!part->oversize || part->access == access)) {
        part = part->next;
    }
    return part != NULL;
}

/* An oversize part has ended: sends what was held for it, as far as the next one lets it. */
static void send_held(const struct rz_win *win, int rank)
{
    const struct access *oversize = NULL;
    struct rz_rma_part *part = rz_win_target(win, rank)->parts;
    for (; part && !(part->held && oversize && oversize != part->access); part = part->next) {
        if (part->held) {
            rz_rma_list(win, rank, part->held);
            part->held = NULL;
        }
        oversize = part->oversize ? part->access : oversize;
    }
}

static void drop_held(struct rz_rma_part *part)
{
    if (part->held) {
        rz_control_message_free(part->held);
        part->held = NULL;
    }
}

static void part_end(struct rz_win *win, int rank, struct rz_rma_part *part, int error)
{
    struct rz_win_target *target = rz_win_target(win, rank);
    struct access *access = part->access;
    if (part->oversize) {
        target->oversize--;
        send_held(win, rank);
    }
    on_their_way -= part->weight;
    target->on_their_way -= part->weight;
    target->acks_due--;
    target->overtaken = target->overtaken && target->acks_due > 0;
    if (error != MPI_SUCCESS) {
        target->error = target->error == MPI_SUCCESS ? error : target->error;
        access->error = access->error == MPI_SUCCESS ? error : access->error;
    }
    rz_engine.completions++;
    free(part);
    access_release(access);
}

static struct rz_rma_part *part_take(struct rz_win_target *target, uint64_t number)
{
    struct rz_rma_part **place = &target->parts, *part;
    while ((part = *place) != NULL && part->number != number) {
        place = &part->next;
    }
    if (part) {
        *place = part->next;
        if (target->parts_last == &part->next) {
            target->parts_last = place;
        }
    }
    return part;
}

static struct rz_rma_part *part_find(const struct rz_win_target *target, uint64_t number)
{
    struct rz_rma_part *part = target->parts;
    while (part && part->number != number) {
        part = part->next;
    }
    return part;
}

/* The part ends unless something is still due. */
static void part_settle(struct rz_win *win, int rank, struct rz_rma_part *part, int error)
{
    part->error = part->error == MPI_SUCCESS ? error : part->error;
    if (!part->moves && !part->due) {
        part_end(win, rank, part_take(rz_win_target(win, rank), part->number), part->error);
    }
}

void rz_rma_answered(struct rz_win *win, int rank, uint64_t number, int error, const char *result,
                     size_t bytes)
{
    struct rz_win_target *target = rz_win_target(win, rank);
    struct rz_rma_part *part = part_find(target, number);
    if (!part) {
        return;
    }
    if (bytes > 0 && bytes == part->bytes && part->access->row) {
        memcpy(part->access->row + part->offset, result, bytes);
    }
    part->due = false;
    part_settle(win, rank, part, error);
}

/* The row of a part has moved, or will not. */
static void part_moved(struct rz_win *win, const struct rz_rma_row *row, int error)
{
    struct rz_win_target *target = win ? rz_win_target(win, row->rank) : NULL;
    struct rz_rma_part *part = target ? part_find(target, row->number) : NULL;
    if (part) {
        part->moves = false;
        part->due = part->due && error == MPI_SUCCESS;
        part_settle(win, row->rank, part, error);
    }
}

void rz_rma_give_up(struct rz_win *win, int rank, int error)
{
    for (int i = 0; i < win->members; i++) {
        struct rz_win_target *target = rz_win_target(win, i);
        struct rz_rma_part *part = rank < 0 || rank == i ? target->parts : NULL, *next;
        for (struct rz_rma_part *each = part; each; each = each->next) {
            drop_held(each);
        }
        for (; part; part = next) {
            next = part->next;
            part->due = false;
            part_settle(win, i, part, error);
        }
    }
}

/* ---- Waiting ---- */

struct quiet {
    const struct rz_win *win;
    int rank;
};

static bool is_quiet(void *arg)
{
    const struct quiet *quiet = arg;
    if (quiet->rank >= 0) {
        return rz_win_target(quiet->win, quiet->rank)->acks_due == 0;
    }
    for (int i = 0; i < quiet->win->members; i++) {
        if (rz_win_target(quiet->win, i)->acks_due > 0) {
            return false;
        }
    }
    return true;
}

int rz_rma_await(struct rz_win *win, int rank, const char *call)
{
    struct quiet quiet = {win, rank};
    return is_quiet(&quiet) ? MPI_SUCCESS : rz_win_wait(win, rank, call, is_quiet, &quiet);
}

/* arg: the target. */
static bool is_room(void *arg)
{
    const struct rz_win_target *target = arg;
    return target->on_their_way < ON_WAY_TO_ONE_LEAST ||
           (target->on_their_way < ON_WAY_TO_ONE_MAX && on_their_way < ON_THEIR_WAY_MAX);
}

/* ---- Sending ---- */

/* An operation that is being sent. */
struct sending {
    struct rz_win *win;
    int rank;
    const struct rz_rma_operation *operation;
    uint64_t at;
    struct access *access;
};

/* Data that come back are copied while others are asked for: twice as many may be on their way. */
static size_t weight_of(const struct rz_rma_operation *operation, size_t bytes)
{
    return operation->data ? bytes : bytes / 2;
}

/* Adds a part to those on their way. NULL: no memory. */
static struct rz_rma_part *part_begin(const struct sending *sending, size_t offset, size_t bytes,
                                      size_t weight)
{
    struct rz_win_target *target = rz_win_target(sending->win, sending->rank);
    struct rz_rma_part *part = malloc(sizeof(*part));
    if (!part) {
        return NULL;
    }
    *part = (struct rz_rma_part){.access = sending->access,
                                 .number = ++last_number,
                                 .offset = offset,
                                 .bytes = bytes,
                                 .weight = weight,
                                 .due = true};
    sending->access->parts++;
    on_their_way += weight;
    target->on_their_way += weight;
    target->acks_due++;
    *target->parts_last = part;
    target->parts_last = &part->next;
    return part;
}

/* A failure that was known before ends nothing later. */
static void look_at_failure(const struct sending *sending)
{
    int error = rz_win_check(sending->win, sending->rank);
    if (error != MPI_SUCCESS) {
        rz_rma_give_up(sending->win, sending->rank, error);
    }
}

/* Without a thread at the target this would wait for the program: the copies stay with us. */
static int await_room(const struct sending *sending, struct rz_win_target *target)
{
    return rz_win_hint(sending->win, RZ_WIN_HINT_NO_LOCKS)
               ? MPI_SUCCESS
               : rz_win_wait(sending->win, sending->rank, "a one-sided operation", is_room, target);
}

static int part_send(const struct sending *sending, const struct rz_rma_operation *operation,
                     uint64_t at, size_t offset)
{
    struct rz_win_target *target = rz_win_target(sending->win, sending->rank);
    size_t bytes = (size_t)rz_rma_bytes(operation);
    struct rz_rma_part *part = part_begin(sending, offset, operation->wants_result ? bytes : 0,
                                          weight_of(operation, bytes));
    if (!part) {
        return MPI_ERR_NO_MEM;
    }
    struct rz_control_message *message =
        rz_rma_operation_message(sending->win, operation, at, part->number);
    if (!message) {
        part_end(sending->win, sending->rank, part_take(target, part->number), MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    bool accumulates = rz_rma_accumulates(operation);
    bool overtaken = rz_rma_message_bytes(operation) > RZ_RMA_ORDERED_MAX;
    bool held = accumulates && is_behind(target, sending->access);
    target->overtaken |= overtaken;
    part->oversize = overtaken && accumulates;
    target->oversize += part->oversize;
    if (held) {
        part->held = message;
    } else {
        rz_rma_send(sending->win, sending->rank, message);
    }
    look_at_failure(sending);
    return await_room(sending, target);
}

/* All of it as one row, which is not copied. */
static int row_send(const struct sending *sending)
{
    const struct rz_rma_operation *operation = sending->operation;
    struct rz_win_target *target = rz_win_target(sending->win, sending->rank);
    struct rz_rma_part *part = part_begin(sending, 0, 0, 0);
    if (!part) {
        return MPI_ERR_NO_MEM;
    }
    bool out = operation->what == RZ_RMA_PUT;
    const struct rz_rma_row row = {.rank = sending->rank,
                                   .out = out,
                                   .what = operation->what,
                                   .number = part->number,
                                   .at = out ? (void *)(uintptr_t)operation->data
                                             : sending->access->row,
                                   .bytes = rz_rma_bytes(operation)};
    uint64_t at = sending->at + (uint64_t)operation->shape.true_lb;
    target->overtaken = true;
    int error = rz_rma_send_row_head(sending->win, sending->rank, operation, at, part->number);
    if (error != MPI_SUCCESS) {
        part_end(sending->win, sending->rank, part_take(target, part->number), error);
        return error;
    }
    part->moves = true;
    part->due = out; /* what arrives needs no acknowledgement */
    rz_rma_row_move(sending->win, &row, part_moved, true);
    look_at_failure(sending);
    return MPI_SUCCESS;
}

static bool goes_as_row(const struct sending *sending)
{
    const struct rz_rma_operation *operation = sending->operation;
    bool stays = operation->what == RZ_RMA_PUT ? operation->data_stay
                                               : sending->access->row && !sending->access->packed;
    return stays && rz_rma_is_row(sending->win, sending->rank, operation);
}

/* Sends count of the elements of the target, or of the bytes of its row, from `first` on. */
static int send_from(const struct sending *sending, MPI_Count first, MPI_Count count)
{
    struct rz_rma_operation part = *sending->operation;
    uint64_t at = sending->at;
    if (part.shape.contiguous) {
        at += (uint64_t)(part.shape.true_lb + first);
        part.shape = rz_shape_row();
    } else {
        at += (uint64_t)(first * part.shape.extent);
    }
    size_t offset = (size_t)(first * part.shape.size);
    part.count = count;
    part.data = part.data ? part.data + offset : NULL;
    return part_send(sending, &part, at, offset);
}

static int send_all(const struct sending *sending)
{
    const struct rz_rma_operation *operation = sending->operation;
    MPI_Count all = operation->count, step;
    if (goes_as_row(sending)) {
        return row_send(sending);
    }
    if (operation->what == RZ_RMA_SWAP) {
        return part_send(sending, operation, sending->at, 0);
    }
    MPI_Count bytes = rz_rma_accumulates(operation) ? ORDERED_DATA_MAX : PART_MAX;
    if (operation->shape.contiguous) {
        MPI_Count unit = operation->basic.size > 0 ? operation->basic.size : 1;
        all = rz_rma_bytes(operation);
        step = bytes / unit * unit;
    } else {
        step = bytes / operation->shape.size;
    }
    step = step > 0 ? step : 1;
    for (MPI_Count first = 0; first < all; first += step) {
        int error = send_from(sending, first, all - first < step ? all - first : step);
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}

static struct access *access_new(const struct rz_rma_operation *operation,
                                 const struct rz_rma_result *result, struct rz_request *request)
{
    struct access *access = calloc(1, sizeof(*access));
    if (!access) {
        return NULL;
    }
    *access = (struct access){.parts = 1, .request = request};
    if (result->type && operation->wants_result) {
        access->result = *result;
        if (result->type->contiguous) {
            access->row = rz_datatype_row(result->type, result->at);
        } else {
            access->packed = malloc((size_t)rz_rma_bytes(operation) + 1);
            access->row = access->packed;
        }
        if (!access->row) {
            free(access);
            return NULL;
        }
        rz_datatype_retain(result->type);
    }
    return access;
}

int rz_rma_begin(struct rz_win *win, int rank, const struct rz_rma_operation *operation,
                 uint64_t at, const struct rz_rma_result *result, struct rz_request *request)
{
    struct access *access = access_new(operation, result, request);
    if (!access) {
        if (request) {
            rz_request_complete(request, MPI_ERR_NO_MEM);
        }
        return MPI_ERR_NO_MEM;
    }
    struct sending sending = {win, rank, operation, at, access};
    int error = send_all(&sending);
    if (error != MPI_SUCCESS && error != RZM_ROLLBACK && access->error == MPI_SUCCESS) {
        access->error = error;
    }
    access_release(access);
    return error;
}
