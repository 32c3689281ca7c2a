/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication: the calls, and the side of the sender. */
#include "mpi/p2p/partitioned.h"

#include "mpi/p2p/p2p_inside.h"
#include "mpi/request/bounce.h"

#include <stdlib.h>

/* A partitioned send. */
struct partitioned_send {
    struct rz_partitioned_args args;
    size_t bytes; /* of a partition */
    int first_tag;
    int error;    /* of this round so far */
    int finished; /* all partitions before this one are ready, and their messages have ended */
    bool cut_off; /* this round, or the last one, ended with an error */
    struct partitioned_send *next, *prev; /* `living` */
    struct partition {
        bool ready;
        struct rz_request *message; /* NULL: not sent yet, or it has ended */
    } partition[];
};

/* All sends that were not freed: their tags are in use. */
static struct partitioned_send *living;

/* ---- Tags ---- */

static int64_t next_tag;

/* The living send that uses one of n tags from first on, or NULL. */
static const struct partitioned_send *tags_used_by(int64_t first, int n)
{
    const struct partitioned_send *send = living;
    while (send && (send->first_tag >= first + n ||
                    first >= send->first_tag + (int64_t)send->args.partitions)) {
        send = send->next;
    }
    return send;
}

/*
 * n tags that no living send uses. They are used again only when all others have been: a message
 * that a freed request has left behind is not taken for a new one. False: there are none.
 */
static bool tags_take(int n, int *first)
{
    bool again = false;
    const struct partitioned_send *user;
    do {
        if (next_tag + n > INT32_MAX) {
            if (again) {
                return false;
            }
            again = true;
            next_tag = 0;
        }
        user = tags_used_by(next_tag, n);
        if (user) {
            next_tag = user->first_tag + (int64_t)user->args.partitions;
        }
    } while (user);
    *first = (int)next_tag;
    next_tag += n;
    return true;
}

/* ---- Both sides ---- */

struct rz_p2p_message rz_partitioned_setup_message(const struct rz_partitioned_args *args,
                                                   struct rz_partitioned_setup *setup)
{
    return (struct rz_p2p_message){.buffer = setup,
                                   .count = sizeof(*setup),
                                   .datatype = rz_datatype_of(MPI_BYTE),
                                   .peer = args->peer,
                                   .tag = args->tag,
                                   .comm = args->comm,
                                   .context_offset = RZ_CONTEXT_OFFSET_PARTITION_SETUP,
                                   .flags = RZ_REQUEST_COPY};
}

int rz_partitioned_bytes(const struct rz_partitioned_args *args, size_t *bytes)
{
    MPI_Count one, all;
    if (__builtin_mul_overflow(args->count, args->datatype->size, &one) ||
        __builtin_mul_overflow(one, args->partitions, &all)) {
        return rzm_error(MPI_ERR_COUNT, "%d partitions of %lld elements of %lld bytes are too long",
                         args->partitions, (long long)args->count, (long long)args->datatype->size);
    }
    *bytes = (size_t)one;
    return MPI_SUCCESS;
}

/* ---- The sender ---- */

/* The message of that partition has ended: notes its error. False: it has not. */
static bool collect(struct partitioned_send *send, struct partition *partition)
{
    if (!rz_p2p_done(&partition->message, 1)) {
        return false;
    }
    int error = rz_p2p_end(&partition->message, 1);
    send->error = send->error != MPI_SUCCESS ? send->error : error;
    return true;
}

/* Why partitions that are not ready need not be awaited, or MPI_SUCCESS. */
static int cut_off_by(const struct partitioned_send *send)
{
    const struct rz_comm *comm = send->args.comm;
    if (comm->revoked) {
        return MPI_ERR_REVOKED;
    }
    bool failed = send->args.peer != MPI_PROC_NULL && rz_liveness.failures &&
                  !rz_engine.reinit_open &&
                  rz_process_failed(rz_comm_process(comm, send->args.peer));
    return failed ? MPI_ERR_PROC_FAILED : MPI_SUCCESS;
}

static bool all_collected(struct partitioned_send *send)
{
    bool all = true;
    for (int i = send->finished; i < send->args.partitions; i++) {
        all = collect(send, &send->partition[i]) && all;
    }
    return all;
}

static void partitioned_send_poll(struct rz_request *request)
{
    struct partitioned_send *send = request->state;
    int n = send->args.partitions;
    while (send->finished < n && send->partition[send->finished].ready &&
           collect(send, &send->partition[send->finished])) {
        send->finished++;
    }
    if (send->finished < n && send->error == MPI_SUCCESS) {
        send->error = cut_off_by(send);
    }
    if (send->finished == n || (send->error != MPI_SUCCESS && all_collected(send))) {
        send->cut_off = send->error != MPI_SUCCESS;
        rz_request_complete(request, send->error);
    }
}

static int partitioned_send_start(struct rz_request *request)
{
    struct partitioned_send *send = request->state;
    for (int i = 0; i < send->args.partitions; i++) {
        send->partition[i].ready = false;
    }
    send->error = MPI_SUCCESS;
    send->finished = 0;
    send->cut_off = false;
    rz_status_set_empty(&request->status);
    rz_request_activate(request);
    partitioned_send_poll(request);
    return MPI_SUCCESS;
}

static void partitioned_send_abandon(struct rz_request *request)
{
    struct partitioned_send *send = request->state;
    for (int i = 0; i < send->args.partitions; i++) {
        rz_p2p_abandon(&send->partition[i].message, 1);
    }
}

static void partitioned_send_waits_for(const struct rz_request *request, struct rz_blocked *blocked)
{
    const struct partitioned_send *send = request->state;
    blocked->tag = send->args.tag;
    if (send->args.peer >= 0) {
        blocked->peer = rz_comm_process(send->args.comm, send->args.peer);
    }
}

static void partitioned_send_destroy(struct rz_request *request)
{
    struct partitioned_send *send = request->state;
    *(send->prev ? &send->prev->next : &living) = send->next;
    if (send->next) {
        send->next->prev = send->prev;
    }
    rz_datatype_release(send->args.datatype);
    free(send);
}

static const struct rz_request_class partitioned_send_class = {
    .name = "partitioned operation",
    .waited_for = true,
    .start = partitioned_send_start,
    .poll = partitioned_send_poll,
    .abandon = partitioned_send_abandon,
    .waits_for = partitioned_send_waits_for,
    .destroy = partitioned_send_destroy,
};

static int send_setup(struct partitioned_send *send)
{
    if (send->args.peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    struct rz_partitioned_setup setup = {.partitions = (uint64_t)send->args.partitions,
                                         .bytes = send->bytes,
                                         .first_tag = (uint64_t)send->first_tag};
    struct rz_p2p_message message = rz_partitioned_setup_message(&send->args, &setup);
    struct rz_request *request;
    int error = rz_p2p_isend(&message, &request);
    if (error == MPI_SUCCESS && request) {
        rz_request_detach(request);
    }
    return error;
}

static int partitioned_send_new(const struct rz_partitioned_args *args, struct rz_request **request)
{
    size_t bytes = 0;
    int error = rz_partitioned_bytes(args, &bytes), first_tag;
    if (error != MPI_SUCCESS) {
        return error;
    }
    size_t n = (size_t)args->partitions;
    struct partitioned_send *send = calloc(1, sizeof(*send) + n * sizeof(send->partition[0]));
    struct rz_request *made = send && tags_take(args->partitions, &first_tag)
                                  ? rz_request_new(&partitioned_send_class, args->comm)
                                  : NULL;
    if (!made) {
        free(send);
        return MPI_ERR_NO_MEM;
    }
    send->args = *args;
    send->bytes = bytes;
    send->first_tag = first_tag;
    send->next = living;
    if (living) {
        living->prev = send;
    }
    living = send;
    rz_datatype_retain(args->datatype);
    made->state = send;
    made->flags |= RZ_REQUEST_PERSISTENT;
    error = send_setup(send);
    if (error != MPI_SUCCESS) {
        rz_request_destroy(made);
        return error;
    }
    *request = made;
    return MPI_SUCCESS;
}

/* ---- Partitions that are ready ---- */

/* The partitions of one call: a list, or a range. */
struct partition_set {
    const int *list; /* NULL: a range */
    int first, n;
};

static int partition_at(const struct partition_set *set, int i)
{
    return set->list ? set->list[i] : set->first + i;
}

/* The state of a send for which MPI_Pready may be called, or NULL with *error set. */
static struct partitioned_send *send_to_ready(struct rz_request *request, int *error)
{
    if (!request || request->class != &partitioned_send_class) {
        *error = rzm_error(MPI_ERR_REQUEST, "request is not of MPI_Psend_init");
        return NULL;
    }
    struct partitioned_send *send = request->state;
    if (!request->active && !request->complete && !send->cut_off) {
        *error = rzm_error(MPI_ERR_REQUEST, "request is not active, it was not started");
        return NULL;
    }
    return send;
}

static int refuse_partition(const struct partitioned_send *send, int partition)
{
    return partition < 0 || partition >= send->args.partitions
               ? rzm_error(MPI_ERR_ARG, "partition is %d, not in 0..%d", partition,
                           send->args.partitions - 1)
               : rzm_error(MPI_ERR_ARG, "partition %d is ready already", partition);
}

/* Marks all of them ready, or none. */
static int set_ready(struct partitioned_send *send, const struct partition_set *set)
{
    for (int i = 0; i < set->n; i++) {
        int at = partition_at(set, i);
        bool is_partition = at >= 0 && at < send->args.partitions;
        if (is_partition && !send->partition[at].ready) {
            send->partition[at].ready = true;
            continue;
        }
        if (is_partition && send->cut_off) {
            continue;
        }
        while (i-- > 0) {
            send->partition[partition_at(set, i)].ready = false;
        }
        return refuse_partition(send, at);
    }
    return MPI_SUCCESS;
}

static int send_partition(struct partitioned_send *send, int i)
{
    const struct rz_partitioned_args *args = &send->args;
    if (args->peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    MPI_Aint offset = (MPI_Aint)(i * args->count) * (MPI_Aint)args->datatype->extent;
    const struct rz_p2p_message message = {.buffer = (char *)args->buffer + offset,
                                           .count = args->count,
                                           .datatype = args->datatype,
                                           .peer = args->peer,
                                           .tag = send->first_tag + i,
                                           .comm = args->comm,
                                           .context_offset = RZ_CONTEXT_OFFSET_PARTITION_DATA};
    return rz_p2p_isend(&message, &send->partition[i].message);
}

static int pready(struct rz_request *request, const struct partition_set *set)
{
    int error = rz_engine_begin();
    struct partitioned_send *send = error == MPI_SUCCESS ? send_to_ready(request, &error) : NULL;
    if (send) {
        error = set_ready(send, set);
    }
    if (error != MPI_SUCCESS || !request->active) {
        return error;
    }
    for (int i = 0; i < set->n && send->error == MPI_SUCCESS; i++) {
        if (request->bounces) {
            rz_bounces_fill_partition(request->bounces, partition_at(set, i));
        }
        error = send_partition(send, partition_at(set, i));
        if (error == RZM_ROLLBACK) {
            return error;
        }
        send->error = error;
    }
    partitioned_send_poll(request);
    return MPI_SUCCESS;
}

int rzm_pready(int partition, struct rz_request *request)
{
    return pready(request, &(struct partition_set){.first = partition, .n = 1});
}

int rzm_pready_range(int partition_low, int partition_high, struct rz_request *request)
{
    if (partition_low > partition_high) {
        return rzm_error(MPI_ERR_ARG, "partition_low is %d, above partition_high, %d",
                         partition_low, partition_high);
    }
    if (partition_low < 0 || partition_high == INT_MAX) {
        return rzm_error(MPI_ERR_ARG, "partition_%s is %d, there is no such partition",
                         partition_low < 0 ? "low" : "high",
                         partition_low < 0 ? partition_low : partition_high);
    }
    return pready(request, &(struct partition_set){.first = partition_low,
                                                   .n = partition_high - partition_low + 1});
}

int rzm_pready_list(int length, const int array_of_partitions[], struct rz_request *request)
{
    return pready(request, &(struct partition_set){.list = array_of_partitions, .n = length});
}

/* ---- The other calls ---- */

int rzm_psend_init(const void *buf, int partitions, MPI_Count count, struct rz_datatype *datatype,
                   int dest, int tag, struct rz_comm *comm, struct rz_info *info,
                   struct rz_request **request)
{
    (void)info;
    int error = rz_engine_begin();
    const struct rz_partitioned_args args = {
        (void *)(uintptr_t)buf, partitions, count, datatype, dest, tag, comm};
    return error != MPI_SUCCESS ? error : partitioned_send_new(&args, request);
}

int rzm_precv_init(void *buf, int partitions, MPI_Count count, struct rz_datatype *datatype,
                   int dest, int tag, struct rz_comm *comm, struct rz_info *info,
                   struct rz_request **request)
{
    (void)info;
    int error = rz_engine_begin();
    const struct rz_partitioned_args args = {buf, partitions, count, datatype, dest, tag, comm};
    return error != MPI_SUCCESS ? error : rz_partitioned_receive_new(&args, request);
}

int rzm_parrived(struct rz_request *request, int partition, int *flag)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (request && request->class != &rz_partitioned_receive_class) {
        return rzm_error(MPI_ERR_REQUEST, "request is not of MPI_Precv_init");
    }
    bool arrived = true;
    if (request) {
        error = rz_partitioned_arrived(request, partition, &arrived);
    }
    if (error == MPI_SUCCESS && arrived && request && request->bounces && request->active) {
        rz_bounces_empty_partition(request->bounces, partition);
    }
    if (error == MPI_SUCCESS) {
        *flag = arrived;
    }
    return error;
}
