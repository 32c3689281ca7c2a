/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a daemon, shared by the files of this component. One block: struct rz_view_change;
 * newest failed incarnation of each slot; failed daemons (a bit set); destinations; records;
 * scratch.
 *
 * Records are stored one behind the other, sorted by group and key: each group, then its arrivals
 * in order of rank.
 */
#ifndef RZ_PROTO_TURN_PRIVATE_H
#define RZ_PROTO_TURN_PRIVATE_H

#include "proto/diagnose/diagnose.h"
#include "proto/view_change/view_change.h"

#define RZ_VIEW_CHANGE_GROUPS_DEFAULT 64
#define RZ_VIEW_CHANGE_FORGOTTEN_MAX                                                               \
    64 /* numbers remembered, so that late messages do not revive them                             \
        */

struct rz_view_change_record {
    uint64_t group;
    uint32_t key;   /* 0: the group itself; else rank + 1 of an arrival */
    uint32_t words; /* length including this header */
};

/* Pending work of a group, in this order. */
enum {
    RZ_VIEW_CHANGE_LOOK_AT_GONE = 1,
    RZ_VIEW_CHANGE_SAY_SETTLED = 2,
    RZ_VIEW_CHANGE_SAY_ROUND = 4, /* to the host */
    RZ_VIEW_CHANGE_SAY_DECIDED = 8
};

struct rz_view_change_decision {
    uint32_t round;
    rz_id by; /* the daemon that sent it last; RZ_ID_NONE: round 0 */
    uint64_t progress;
};

/* Bit sets of a group, stored behind its processes. */
enum rz_view_change_set {
    RZ_VIEW_CHANGE_SET_GONE,      /* ranks that have failed or left */
    RZ_VIEW_CHANGE_SET_KEPT,      /* view of the kept decision */
    RZ_VIEW_CHANGE_SET_COUNTS,    /* view of the round that counts */
    RZ_VIEW_CHANGE_SET_CONFIRMED, /* daemons that have kept this daemon's decision; the only set of
                                     daemons */
    RZ_VIEW_CHANGE_SETS
};

struct rz_view_change_group {
    struct rz_view_change_record record;
    uint32_t n;
    uint32_t say;
    bool local; /* a process of this daemon has arrived in it */
    struct rz_view_change_decision kept, counts;
    uint64_t words[]; /* n processes, sets */
};

struct rz_view_change_arrival {
    struct rz_view_change_record record;
    uint32_t round, count; /* count: ordinal of this process */
    uint64_t progress;
    uint32_t n_items;
    bool local; /* of this daemon */
    bool say;   /* must be sent to the daemon that decides */
    uint64_t items[];
};

struct rz_view_change {
    struct rz_view_change_config config;
    rz_id self;
    uint32_t n_local;                                 /* groups */
    uint64_t used, max;                               /* words of records */
    uint64_t scratch_max;                             /* words behind them */
    uint64_t scratch_want;                            /* after RZ_NEED */
    uint64_t forgotten[RZ_VIEW_CHANGE_FORGOTTEN_MAX]; /* a ring */
    uint32_t n_forgotten;                             /* ever */
    bool busy;                                        /* some work is pending */
    rz_id one;                                        /* the only destination of this step */
    uint64_t block[];
};

/* ---- view_change_store.c: the block ---- */

uint32_t *rz_view_change_failed_incarnations(const struct rz_view_change *vc);
uint64_t *rz_view_change_failed_daemons(const struct rz_view_change *vc);
rz_id *rz_view_change_destinations(const struct rz_view_change *vc);
uint64_t *rz_view_change_scratch(const struct rz_view_change *vc);
uint64_t *rz_view_change_processes(const struct rz_view_change_group *group);
uint64_t *rz_view_change_set(const struct rz_view_change_group *group, enum rz_view_change_set set);
uint32_t rz_view_change_set_words(uint32_t n);

/* The first record, and the one behind it; NULL: none. */
struct rz_view_change_record *rz_view_change_first(const struct rz_view_change *vc);
struct rz_view_change_record *rz_view_change_next(const struct rz_view_change *vc,
                                                  const struct rz_view_change_record *record);
/* The first record of a later group. */
struct rz_view_change_record *rz_view_change_behind(const struct rz_view_change *vc,
                                                    uint64_t group);
struct rz_view_change_group *rz_view_change_find(const struct rz_view_change *vc, uint64_t group);
struct rz_view_change_arrival *rz_view_change_arrival(const struct rz_view_change *vc,
                                                      const struct rz_view_change_group *group,
                                                      uint32_t rank);

/* Whether a group of n and an arrival with so many counters fit; otherwise *out tells the size that
 * the block must grow to. */
bool rz_view_change_has_room(struct rz_view_change *vc, uint32_t n, uint32_t n_counters,
                             struct rz_actions *out);
/* The group, created if it is new: in round 0, with all ranks that are known failed marked as gone.
 */
struct rz_view_change_group *rz_view_change_enter(struct rz_view_change *vc, uint64_t number,
                                                  uint32_t n, const uint64_t *processes);
/* Replaces a former arrival of this rank. */
struct rz_view_change_arrival *
rz_view_change_enter_arrival(struct rz_view_change *vc, const struct rz_view_change_group *group,
                             uint32_t rank, const uint64_t *counters, uint32_t n_counters);
/* Removes the record; the record that followed it is at its place now: returned, or NULL. */
struct rz_view_change_record *rz_view_change_remove(struct rz_view_change *vc,
                                                    struct rz_view_change_record *record);
/* Removes the group with its arrivals. */
void rz_view_change_remove_group(struct rz_view_change *vc, struct rz_view_change_group *group);

static inline bool rz_view_change_bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

static inline void rz_view_change_bit_set(uint64_t *set, uint32_t i)
{
    set[i / 64] |= UINT64_C(1) << i % 64;
}

bool rz_view_change_process_failed(const struct rz_view_change *vc, uint64_t process);

/* ---- view_change_rule.c: the rule ---- */

/* A living process that waits in the current round. */
struct rz_view_change_waiting {
    uint32_t rank;
    uint64_t progress;
    const uint64_t *counters;
    uint32_t n_counters;
};

struct rz_view_change_situation {
    uint32_t n, round;
    uint64_t progress;
    const uint64_t *view, *gone; /* bit sets of ranks */
    uint32_t n_waiting;
    const struct rz_view_change_waiting *waiting; /* sorted by rank */
    bool count_absent;                            /* RZ_VIEW_CHANGE_COUNT_ABSENT */
};

/* Whether the round ends; if so, view (as many words as n ranks take) and *progress are those of
 * the next one. lists[n_waiting] and counters[n] are scratch. */
bool rz_view_change_ends(const struct rz_view_change_situation *now, struct rz_diagnose_list *lists,
                         uint32_t *counters, uint64_t *view, uint64_t *progress);

/* ---- view_change_decide.c: decisions ---- */

/* The least living daemon. */
rz_id rz_view_change_leader(const struct rz_view_change *vc);
/* Decides the next round of the group, if this daemon is the leader and the current round ends. */
void rz_view_change_decide(struct rz_view_change *vc, struct rz_view_change_group *group);
/* Makes the kept decision count, if all living daemons have kept it; then decides the next one, if
 * its round ends. */
void rz_view_change_settle(struct rz_view_change *vc, struct rz_view_change_group *group);
/* The kept decision counts. */
void rz_view_change_count(struct rz_view_change *vc, struct rz_view_change_group *group);
/* A process has failed or left: the group is forgotten if none remains. False: it was forgotten. */
bool rz_view_change_look_at_gone(struct rz_view_change *vc, struct rz_view_change_group *group);
/* A daemon has failed. */
void rz_view_change_leader_may_change(struct rz_view_change *vc, rz_id before);

#endif
