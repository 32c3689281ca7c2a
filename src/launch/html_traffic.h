/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic of a job: messages and bytes between groups of ranks (wire/traffic_groups.h), over
 * all incarnations of the ranks. Each process tells again and again what it has sent since it
 * began. Pure.
 */
#ifndef RZ_LAUNCH_HTML_TRAFFIC_H
#define RZ_LAUNCH_HTML_TRAFFIC_H

#include "wire/launch_messages.h"

struct rz_html_sent {
    uint64_t messages, bytes;
};

/* A process that has told what it has sent. */
struct rz_html_teller {
    struct rz_html_teller *next; /* another incarnation of the slot */
    uint32_t incarnation;
    struct rz_html_sent told[]; /* [n_groups]: in the matrix already */
};

struct rz_html_traffic {
    uint32_t n_ranks, n_groups;  /* n_groups: with that of spawned processes */
    struct rz_html_sent *matrix; /* [n_groups][n_groups]: from, to */
    uint32_t n_slots;
    struct rz_html_teller **tellers; /* [n_slots]: the processes of this attempt that have told */
    rz_time asked, apart; /* when the daemons were last asked; the time until they are again */
};

/* Running out of memory ends the program, which is a tool. */
void rz_html_traffic_open(struct rz_html_traffic *traffic, uint32_t n_ranks);
void rz_html_traffic_close(struct rz_html_traffic *traffic);

/* The job begins again: its processes are others. */
void rz_html_traffic_attempt(struct rz_html_traffic *traffic, rz_time now);

void rz_html_traffic_take(struct rz_html_traffic *traffic, const struct rz_launch_traffic *told);

/* Whether the daemons are to be asked now: less and less often, since all that is lost otherwise is
 * what processes of a node that fails have sent since. */
bool rz_html_traffic_due(struct rz_html_traffic *traffic, rz_time now);

#endif
