/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges by cells: the agreement on them, writing and looking, and what a failure does. */
#include "mpi/coll/cells.h"

#include "mpi/chapter.h"
#include "mpi/engine/peer.h"

#include <string.h>

enum {
    CELLS_RANKS_MAX = 8,
    PAIRS = RZ_NET_CELLS / 2, /* two cells in turn for each communicator */
    ASKED_FIRST = 3,          /* a communicator that is used less often has no cells */
    LOOKS =
        50 /* so often a rank looks for the others before it also makes progress: a microsecond */
};

enum cells_state { CELLS_UNKNOWN, CELLS_NONE, CELLS_AGREED };

/* Pairs of cells that no communicator of this process uses; the greatest number of one that did. */
static uint64_t free_pairs = (UINT64_C(1) << PAIRS) - 1;
static uint64_t last_number;

/* What each member sends to all others. */
struct offer {
    uint64_t free_pairs, last_number, node;
};

/* ---- Agreement ---- */

static void give_back(void *arg)
{
    const struct rz_comm *comm = arg;
    free_pairs |= UINT64_C(1) << comm->cells.pair;
}

static void decide(struct rz_comm *comm, const struct offer *offers)
{
    uint64_t free = UINT64_MAX, number = 0;
    for (int i = 0; i < rz_comm_size(comm); i++) {
        bool here = offers[i].node == offers[0].node;
        free &= here ? offers[i].free_pairs : 0;
        number = number > offers[i].last_number ? number : offers[i].last_number;
    }
    comm->cells.state = CELLS_NONE;
    if (free == 0) {
        return;
    }
    last_number = number + 1;
    comm->cells.state = CELLS_AGREED;
    comm->cells.pair = (uint8_t)__builtin_ctzll(free);
    comm->cells.stamp = last_number << 40;
    free_pairs &= ~(UINT64_C(1) << comm->cells.pair);
    comm->coll = comm;
    comm->coll_free = give_back;
}

/* If it fails, so does the operation, and no other one on this communicator succeeds. */
static void agree(struct rz_schedule *schedule, struct rz_comm *comm)
{
    struct offer offers[CELLS_RANKS_MAX];
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    const struct rz_parts all = {
        .buffer = (char *)offers, .datatype = byte, .count = sizeof(struct offer)};
    struct rz_parts own = all;
    int rank = rz_comm_rank(comm);
    offers[rank] =
        (struct offer){.free_pairs = rz_engine_shared ? 0 : free_pairs, /* threads: by messages */
                       .last_number = last_number,
                       .node = rz_engine.info->node};
    own.buffer = (char *)&offers[rank];
    own.same = true;
    rz_schedule_exchange(schedule, &own, &all);
    if (!rz_schedule_is_over(schedule)) {
        decide(comm, offers);
    }
}

unsigned rz_cells_trait(struct rz_schedule *schedule, MPI_Count bytes)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    if (bytes > RZ_NET_CELL_BYTES || comm->remote->size > CELLS_RANKS_MAX ||
        comm->cells.state == CELLS_NONE || !rz_schedule_is_at_once(schedule)) {
        return 0;
    }
    if (comm->cells.state == CELLS_UNKNOWN) {
        if (comm->cells.asked < ASKED_FIRST) {
            comm->cells.asked++;
            return 0;
        }
        agree(schedule, comm);
    }
    return comm->cells.state == CELLS_AGREED || rz_schedule_is_over(schedule)
               ? (unsigned)RZ_COLL_CELLED
               : 0U;
}

/* ---- Exchange ---- */

struct exchange {
    struct rz_schedule *schedule;
    const struct rz_comm *comm;
    const struct rz_parts *in;
    uint64_t stamp;
    unsigned cell;
    int next;         /* the parts of all ranks before this one are here */
    uint32_t here;    /* bits of the ranks whose part is here */
    uint32_t awaited; /* for which a receive was begun */
    struct rz_peer_cells cells[CELLS_RANKS_MAX];
};

/* Takes the part of this rank, if it is there. */
static bool take_part(struct exchange *e, int rank)
{
    const struct rz_peer_cells *cells = &e->cells[rank];
    const void *data =
        cells->path ? cells->path->ops->cell_see(cells->path->net, cells->number, e->cell, e->stamp)
                    : NULL;
    if (!data) {
        return false;
    }
    struct rz_part to = rz_parts_at(e->in, rank);
    MPI_Count bytes = rz_part_bytes(&to);
    if (to.datatype->contiguous && bytes > 0) {
        memcpy(rz_datatype_row(to.datatype, to.buffer), data, (size_t)bytes);
    } else if (bytes > 0) {
        rz_datatype_unpack(to.datatype, to.count, data, bytes, to.buffer);
    }
    e->here |= 1U << rank;
    return true;
}

/* Whether all parts are here. */
static bool all_here(struct exchange *e)
{
    int size = rz_comm_size(e->comm);
    while (e->next < size && (e->here & 1U << e->next || take_part(e, e->next))) {
        e->next++;
    }
    return e->next == size;
}

static bool all_here_or_damaged(void *arg)
{
    struct exchange *e = arg;
    return all_here(e) || e->comm->revoked || e->comm->collectives_failed;
}

static bool all_here_or_over(void *arg)
{
    struct exchange *e = arg;
    return all_here(e) || e->comm->revoked || rz_schedule_fails(e->schedule);
}

static int await(struct exchange *e, bool (*done)(void *arg))
{
    const struct rz_comm *comm = e->comm;
    for (int i = 0; i < (rz_engine.waiting.crowded ? 1 : LOOKS); i++) {
        if (done(e)) {
            return MPI_SUCCESS;
        }
    }
    struct rz_blocked blocked = {.call = comm->call,
                                 .comm = comm,
                                 .operation = comm->operations,
                                 .peer = rz_comm_process(comm, e->next),
                                 .tag = MPI_ANY_TAG};
    return rz_engine_wait(&blocked, done, e);
}

/* A member has failed: a receive from each rank whose part is not here ends when it is known that
 * the part will not come. */
static int await_or_fail(struct exchange *e)
{
    const struct rz_part nothing = {.datatype = rz_datatype_of(MPI_BYTE)};
    for (int i = 0; i < rz_comm_size(e->comm); i++) {
        if (!(e->here & 1U << i) && !take_part(e, i)) {
            rz_schedule_recv_part(e->schedule, &nothing, i);
        }
    }
    int error = await(e, all_here_or_over);
    if (error == MPI_SUCCESS && !rz_schedule_is_over(e->schedule)) {
        rz_schedule_forget(e->schedule); /* all came by cells */
    }
    return error;
}

/* Not all parts were here: waits for the others. */
static void await_parts(struct exchange *e)
{
    int error = await(e, all_here_or_damaged);
    if (error == MPI_SUCCESS && e->comm->collectives_failed && !all_here(e)) {
        error = await_or_fail(e);
    }
    if (error == MPI_SUCCESS && e->comm->revoked && !all_here(e)) {
        error = MPI_ERR_REVOKED;
    }
    if (error != MPI_SUCCESS) {
        rz_schedule_refuse(e->schedule, error);
    }
}

static void put_part(const struct exchange *e, const struct rz_peer_cells *to,
                     const struct rz_part *part)
{
    char packed[RZ_NET_CELL_BYTES];
    const void *data = packed;
    if (part->datatype->contiguous) {
        data = rz_datatype_row(part->datatype, part->buffer);
    } else {
        rz_datatype_pack(part->datatype, part->count, part->buffer, packed);
    }
    to->path->ops->cell_put(to->path->net, to->number, e->cell, e->stamp, data,
                            (size_t)rz_part_bytes(part));
}

static void put_parts(struct exchange *e, const struct rz_parts *out)
{
    int rank = rz_comm_rank(e->comm);
    for (int i = 0; i < rz_comm_size(e->comm); i++) {
        e->cells[i] = i != rank ? rz_peer_cells(rz_comm_process(e->comm, i))
                                : (struct rz_peer_cells){.path = NULL};
        if (e->cells[i].path) {
            struct rz_part part = rz_parts_at(out, i);
            put_part(e, &e->cells[i], &part);
        }
    }
}

/* All parts were here when this one was written: others may sleep. */
static void wake_all(const struct exchange *e)
{
    for (int i = 0; i < rz_comm_size(e->comm); i++) {
        const struct rz_peer_cells *to = &e->cells[i];
        if (to->path) {
            to->path->ops->cell_ring(to->path->net, to->number);
        }
    }
}

/* This process does not take part: each other rank is told so. */
static void tell_all(struct rz_schedule *schedule, const struct rz_comm *comm)
{
    const struct rz_part nothing = {.datatype = rz_datatype_of(MPI_BYTE)};
    for (int i = 0; i < rz_comm_size(comm); i++) {
        if (i != rz_comm_rank(comm)) {
            rz_schedule_send_part(schedule, &nothing, i);
        }
    }
}

void rz_cells_exchange(struct rz_schedule *schedule, const struct rz_parts *out,
                       const struct rz_parts *in)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    if (rz_schedule_is_over(schedule)) {
        tell_all(schedule, comm);
        return;
    }
    uint64_t stamp = ++comm->cells.stamp;
    struct exchange e = {.schedule = schedule,
                         .comm = comm,
                         .in = in,
                         .stamp = stamp,
                         .cell = 2U * comm->cells.pair + (unsigned)(stamp & 1),
                         .here = 1U << rz_comm_rank(comm)};
    put_parts(&e, out);
    /* Of two that come last at the same time, one at least sees the cells of the other. */
    atomic_thread_fence(memory_order_seq_cst);
    if (all_here(&e)) {
        wake_all(&e);
    } else {
        await_parts(&e);
    }
}
