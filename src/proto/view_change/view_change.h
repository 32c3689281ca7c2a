/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing rounds of dynamic groups (component diagnose): when a round ends, and which processes
 * compute in the next one, decided by the daemons, so that all processes of a group see the same
 * views in the same order, however few of them answer.
 *
 * A group has a number and n processes, ranks 0..n-1. A process that has done its part of a round
 * and waits for the next one arrives, with its event counters of the others and with its progress:
 * how far the program has come in its view. All arrivals are sent to the least living daemon, which
 * decides:
 *
 * - A round ends when each process of its view has arrived, or has failed, or is non-recommended by
 *   the joined counters (rz_diagnose_join) of those of the view that have arrived.
 * - The next view: the living processes that wait (of the old view, or non-recommended until now)
 *   and are recommended by the joined counters. Never empty.
 * - The progress: the minimum over the processes of the old view; for one that did not arrive, the
 *   progress of the round before counts. It never falls.
 * - If no process of the old view has arrived, or those that have do not end the round (they may
 *   have arrived long ago and be stopped or non-recommended since), the waiting processes outside
 *   the view may form the next one: if all of the old view have failed or are non-recommended by
 *   their counters (component diagnose: the living process of least rank takes a group over), and
 *   none that has arrived was readmitted since.
 *
 * The same protocol decides the voters of component diagnose, in a group with a number of its own:
 * a member that requests other voters arrives there; a view is the set of voters, progress is 0.
 *
 * Round 0 precedes the first one: its view is the processes recommended by the counters of those
 * that have arrived (all, or all but spawned processes where a group continues among other
 * members), its progress the minimum of theirs.
 *
 * The decision is sent to all living daemons, and counts (SETTLED) when all of them have kept it.
 * If the least daemon fails, the next one sends its latest decision again, or decides again if no
 * daemon was told that it counts. Of two decisions on one round that of the later daemon wins,
 * because it decides only after the earlier one has failed, and messages of the failed one are
 * dropped. Members are daemons; channels between them are reliable and in order; failures are final
 * (a daemon that is wrongly declared failed ends).
 *
 * A decision is kept by all before it counts, so the next leader has it. While a partition lasts
 * both sides may go on, each without the processes of the other, until one side ends.
 *
 * Costs: an arrival is one message to the least daemon; a decision three to each; a process that
 * leaves, one to each.
 */
#ifndef RZ_PROTO_VIEW_CHANGE_H
#define RZ_PROTO_VIEW_CHANGE_H

#include "base/status.h"

#include <rhizome/protocol.h>

#define RZ_VIEW_CHANGE_PROCESSES_MAX 4000 /* of a group: processes and counters fit a message */

/* Deliberate faults for the tests of the checkers. */
enum rz_view_change_mutation {
    RZ_VIEW_CHANGE_TELL_EARLY = 1, /* a decision counts before all have kept it */
    RZ_VIEW_CHANGE_KEEP_LATER =
        2, /* a decision of an earlier daemon replaces one of a later daemon */
    RZ_VIEW_CHANGE_COUNT_ABSENT =
        4 /* a process that did not arrive is taken to have done its part */
};

struct rz_view_change_config {
    uint32_t n_members;  /* daemons */
    uint32_t view;       /* written into every message; others are dropped */
    uint32_t n_slots;    /* of processes */
    uint32_t groups_max; /* groups with processes of this daemon; 0: 64; a further one is refused */
    uint32_t mutations;
};

/* A process: its slot and incarnation. */
#define RZ_VIEW_CHANGE_PROCESS(slot, incarnation) ((uint64_t)(incarnation) << 32 | (uint32_t)(slot))

/*
 * RZ_EVENT_FAILURE: daemons have failed (only the daemons: failures of their processes are reported
 * by PROCESS_FAILED).
 *
 * RZ_EVENT_CALL, call =
 *
 * RZ_VIEW_CHANGE_ARRIVE: a process of this daemon waits. arg[0] = group, arg[1] = the round that it
 * ends: the latest one reported to it, 0 at first; arg[2] = its rank << 32 | n; arg[3] = its
 * progress. items = the n processes (RZ_VIEW_CHANGE_PROCESS) in order of rank, then its counters
 * (RZ_DIAGNOSE_ITEM, sorted). A repeated call with other counters replaces the former ones. A
 * process that is behind gets the latest round at once. An invalid call is refused.
 *
 * RZ_VIEW_CHANGE_LEAVE: arg[0] = group, arg[1] = rank: the process neither waits nor computes any
 * more: it counts as failed in this group. No effect for a group that is not known here. A group
 * whose processes have all left or failed is forgotten; its number must not be used again.
 *
 * RZ_VIEW_CHANGE_PROCESS_FAILED: items = processes (RZ_VIEW_CHANGE_PROCESS); allowed before their
 * groups are known. An older incarnation than a failed one has failed, too.
 */
enum rz_view_change_call {
    RZ_VIEW_CHANGE_ARRIVE,
    RZ_VIEW_CHANGE_LEAVE,
    RZ_VIEW_CHANGE_PROCESS_FAILED
};

/*
 * RZ_ACTION_NOTIFY, what =
 *
 * RZ_VIEW_CHANGE_ROUND: a round counts: arg[0] = group, arg[1] = its number, arg[2] = progress,
 * arg[3] = n. items = the n processes, then its view as a bit set of ranks, in words of 64. The
 * host reports it to its processes that wait in an older round. Rounds of a group come in order;
 * some may be left out at a daemon, and the latest one may come again.
 *
 * RZ_VIEW_CHANGE_REFUSED: arg[0] = group, arg[1] = rank, arg[2] = rz_status_t: RZ_ERR_INVALID:
 * fields that cannot be, or other processes than the group has; RZ_ERR_NO_MEMORY: groups_max;
 * RZ_ERR_NOT_FOUND: a round that was never reported, or a group that was forgotten.
 */
enum rz_view_change_notice { RZ_VIEW_CHANGE_ROUND, RZ_VIEW_CHANGE_REFUSED };

/* Messages; seq = group. */
enum rz_view_change_message {
    RZ_VIEW_CHANGE_ARRIVED, /* word[0] = ordinal of this process << 32 | round, word[1] = progress;
                        flags: RZ_VIEW_CHANGE_LEFT; items: rank << 32 | n, processes, counters */
    RZ_VIEW_CHANGE_DECIDED, /* word[0] = round, word[1] = progress; items: n, processes, view */
    RZ_VIEW_CHANGE_KEPT,    /* word[0] = round */
    RZ_VIEW_CHANGE_SETTLED  /* word[0] = round */
};
#define RZ_VIEW_CHANGE_LEFT 1 /* the process has left: sent to all, without counters */

struct rz_view_change;

size_t rz_view_change_size(const struct rz_view_change_config *config);
void rz_view_change_init(struct rz_view_change *vc, const struct rz_view_change_config *config,
                         rz_id self, rz_time now, uint64_t seed);
enum rz_more rz_view_change_step(struct rz_view_change *vc, const struct rz_event *event,
                                 struct rz_actions *out);
rz_time rz_view_change_deadline(const struct rz_view_change *vc); /* never */
uint64_t rz_view_change_hash(const struct rz_view_change *vc);
void rz_view_change_grow(struct rz_view_change *vc, size_t bytes);

/* ---- accessors ---- */

/* A round of a group as one daemon knows it. Round 0: view = all. */
struct rz_view_change_round {
    uint32_t round;
    uint64_t progress;
    const uint64_t *view; /* bit set of ranks */
};

/* Pointers refer to the state and are valid until the next step. */
struct rz_view_change_look {
    uint64_t group;
    uint32_t n;
    const uint64_t *processes;        /* [n] */
    struct rz_view_change_round kept; /* the latest decision, which may not count yet */
    rz_id by;                         /* the daemon that sent it; RZ_ID_NONE: round 0 */
    struct rz_view_change_round counts;
};

/* The groups known here, in order of their numbers: i = 0, 1, ... until false. */
bool rz_view_change_look_at(const struct rz_view_change *vc, uint32_t i,
                            struct rz_view_change_look *look);

/* False: it is not known here. */
bool rz_view_change_look_for(const struct rz_view_change *vc, uint64_t group,
                             struct rz_view_change_look *look);

/* An arrival in the round that counts. */
struct rz_view_change_arrived {
    uint64_t progress;
    const uint64_t *counters;
    uint32_t n_counters;
};

/* Whether this process of the group has arrived, as known here, and is alive; the data of its
 * arrival. */
bool rz_view_change_arrived_at(const struct rz_view_change *vc, uint64_t group, uint32_t rank,
                               struct rz_view_change_arrived *arrived);
/* Whether it has failed or left, as known here; false for an unknown group. */
bool rz_view_change_gone(const struct rz_view_change *vc, uint64_t group, uint32_t rank);

#endif
