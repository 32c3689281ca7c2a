/* SPDX-License-Identifier: BSD-3-Clause */
/* Serving operations and lock requests of other processes. */
#include "mpi/rma/rma_target.h"

#include "base/no_memory.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/rma_origin.h"
#include "mpi/rma/rma_row.h"
#include "mpi/rma/window_words.h"

#include <stdlib.h>

#define FOR_OPERATION "for a one-sided operation of another process"

/* A message that waits: a copy. */
struct rz_rma_waiting {
    struct rz_rma_waiting *next;
    int rank;
    bool claimed; /* rz_win_try_exclusive */
    struct rz_window_message head;
    size_t bytes;
    _Alignas(16) unsigned char data[];
};

static unsigned n_waiting;

/* ---- Operations ---- */

static bool is_attached(const struct rz_win *win, uint64_t at, uint64_t last)
{
    for (const struct rz_win_region *region = win->regions; region; region = region->next) {
        if (at >= region->at && last - region->at < (uint64_t)region->size) {
            return true;
        }
    }
    return false;
}

static bool row_is_attached(void *arg, uint64_t at, MPI_Count bytes)
{
    return is_attached(arg, at, at + (uint64_t)bytes - 1);
}

/* Operations of others are checked against what is attached now; those on other windows were
 * checked at their origin. */
static bool is_allowed(struct rz_win *win, const struct rz_rma_operation *operation, uint64_t at)
{
    return win->flavor != MPI_WIN_FLAVOR_DYNAMIC ||
           rz_shape_rows(&operation->shape, operation->count, at, row_is_attached, win);
}

static void operate(struct rz_win *win, int rank, const struct rz_window_message *head,
                    struct rz_rma_operation *operation)
{
    size_t bytes = operation->wants_result ? (size_t)rz_rma_bytes(operation) : 0;
    bool allowed = is_allowed(win, operation, head->at);
    int error = allowed ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    char *result;
    struct rz_control_message *answer =
        rz_rma_answer_new(win, head->number, error, allowed ? bytes : 0, &result);
    rz_need_memory(answer, FOR_OPERATION); /* its origin would wait for ever */
    if (allowed) {
        operation->result = operation->wants_result ? result : NULL;
        rz_need_memory(rz_rma_apply(win, operation, head->at) == MPI_SUCCESS, FOR_OPERATION);
    }
    rz_rma_list(win, rank, answer);
}

/* False: the right to accumulate is another process's now. */
static bool operate_if_free(struct rz_win *win, int rank, const struct rz_window_message *head,
                            struct rz_rma_operation *operation)
{
    bool right = rz_rma_accumulates(operation) && !rz_rma_is_atomic(win, operation, head->at);
    if (right && !rz_win_try_accumulate(win, win->rank)) {
        return false;
    }
    operate(win, rank, head, operation);
    if (right) {
        rz_win_end_accumulate(win, win->rank);
    }
    return true;
}

static bool serve_operation(struct rz_win *win, int rank, const struct rz_window_message *head,
                            const void *data, size_t bytes)
{
    struct rz_wire_reader reader;
    struct rz_rma_operation operation;
    rz_wire_reader_init(&reader, data, bytes);
    if (!rz_rma_operation_get(head, &reader, &operation)) {
        rz_engine.counters.foreign++;
        return true;
    }
    bool done = operate_if_free(win, rank, head, &operation);
    rz_rma_operation_end(&operation);
    return done;
}

/* ---- Long rows ---- */

static void answer_row(struct rz_win *win, const struct rz_rma_row *row, int error)
{
    char *nothing;
    if (win && !row->out && error != RZM_ROLLBACK) {
        struct rz_control_message *answer = rz_rma_answer_new(win, row->number, error, 0, &nothing);
        rz_need_memory(answer, FOR_OPERATION); /* its origin would wait for ever */
        rz_rma_list(win, row->rank, answer);
    }
}

static void serve_row(struct rz_win *win, int rank, const struct rz_window_message *head)
{
    const struct rz_rma_row row = {.rank = rank,
                                   .out = head->what == RZ_RMA_GET,
                                   .what = (enum rz_rma_what)head->what,
                                   .number = head->number,
                                   .at = (void *)(uintptr_t)head->at,
                                   .bytes = (MPI_Count)head->count};
    if (!win->leaves) { /* else its origin is told soon (RZ_RMA_LEFT) */
        rz_rma_row_move(win, &row, answer_row, false);
    }
}

/* ---- What waits ---- */

static void wait_with(struct rz_win *win, int rank, const struct rz_window_message *head,
                      const void *data, size_t bytes)
{
    struct rz_rma_waiting *waiting = malloc(sizeof(*waiting) + bytes);
    rz_need_memory(waiting, FOR_OPERATION);
    *waiting = (struct rz_rma_waiting){.rank = rank, .head = *head, .bytes = bytes};
    memcpy(waiting->data, data, bytes);
    *win->waiting_last = waiting;
    win->waiting_last = &waiting->next;
    n_waiting++;
    rz_win_set_waits(win, win->rank, true);
    rz_work_set(RZ_WORK_WINDOWS, true);
}

static bool serve_lock(struct rz_win *win, struct rz_rma_waiting *waiting)
{
    bool granted = waiting->head.what != 0
                       ? rz_win_try_exclusive(win, win->rank, waiting->rank, &waiting->claimed)
                       : rz_win_try_shared(win, win->rank, waiting->rank);
    if (granted) {
        rz_rma_tell(win, waiting->rank, RZ_RMA_GRANT, 0, 0);
    }
    return granted;
}

static bool serve_waiting(struct rz_win *win, struct rz_rma_waiting *waiting)
{
    if (waiting->head.kind == RZ_RMA_LOCK) {
        return serve_lock(win, waiting);
    }
    if (waiting->head.kind == RZ_RMA_UNLOCK) {
        rz_win_unlock_word(win, win->rank, waiting->rank);
        return true;
    }
    return serve_operation(win, waiting->rank, &waiting->head, waiting->data, waiting->bytes);
}

static void unlink_waiting(struct rz_win *win, struct rz_rma_waiting **place)
{
    struct rz_rma_waiting *waiting = *place;
    *place = waiting->next;
    if (win->waiting_last == &waiting->next) {
        win->waiting_last = place;
    }
    free(waiting);
    n_waiting--;
    if (!win->waiting) {
        rz_win_set_waits(win, win->rank, false);
    }
}

/* Lock requests wait for each other no longer than for the lock; operations keep their order, and
 * locks are given up after them. */
static unsigned serve_window(struct rz_win *win)
{
    unsigned done = 0;
    bool operation_waits = false;
    struct rz_rma_waiting **place = &win->waiting;
    while (*place) {
        struct rz_rma_waiting *waiting = *place;
        bool is_lock = waiting->head.kind == RZ_RMA_LOCK;
        if ((!is_lock && operation_waits) || !serve_waiting(win, waiting)) {
            operation_waits |= !is_lock;
            place = &waiting->next;
            continue;
        }
        unlink_waiting(win, place);
        done++;
    }
    return done;
}

unsigned rz_rma_serve(void)
{
    unsigned done = 0;
    for (struct rz_win *win = rz_wins_first(); win && n_waiting > 0; win = win->next) {
        done += serve_window(win);
    }
    return done;
}

bool rz_rma_waits(void)
{
    return n_waiting > 0;
}

void rz_rma_forget(struct rz_win *win, int rank)
{
    struct rz_rma_waiting **place = &win->waiting;
    while (*place) {
        if (rank >= 0 && (*place)->rank != rank) {
            place = &(*place)->next;
        } else {
            unlink_waiting(win, place);
        }
    }
    if (rank >= 0 && win->control) {
        rz_win_unlock_word(win, win->rank, rank);
    }
}

void rz_rma_forget_all(struct rz_win *win)
{
    rz_rma_forget(win, -1);
}

/* ---- Members that have left ---- */

/* Messages LEFT of windows that this process is still making. */
struct left {
    struct left *next;
    uint64_t context;
    uint32_t process;
};
static struct left *left_first;

static void member_left(struct rz_win *win, uint32_t process)
{
    int rank = rz_group_find(win->comm->group, process);
    if (rank != MPI_UNDEFINED) {
        rz_win_target(win, rank)->left = true;
        rz_rma_give_up(win, rank, MPI_ERR_PROC_FAILED);
        rz_rma_rows_cancel(win, rank);
    }
}

static void left_early(const struct rz_envelope *envelope)
{
    struct left *left = malloc(sizeof(*left));
    rz_need_memory(left, "for a message about a window");
    *left = (struct left){left_first, envelope->context, rz_message_from(envelope)};
    left_first = left;
}

void rz_rma_window_begun(struct rz_win *win)
{
    struct left **place = &left_first, *left;
    while ((left = *place) != NULL) {
        if (left->context != win->comm->context) {
            place = &left->next;
            continue;
        }
        *place = left->next;
        member_left(win, left->process);
        free(left);
    }
}

void rz_rma_forget_left(void)
{
    struct left *left;
    while ((left = left_first) != NULL) {
        left_first = left->next;
        free(left);
    }
}

/* A message about a window that is not here: not yet, or not any more. Its sender would wait for an
 * answer. */
static void arrive_at_none(const struct rz_envelope *envelope, enum rz_rma_kind kind)
{
    if (kind == RZ_RMA_LEFT && !rz_comm_has_ended(envelope->context)) {
        left_early(envelope);
    } else if (kind == RZ_RMA_OPERATE || kind == RZ_RMA_ROW || kind == RZ_RMA_LOCK ||
               kind == RZ_RMA_POST) {
        rz_rma_tell_left(rz_message_from(envelope), envelope->context);
    }
}

/* ---- Arriving ---- */

static bool operation_waits(const struct rz_win *win)
{
    const struct rz_rma_waiting *waiting = win->waiting;
    while (waiting && waiting->head.kind == RZ_RMA_LOCK) {
        waiting = waiting->next;
    }
    return waiting != NULL;
}

static void arrive(struct rz_win *win, int rank, const struct rz_window_message *head,
                   const struct rz_wire_reader *reader)
{
    const void *data = reader->at;
    size_t bytes = (size_t)(reader->end - reader->at);
    struct rz_win_target *sender = rz_win_target(win, rank);
    switch ((enum rz_rma_kind)head->kind) {
    case RZ_RMA_OPERATE:
        if (operation_waits(win) || !serve_operation(win, rank, head, data, bytes)) {
            wait_with(win, rank, head, data, bytes);
        }
        break;
    case RZ_RMA_ROW:
        serve_row(win, rank, head);
        break;
    case RZ_RMA_ANSWER:
        rz_rma_answered(win, rank, head->number, (int)head->error, data, bytes);
        break;
    case RZ_RMA_LOCK:
        wait_with(win, rank, head, data, 0);
        break;
    case RZ_RMA_UNLOCK: /* after the operations of its epoch */
        if (operation_waits(win)) {
            wait_with(win, rank, head, data, 0);
        } else {
            rz_win_unlock_word(win, win->rank, rank);
            rz_work_set(RZ_WORK_WINDOWS, true);
        }
        break;
    case RZ_RMA_GRANT:
        sender->granted = true;
        break;
    case RZ_RMA_POST:
        rz_win_post_came(sender);
        break;
    case RZ_RMA_COMPLETE:
        rz_win_complete_came(sender);
        break;
    case RZ_RMA_LEFT: /* rz_rma_receive */
    case RZ_RMA_WAKE:
    case RZ_RMA_KIND_COUNT:
        break;
    }
    rz_engine.completions++; /* a call may wait for it */
}

void rz_rma_receive(const struct rz_envelope *envelope, const void *data, size_t bytes)
{
    struct rz_win *win = rz_win_by_context(envelope->context);
    struct rz_wire_reader reader;
    struct rz_window_message head;
    rz_wire_reader_init(&reader, data, bytes);
    rz_window_head_get(&reader, &head);
    int rank = envelope->source;
    if (!reader.malformed && win && head.kind == RZ_RMA_LEFT) {
        member_left(win, rz_message_from(envelope));
        rz_engine.completions++;
        return;
    }
    if (!reader.malformed && !win && head.kind < RZ_RMA_KIND_COUNT) {
        arrive_at_none(envelope, (enum rz_rma_kind)head.kind);
        return;
    }
    if (!win || reader.malformed || rank < 0 || rank >= win->members ||
        head.kind >= RZ_RMA_KIND_COUNT) {
        rz_engine.counters.foreign += reader.malformed;
        return;
    }
    arrive(win, rank, &head, &reader);
}
