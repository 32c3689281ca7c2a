/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard output and error of the processes, on the way to rzrun: the bytes as they arrive, tagged
 * with the rank. While the stream to rzrun is backed up the pipes are not read: a slow terminal
 * makes the writers wait, never the daemon.
 */
#ifndef RZ_DAEMON_OUTPUT_H
#define RZ_DAEMON_OUTPUT_H

#include "daemon/state/own_node.h"

struct rz_output;
struct rz_outputs; /* of all processes of this node */

rz_status_t rz_outputs_open(struct rz_outputs **outputs, const struct rz_own_node *own);
void rz_outputs_close(struct rz_outputs *outputs); /* NULL: nothing */

/* Takes over fd (non-blocking) and forwards it until its end, which may come after the end of the
 * process (a descendant may hold the pipe). */
rz_status_t rz_output_open(struct rz_output **output, struct rz_outputs *all, uint32_t rank,
                           uint32_t stream, int fd);

/*
 * In a job that rewinds, the place of the next byte in all that the rank writes to this stream;
 * what comes after a restoration has a place that rzrun has shown already. Without a place
 * (RZ_OUTPUT_ANYWHERE, as in other jobs) all is shown. With RZ_JOB_HOLD_OUTPUT rzrun is told the
 * place at once: it discards what it holds from there on.
 */
void rz_output_place(struct rz_output *output, uint64_t at);
uint64_t rz_output_place_of(const struct rz_output *output);

/* Forwards what is in the pipe now, even if rzrun is slow (a pipe is bounded). To be called before
 * the end of the process is reported. */
void rz_output_drain(struct rz_output *output);

/* Forwards the rest as it arrives; the output frees itself at its end. The caller must not use it
 * any more. awaited: its process has ended in order, and a descendant that still holds the pipe may
 * go on writing: the end of the job waits for it. */
void rz_output_leave(struct rz_output *output, bool awaited);

/*
 * The end of a job, whose ranks have ended by themselves at `since`: returns until when the end
 * waits for awaited outputs, and 0 if it does not. To be called again then, and when one has ended
 * (rz_outputs_on_end). They are awaited for the job's output_wait_ns; time in which rzrun's reader
 * is slow, so that no pipe is read, does not count. When it is over this says so, and what holds
 * the pipe.
 */
rz_time rz_outputs_await(struct rz_outputs *outputs, rz_time since);
void rz_outputs_on_end(struct rz_outputs *outputs, void (*ended)(void *arg), void *arg);

/* The stream to rzrun, or a reader of rzrun's output, is backed up (true) or has room again
 * (false). This holds for processes that start later, too. */
void rz_outputs_hold(struct rz_outputs *outputs, bool hold);

#endif
