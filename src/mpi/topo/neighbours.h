/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours in a topology, for neighbourhood collectives: the edges that enter this process
 * and those that leave it, each numbered from 0. Their number: rz_comm_degrees in impl.h.
 */
#ifndef RZ_MPI_NEIGHBOURS_H
#define RZ_MPI_NEIGHBOURS_H

#include "mpi/comm/comm.h"

/* The rank at the other end of incoming or outgoing edge k; MPI_PROC_NULL beyond the open end of a
 * grid. */
int rz_neighbours_source(const struct rz_comm *comm, int k);
int rz_neighbours_destination(const struct rz_comm *comm, int k);

/*
 * The edge of the k-th send. Between two processes with several edges, the messages then arrive in
 * the order of the receiver's edges: in a grid one process's upward edge is the other's downward
 * edge, which matters when a ring has one or two members.
 */
int rz_neighbours_send_order(const struct rz_comm *comm, int k);

#endif
