/*
 * What the events of a job mean for its end: fed with what the daemons tell, it keeps the outcome
 * and says when the job shall end. Two kinds of hosts: rzrun while it is attached, and each daemon
 * of a detached job, which hears from the others what rzrun would have heard.
 */
#ifndef RZ_OUTCOME_REFEREE_H
#define RZ_OUTCOME_REFEREE_H

#include "outcome/outcome.h"
#include "wire/launch_messages.h"

#define RZ_END_GRACE_MS 1000 /* processes of a job that is ended get this long after SIGTERM */

struct rz_referee {
    struct rz_outcome outcome;
    bool no_ft;        /* nobody looks for failures: the first that shows ends the job */
    bool abort;        /* --on-failure abort: so does the first of a job with fault tolerance */
    bool repairs;      /* all ranks that failed, before any came to its end, are started again */
    bool over;         /* set by the host once it has begun the end: later losses mean nothing */
    bool joined;       /* some rank has initialised our MPI */
    uint32_t stranger; /* a rank that ended without ever doing so, or RZ_ID_NONE */
    int stranger_code;
};

/* flags: RZ_JOB_*. */
void rz_referee_open(struct rz_referee *referee, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes, uint32_t flags);
void rz_referee_clear(struct rz_referee *referee);

/* Whether this message of node counts no more: the others go on without it, and what its processes
 * do is no part of the job (counted in outcome.refused). What it tells of itself still counts. To
 * be asked once about each message, before rz_referee_take. */
bool rz_referee_refuses(struct rz_referee *referee, uint32_t node,
                        const struct rz_launch_message *message);

/* Node has told this; what is of no account here is passed over. True: the job shall end now, its
 * processes having *grace_ms to do so by themselves; may be said again, with less. */
bool rz_referee_take(struct rz_referee *referee, uint32_t node,
                     const struct rz_launch_message *message, uint32_t *grace_ms);

/* Everything that ran on node is gone. True: as above. */
bool rz_referee_node_lost(struct rz_referee *referee, uint32_t node, uint32_t *grace_ms);

/* The daemon of node was the last one, and it is gone, or gives up itself. */
void rz_referee_all_lost(struct rz_referee *referee, uint32_t node);

/* --timeout has run out. */
void rz_referee_timed_out(struct rz_referee *referee, rz_time timeout);

#endif
