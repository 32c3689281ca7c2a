/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that a probe has taken out of the matcher (MPI_Mprobe). */
#ifndef RZ_MPI_PROBE_H
#define RZ_MPI_PROBE_H

struct rz_comm;

/* Messages that a probe has taken and nobody received: they are dropped, and their handles stale
 *. */
void rz_matched_close(void);

/* comm was revoked: what is still with its sender stays there, who need not wait for it.
 */
void rz_matched_revoked(const struct rz_comm *comm);

#endif
