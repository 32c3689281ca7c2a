/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges by cells: the agreement on them, writing and looking, and what a failure does. */
#include "mpi/coll/cells.h"

#include "base/linked_list.h"
#include "base/no_memory.h"
#include "mpi/impl.h"
#include "mpi/engine/count_traffic.h"

enum {
    PAIRS = RZ_NET_CELLS / 2, /* two cells in turn for each communicator */
    FIRST_WITHOUT = 3,        /* a communicator with fewer operations needs no cells */
    LOOKS =
        50 /* so often a rank looks for the others before it also makes progress: a microsecond */
};

/* A stamp: the number of the agreement, that of the operation, and the turn of the cells. */
#define NUMBER_SHIFT 40
#define OPERATION_MASK ((UINT64_C(1) << (NUMBER_SHIFT - 1)) - 1)

enum cells_state { CELLS_UNKNOWN, CELLS_NONE, CELLS_AGREED };

/* Pairs of cells that no communicator of this process uses; the greatest number of one that did. */
static uint64_t free_pairs = (UINT64_C(1) << PAIRS) - 1;
static uint64_t last_number;

/* What each member sends to all others. */
struct offer {
    uint64_t free_pairs, last_number, node;
};

/* ---- Agreement ---- */

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
    comm->cells.number = last_number;
    free_pairs &= ~(UINT64_C(1) << comm->cells.pair);
    for (int i = 0; i < rz_comm_size(comm); i++) {
        comm->cells.peer[i] = i != rz_comm_rank(comm) ? rz_peer_cells(rz_comm_process(comm, i))
                                                      : (struct rz_peer_cells){.path = NULL};
    }
}

static void comm_ends(struct rz_comm *comm, bool goodbye)
{
    (void)goodbye;
    if (comm->cells.state == CELLS_AGREED) {
        free_pairs |= UINT64_C(1) << comm->cells.pair;
    }
}

/*
 * A member with several threads offers none, and knows at once that there will be none: its steps
 * do not run as they are added.
 *
 * If the agreement fails because of another member, so does the operation, and no other one on this
 * communicator succeeds.
 */
static void agree(struct rz_schedule *schedule, struct rz_comm *comm)
{
    struct offer *offers = rz_schedule_bytes(schedule, RZ_CELLS_RANKS_MAX * sizeof(*offers));
    if (!offers) {
        return;
    }
    const struct rz_parts all = {.buffer = (char *)offers,
                                 .datatype = rz_datatype_of(MPI_BYTE),
                                 .count = sizeof(struct offer)};
    struct rz_parts own = all;
    int rank = rz_comm_rank(comm);
    offers[rank] = (struct offer){.free_pairs = rz_engine_shared ? 0 : free_pairs,
                                  .last_number = last_number,
                                  .node = rz_engine.info->node};
    own.buffer = (char *)&offers[rank];
    own.same = true;
    rz_schedule_exchange(schedule, &own, &all);
    rz_need_memory(rz_schedule_error(schedule) != MPI_ERR_NO_MEM,
                   "to agree with others on memory for collective operations");
    if (rz_engine_shared) {
        comm->cells.state = CELLS_NONE;
    } else if (!rz_schedule_is_over(schedule)) {
        decide(comm, offers);
    }
}

unsigned rz_cells_trait(struct rz_schedule *schedule, MPI_Count bytes)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    int size = comm->remote->size;
    if (rz_engine.rewinds || bytes > RZ_NET_CELL_BYTES || size > RZ_CELLS_RANKS_MAX || size < 2 ||
        comm->cells.state == CELLS_NONE || !rz_schedule_is_blocking(schedule)) {
        return 0;
    }
    if (comm->cells.state == CELLS_UNKNOWN) {
        if (rz_schedule_operation(schedule) <= FIRST_WITHOUT) {
            return 0;
        }
        agree(schedule, comm);
    }
    if (comm->cells.state == CELLS_AGREED && rz_engine_shared) {
        rz_schedule_run_now(schedule); /* threads came after the agreement (mpi/rma/rma_thread.h) */
    }
    return comm->cells.state == CELLS_AGREED || rz_schedule_is_over(schedule)
               ? (unsigned)RZ_COLL_CELLED
               : 0U;
}

/* ---- Exchange ---- */

struct exchange {
    struct exchange *next;
    struct rz_schedule *schedule;
    const struct rz_comm *comm;
    const struct rz_parts *in;
    uint64_t stamp;
    unsigned cell;
    uint32_t missing;              /* bits of the ranks whose part is not here */
    int error;                     /* of the parts */
    int begun[RZ_CELLS_RANKS_MAX]; /* the ranks from which receives were begun, in their order */
};

/* Those in which threads of this process wait. */
static struct exchange *under_way;

static int take_bytes(const struct rz_part *to, const void *data, size_t bytes)
{
    size_t room = (size_t)rz_part_bytes(to);
    MPI_Count n = (MPI_Count)(bytes < room ? bytes : room);
    rz_datatype_unpack(to->datatype, to->count, data, n, to->buffer);
    return bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

/* Takes the part of this rank if it is there. */
static void take_part(struct exchange *e, int rank)
{
    size_t bytes;
    const struct rz_peer_cells *from = &e->comm->cells.peer[rank];
    const void *data = from->path ? from->path->ops->cell_see(from->path->net, from->number,
                                                              e->cell, e->stamp, &bytes)
                                  : NULL;
    if (data) {
        struct rz_part to = rz_parts_at(e->in, rank);
        int error = take_bytes(&to, data, bytes);
        e->error = e->error != MPI_SUCCESS ? e->error : error;
        e->missing &= ~(1U << rank);
    }
}

/* Whether all parts are here. */
static bool all_here(struct exchange *e)
{
    for (uint32_t bits = e->missing; bits; bits &= bits - 1) {
        take_part(e, __builtin_ctz(bits));
    }
    return e->missing == 0;
}

/* Whether a part may not come: its writer has failed, has ended, or cannot be reached. */
static bool is_damaged(const struct exchange *e)
{
    bool damaged = e->comm->revoked || e->comm->collectives_failed;
    for (uint32_t bits = e->missing; bits && !damaged; bits &= bits - 1) {
        damaged = !rz_peer_is_open(rz_comm_process(e->comm, __builtin_ctz(bits)));
    }
    return damaged;
}

static bool all_here_or_damaged(void *arg)
{
    struct exchange *e = arg;
    return all_here(e) || is_damaged(e);
}

/* The error with which a receive of a missing part has ended; MPI_SUCCESS: none has. */
static int error_of_missing(const struct exchange *e)
{
    int error = e->comm->revoked ? MPI_ERR_REVOKED : MPI_SUCCESS;
    for (size_t k = 0; k < rz_schedule_pending(e->schedule) && error == MPI_SUCCESS; k++) {
        if (e->missing & 1U << e->begun[k]) {
            error = rz_schedule_error_of(e->schedule, k);
        }
    }
    return error;
}

static bool all_here_or_failed(void *arg)
{
    struct exchange *e = arg;
    return all_here(e) || error_of_missing(e) != MPI_SUCCESS;
}

static int await(struct exchange *e, bool (*done)(void *arg))
{
    const struct rz_comm *comm = e->comm;
    if (done(e)) {
        return MPI_SUCCESS;
    }
    struct rz_blocked blocked = {.call = comm->call,
                                 .comm = comm,
                                 .operation = comm->operations,
                                 .peer = rz_comm_process(comm, __builtin_ctz(e->missing)),
                                 .tag = MPI_ANY_TAG};
    e->next = under_way;
    under_way = e;
    int error = rz_engine_wait(&blocked, done, e);
    rz_list_unlink(&under_way, e);
    return error;
}

/* That process is about to be marked as gone. Its lane may be given to another one before the call
 * that waits looks again. */
static void leaving(uint32_t process, bool exited)
{
    (void)exited;
    for (struct exchange *e = under_way; e; e = e->next) {
        for (uint32_t bits = e->missing; bits; bits &= bits - 1) {
            int rank = __builtin_ctz(bits);
            if (rz_comm_process(e->comm, rank) == process) {
                take_part(e, rank);
            }
        }
    }
}

const struct rz_hooks rz_cells_hooks = {.leaving = leaving, .comm_ends = comm_ends};

/* Parts may not come: a receive from each rank whose part is not here ends when that is known. */
static int await_or_fail(struct exchange *e)
{
    const struct rz_part nothing = {.datatype = rz_datatype_of(MPI_BYTE)};
    for (uint32_t bits = e->missing; bits; bits &= bits - 1) {
        int rank = __builtin_ctz(bits);
        e->begun[rz_schedule_pending(e->schedule)] = rank;
        rz_schedule_recv_part(e->schedule, &nothing, rank);
        if (rz_schedule_is_over(e->schedule)) {
            return rz_schedule_error(e->schedule);
        }
    }
    int error = await(e, all_here_or_failed);
    error = error == MPI_SUCCESS && e->missing ? error_of_missing(e) : error;
    if (error == MPI_SUCCESS) {
        rz_schedule_forget(e->schedule); /* all came by cells */
    }
    return error;
}

/* Not all parts were here: waits for the others. */
static int await_parts(struct exchange *e)
{
    for (int i = 0; i < LOOKS && !rz_engine.waiting.oversubscribed; i++) {
        if (all_here(e)) {
            return MPI_SUCCESS;
        }
    }
    int error = await(e, all_here_or_damaged);
    return error == MPI_SUCCESS && e->missing ? await_or_fail(e) : error;
}

static void put_part(const struct exchange *e, const struct rz_peer_cells *to,
                     const struct rz_part *part)
{
    char packed[RZ_NET_CELL_BYTES];
    const void *data = packed;
    if (part->datatype->contiguous) {
        data = rz_datatype_row(part->datatype, part->buffer);
    } else if (rz_part_bytes(part) <= RZ_NET_CELL_BYTES) {
        rz_datatype_pack(part->datatype, part->count, part->buffer, packed);
    }
    to->path->ops->cell_put(to->path->net, to->number, e->cell, e->stamp, data,
                            (size_t)rz_part_bytes(part));
}

/* For the traffic of this process each part is a message. */
static void count_parts(const struct exchange *e, const struct rz_parts *out)
{
    for (int i = 0; i < rz_comm_size(e->comm); i++) {
        if (e->comm->cells.peer[i].path) {
            const struct rz_part part = rz_parts_at(out, i);
            rz_traffic_count(rz_comm_process(e->comm, i), (uint64_t)rz_part_bytes(&part));
        }
    }
}

static void put_parts(const struct exchange *e, const struct rz_parts *out)
{
    for (int i = 0; i < rz_comm_size(e->comm); i++) {
        const struct rz_peer_cells *to = &e->comm->cells.peer[i];
        if (to->path) {
            struct rz_part part = rz_parts_at(out, i);
            put_part(e, to, &part);
        }
    }
}

/* All parts were here when this one was written: others may sleep. */
static void wake_all(const struct exchange *e)
{
    for (int i = 0; i < rz_comm_size(e->comm); i++) {
        const struct rz_peer_cells *to = &e->comm->cells.peer[i];
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
    rz_schedule_run_now(schedule); /* this process may have got several threads since */
    if (rz_schedule_is_over(schedule)) {
        tell_all(schedule, comm);
        return;
    }
    unsigned turn = ++comm->cells.exchanges & 1;
    uint64_t operation = rz_schedule_operation(schedule) & OPERATION_MASK;
    uint64_t stamp = comm->cells.number << NUMBER_SHIFT | operation << 1 | turn;
    struct exchange e = {.schedule = schedule,
                         .comm = comm,
                         .in = in,
                         .stamp = stamp,
                         .cell = 2U * comm->cells.pair + turn,
                         .missing = ((1U << rz_comm_size(comm)) - 1) & ~(1U << rz_comm_rank(comm)),
                         .error = MPI_SUCCESS};
    rz_datatype_retain(in->datatype);
    put_parts(&e, out);
    if (__builtin_expect(rz_engine.counts_traffic, 0)) {
        count_parts(&e, out);
    }
    /* Of two that come last at the same time, one at least sees the cells of the other. */
    atomic_thread_fence(memory_order_seq_cst);
    int error = MPI_SUCCESS;
    if (all_here(&e)) {
        wake_all(&e);
    } else {
        error = await_parts(&e);
    }
    rz_datatype_release(in->datatype);
    error = error == MPI_SUCCESS ? e.error : error;
    if (error != MPI_SUCCESS) {
        rz_schedule_refuse(schedule, error);
    }
}
