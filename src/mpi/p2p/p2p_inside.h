/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the library's own operations: collectives, creation of communicators.
 *
 * For a collective: `op = rz_comm_begin(comm, "MPI_Bcast")`, `tag = rz_comm_operation_tag(op)`,
 * then the functions below, which use RZ_CONTEXT_OFFSET_COLLECTIVE.
 *
 * Errors: MPI_ERR_PROC_FAILED when the peer has failed, or when another member of comm has failed
 * and the peer answers that it does not take part in the operation (inquiry.h), or when this
 * process does not take part; RZM_ROLLBACK when the job rolls back. Nothing is pending any more
 * when a blocking call returns: temporaries may be freed.
 */
#ifndef RZ_MPI_P2P_INSIDE_H
#define RZ_MPI_P2P_INSIDE_H

#include "mpi/p2p/p2p.h"

/* *request is set on success and ends by rz_p2p_wait, or rz_p2p_done and rz_p2p_end. NULL: a send
 * that has left already. A message longer than count elements is an error (MPI_ERR_TRUNCATE). */
int rz_p2p_isend(const struct rz_p2p_message *message, struct rz_request **request);
int rz_p2p_irecv(const struct rz_p2p_message *message, struct rz_request **request);

/* Waits until all n have ended (NULL entries are skipped), destroys them, and sets the entries
 * NULL; returns the first error. */
int rz_p2p_wait(struct rz_request **requests, size_t n);

/* For poll functions of non-blocking collectives: whether all n have ended; no progress is made. */
bool rz_p2p_done(struct rz_request **requests, size_t n);

/* Destroys n requests that have ended and sets the entries NULL; returns the first error. */
int rz_p2p_end(struct rz_request **requests, size_t n);

/*
 * Gives up these requests, whatever their state: they end by themselves. Entries become NULL. Their
 * buffers must stay valid until then. For abandon functions of request classes, which run when
 * transports hold no memory.
 */
void rz_p2p_abandon(struct rz_request **requests, size_t n);

#endif
