/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that a probe has taken out of the matcher (MPI_Mprobe). */
#ifndef RZ_MPI_PROBE_H
#define RZ_MPI_PROBE_H

struct rz_comm;
struct rz_early;

/* Drops the messages that a probe has taken and that were not received; their handles become
 * stale. */
void rz_matched_close(void);

/* comm was revoked: payloads that are still with their senders are not fetched, and the senders
 * need not wait. */
void rz_matched_revoked(const struct rz_comm *comm);

/* Calls visit(message, arg) for each message that was taken out and not received. */
void rz_matched_each(void (*visit)(struct rz_early *message, void *arg), void *arg);

#endif
