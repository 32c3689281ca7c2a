/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short exchanges of few ranks on one node by cells (net/net.h): each rank writes its part into a
 * cell for each other rank, and looks at the cells of the others. There is no message and no
 * request, and a rank that sleeps is woken once, by the one that comes last.
 *
 * A cell may be written again when its reader has read it. A rank takes part in the next exchange
 * only after it has read all cells of this one; so two cells in turn are enough, for a rank in
 * exchange k + 2 knows that all others have begun k + 1. Non-blocking operations could be
 * under way several at a time, and use messages.
 *
 * The members agree on the cells of a communicator in one of its first blocking operations: each
 * sends all others which cells it has free. Stamps begin with a number that is greater than that of
 * any former user of these cells.
 *
 * A failure: what the failed member had put before counts. A rank that still waits for a part then
 * begins a receive from its writer. No message ever comes; so it learns like any other receiver
 * that the writer has failed, or does not take part (p2p/inquiry.h). So it does if the writer has
 * ended in order, or the connection is broken.
 */
#ifndef RZ_MPI_CELLS_H
#define RZ_MPI_CELLS_H

#include "mpi/coll/algorithm.h"
#include "mpi/coll/coll.h"

/* RZ_COLL_CELLED if this operation can exchange parts of so many bytes by cells; else 0. The same
 * at all members. May exchange messages, to agree on cells. */
unsigned rz_cells_trait(struct rz_schedule *schedule, MPI_Count bytes);

/* As rz_schedule_exchange. All parts have the length for which rz_cells_trait was asked. */
void rz_cells_exchange(struct rz_schedule *schedule, const struct rz_parts *out,
                       const struct rz_parts *in);

/* A process goes: what it has put counts. A communicator ends: its cells are free. */
extern const struct rz_hooks rz_cells_hooks;

#endif
