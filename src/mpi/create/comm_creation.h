/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What calls that make communicators have in common: a creation is numbered like a collective
 * operation; exchanges between its members; its end.
 */
#ifndef RZ_MPI_COMM_CREATION_H
#define RZ_MPI_COMM_CREATION_H

#include "mpi/p2p/p2p_inside.h"

/*
 * An allgather: every member passes `bytes` bytes at mine and gets those of all members in order of
 * rank at all (size * bytes). For the making of communicators; MPI_SUCCESS, an error class or
 * RZM_ROLLBACK.
 */
int rz_comm_exchange(struct rz_comm *comm, uint64_t operation, const void *mine, size_t bytes,
                     void *all);

/* A broadcast of `bytes` bytes from root. */
int rz_comm_spread(struct rz_comm *comm, uint64_t operation, int root, void *data, size_t bytes);

/*
 * Messages of a creation. Others wait for them, so a process that has no memory for one ends.
 * rz_creation_isend: *request is given to rz_creation_wait, which waits for n of them (NULL entries
 * are skipped). rz_creation_send and _recv wait. MPI_SUCCESS, an error class or RZM_ROLLBACK.
 */
int rz_creation_isend(const struct rz_p2p_message *message, struct rz_request **request);
int rz_creation_wait(struct rz_request **requests, size_t n);
int rz_creation_send(const struct rz_p2p_message *message);
int rz_creation_recv(const struct rz_p2p_message *message);

/*
 * Begins a creation in which all members of comm take part: its number, counted from 1. With
 * RZM_ROLLBACK or MPI_ERR_REVOKED it is not counted. Messages of it may be sent until
 * rz_comm_create_end (p2p/inquiry.h), which the entry points call.
 */
int rz_comm_create_begin(struct rz_comm *comm, const char *call, uint64_t *operation);
void rz_comm_create_end(struct rz_comm *comm);

/* Returns when all members have entered the creation with this number. MPI_ERR_PROC_FAILED: one of
 * them has failed, or another member has left because of a failure. */
int rz_comm_synchronise(struct rz_comm *comm, uint64_t operation);

/*
 * A call by which `part` of comm's members (NULL: all) made a communicator has ended here with
 * `error`. Where the errors of members must be uniform (agree/comm_uniform.h), the members agree on
 * the error; if there is one, *made is released and set to NULL. tag: of the call.
 */
int rz_uniform_made_by(struct rz_comm *comm, struct rz_group *part, int tag, int error,
                       struct rz_comm **made);

#endif
