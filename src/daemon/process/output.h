/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard output and error of processes, on their way to rzrun: bytes as they come, tagged with
 * the rank. While the stream to rzrun is backed up the pipes are not read, so that a slow terminal
 * holds the writers, never the daemon.
 */
#ifndef RZ_DAEMON_OUTPUT_H
#define RZ_DAEMON_OUTPUT_H

#include "daemon/state/own_node.h"

struct rz_output;
struct rz_outputs; /* of all processes of this node */

rz_status_t rz_outputs_open(struct rz_outputs **outputs, const struct rz_own_node *own);
void rz_outputs_close(struct rz_outputs *outputs); /* NULL: nothing */

/* Takes fd (non-blocking) over; it is forwarded until its end, which may come after its process's
 * (a grandchild may hold it). */
rz_status_t rz_output_open(struct rz_output **output, struct rz_outputs *all, uint32_t rank,
                           uint32_t stream, int fd);

/* Forwards what lies in the pipe now, also when rzrun is slow (a pipe is bounded): before its
 * process's end is told. */
void rz_output_drain(struct rz_output *output);

/* Forwards the rest as it comes; the output frees itself at its end. Not to be used any more. */
void rz_output_leave(struct rz_output *output);

/* The stream to rzrun, or what rzrun writes to, is backed up (true) or has room again (false); of
 * processes that start later, too. */
void rz_outputs_hold(struct rz_outputs *outputs, bool hold);

#endif
