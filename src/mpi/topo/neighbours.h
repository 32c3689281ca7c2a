/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies, kept at rz_comm.topology, and what neighbourhood collectives ask of them: the edges
 * that come in to this process and those that go out, each numbered from 0. How many: see
 * rz_comm_degrees in chapter.h.
 */
#ifndef RZ_MPI_NEIGHBOURS_H
#define RZ_MPI_NEIGHBOURS_H

#include "mpi/comm/comm.h"

/* The rank at the other end of edge k of those that come in, or go out; MPI_PROC_NULL behind the
 * open end of a grid. */
int rz_neighbours_source(const struct rz_comm *comm, int k);
int rz_neighbours_destination(const struct rz_comm *comm, int k);

/*
 * The edge that is the k-th to be sent along. Between two processes that have several edges, the
 * messages then come in the order of the receiver's edges: the way up of one in a grid is the way
 * down of the other, which counts when a ring has one or two members.
 */
int rz_neighbours_send_order(const struct rz_comm *comm, int k);

#endif
