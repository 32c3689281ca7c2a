/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-level form of a revocation: the process that revokes tells its daemon, the daemons tell
 * one another, and all processes of the job find it on the boards of their nodes (link/board.h,
 * daemon/recovery/revocations.h). The flat one, among the members alone, is agreement_context.h's.
 *
 * What travels is a number made of the communicator's context, the epoch and its first member:
 * context ids are unique among the communicators of a process, and these among all.
 */
#ifndef RZ_MPI_REVOKE_NODES_H
#define RZ_MPI_REVOKE_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct rz_comm;

/* The environment variable that says how the job revokes: nodes (or nothing), or flat. */
#define RZ_REVOKE_ENVIRONMENT "RZ_REVOKE"

enum rz_revoke_way { RZ_REVOKE_NODES, RZ_REVOKE_FLAT };

/* The way of the job. Members need not have the same one: each is heard by all in both. */
enum rz_revoke_way rz_revoke_of_job(void);

/* When the engine opens: what stands on the board already is of no communicator that is here. */
void rz_revoke_open(void);

/* The number of comm in the whole job (rz_comm_number), by which it is revoked. */
uint64_t rz_revoke_number(const struct rz_comm *comm);

/* Tells the daemon. It does not return when that is gone: then so is this process. */
void rz_revoke_tell(const struct rz_comm *comm);

/* The board has changed: marks what was revoked since the last look. Not from inside a callback of
 * a transport. */
void rz_revoke_look(void);

/* comm is whole: it may have been revoked already, by one for whom it was so earlier. */
void rz_revoke_comm_begun(struct rz_comm *comm);

#endif
