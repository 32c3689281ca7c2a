/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication: the side of the receiver. */
#include "mpi/p2p/partitioned.h"

#include "mpi/request/wait.h"

#include <stdlib.h>

/* The receive of a setup message. */
struct setup_receive {
    struct rz_request request; /* posted or complete */
    struct rz_partitioned_setup setup;
    struct setup_receive *next; /* `orphans` */
};

/* Those whose partitioned receive was freed before they have met their message. They keep their
 * place in the order of matching. */
static struct setup_receive *orphans;

/* A partitioned receive. Its own requests are in its memory: they are no requests of the pool. */
struct partitioned_receive {
    struct rz_partitioned_args args;
    size_t bytes;                /* of a partition */
    struct setup_receive *start; /* NULL: there is none for MPI_PROC_NULL */
    bool matched;                /* the fields from here on are set */
    struct rz_partitioned_setup setup;
    int error;      /* of this round so far */
    bool posted;    /* in this round, the receives of all units */
    uint64_t ended; /* all units before this one have ended */
    uint64_t n_units;
    struct unit {
        struct rz_request request;
        bool ended; /* in this round; the request was cleared */
        int error;
        size_t bytes;
    } * unit;       /* messages: the partitions of the sender */
    char *staging;  /* where units arrive that do not consist of whole elements of a datatype with
                       gaps; otherwise NULL */
    bool *unpacked; /* with staging: which partitions are in the user's buffer */
};

/* ---- The setup message ---- */

/* Posts the receive of the setup message. */
static int await_setup(struct partitioned_receive *receive)
{
    struct setup_receive *start = malloc(sizeof(*start));
    if (!start) {
        return MPI_ERR_NO_MEM;
    }
    struct rz_p2p_message message = rz_partitioned_setup_message(&receive->args, &start->setup);
    message.flags = 0;
    int error = rz_p2p_start_recv_in(&message, &start->request);
    if (error != MPI_SUCCESS) {
        free(start);
        return error;
    }
    receive->start = start;
    return MPI_SUCCESS;
}

void rz_partitioned_sweep(void)
{
    struct setup_receive **at = &orphans, *orphan;
    while ((orphan = *at) != NULL) {
        if (orphan->request.complete) {
            *at = orphan->next;
            rz_request_clear(&orphan->request);
            free(orphan);
        } else {
            at = &orphan->next;
        }
    }
}

static size_t room(const struct partitioned_receive *receive)
{
    return (size_t)receive->args.partitions * receive->bytes;
}

/* The setup message has arrived. */
static int learn_setup(struct partitioned_receive *receive)
{
    const struct rz_partitioned_setup *setup = &receive->start->setup;
    const struct rz_datatype *datatype = receive->args.datatype;
    bool staged =
        !datatype->contiguous && datatype->size > 0 && setup->bytes % (uint64_t)datatype->size != 0;
    receive->n_units = setup->partitions;
    receive->unit = calloc(receive->n_units ? receive->n_units : 1, sizeof(receive->unit[0]));
    if (staged) {
        receive->staging = malloc(room(receive) ? room(receive) : 1);
        receive->unpacked = calloc((size_t)receive->args.partitions, sizeof(bool));
    }
    if (!receive->unit || (staged && (!receive->staging || !receive->unpacked))) {
        free(receive->unit);
        free(receive->staging);
        free(receive->unpacked);
        receive->unit = NULL;
        receive->staging = NULL;
        receive->unpacked = NULL;
        return MPI_ERR_NO_MEM;
    }
    receive->setup = *setup;
    receive->matched = true;
    return MPI_SUCCESS;
}

/* ---- Units ---- */

/* The receive of a unit: the part of the user's buffer that its bytes belong to, or of `staging`.
 * What is too long for the buffer is a receive that is too short. */
static struct rz_p2p_message unit_message(const struct partitioned_receive *receive, uint64_t i)
{
    const struct rz_partitioned_args *args = &receive->args;
    size_t bytes = receive->setup.bytes, all = room(receive), at = all;
    if (bytes == 0 || i <= all / bytes) {
        at = i * bytes;
    }
    size_t length = all - at < bytes ? all - at : bytes;
    struct rz_p2p_message message = {.count = (MPI_Count)length,
                                     .datatype = rz_datatype_of(MPI_BYTE),
                                     .peer = args->peer,
                                     .tag = (int)(receive->setup.first_tag + i),
                                     .comm = args->comm,
                                     .context_offset = RZ_CONTEXT_OFFSET_PARTITION_DATA};
    if (receive->staging) {
        message.buffer = receive->staging + at;
    } else if (args->datatype->contiguous || length == 0) {
        message.buffer = (char *)rz_datatype_row(args->datatype, args->buffer) + at;
    } else {
        message.datatype = args->datatype;
        message.count = (MPI_Count)length / args->datatype->size;
        message.buffer = (char *)args->buffer + (MPI_Aint)at / (MPI_Aint)args->datatype->size *
                                                    (MPI_Aint)args->datatype->extent;
    }
    return message;
}

static void unit_ended(struct partitioned_receive *receive, struct unit *unit, int error)
{
    unit->ended = true;
    unit->error = error;
    receive->error = receive->error != MPI_SUCCESS ? receive->error : error;
}

/* Whether the unit has ended. */
static bool unit_look(struct partitioned_receive *receive, struct unit *unit)
{
    if (!unit->ended && unit->request.complete) {
        unit->bytes = (size_t)rz_status_bytes(&unit->request.status);
        unit_ended(receive, unit, unit->request.error);
        rz_request_clear(&unit->request);
    }
    return unit->ended;
}

static int post_units(struct partitioned_receive *receive)
{
    for (uint64_t i = 0; i < receive->n_units; i++) {
        struct unit *unit = &receive->unit[i];
        struct rz_p2p_message message = unit_message(receive, i);
        *unit = (struct unit){0};
        int error = rz_p2p_start_recv_in(&message, &unit->request);
        if (error != MPI_SUCCESS) {
            unit_ended(receive, unit, error);
        }
    }
    receive->posted = true;
    return MPI_SUCCESS;
}

/* ---- Partitions ---- */

/* The units with a byte of that partition. Without any byte, partitions and units are compared by
 * their numbers. */
static void units_of(const struct partitioned_receive *receive, int partition, uint64_t *first,
                     uint64_t *end)
{
    uint64_t mine = receive->bytes, its = receive->setup.bytes,
             n = (uint64_t)receive->args.partitions;
    if (its == 0) {
        mine = receive->n_units;
        its = n;
    }
    *first = (uint64_t)partition * mine / its;
    *end = ((uint64_t)(partition + 1) * mine + its - 1) / its;
    *end = *end < receive->n_units ? *end : receive->n_units;
}

/* Moves a partition whose units have all arrived from `staging` to the user's buffer. */
static void unpack(struct partitioned_receive *receive, int partition)
{
    const struct rz_partitioned_args *args = &receive->args;
    if (!receive->staging || receive->unpacked[partition]) {
        return;
    }
    receive->unpacked[partition] = true;
    size_t at = (size_t)partition * receive->bytes;
    size_t all = (size_t)receive->n_units * receive->setup.bytes; /* no more than was sent */
    size_t bytes = at >= all ? 0 : all - at < receive->bytes ? all - at : receive->bytes;
    if (bytes > 0) {
        MPI_Aint offset = (MPI_Aint)(partition * args->count) * (MPI_Aint)args->datatype->extent;
        rz_datatype_unpack(args->datatype, args->count, receive->staging + at, (MPI_Count)bytes,
                           (char *)args->buffer + offset);
    }
}

/* MPI_SUCCESS: it has arrived, or (*arrived false) may arrive yet. */
static int partition_look(struct partitioned_receive *receive, int partition, bool *arrived)
{
    uint64_t first, end;
    units_of(receive, partition, &first, &end);
    *arrived = true;
    for (uint64_t i = first; i < end; i++) {
        struct unit *unit = &receive->unit[i];
        if (!unit_look(receive, unit)) {
            *arrived = false;
        } else if (unit->error != MPI_SUCCESS) {
            return unit->error;
        }
    }
    if (*arrived) {
        unpack(receive, partition);
    }
    return MPI_SUCCESS;
}

/* ---- The request ---- */

static void receive_report(struct rz_request *request)
{
    struct partitioned_receive *receive = request->state;
    int64_t bytes = 0;
    for (uint64_t i = 0; i < receive->n_units; i++) {
        bytes += (int64_t)receive->unit[i].bytes;
    }
    for (int i = 0; i < receive->args.partitions; i++) {
        bool arrived;
        partition_look(receive, i, &arrived);
    }
    request->status.MPI_SOURCE = receive->args.peer;
    request->status.MPI_TAG = receive->args.tag;
    rz_status_set_bytes(&request->status, bytes);
}

/* Posts the receives of this round once the setup message is known. */
static void receive_go(struct rz_request *request)
{
    struct partitioned_receive *receive = request->state;
    if (!receive->matched && receive->start->request.complete) {
        receive->error = receive->start->request.error;
        if (receive->error == MPI_SUCCESS) {
            receive->error = learn_setup(receive);
        }
    }
    if (receive->matched && !receive->posted) {
        post_units(receive);
    }
}

static void partitioned_receive_poll(struct rz_request *request)
{
    struct partitioned_receive *receive = request->state;
    if (!receive->posted) {
        receive_go(request);
    }
    if (!receive->posted) {
        if (receive->error != MPI_SUCCESS) {
            rz_request_complete(request, receive->error);
        }
        return;
    }
    while (receive->ended < receive->n_units &&
           unit_look(receive, &receive->unit[receive->ended])) {
        receive->ended++;
    }
    if (receive->ended == receive->n_units) {
        receive_report(request);
        rz_request_complete(request, receive->error);
    }
}

static int partitioned_receive_start(struct rz_request *request)
{
    struct partitioned_receive *receive = request->state;
    receive->error = MPI_SUCCESS;
    receive->posted = false;
    receive->ended = 0;
    if (receive->args.peer == MPI_PROC_NULL) {
        request->status.MPI_SOURCE = MPI_PROC_NULL;
        rz_request_complete(request, receive->args.comm->revoked ? MPI_ERR_REVOKED : MPI_SUCCESS);
        return MPI_SUCCESS;
    }
    rz_status_set_empty(&request->status);
    for (int i = 0; receive->unpacked && i < receive->args.partitions; i++) {
        receive->unpacked[i] = false;
    }
    rz_request_activate(request);
    partitioned_receive_poll(request);
    return MPI_SUCCESS;
}

int rz_partitioned_arrived(struct rz_request *request, int partition, bool *arrived)
{
    struct partitioned_receive *receive = request->state;
    if (partition < 0 || partition >= receive->args.partitions) {
        return rzm_error(MPI_ERR_ARG, "partition is %d, not in 0..%d", partition,
                         receive->args.partitions - 1);
    }
    *arrived = true;
    if ((!request->active && !request->complete) || receive->args.peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    for (int look = 0;; look++) {
        int error = MPI_SUCCESS;
        *arrived = false;
        if (receive->posted) {
            error = partition_look(receive, partition, arrived);
        } else if (request->complete) {
            error = request->error;
        }
        if (rz_engine.rollback) {
            return RZM_ROLLBACK;
        }
        if (error != MPI_SUCCESS || *arrived || look > 0) {
            return error;
        }
        if (rz_engine_progress_inquiry() == 0 && rz_engine_yields()) {
            rz_engine_yield();
        }
    }
}

/* ---- The end ---- */

/* Ends a request of its own at a roll-back, when transports hold no memory any more. */
static void end_now(struct rz_request *own)
{
    if (own->active) {
        own->flags &= ~(uint32_t)RZ_REQUEST_NETWORK;
        own->class->abandon(own);
        rz_request_complete(own, RZM_ROLLBACK);
    }
}

static void partitioned_receive_abandon(struct rz_request *request)
{
    struct partitioned_receive *receive = request->state;
    for (uint64_t i = 0; receive->posted && i < receive->n_units; i++) {
        end_now(&receive->unit[i].request);
    }
    if (receive->start) {
        end_now(&receive->start->request);
    }
}

static void partitioned_receive_waits_for(const struct rz_request *request,
                                          struct rz_blocked *blocked)
{
    const struct partitioned_receive *receive = request->state;
    blocked->tag = receive->args.tag;
    if (receive->args.peer >= 0) {
        blocked->peer = rz_comm_process(receive->args.comm, receive->args.peer);
    }
}

static void partitioned_receive_destroy(struct rz_request *request)
{
    struct partitioned_receive *receive = request->state;
    if (!receive) {
        return; /* rz_partitioned_receive_new has failed */
    }
    for (uint64_t i = 0; receive->posted && i < receive->n_units; i++) {
        if (!receive->unit[i].ended) {
            rz_request_clear(&receive->unit[i].request);
        }
    }
    if (receive->start) {
        receive->start->next = orphans;
        orphans = receive->start;
        rz_partitioned_sweep();
    }
    rz_datatype_release(receive->args.datatype);
    free(receive->unit);
    free(receive->staging);
    free(receive->unpacked);
    free(receive);
}

const struct rz_request_class rz_partitioned_receive_class = {
    .name = "partitioned operation",
    .waited_for = true,
    .start = partitioned_receive_start,
    .poll = partitioned_receive_poll,
    .abandon = partitioned_receive_abandon,
    .waits_for = partitioned_receive_waits_for,
    .destroy = partitioned_receive_destroy,
};

int rz_partitioned_receive_new(const struct rz_partitioned_args *args, struct rz_request **request)
{
    size_t bytes = 0;
    int error = rz_partitioned_bytes(args, &bytes);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct partitioned_receive *receive = calloc(1, sizeof(*receive));
    struct rz_request *made =
        receive ? rz_request_new(&rz_partitioned_receive_class, args->comm) : NULL;
    if (!made) {
        free(receive);
        return MPI_ERR_NO_MEM;
    }
    receive->args = *args;
    receive->bytes = bytes;
    rz_partitioned_sweep();
    if (args->peer != MPI_PROC_NULL) {
        error = await_setup(receive);
    }
    if (error != MPI_SUCCESS) {
        rz_request_destroy(made);
        free(receive);
        return error;
    }
    rz_datatype_retain(args->datatype);
    made->state = receive;
    made->flags |= RZ_REQUEST_PERSISTENT;
    *request = made;
    return MPI_SUCCESS;
}
