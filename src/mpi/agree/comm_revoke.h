/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revocation: from now on a communicator can only be used for agree, shrink, inquiries and free.
 *
 * In two levels: the process that revokes tells its daemon, the daemons tell one another, and all
 * processes of the job read it on the boards of their nodes (link/board.h,
 * daemon/recovery/revocations.h). The flat form, among the members alone, is in
 * agreement_context.h.
 */
#ifndef RZ_MPI_COMM_REVOKE_H
#define RZ_MPI_COMM_REVOKE_H

#include "mpi/comm/comm.h"

/* The environment variable for the way of revocation in the job: nodes (or unset), or flat. Members
 * may have different ones: a revocation of either kind reaches all members. */
#define RZ_REVOKE_ENVIRONMENT "RZ_REVOKE"

enum rz_revoke_way { RZ_REVOKE_NODES, RZ_REVOKE_FLAT };

/* How a process that revokes comm tells the others. */
enum rz_revoke_way rz_comm_revoke_way(const struct rz_comm *comm);

/* Revokes comm here and tells the other members; MPI_ERR_NO_MEM: they were not told. Not called
 * from inside a callback of a transport. */
int rz_comm_revoke(struct rz_comm *comm);

/* Revokes comm, or every communicator, if a process in its error range is known to have failed. Not
 * called from inside a callback of a transport. */
void rz_comm_look_at_range(struct rz_comm *comm);
void rz_comms_look_at_ranges(void);

/* When the engine opens: revocations that are on the board already concern no communicator of this
 * process. */
void rz_revoke_open(void);

/* The board has changed: marks what was revoked since the last look. Not called from inside a
 * callback of a transport. */
void rz_revoke_look(void);

/* comm has begun: it may have been revoked already, by a member at which it had begun earlier. */
void rz_revoke_comm_begun(struct rz_comm *comm);

#endif
