/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows are moved by requests of the library itself: one of the class below, which the engine polls,
 * and the message.
 */
#include "mpi/rma/rma_row.h"

#include "base/no_memory.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/p2p_inside.h"

#include <limits.h>
#include <stdlib.h>

#define FOR_ROW "for a one-sided operation"

/* Below this the copies cost less than the messages that a long message needs. */
#define ROW_MIN ((MPI_Count)64 << 10)

struct moving {
    struct rz_rma_row row;
    rz_rma_moved_t moved;
    bool begun;
    struct rz_request *message; /* NULL: it has ended */
};

bool rz_rma_is_row(const struct rz_win *win, int rank, const struct rz_rma_operation *operation)
{
    return rz_win_target(win, rank)->reach == RZ_REACH_MESSAGE &&
           win->flavor != MPI_WIN_FLAVOR_DYNAMIC && operation->what <= RZ_RMA_GET &&
           operation->shape.contiguous && rz_rma_bytes(operation) >= ROW_MIN;
}

/* Puts of a process and gets from it bring rows in the same direction, each with numbers of their
 * own. */
static int tag_of(const struct rz_rma_row *row)
{
    return (int)((row->number << 1 | (row->what == RZ_RMA_GET)) & INT_MAX);
}

static int row_begin(const struct rz_request *request, struct moving *moving)
{
    const struct rz_rma_row *row = &moving->row;
    const struct rz_p2p_message message = {.buffer = row->at,
                                           .count = row->bytes,
                                           .datatype = rz_datatype_of(MPI_BYTE),
                                           .peer = row->rank,
                                           .tag = tag_of(row),
                                           .comm = request->comm,
                                           .context_offset = RZ_CONTEXT_OFFSET_WINDOW};
    moving->begun = true;
    return row->out ? rz_p2p_start_send(&message, &moving->message)
                    : rz_p2p_start_recv(&message, &moving->message);
}

static void row_poll(struct rz_request *request)
{
    struct moving *moving = request->state;
    int error = moving->begun ? MPI_SUCCESS : row_begin(request, moving);
    rz_need_memory(error != MPI_ERR_NO_MEM, FOR_ROW);
    if (error == MPI_SUCCESS && !rz_p2p_done(&moving->message, 1)) {
        return;
    }
    error = error != MPI_SUCCESS ? error : rz_p2p_end(&moving->message, 1);
    rz_request_complete(request, error);
}

static void row_abandon(struct rz_request *request)
{
    struct moving *moving = request->state;
    rz_p2p_abandon(&moving->message, 1);
}

static void row_destroy(struct rz_request *request)
{
    struct moving *moving = request->state;
    struct rz_win *win = rz_win_by_context(request->comm->context);
    if (win) {
        win->rows_moving--;
    }
    moving->moved(win, &moving->row, request->error);
    free(moving);
}

static const struct rz_request_class row_class = {.name = "long one-sided operation",
                                                  .poll = row_poll,
                                                  .abandon = row_abandon,
                                                  .destroy = row_destroy};

void rz_rma_row_move(struct rz_win *win, const struct rz_rma_row *row, rz_rma_moved_t moved,
                     bool at_once)
{
    struct rz_request *request = rz_request_new(&row_class, win->comm);
    struct moving *moving = malloc(sizeof(*moving));
    rz_need_memory(request, FOR_ROW);
    rz_need_memory(moving, FOR_ROW);
    *moving = (struct moving){.row = *row, .moved = moved};
    request->state = moving;
    win->rows_moving++;
    rz_request_activate(request);
    rz_request_detach(request);
    if (at_once) {
        row_poll(request);
    }
}

/* What is sent to such a member is dropped there, and so ends: it has closed the context. */
void rz_rma_rows_cancel(const struct rz_win *win, int rank)
{
    for (struct rz_request *request = rz_engine.polled; request; request = request->poll_next) {
        const struct moving *moving = request->state;
        if (request->class == &row_class && request->comm == win->comm &&
            moving->row.rank == rank && !moving->row.out && moving->message) {
            rz_p2p_class.cancel(moving->message);
        }
    }
}

static bool no_row_moves(void *arg)
{
    const struct rz_win *win = arg;
    return win->rows_moving == 0;
}

int rz_rma_rows_await(struct rz_win *win, const char *call)
{
    return no_row_moves(win) ? MPI_SUCCESS : rz_win_wait(win, -1, call, no_row_moves, win);
}
