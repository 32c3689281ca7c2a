/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines from a job's events when and how it ends: takes the messages of the daemons, maintains
 * the outcome, and decides when the job must end. It has two kinds of hosts: rzrun while it is
 * attached, and each daemon of a detached job, which gets from the other daemons the messages that
 * rzrun would have got.
 */
#ifndef RZ_OUTCOME_REFEREE_H
#define RZ_OUTCOME_REFEREE_H

#include "outcome/outcome.h"
#include "wire/launch_messages.h"

#define RZ_END_GRACE_MS 1000 /* processes of a job that is ended get this long after SIGTERM */

struct rz_referee {
    struct rz_outcome outcome;
    bool no_ft; /* no failure detection: the first failure that is noticed ends the job */
    bool abort; /* --on-failure abort: the first failure ends a job with fault tolerance, too */
    /* The job's programs have not asked to be told of failures (RZ_EVENT_RECORD_INTOLERANT): the
     * first one ends it. */
    bool intolerant;
    bool at_start; /* why: the one that failed had not connected to its runtime */
    bool repairs;  /* all ranks that failed before any rank ended are restarted */
    bool over;     /* set by the host when it has begun to end the job: later losses are ignored */
    bool joined;   /* some rank has initialized this MPI library */
    uint32_t stranger; /* a rank that ended without initializing it, or RZ_ID_NONE */
    int stranger_code;
};

/* flags: RZ_JOB_*. */
void rz_referee_open(struct rz_referee *referee, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes, uint32_t flags);
void rz_referee_clear(struct rz_referee *referee);

/* Whether this message of node is ignored: the others continue without it, and the actions of its
 * processes are no part of the job (counted in outcome.refused). Its reports about itself are still
 * used. To be called once for each message, before rz_referee_take. */
bool rz_referee_refuses(struct rz_referee *referee, uint32_t node,
                        const struct rz_launch_message *message);

/* Whether node says that it continues without another one, although others have agreed before to
 * continue without it. Both sides of a connection that a stranger has cut may take the end for a
 * proof of the other's failure; the first agreement counts, and node must end. Such a message is
 * refused, too. A node that the others are without as well does not count. */
bool rz_referee_is_second_agreement(const struct rz_referee *referee, uint32_t node,
                                    const struct rz_launch_message *message);

/* Takes a message of node; irrelevant ones are ignored. True: the job must end now, and its
 * processes have *grace_ms to end. True may be returned again, with less time. */
bool rz_referee_take(struct rz_referee *referee, uint32_t node,
                     const struct rz_launch_message *message, uint32_t *grace_ms);

/* All processes and the daemon of node have ended. True: as for rz_referee_take. */
bool rz_referee_node_lost(struct rz_referee *referee, uint32_t node, uint32_t *grace_ms);

/* The daemon of node was the last one, and it has ended or gives up. */
void rz_referee_all_lost(struct rz_referee *referee, uint32_t node);

/* --timeout has expired. */
void rz_referee_timed_out(struct rz_referee *referee, rz_time timeout);

#endif
