/*
 * Point-to-point messages for the inside of the library: collectives, creation of communicators.
 * The user's calls (rzm_send and variants) run over the same functions on RZ_CONTEXT_OFFSET_POINT.
 *
 * For a collective: `op = rz_comm_begin(comm, "MPI_Bcast")`, `tag = rz_comm_operation_tag(op)`,
 * then the functions below, which use RZ_CONTEXT_OFFSET_COLLECTIVE. Ranks are ranks of comm (of the
 * remote group if inter), or MPI_PROC_NULL. Between two processes messages of one tag arrive in the
 * order sent.
 *
 * Errors: MPI_ERR_PROC_FAILED when the peer has failed, or when a member of comm has and the peer
 * tells that it does not take part in the operation (ft/inquiry.h), or when this process does not;
 * RZM_ROLLBACK when the job goes back. Nothing is pending any more when the call returns:
 * temporaries may be freed.
 */
#ifndef RZ_MPI_P2P_H
#define RZ_MPI_P2P_H

#include "mpi/request/request.h"
#include "wire/envelope.h"

/* Blocking. A message longer than count elements is an error (MPI_ERR_TRUNCATE). */
int rz_p2p_send(const void *buffer, MPI_Count count, struct rz_datatype *datatype, int dest,
                int tag, struct rz_comm *comm);
int rz_p2p_recv(void *buffer, MPI_Count count, struct rz_datatype *datatype, int source, int tag,
                struct rz_comm *comm);
int rz_p2p_sendrecv(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
                    int dest, void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype,
                    int source, int tag, struct rz_comm *comm);

/* Non-blocking; *request is set on success and ends by rz_p2p_wait, or rz_p2p_done and rz_p2p_end.
 */
int rz_p2p_isend(const void *buffer, MPI_Count count, struct rz_datatype *datatype, int dest,
                 int tag, struct rz_comm *comm, struct rz_request **request);
int rz_p2p_irecv(void *buffer, MPI_Count count, struct rz_datatype *datatype, int source, int tag,
                 struct rz_comm *comm, struct rz_request **request);

/* Waits until all n (NULL entries are skipped) have ended, gives them back, sets the entries NULL;
 * the first error. */
int rz_p2p_wait(struct rz_request **requests, size_t n);

/* For poll functions of non-blocking collectives: whether all n have ended; no progress is made. */
bool rz_p2p_done(struct rz_request **requests, size_t n);

/* Gives back n that have ended, sets the entries NULL; the first error. */
int rz_p2p_end(struct rz_request **requests, size_t n);

/* Nobody asks for these any more, whatever their state: they end by themselves. Entries become
 * NULL. Their buffers must stay until then: for abandon functions of request classes, where
 * transports hold nothing. */
void rz_p2p_abandon(struct rz_request **requests, size_t n);

/* ---- The same with the context offset given; flags: RZ_REQUEST_SYNC, _BLOCKING, _BSEND, _COPY
 * ---- */

int rz_p2p_start_send(const void *buffer, MPI_Count count, struct rz_datatype *datatype, int dest,
                      int tag, struct rz_comm *comm, enum rz_context_offset context_offset,
                      uint32_t flags, struct rz_request **request);
int rz_p2p_start_recv(void *buffer, MPI_Count count, struct rz_datatype *datatype, int source,
                      int tag, struct rz_comm *comm, enum rz_context_offset context_offset,
                      uint32_t flags, struct rz_request **request);

/* An inactive request of the user's context offset, for MPI_Send_init, MPI_Mrecv and variants;
 * NULL: no memory.
 */
struct rz_request *rz_p2p_new(void *buffer, MPI_Count count, struct rz_datatype *datatype, int peer,
                              int tag, struct rz_comm *comm, uint32_t flags);

extern const struct rz_request_class rz_p2p_class;

/* ---- Between the files of the chapter ---- */

/* request meets this message, inline or by token; path: of the token. */
void rz_p2p_receive(struct rz_request *request, struct rz_path *path,
                    const struct rz_envelope *envelope, const void *data, size_t bytes,
                    rz_net_token_t token);

/* The acknowledgement of a synchronous send has come. */
void rz_p2p_acknowledged(struct rz_request *request);

/* The acknowledgement of a synchronous message has left, or never will: its receive need not wait
 * for that. */
void rz_p2p_answered(struct rz_request *request);

/* Its receiver has said whether the send that was to be cancelled is. */
void rz_p2p_cancel_answered(struct rz_request *request, bool cancelled);

/* Takes a posted receive out of the matcher. */
void rz_p2p_withdraw(struct rz_request *request);

/* A posted receive ends with MPI_ERR_PROC_FAILED: its source has failed, or will not send. */
void rz_p2p_receive_fails(struct rz_request *request);

/* Before telling a pending_error: it may have been acknowledged since. */
void rz_p2p_look_again(struct rz_request *request);

/* ---- From the engine ---- */

/* A message stands at the epoch check (rz_net_host.arrived). */
void rz_p2p_arrived(struct rz_path *path, const void *header, uint32_t header_bytes,
                    const void *data, size_t bytes, rz_net_token_t token);

/*
 * That process is gone (failed or ended) and its transport was drained: end what else
 * waits for it, in the order of the rules in p2p.c. `failure`: those who
 * wait for anybody, and collectives, are concerned, too.
 */
void rz_p2p_gone(uint32_t process, bool failure);

/* comm was revoked: what waits for messages of it ends; what a transport still holds ends when the
 * transport lets go of it. */
void rz_p2p_revoked(const struct rz_comm *comm);

/* Requests whose connection broke long ago although nobody was declared failed: they end, with
 * MPI_ERR_OTHER. */
void rz_p2p_overdue(rz_time now);

/* Throw away all messages that nobody received: at a roll-back and in finalize. */
void rz_p2p_forget(void);

#endif
