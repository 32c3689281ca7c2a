/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's point-to-point calls: MPI_Send, MPI_Recv and variants. */
#include "mpi/p2p/p2p_inside.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

static struct rz_p2p_message message_of(const void *buf, MPI_Count count,
                                        struct rz_datatype *datatype, int peer, int tag,
                                        struct rz_comm *comm)
{
    return (struct rz_p2p_message){.buffer = (void *)(uintptr_t)buf,
                                   .count = count,
                                   .datatype = datatype,
                                   .peer = peer,
                                   .tag = tag,
                                   .comm = comm,
                                   .context_offset = RZ_CONTEXT_OFFSET_POINT};
}

/* ---- Sends ---- */

static int send_begin(struct rz_p2p_message message, uint32_t flags, struct rz_request **request)
{
    int error = rz_engine_begin();
    message.flags = flags;
    return error != MPI_SUCCESS ? error : rz_p2p_start_send(&message, request);
}

int rzm_send(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
             struct rz_comm *comm)
{
    int error = rz_engine_begin();
    struct rz_p2p_message message = message_of(buf, count, datatype, dest, tag, comm);
    if (error != MPI_SUCCESS || rz_p2p_inject(&message)) {
        return error;
    }
    struct rz_request *request;
    message.flags = RZ_REQUEST_BLOCKING | RZ_REQUEST_ALONE;
    error = rz_p2p_start_send(&message, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPI_Send", NULL);
}

int rzm_rsend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
              struct rz_comm *comm)
{
    return rzm_send(buf, count, datatype, dest, tag, comm);
}

int rzm_ssend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
              struct rz_comm *comm)
{
    struct rz_request *request;
    int error = send_begin(message_of(buf, count, datatype, dest, tag, comm),
                           RZ_REQUEST_BLOCKING | RZ_REQUEST_ALONE | RZ_REQUEST_SYNC, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPI_Ssend", NULL);
}

int rzm_isend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
              struct rz_comm *comm, struct rz_request **request)
{
    int error = rz_engine_begin();
    const struct rz_p2p_message message = message_of(buf, count, datatype, dest, tag, comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_p2p_inject(&message)) {
        *request = &rz_request_done;
        return MPI_SUCCESS;
    }
    return rz_p2p_start_send(&message, request);
}

int rzm_irsend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
               struct rz_comm *comm, struct rz_request **request)
{
    return rzm_isend(buf, count, datatype, dest, tag, comm, request);
}

int rzm_issend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
               struct rz_comm *comm, struct rz_request **request)
{
    return send_begin(message_of(buf, count, datatype, dest, tag, comm), RZ_REQUEST_SYNC, request);
}

/* ---- Receives ---- */

static int recv_begin(struct rz_p2p_message message, uint32_t flags, struct rz_request **request)
{
    int error = rz_engine_begin();
    message.flags = flags;
    return error != MPI_SUCCESS ? error : rz_p2p_start_recv(&message, request);
}

int rzm_recv(void *buf, MPI_Count count, struct rz_datatype *datatype, int source, int tag,
             struct rz_comm *comm, MPI_Status *status)
{
    struct rz_request request;
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS) {
        struct rz_p2p_message message = message_of(buf, count, datatype, source, tag, comm);
        message.flags = RZ_REQUEST_BLOCKING;
        error = rz_p2p_start_recv_in(&message, &request);
    }
    return error != MPI_SUCCESS ? error : rz_wait_clear(&request, "MPI_Recv", status);
}

int rzm_irecv(void *buf, MPI_Count count, struct rz_datatype *datatype, int source, int tag,
              struct rz_comm *comm, struct rz_request **request)
{
    int error = rz_engine_begin();
    const struct rz_p2p_message message = message_of(buf, count, datatype, source, tag, comm);
    return error != MPI_SUCCESS ? error : rz_p2p_start_recv(&message, request);
}

/* ---- Both ---- */

/* Whether the receive is given up because of the error of the send. Not when the receiver has
 * failed: the sender of the message that is received may live, and wait for us to take it. */
static bool ends_receive(int send_error)
{
    return send_error != MPI_SUCCESS && send_error != MPI_ERR_PROC_FAILED;
}

int rzm_sendrecv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype, int dest,
                 int sendtag, void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                 int source, int recvtag, struct rz_comm *comm, MPI_Status *status)
{
    struct rz_request *receive, *send;
    int error = recv_begin(message_of(recvbuf, recvcount, recvtype, source, recvtag, comm),
                           RZ_REQUEST_BLOCKING, &receive);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_p2p_message out = message_of(sendbuf, sendcount, sendtype, dest, sendtag, comm);
    out.flags = RZ_REQUEST_BLOCKING;
    error = rz_p2p_start_send(&out, &send);
    if (error != MPI_SUCCESS) {
        rzm_cancel(receive);
        rz_request_detach(receive);
        return error;
    }
    int send_error = rz_wait_end(send, "MPI_Sendrecv", NULL);
    if (send_error == RZM_ROLLBACK) {
        return send_error;
    }
    if (ends_receive(send_error)) {
        rzm_cancel(receive);
    }
    /* The status is that of the receive, whatever the result of the send. */
    error = rz_wait_end(receive, "MPI_Sendrecv", status);
    return error != MPI_SUCCESS ? error : send_error;
}

/* ---- MPI_Isendrecv: one request over two ---- */

struct pair {
    struct rz_request *send, *receive;
};

static void pair_poll(struct rz_request *request)
{
    struct pair *pair = request->state;
    if (pair->send->complete && ends_receive(pair->send->error)) {
        rzm_cancel(pair->receive);
    }
    /* A failure of the receive is reported by the request that the user holds. */
    bool receive_ends = pair->receive->complete || pair->receive->pending_error != MPI_SUCCESS;
    if (!pair->send->complete || !receive_ends) {
        return;
    }
    if (!pair->receive->complete) {
        rz_p2p_look_again(pair->receive);
        if (pair->receive->pending_error != MPI_SUCCESS) {
            request->pending_error = pair->receive->pending_error;
            rz_engine.troubles++;
            return;
        }
    }
    if (pair->receive->complete) {
        request->status = pair->receive->status;
        int error = pair->receive->error != MPI_SUCCESS ? pair->receive->error : pair->send->error;
        /* Not by pair_destroy: at the end of an epoch all requests are destroyed, in any order. */
        rz_p2p_end(&pair->receive, 1);
        rz_p2p_end(&pair->send, 1);
        rz_request_complete(request, error);
    }
}

static void pair_abandon(struct rz_request *request)
{
    struct pair *pair = request->state;
    rz_p2p_abandon(&pair->send, 1);
    rz_p2p_abandon(&pair->receive, 1);
}

static void pair_destroy(struct rz_request *request)
{
    pair_abandon(request);
    free(request->state);
}

static void pair_cancel(struct rz_request *request)
{
    struct pair *pair = request->state;
    rzm_cancel(pair->receive);
}

static const struct rz_request_class pair_class = {.name = "send and receive",
                                                   .poll = pair_poll,
                                                   .cancel = pair_cancel,
                                                   .abandon = pair_abandon,
                                                   .look_again = pair_poll,
                                                   .destroy = pair_destroy};

static int pair_new(struct rz_request *send, struct rz_request *receive, struct rz_comm *comm,
                    struct rz_request **request)
{
    struct pair *pair = malloc(sizeof(*pair));
    struct rz_request *made = rz_request_new(&pair_class, comm);
    if (!pair || !made) {
        /* Both messages are on their way; they end by themselves. */
        rz_request_detach(send);
        rz_request_detach(receive);
        free(pair);
        return MPI_ERR_NO_MEM;
    }
    *pair = (struct pair){.send = send, .receive = receive};
    made->state = pair;
    rz_request_activate(made);
    pair_poll(made);
    *request = made;
    return MPI_SUCCESS;
}

int rzm_isendrecv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype, int dest,
                  int sendtag, void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                  int source, int recvtag, struct rz_comm *comm, struct rz_request **request)
{
    struct rz_request *receive, *send;
    int error =
        recv_begin(message_of(recvbuf, recvcount, recvtype, source, recvtag, comm), 0, &receive);
    if (error != MPI_SUCCESS) {
        return error;
    }
    const struct rz_p2p_message out = message_of(sendbuf, sendcount, sendtype, dest, sendtag, comm);
    error = rz_p2p_start_send(&out, &send);
    if (error != MPI_SUCCESS) {
        rzm_cancel(receive);
        rz_request_detach(receive);
        return error;
    }
    return pair_new(send, receive, comm, request);
}

/* Both with one buffer. */
static int replace_begin(struct rz_p2p_message out, struct rz_p2p_message in, uint32_t flags,
                         struct rz_request **request)
{
    struct rz_request *receive, *send;
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    /* The outgoing data are copied before a message can arrive in the same buffer. */
    out.flags = RZ_REQUEST_COPY;
    in.flags = flags;
    error = rz_p2p_start_send(&out, &send);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_p2p_start_recv(&in, &receive);
    if (error != MPI_SUCCESS) {
        rz_request_detach(send);
        return error;
    }
    return pair_new(send, receive, out.comm, request);
}

int rzm_isendrecv_replace(void *buf, MPI_Count count, struct rz_datatype *datatype, int dest,
                          int sendtag, int source, int recvtag, struct rz_comm *comm,
                          struct rz_request **request)
{
    return replace_begin(message_of(buf, count, datatype, dest, sendtag, comm),
                         message_of(buf, count, datatype, source, recvtag, comm), 0, request);
}

int rzm_sendrecv_replace(void *buf, MPI_Count count, struct rz_datatype *datatype, int dest,
                         int sendtag, int source, int recvtag, struct rz_comm *comm,
                         MPI_Status *status)
{
    struct rz_request *request;
    int error = replace_begin(message_of(buf, count, datatype, dest, sendtag, comm),
                              message_of(buf, count, datatype, source, recvtag, comm),
                              RZ_REQUEST_BLOCKING, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPI_Sendrecv_replace", status);
}

/* ---- Persistent requests ---- */

static int persistent(struct rz_p2p_message message, uint32_t flags, struct rz_request **request)
{
    message.flags = flags | RZ_REQUEST_PERSISTENT;
    struct rz_request *made = rz_p2p_new(&message);
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    *request = made;
    return MPI_SUCCESS;
}

int rzm_send_init(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
                  struct rz_comm *comm, struct rz_request **request)
{
    return persistent(message_of(buf, count, datatype, dest, tag, comm), RZ_REQUEST_SEND, request);
}

int rzm_rsend_init(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest,
                   int tag, struct rz_comm *comm, struct rz_request **request)
{
    return persistent(message_of(buf, count, datatype, dest, tag, comm), RZ_REQUEST_SEND, request);
}

int rzm_ssend_init(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest,
                   int tag, struct rz_comm *comm, struct rz_request **request)
{
    return persistent(message_of(buf, count, datatype, dest, tag, comm),
                      RZ_REQUEST_SEND | RZ_REQUEST_SYNC, request);
}

int rzm_recv_init(void *buf, MPI_Count count, struct rz_datatype *datatype, int source, int tag,
                  struct rz_comm *comm, struct rz_request **request)
{
    return persistent(message_of(buf, count, datatype, source, tag, comm), 0, request);
}
