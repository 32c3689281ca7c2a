/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Revocation in two levels: the process that revokes tells its daemon, the daemons tell one
 * another, and all processes of the job read it on the boards of their nodes (link/board.h,
 * daemon/recovery/revocations.h). The flat form, among the members alone, is in
 * agreement_context.h.
 *
 * What is passed on is a number made of the communicator's context, the epoch and its first member:
 * context ids are unique among the communicators of a process, and this number among all of the
 * job.
 */
#ifndef RZ_MPI_REVOKE_NODES_H
#define RZ_MPI_REVOKE_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct rz_comm;

/* The environment variable for the way of revocation in the job: nodes (or unset), or flat. */
#define RZ_REVOKE_ENVIRONMENT "RZ_REVOKE"

enum rz_revoke_way { RZ_REVOKE_NODES, RZ_REVOKE_FLAT };

/* The way of the job. Members may have different ones: a revocation of either kind reaches all
 * members. */
enum rz_revoke_way rz_revoke_of_job(void);

/* When the engine opens: revocations that are on the board already concern no communicator of this
 * process. */
void rz_revoke_open(void);

/* The number of comm in the whole job (rz_comm_number), by which it is revoked. */
uint64_t rz_revoke_number(const struct rz_comm *comm);

/* Tells the daemon. Does not return when the daemon is gone: the process ends then. */
void rz_revoke_tell(const struct rz_comm *comm);

/* The board has changed: marks what was revoked since the last look. Not called from inside a
 * callback of a transport. */
void rz_revoke_look(void);

/* comm has begun: it may have been revoked already, by a member at which it had begun earlier. */
void rz_revoke_comm_begun(struct rz_comm *comm);

#endif
