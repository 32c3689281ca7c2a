/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast and MPI_Reduce of few bytes along the tree (coll.h), and MPI_Bcast from its root to
 * each rank, without a schedule: the call begins its messages itself, since a schedule costs more
 * than such a message.
 *
 * The messages, and the brackets of a reduction, are those of rz_bcast_tree, rz_bcast_flat and
 * rz_reduce_tree. So each member decides by itself whether it uses this form; others may run a
 * schedule. It is for a
 * communicator to which nothing has happened. What happens later, while a call waits, is dealt with
 * as in a schedule (pending.h).
 */
#include "mpi/coll/coll_arguments.h"
#include "mpi/coll/pending.h"
#include "mpi/coll/reduction.h"
#include "mpi/coll_plans.h"
#include "mpi/comm/comm_hints.h"
#include "mpi/p2p/inquiry.h"

/* The longest message, and the longest vector of a reduction, of which a process holds several. */
#define SHORT_BYTES 4096
#define VECTOR_BYTES 128

/* The most messages that are under way at a time. */
enum { MESSAGES_MAX = 64 };
_Static_assert(MESSAGES_MAX > RZ_SPLITS_MAX, "a tree needs no more");

/* What follows is compiled into the two functions at the end. */
#define SHORT __attribute__((flatten))

struct short_operation {
    struct rz_pending pending;
    struct rz_participation participation;
    struct rz_p2p_message message; /* but for buffer and peer the same for all */
    struct rz_split splits[RZ_SPLITS_MAX];
    int n; /* of the splits */
    struct rz_request *request[MESSAGES_MAX];
};

/* Whether the communicator may use this form. Members of an inter-communicator may have NULL for
 * the other arguments. */
static inline bool is_plain(const struct rz_comm *comm)
{
    bool damaged = comm->revoked || comm->collectives_failed || rz_engine.comes_again;
    return !damaged && !rz_engine_shared && comm->remote == comm->group &&
           rz_comm_hint(comm, RZ_HINT_ERROR_UNIFORM) < RZ_UNIFORM_COLL;
}

/* Whether the data are a row of at most so many bytes. */
static inline bool is_short(const struct rz_datatype *datatype, MPI_Count count, MPI_Count most)
{
    MPI_Count bytes = rz_datatype_bytes(datatype, count);
    return datatype->contiguous && bytes > 0 && bytes <= most;
}

/* Whether nothing has happened that rz_engine_begin would deal with; then that algorithm is used.
 */
static inline bool may_begin(enum rz_coll_algorithm algorithm)
{
    bool begins = rz_engine_begin_calm();
    rz_coll_chosen[algorithm] += begins;
    return begins;
}

static inline void begin_operation(struct short_operation *op, struct rz_comm *comm,
                                   const char *call, MPI_Count count, struct rz_datatype *datatype)
{
    rz_comm_count_operation(comm, call);
    int tag = rz_comm_blocking_tag(comm->operations);
    rz_pending_begin(&op->pending, comm, tag);
    op->pending.gave_up = NULL;
    op->pending.request = op->request;
    rz_operation_begin(comm, &op->participation, tag);
    op->message = (struct rz_p2p_message){.count = count,
                                          .datatype = datatype,
                                          .tag = tag,
                                          .comm = comm,
                                          .context_offset = RZ_CONTEXT_OFFSET_COLLECTIVE};
}

static inline void split(struct short_operation *op, int root)
{
    const struct rz_group *group = op->message.comm->group;
    op->n = rz_splits(group->size, group->rank, root, op->splits);
}

static inline void settle(struct short_operation *op)
{
    if (op->pending.n > 0) {
        rz_pending_settle(&op->pending);
    }
}

static inline int end(struct short_operation *op)
{
    settle(op);
    rz_operation_end(op->pending.whole, &op->participation);
    return op->pending.error;
}

static inline void begin_send(struct short_operation *op, const void *buffer, int dest)
{
    op->message.buffer = (void *)(uintptr_t)buffer;
    op->message.peer = dest;
    if (op->pending.over) {
        rz_pending_tell(&op->pending, op->pending.whole, dest);
    } else if (!rz_p2p_inject(&op->message)) {
        rz_pending_send(&op->pending, &op->message);
    }
}

static inline void begin_recv(struct short_operation *op, void *buffer, int source)
{
    op->message.buffer = buffer;
    op->message.peer = source;
    if (!op->pending.over) {
        rz_pending_recv(&op->pending, &op->message);
    }
}

/* ---- Broadcast ---- */

/* The same bytes at all members, so that all choose alike. */
static inline bool bcast_may_begin(struct rz_comm *comm, MPI_Count bytes,
                                   enum rz_coll_algorithm *algorithm)
{
    int size = comm->group->size;
    *algorithm =
        rz_coll_would_choose(comm, RZ_COLL_BCAST, bytes, RZ_COLL_ELEMENTS_IF(bytes >= size));
    bool short_form =
        *algorithm == RZ_COLL_TREE || (*algorithm == RZ_COLL_FLAT && size <= MESSAGES_MAX + 1);
    return short_form && may_begin(*algorithm);
}

static inline void bcast_tree(struct short_operation *op, void *buffer, int root)
{
    int rank = op->message.comm->group->rank;
    split(op, root);
    for (int i = 0; i < op->n; i++) {
        if (op->splits[i].guest == rank) {
            begin_recv(op, buffer, op->splits[i].host);
            settle(op);
        } else if (op->splits[i].host == rank) {
            begin_send(op, buffer, op->splits[i].guest);
        }
    }
}

static inline void bcast_flat(struct short_operation *op, void *buffer, int root)
{
    const struct rz_group *group = op->message.comm->group;
    if (group->rank != root) {
        begin_recv(op, buffer, root);
        return;
    }
    for (int i = 0; i < group->size; i++) {
        if (i != root) {
            begin_send(op, buffer, i);
        }
    }
}

SHORT bool rz_coll_short_bcast(void *buffer, MPI_Count count, struct rz_datatype *datatype,
                               int root, struct rz_comm *comm, int *error)
{
    enum rz_coll_algorithm algorithm;
    if (!is_plain(comm) || !is_short(datatype, count, SHORT_BYTES) ||
        !bcast_may_begin(comm, rz_datatype_bytes(datatype, count), &algorithm)) {
        return false;
    }
    struct short_operation op;
    begin_operation(&op, comm, "MPI_Bcast", count, datatype);
    if (algorithm == RZ_COLL_TREE) {
        bcast_tree(&op, buffer, root);
    } else {
        bcast_flat(&op, buffer, root);
    }
    *error = end(&op);
    return true;
}

/* ---- Reduction ---- */

/* A value that has come, or the own one where it is to be overwritten. */
struct value {
    _Alignas(16) char bytes[VECTOR_BYTES];
};

/* So many values come to this process: those of the innermost splits. */
static inline int count_values(const struct short_operation *op, int rank)
{
    int n = 0;
    while (n < op->n && op->splits[op->n - 1 - n].host == rank) {
        n++;
    }
    return n;
}

/* The value of all ranks below this one, of which n values have come; `own` is that of this one. */
static inline const void *combine(const struct short_operation *op, struct value *values, int n,
                                  const void *own, size_t bytes, rz_op_function_t *function)
{
    const void *value = own;
    for (int i = 0; i < n; i++) {
        void *other = values[i].bytes;
        if (op->message.comm->group->rank < op->splits[op->n - 1 - i].mid) {
            function(value, other, op->message.count);
            value = other;
        } else {
            /* the right operand is overwritten: not that of the user */
            void *right = values[n].bytes;
            if (value != right) {
                memcpy(right, value, bytes);
            }
            function(other, right, op->message.count);
            value = right;
        }
    }
    return value;
}

static inline int reduce(struct short_operation *op, const struct rz_reduction *reduction,
                         rz_op_function_t *function, bool is_root)
{
    size_t bytes = (size_t)rz_reduction_bytes(reduction);
    struct value values[RZ_SPLITS_MAX + 1];
    int rank = op->message.comm->group->rank, n = count_values(op, rank);
    for (int i = 0; i < n; i++) {
        begin_recv(op, values[i].bytes, op->splits[op->n - 1 - i].guest);
    }
    settle(op);
    const void *value = reduction->from;
    if (!op->pending.over) {
        value = combine(op, values, n, value, bytes, function);
        if (is_root && value != reduction->to) {
            memcpy(reduction->to, value, bytes);
        }
    }
    if (n < op->n) {
        begin_send(op, value, op->splits[op->n - 1 - n].host);
    }
    return end(op);
}

/* Of a predefined operation; NULL: the operation or the datatype is of another kind. */
static inline rz_op_function_t *function_of(const struct rz_op *op,
                                            const struct rz_datatype *datatype)
{
    return op->table ? (*op->table)[rz_number_of(datatype)] : NULL;
}

SHORT bool rz_coll_short_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                struct rz_datatype *datatype, struct rz_op *op, int root,
                                struct rz_comm *comm, int *error)
{
    const struct rz_reduction reduction = rz_reduction_of(sendbuf, recvbuf, count, datatype, op);
    rz_op_function_t *function;
    if (!is_plain(comm) || !is_short(datatype, count, VECTOR_BYTES) ||
        (function = function_of(op, datatype)) == NULL ||
        rz_coll_would_choose(comm, RZ_COLL_REDUCE, rz_reduction_bytes(&reduction),
                             rz_reduction_traits(comm, &reduction)) != RZ_COLL_TREE ||
        !may_begin(RZ_COLL_TREE)) {
        return false;
    }
    struct short_operation operation;
    begin_operation(&operation, comm, "MPI_Reduce", count, datatype);
    split(&operation, root);
    *error = reduce(&operation, &reduction, function, comm->group->rank == root);
    return true;
}
