/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point messages: sending, receiving, matching. The user's calls (rzm_send and variants)
 * use them with RZ_CONTEXT_OFFSET_POINT, other layers of the library mostly through p2p_inside.h.
 *
 * Ranks are ranks of comm (of the remote group if inter), or MPI_PROC_NULL. Between two processes
 * messages of one tag arrive in the order sent.
 */
#ifndef RZ_MPI_P2P_H
#define RZ_MPI_P2P_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

struct rz_early;

/* A message to send or to receive. */
struct rz_p2p_message {
    void *buffer; /* of a send it is only read */
    MPI_Count count;
    struct rz_datatype *datatype;
    int peer, tag;
    struct rz_comm *comm;
    enum rz_context_offset context_offset;
    uint32_t flags; /* RZ_REQUEST_SYNC, _BLOCKING, _BSEND, _COPY, _ALONE */
};

/*
 * The shortest way: sends the message without a request, if it can leave at once. True: it has
 * left, and its send is complete. False: nothing was sent; rz_p2p_start_send does it, or finds the
 * error. message->flags has no influence.
 */
bool rz_p2p_inject(const struct rz_p2p_message *message);

/* *request is set on success. */
int rz_p2p_start_send(const struct rz_p2p_message *message, struct rz_request **request);
int rz_p2p_start_recv(const struct rz_p2p_message *message, struct rz_request **request);

/* As rz_p2p_start_recv, with a request in the caller's memory (rz_request_init); after an error it
 * needs no rz_request_clear. */
int rz_p2p_start_recv_in(const struct rz_p2p_message *message, struct rz_request *request);

/* An inactive request, for MPI_Send_init (flags: also RZ_REQUEST_SEND, _PERSISTENT), MPI_Mrecv and
 * variants; NULL: no memory. */
struct rz_request *rz_p2p_new(const struct rz_p2p_message *message);

extern const struct rz_request_class rz_p2p_class;

/* Of the layer p2p; p2p_hooks.c. */
extern const struct rz_hooks rz_p2p_hooks;

/* ---- Between the files of this folder ---- */

/* The kept message, already out of the matcher, meets request. Frees the message. */
void rz_p2p_meet(struct rz_request *request, struct rz_early *message);
/* The same, with a message whose payload could not be fetched, with this status. */
void rz_p2p_lose(struct rz_request *request, struct rz_early *message, rz_status_t status);

/* The acknowledgement of a synchronous send has arrived. */
void rz_p2p_acknowledged(struct rz_request *request);

/* The receiver has answered whether the send is cancelled. */
void rz_p2p_cancel_answered(struct rz_request *request, bool cancelled);

/* Removes a posted receive from the matcher. */
void rz_p2p_withdraw(struct rz_request *request);

/* A posted receive ends with MPI_ERR_PROC_FAILED: its source has failed, or will not send. */
void rz_p2p_receive_fails(struct rz_request *request);

/* Called before a pending_error is reported: the user may have acknowledged the failure since. */
void rz_p2p_look_again(struct rz_request *request);

/* ---- From the engine ---- */

/* A message for a receive has passed the epoch check (rz_arrived_t). */
void rz_p2p_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                    size_t bytes, rz_net_token_t token);

/*
 * That process is gone (failed or ended), and its transport was drained: ends the other requests
 * that wait for it, by the rules in p2p.c. `failure`: requests from MPI_ANY_SOURCE and collectives
 * are concerned as well.
 */
void rz_p2p_gone(uint32_t process, bool failure);

/* comm was revoked: ends the requests that wait for its messages; those that a transport still
 * holds end when the transport gives them up. */
void rz_p2p_revoked(const struct rz_comm *comm);

/* Ends with MPI_ERR_OTHER the requests whose connection broke long ago although no process was
 * declared failed. */
void rz_p2p_overdue(rz_time now);

#endif
