/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process has written to standard output and error, which its daemon counts: so that what
 * a restored process writes again is not shown again. */
#ifndef RZ_MPI_OUTPUT_MARK_H
#define RZ_MPI_OUTPUT_MARK_H

#include "link/link.h"

/* Learns how much this process has written so far, and remembers it: it is in the image that is
 * saved next. MPI_SUCCESS or RZM_ROLLBACK. */
int rz_output_mark(void);

/* How many bytes of standard input it had read at the last mark. */
uint64_t rz_input_mark(void);

/* Before main, in a process that is to be restored from an image with that mark: standard input
 * begins again, and is read up to there. RZ_ERR_SYSTEM: it is shorter. */
rz_status_t rz_input_skip(struct rz_link *link, uint64_t place);

/* Tells the daemon that this process, which was restored, goes on from there. The daemon knows it
 * before the process goes on: the ranks meet before that. */
void rz_output_go_on(void);

/* Tells it, before main, that this process begins from the start, and waits until it knows:
 * what the program writes from then on is counted. */
rz_status_t rz_output_begin(struct rz_link *link);

#endif
