/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: sending, receiving, matching. The calls of the user are in point.c, those for
 * collectives in p2p_inside.c.
 *
 * How a request ends that its message does not end (docs/failure-semantics.md):
 *   - its communicator is revoked: MPI_ERR_REVOKED, except for messages of repair operations;
 *   - a receive whose source, or a send whose receiver, has failed: MPI_ERR_PROC_FAILED; a message
 *     that has arrived completely is delivered first;
 *   - a receive from MPI_ANY_SOURCE, while a failed member is not acknowledged: MPI_ERR_PROC_FAILED
 *     in a blocking call; a non-blocking request stays pending (MPI_ERR_PROC_FAILED_PENDING);
 *   - the connection breaks without a known failure: the request waits for the daemons' decision;
 *   - the job rolls back: RZM_ROLLBACK.
 */
#include "mpi/p2p/p2p.h"

#include "base/assert.h"
#include "mpi/p2p/message.h"
#include "mpi/engine/count_traffic.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "mpi/p2p/send_buffer.h"
#include "mpi/p2p/sync.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "wire/envelope.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST_OF_SEND_DESC(op_)                                                                  \
    ((struct rz_request *)(void *)((char *)(op_)-offsetof(struct rz_request, send_desc.op)))

/* If the daemons have not declared a failure after so long, the network is at fault. As BROKEN_MAX
 * of engine/peer.c. */
#define CAUSE_MAX (150 * RZ_SECOND)

/* So long a receive waits for the connection on which its acknowledgement is sent: its sender may
 * compute and not answer. */
#define ANSWER_MAX RZ_SECOND

static rz_time answer_last; /* when a receive last began to wait for that; 0: none waits */
static rz_time lost_last;   /* when a request last lost its connection; 0: none has */

/* ---- Ends ---- */

/* The transport says that the peer is gone, but only the daemons' failure report counts: until that
 * comes, or a roll-back, the request waits as it would for its message. */
static void end_without_cause(struct rz_request *request)
{
    request->flags |= RZ_REQUEST_LOST;
    lost_last = rz_clock_now();
    if (!request->active) {
        rz_request_activate(request);
    }
}

static uint32_t request_process(const struct rz_request *request)
{
    int peer = request->flags & RZ_REQUEST_SEND ? request->peer : request->status.MPI_SOURCE;
    return rz_comm_process(request->comm, peer);
}

/* A request that had not ended when its communicator was revoked ends with MPI_ERR_REVOKED. */
static void p2p_complete(struct rz_request *request, int error)
{
    bool revoked = request->comm->revoked && request->context_offset != RZ_CONTEXT_OFFSET_REPAIR;
    rz_request_complete(request, revoked ? MPI_ERR_REVOKED : error);
}

static void end_with(struct rz_request *request, rz_status_t status)
{
    bool gone =
        status == RZ_ERR_PROC_FAILED || status == RZ_ERR_CLOSED || status == RZ_ERR_CANCELLED;
    bool revoked = request->comm->revoked && !rz_engine.rollback;
    if (gone && !revoked &&
        (rz_engine.reinit_open || !rz_process_failed(request_process(request)))) {
        /* If a failure report is being dealt with just now, rz_p2p_gone ends the request. */
        end_without_cause(request);
        return;
    }
    p2p_complete(request, gone ? MPI_ERR_PROC_FAILED : rzm_status_class(status));
}

/* ---- Sending ---- */

/* What a send waits for. */
#define SEND_DUE (RZ_REQUEST_PAYLOAD_DUE | RZ_REQUEST_ACK_DUE | RZ_REQUEST_CANCEL_DUE)

/* A synchronous send ends when its payload was taken and its acknowledgement has arrived, in either
 * order; one that is to be cancelled also waits for the answer. */
static void send_settle(struct rz_request *request, uint32_t what)
{
    request->flags &= ~what;
    if (!(request->flags & SEND_DUE) ||
        (request->comm->revoked && !(request->flags & RZ_REQUEST_NETWORK))) {
        p2p_complete(request, MPI_SUCCESS);
    }
}

void rz_p2p_acknowledged(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_ACK_DUE) {
        send_settle(request, RZ_REQUEST_ACK_DUE);
    }
}

void rz_p2p_cancel_answered(struct rz_request *request, bool cancelled)
{
    if (request->flags & RZ_REQUEST_CANCEL_DUE) {
        rz_status_set_cancelled(&request->status, cancelled);
        send_settle(request, RZ_REQUEST_CANCEL_DUE | (cancelled ? RZ_REQUEST_ACK_DUE : 0));
    }
}

static void send_ended(struct rz_request *request, rz_status_t status)
{
    if (status == RZ_OK) {
        send_settle(request, RZ_REQUEST_PAYLOAD_DUE);
    } else {
        end_with(request, status);
    }
}

static void send_done(struct rz_net_op *op, rz_status_t status)
{
    struct rz_request *request = REQUEST_OF_SEND_DESC(op);
    request->flags &= ~(uint32_t)RZ_REQUEST_NETWORK;
    send_ended(request, status);
}

/* A contiguous payload: the user's buffer if the datatype has no gaps, otherwise a packed copy. */
static bool send_pack(struct rz_request *request, const void *buffer, bool copy)
{
    struct rz_datatype *datatype = request->datatype;
    request->send_desc.data = rz_datatype_row(datatype, buffer);
    if ((datatype->contiguous && !copy) || request->bytes == 0) {
        return true;
    }
    request->packed = malloc(request->bytes);
    if (!request->packed) {
        return false;
    }
    if (datatype->contiguous) {
        memcpy(request->packed, request->send_desc.data, request->bytes);
    } else {
        rz_datatype_pack(datatype, request->count, buffer, request->packed);
    }
    request->send_desc.data = request->packed;
    return true;
}

static void envelope_init(struct rz_envelope *envelope, const struct rz_comm *comm,
                          enum rz_context_offset context_offset, int tag)
{
    const struct rz_link_info *info = rz_engine.info;
    *envelope = (struct rz_envelope){
        .job_token = info->job_token,
        .epoch = rz_engine.epoch,
        .incarnation = info->self.incarnation,
        .slot = info->self.rank,
        .context = rz_comm_context(comm, context_offset),
        .source = comm->group->rank,
        .tag = tag,
        .kind = RZ_ENVELOPE_MESSAGE,
    };
}

static void take(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                 size_t bytes, rz_net_token_t token);

static void send_go(struct rz_request *request)
{
    struct rz_send_desc *send_desc = &request->send_desc;
    struct rz_envelope envelope;
    envelope_init(&envelope, request->comm, request->context_offset, request->tag);
    envelope.serial = request->serial;
    request->flags |= RZ_REQUEST_PAYLOAD_DUE;
    if (request->flags & RZ_REQUEST_SYNC) {
        envelope.kind = RZ_ENVELOPE_SYNC;
        request->flags |= RZ_REQUEST_ACK_DUE;
    }
    rz_engine.counters.sends++;
    rz_engine.counters.bytes_sent += request->bytes;
    uint32_t process = rz_comm_process(request->comm, request->peer);
    rz_traffic_count(process, request->bytes);
    if (process == rz_engine.self) {
        rz_request_activate(request);
        take(NULL, &envelope, send_desc->data, request->bytes, NULL);
        send_ended(request, RZ_OK);
        return;
    }
    rz_send_desc_init(send_desc, send_done);
    rz_envelope_encode(&envelope, send_desc->op.header);
    send_desc->op.header_bytes = RZ_ENVELOPE_BYTES;
    send_desc->op.waits = request->flags & RZ_REQUEST_ALONE;
    send_desc->bytes = request->bytes;
    rz_kill_here(RZ_KILL_SEND);
    rz_status_t status = rz_peer_send(process, send_desc);
    rz_kill_here(RZ_KILL_SENT);
    if (status == RZ_IN_PROGRESS) {
        request->flags |= RZ_REQUEST_NETWORK;
        rz_request_activate(request);
    } else {
        if (status == RZ_OK && request->flags & RZ_REQUEST_ACK_DUE) {
            rz_request_activate(request);
        }
        send_ended(request, status);
    }
}

/* Whether the request is a message of a collective operation that continues in spite of a failed
 * member. */
static bool goes_on(const struct rz_request *request)
{
    return __builtin_expect(request->comm->collectives_failed, 0) &&
           request->context_offset == RZ_CONTEXT_OFFSET_COLLECTIVE;
}

/* As comm_refuses, if the communicator is revoked or a member is known to have failed. */
static int damaged_comm_refuses(const struct rz_request *request)
{
    if (request->comm->revoked && request->context_offset != RZ_CONTEXT_OFFSET_REPAIR) {
        return MPI_ERR_REVOKED;
    }
    return goes_on(request) && !rz_operation_find(request->comm, request->tag) ? MPI_ERR_PROC_FAILED
                                                                               : MPI_SUCCESS;
}

/* MPI_SUCCESS, or the error because of which the request may not begin. */
static inline int comm_refuses(const struct rz_request *request)
{
    const struct rz_comm *comm = request->comm;
    bool damaged = __builtin_expect(comm->revoked || comm->collectives_failed, 0);
    return damaged ? damaged_comm_refuses(request) : MPI_SUCCESS;
}

static inline void describe(struct rz_request *request, const struct rz_p2p_message *message)
{
    request->buffer = message->buffer;
    request->count = message->count;
    request->datatype = message->datatype;
    request->bytes = (size_t)rz_datatype_bytes(message->datatype, message->count);
    request->peer = message->peer;
    request->tag = message->tag;
    request->context_offset = message->context_offset;
    request->flags = message->flags;
    rz_datatype_retain(message->datatype);
}

struct rz_request *rz_p2p_new(const struct rz_p2p_message *message)
{
    struct rz_request *request = rz_request_new(&rz_p2p_class, message->comm);
    if (request) {
        describe(request, message);
    }
    return request;
}

/* Whether a send may have to wait for its receive; it then gets a serial, so that it can be
 * cancelled. */
static bool may_wait(const struct rz_request *request)
{
    return request->flags & RZ_REQUEST_SYNC ||
           (request->context_offset == RZ_CONTEXT_OFFSET_POINT &&
            request->bytes > RZ_NET_EAGER_LEAST);
}

/* Starts the request that rz_p2p_new described; a persistent one each time. */
static int send_start(struct rz_request *request)
{
    int refused = comm_refuses(request);
    if (request->peer == MPI_PROC_NULL || refused != MPI_SUCCESS) {
        rz_request_complete(request, refused);
        return MPI_SUCCESS;
    }
    if (!send_pack(request, request->buffer, request->flags & RZ_REQUEST_COPY)) {
        return MPI_ERR_NO_MEM;
    }
    if (may_wait(request) && !rz_sync_await(request)) {
        return MPI_ERR_NO_MEM;
    }
    rz_status_set_cancelled(&request->status, false);
    send_go(request);
    return MPI_SUCCESS;
}

/* Whether operations may begin on comm now. */
static inline int admitted(const struct rz_comm *comm)
{
    if (__builtin_expect(rz_engine.rollback || rz_engine.comes_again, 0)) {
        return rz_engine.rollback ? RZM_ROLLBACK : rz_comm_admit(comm);
    }
    return MPI_SUCCESS;
}

static inline bool inject(const struct rz_p2p_message *message)
{
    const struct rz_comm *comm = message->comm;
    const struct rz_datatype *datatype = message->datatype;
    struct rz_envelope envelope;
    envelope_init(&envelope, comm, message->context_offset, message->tag);
    rz_envelope_swap(&envelope);
    size_t bytes = (size_t)rz_datatype_bytes(datatype, message->count);
    if (!rz_peer_inject(rz_comm_process(comm, message->peer), &envelope,
                        rz_datatype_row(datatype, message->buffer), bytes)) {
        return false;
    }
    rz_engine.counters.sends++;
    rz_engine.counters.bytes_sent += bytes;
    return true;
}

/* Operations may not begin everywhere now, messages are counted by their receivers, or this process
 * is to be killed at a point. */
static __attribute__((noinline)) bool inject_with_care(const struct rz_p2p_message *message)
{
    if (rz_engine.kills_here || admitted(message->comm) != MPI_SUCCESS || !inject(message)) {
        return false;
    }
    rz_traffic_count(rz_comm_process(message->comm, message->peer),
                     (uint64_t)rz_datatype_bytes(message->datatype, message->count));
    return true;
}

bool rz_p2p_inject(const struct rz_p2p_message *message)
{
    const struct rz_comm *comm = message->comm;
    if (comm->revoked || comm->collectives_failed || message->peer < 0 ||
        !message->datatype->contiguous) {
        return false;
    }
    /* One look for all four. */
    bool care = rz_engine.rollback | rz_engine.comes_again | rz_engine.counts_traffic |
                rz_engine.kills_here;
    return __builtin_expect(care, 0) ? inject_with_care(message) : inject(message);
}

int rz_p2p_start_send(const struct rz_p2p_message *message, struct rz_request **request)
{
    int error = admitted(message->comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *made = rz_p2p_new(message);
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    made->flags |= RZ_REQUEST_SEND;
    error = send_start(made);
    if (error != MPI_SUCCESS) {
        rz_request_destroy(made);
        return error;
    }
    *request = made;
    return MPI_SUCCESS;
}

/* ---- Receiving ---- */

/* Whether a process that might have sent to a receive from MPI_ANY_SOURCE has failed, and the user
 * has not acknowledged that. */
static bool comm_has_news_of_failure(const struct rz_comm *comm)
{
    return rz_liveness.n_failed > 0 && rz_comm_failed(comm) > (int)comm->acknowledged;
}

/* The receive waits in vain: for a failed process, or for a member that does not take part in the
 * operation. */
void rz_p2p_receive_fails(struct rz_request *request)
{
    rz_p2p_withdraw(request);
    request->status.MPI_SOURCE = request->match.source;
    request->status.MPI_TAG = request->match.tag;
    rz_request_complete(request, MPI_ERR_PROC_FAILED);
}

/* What a failure does to a receive that met no message: see the head comment. */
static void receive_look_at_failures(struct rz_request *request)
{
    int source = request->match.source;
    if (source == MPI_ANY_SOURCE) {
        if (!comm_has_news_of_failure(request->comm)) {
            request->pending_error = MPI_SUCCESS;
        } else if (request->flags & RZ_REQUEST_BLOCKING) {
            rz_p2p_withdraw(request);
            rz_request_complete(request, MPI_ERR_PROC_FAILED);
        } else {
            request->pending_error = MPI_ERR_PROC_FAILED_PENDING;
            rz_engine.completions++; /* waiting calls must see the pending error */
            rz_engine.troubles++;
        }
    } else if (rz_process_failed(rz_comm_process(request->comm, source))) {
        rz_p2p_receive_fails(request);
    }
}

static inline int receive_start(struct rz_request *request)
{
    struct rz_comm *comm = request->comm;
    int refused = comm_refuses(request);
    if (request->peer == MPI_PROC_NULL || refused != MPI_SUCCESS) {
        request->status.MPI_SOURCE = MPI_PROC_NULL;
        rz_request_complete(request, refused);
        return MPI_SUCCESS;
    }
    struct rz_match_entry *key = &request->match;
    key->context = rz_comm_context(comm, request->context_offset);
    key->source = request->peer;
    key->tag = request->tag;
    struct rz_early *found =
        rz_message_find(comm, request->context_offset, key->source, key->tag, true);
    if (found) {
        rz_p2p_meet(request, found);
        return MPI_SUCCESS;
    }
    if (!rz_match_post(&rz_matcher, key)) {
        return MPI_ERR_NO_MEM;
    }
    request->flags |= RZ_REQUEST_POSTED;
    rz_request_activate(request);
    if (__builtin_expect(rz_liveness.failures, 0)) {
        receive_look_at_failures(request);
    }
    return MPI_SUCCESS;
}

int rz_p2p_start_recv(const struct rz_p2p_message *message, struct rz_request **request)
{
    int error = admitted(message->comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *made = rz_p2p_new(message);
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    error = receive_start(made);
    if (error != MPI_SUCCESS) {
        rz_request_destroy(made);
        return error;
    }
    *request = made;
    return MPI_SUCCESS;
}

int rz_p2p_start_recv_in(const struct rz_p2p_message *message, struct rz_request *request)
{
    int error = admitted(message->comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_request_init(request, &rz_p2p_class, message->comm);
    describe(request, message);
    error = receive_start(request);
    if (error != MPI_SUCCESS) {
        rz_request_clear(request);
    }
    return error;
}

void rz_p2p_withdraw(struct rz_request *request)
{
    rz_assert(request->flags & RZ_REQUEST_POSTED);
    rz_match_unpost(&rz_matcher, &request->match);
    request->flags &= ~(uint32_t)RZ_REQUEST_POSTED;
}

/* The receive waits until its acknowledgement has left. */
static void await_answer(struct rz_request *request, int error)
{
    request->error = error;
    request->flags &= ~(uint32_t)RZ_REQUEST_PAYLOAD_DUE;
    answer_last = rz_clock_now();
    if (!request->active) {
        rz_request_activate(request);
    }
}

static bool waits_for_answer_alone(const struct rz_request *request)
{
    uint32_t due = RZ_REQUEST_ANSWER_DUE | RZ_REQUEST_PAYLOAD_DUE;
    return (request->flags & due) == RZ_REQUEST_ANSWER_DUE;
}

static void answered(struct rz_request *request)
{
    bool ends = waits_for_answer_alone(request);
    request->flags &= ~(uint32_t)RZ_REQUEST_ANSWER_DUE;
    if (ends) {
        p2p_complete(request, request->error);
    }
}

/* The user's buffer has the payload, or as much of it as it holds. */
static inline void receive_filled(struct rz_request *request)
{
    int error = request->flags & RZ_REQUEST_TRUNCATED ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    if (request->flags & RZ_REQUEST_ANSWER_DUE) {
        await_answer(request, error);
    } else {
        p2p_complete(request, error);
    }
}

/* The payload was fetched into the user's buffer, or is packed. */
static void receive_ended(struct rz_request *request, rz_status_t status)
{
    if (status != RZ_OK) {
        end_with(request, status);
        return;
    }
    if (request->packed) {
        rz_datatype_unpack(request->datatype, request->count, request->packed,
                           rz_status_bytes(&request->status), request->buffer);
    }
    receive_filled(request);
}

static void receive_done(struct rz_net_op *op, rz_status_t status)
{
    struct rz_request *request = REQUEST_OF_SEND_DESC(op);
    request->flags &= ~(uint32_t)RZ_REQUEST_NETWORK;
    receive_ended(request, status);
}

/* The payload is still with its sender: fetches it. */
static void receive_fetch(struct rz_request *request, uint32_t process, struct rz_path *path,
                          rz_net_token_t token, size_t bytes)
{
    struct rz_send_desc *send_desc = &request->send_desc;
    send_desc->data = rz_datatype_row(request->datatype, request->buffer);
    if (bytes > 0 && !request->datatype->contiguous) {
        request->packed = malloc(bytes);
        send_desc->data = request->packed;
    }
    if (bytes == 0 || !send_desc->data) {
        rz_peer_drop(process, path, token);
        receive_ended(request, bytes == 0 ? RZ_OK : RZ_ERR_NO_MEMORY);
        return;
    }
    rz_send_desc_init(send_desc, receive_done);
    send_desc->token = token;
    send_desc->bytes = bytes;
    rz_status_t status = rz_peer_fetch(process, path, send_desc);
    if (status == RZ_IN_PROGRESS) {
        request->flags |= RZ_REQUEST_NETWORK;
        if (!request->active) {
            rz_request_activate(request);
        }
    } else {
        receive_ended(request, status);
    }
}

/* Tells the sender that its message has met that receive. True: the receive waits until the
 * acknowledgement has left. */
static bool acknowledge(const struct rz_envelope *envelope, struct rz_request *receive)
{
    uint32_t from = rz_message_from(envelope);
    if (from != rz_engine.self) {
        return rz_sync_acknowledge(envelope, receive, answered);
    }
    struct rz_request *send = rz_sync_send_of(envelope->serial, from);
    if (send) {
        rz_p2p_acknowledged(send);
    }
    return false;
}

/* request meets this message, whose payload is `data` or is fetched by token; path: of the
 * token. */
static inline void receive(struct rz_request *request, struct rz_path *path,
                           const struct rz_envelope *envelope, const void *data, size_t bytes,
                           rz_net_token_t token)
{
    size_t room = request->bytes;
    size_t taken = bytes <= room ? bytes : room;
    request->flags &= ~(uint32_t)RZ_REQUEST_POSTED;
    request->flags |= bytes > room ? RZ_REQUEST_TRUNCATED : 0;
    request->pending_error = MPI_SUCCESS;
    request->status.MPI_SOURCE = envelope->source;
    request->status.MPI_TAG = envelope->tag;
    rz_status_set_bytes(&request->status, (int64_t)taken);
    rz_engine.counters.receives++;
    rz_engine.counters.bytes_received += taken;
    if (envelope->kind == RZ_ENVELOPE_SYNC && acknowledge(envelope, request)) {
        request->flags |= RZ_REQUEST_ANSWER_DUE | RZ_REQUEST_PAYLOAD_DUE;
    }
    if (token) {
        receive_fetch(request, rz_message_from(envelope), path, token, taken);
        return;
    }
    if (taken > 0 && request->datatype->contiguous) {
        memcpy(rz_datatype_row(request->datatype, request->buffer), data, taken);
    } else if (taken > 0) {
        rz_datatype_unpack(request->datatype, request->count, data, (MPI_Count)taken,
                           request->buffer);
    }
    receive_filled(request);
}

void rz_p2p_lose(struct rz_request *request, struct rz_early *message, rz_status_t status)
{
    request->flags &= ~(uint32_t)RZ_REQUEST_POSTED;
    request->pending_error = MPI_SUCCESS;
    request->status.MPI_SOURCE = message->envelope.source;
    request->status.MPI_TAG = message->envelope.tag;
    rz_message_free(message);
    receive_ended(request, status);
}

void rz_p2p_meet(struct rz_request *request, struct rz_early *message)
{
    if (__builtin_expect(message->fetched_for != NULL, 0)) {
        if (rz_early_is_lost(message)) {
            rz_p2p_lose(request, message, RZ_ERR_CANCELLED);
            return;
        }
        message->receive = request;
        if (!request->active) {
            rz_request_activate(request);
        }
        return;
    }
    receive(request, message->path, &message->envelope, rz_early_payload(message), message->bytes,
            message->token);
    rz_message_free(message);
}

/* Passes the message to the receive that it matches, or keeps it. path and token: NULL for messages
 * of this process to itself. */
static void take(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                 size_t bytes, rz_net_token_t token)
{
    struct rz_match_entry *posted =
        rz_match_arrive(&rz_matcher, envelope->context, envelope->source, envelope->tag);
    struct rz_request *request =
        posted ? (void *)((char *)posted - offsetof(struct rz_request, match)) : NULL;
    if (!request) {
        rz_message_unexpected(path, envelope, data, bytes, token);
    } else if (!rz_message_fits(request->comm, envelope)) {
        rz_engine.counters.foreign++;
        rz_message_drop_payload(path, envelope, token);
    } else {
        rz_match_unpost(&rz_matcher, posted);
        receive(request, path, envelope, data, bytes, token);
    }
}

/* Each message comes here: what meets it with its receive is compiled into this function. */
__attribute__((flatten)) void rz_p2p_arrived(struct rz_path *path,
                                             const struct rz_envelope *envelope, const void *data,
                                             size_t bytes, rz_net_token_t token)
{
    if ((uint32_t)envelope->source > RZ_SLOT_MASK) {
        /* no communicator has such a rank: it must not be looked up */
        rz_engine.counters.foreign++;
        rz_path_drop(path, token);
    } else {
        take(path, envelope, data, bytes, token);
    }
}

/* ---- Failures, cancelling, roll-back ---- */

static bool concerns(const struct rz_request *request, uint32_t process)
{
    bool open = request->flags & RZ_REQUEST_POSTED && request->match.source == MPI_ANY_SOURCE;
    int peer = request->flags & (RZ_REQUEST_SEND | RZ_REQUEST_POSTED) ? request->peer
                                                                      : request->status.MPI_SOURCE;
    return !open && rz_comm_process(request->comm, peer) == process;
}

/* The rules of the head comment for one active request after a failure. A request that the
 * transport still holds is ended by the transport, and then comes here. */
static void request_look_at_failure(struct rz_request *request, uint32_t process, bool failure)
{
    if (request->flags & RZ_REQUEST_NETWORK) {
        return;
    }
    if (concerns(request, process) && (request->flags & SEND_DUE) == RZ_REQUEST_CANCEL_DUE) {
        /* the message has been sent, and its receiver will not answer any more */
        rz_request_complete(request, MPI_SUCCESS);
    } else if (concerns(request, process) && waits_for_answer_alone(request)) {
        answered(request); /* the message has been received, and its sender does not wait for the
                              answer any more */
    } else if (concerns(request, process)) {
        if (request->flags & RZ_REQUEST_POSTED) {
            rz_p2p_receive_fails(request);
        } else {
            rz_request_complete(request, MPI_ERR_PROC_FAILED);
        }
    } else if (failure && request->flags & RZ_REQUEST_POSTED &&
               request->match.source == MPI_ANY_SOURCE) {
        receive_look_at_failures(request);
    }
}

void rz_p2p_gone(uint32_t process, bool failure)
{
    struct rz_request *next;
    for (struct rz_request *request = rz_engine.active; request; request = next) {
        next = request->next;
        if (request->class == &rz_p2p_class) {
            request_look_at_failure(request, process, failure);
        }
    }
}

/* Whether the transport holds the request no longer. One that it does not give back ends by itself,
 * when the other side learns of the revocation as well. */
static bool is_ours_again(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_NETWORK &&
        rz_peer_withdraw(request_process(request), &request->send_desc)) {
        request->flags &= ~(uint32_t)RZ_REQUEST_NETWORK;
    }
    return !(request->flags & RZ_REQUEST_NETWORK);
}

void rz_p2p_revoked(const struct rz_comm *comm)
{
    struct rz_request *next;
    for (struct rz_request *request = rz_engine.active; request; request = next) {
        next = request->next;
        bool concerned = request->class == &rz_p2p_class && request->comm == comm &&
                         request->context_offset != RZ_CONTEXT_OFFSET_REPAIR;
        if (!concerned || !is_ours_again(request)) {
            continue;
        }
        if (request->flags & RZ_REQUEST_POSTED) {
            rz_p2p_withdraw(request);
        }
        rz_request_complete(request, MPI_ERR_REVOKED);
    }
}

static void end_unanswered(void)
{
    struct rz_request *next;
    for (struct rz_request *request = rz_engine.active; request; request = next) {
        next = request->next;
        if (request->class == &rz_p2p_class && waits_for_answer_alone(request)) {
            answered(request);
        }
    }
}

void rz_p2p_overdue(rz_time now)
{
    if (answer_last != 0 && now - answer_last >= ANSWER_MAX) {
        answer_last = 0;
        end_unanswered();
    }
    if (lost_last == 0 || now - lost_last < CAUSE_MAX || rz_engine.reinit_open) {
        return;
    }
    lost_last = 0;
    struct rz_request *next;
    for (struct rz_request *request = rz_engine.active; request; request = next) {
        next = request->next;
        if (request->class == &rz_p2p_class && request->flags & RZ_REQUEST_LOST) {
            rz_request_complete(request, rzm_status_class(RZ_ERR_TIMEOUT));
        }
    }
}

void rz_p2p_look_again(struct rz_request *request)
{
    if (request->pending_error != MPI_SUCCESS && !request->complete) {
        receive_look_at_failures(request);
    }
}

static int p2p_restart(struct rz_request *request)
{
    request->flags &= RZ_REQUEST_OF_CALL;
    request->pending_error = MPI_SUCCESS;
    rz_status_set_empty(&request->status);
    return request->flags & RZ_REQUEST_SEND ? send_start(request) : receive_start(request);
}

/* A message that has met its receive cannot be cancelled. Only the receiver knows whether a send
 * has. */
static void send_cancel(struct rz_request *request)
{
    struct rz_envelope envelope;
    envelope_init(&envelope, request->comm, request->context_offset, request->tag);
    envelope.serial = request->serial;
    if (request->serial == 0 || request->flags & RZ_REQUEST_CANCEL_DUE) {
        return;
    }
    if (rz_comm_process(request->comm, request->peer) == rz_engine.self) {
        request->flags |= RZ_REQUEST_CANCEL_DUE;
        rz_p2p_cancel_answered(request, rz_sync_cancel_own(&envelope));
    } else if (rz_sync_cancel(request, &envelope)) {
        request->flags |= RZ_REQUEST_CANCEL_DUE;
    }
}

static void p2p_cancel(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_SEND) {
        send_cancel(request);
        return;
    }
    if (request->flags & RZ_REQUEST_POSTED) {
        rz_p2p_withdraw(request);
        rz_status_set_cancelled(&request->status, true);
        rz_request_complete(request, MPI_SUCCESS);
    }
}

static void p2p_abandon(struct rz_request *request)
{
    if (request->flags & RZ_REQUEST_POSTED) {
        rz_p2p_withdraw(request);
    }
}

static void p2p_waits_for(const struct rz_request *request, struct rz_blocked *blocked)
{
    blocked->tag = request->tag;
    if (request->peer >= 0) {
        blocked->peer = rz_comm_process(request->comm, request->peer);
    }
}

static void p2p_ended(struct rz_request *request)
{
    if (request->serial != 0) {
        rz_sync_release(request);
    }
    if (request->flags & RZ_REQUEST_BSEND) {
        rz_send_buffer_ended(request);
    }
}

const struct rz_request_class rz_p2p_class = {
    .name = "message",
    .start = p2p_restart,
    .cancel = p2p_cancel,
    .abandon = p2p_abandon,
    .look_again = rz_p2p_look_again,
    .ended = p2p_ended,
    .waits_for = p2p_waits_for,
};
