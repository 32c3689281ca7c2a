/*
 * The state of a daemon, as the files of the room share it. One block: struct rz_turn; newest dead
 * incarnation of each slot; dead daemons (a bit set); destinations; records; scratch.
 *
 * Records lie one behind the other, sorted by group and key: each group, then its arrivals in order
 * of rank.
 */
#ifndef RZ_PROTO_TURN_PRIVATE_H
#define RZ_PROTO_TURN_PRIVATE_H

#include "proto/diagnose/diagnose.h"
#include "proto/turn/turn.h"

#define RZ_TURN_GROUPS_DEFAULT 64
#define RZ_TURN_FORGOTTEN_MAX                                                                      \
    64 /* numbers remembered, so that late messages do not revive them                             \
        */

struct rz_turn_record {
    uint64_t group;
    uint32_t key;   /* 0: the group itself; else rank + 1 of an arrival */
    uint32_t words; /* with this */
};

/* What is still to be done for a group, in this order. */
enum {
    RZ_TURN_LOOK_AT_GONE = 1,
    RZ_TURN_SAY_SETTLED = 2,
    RZ_TURN_SAY_ROUND = 4, /* to the host */
    RZ_TURN_SAY_DECIDED = 8
};

struct rz_turn_decision {
    uint32_t round;
    rz_id by; /* the daemon that told it last; RZ_ID_NONE: round 0 */
    uint64_t progress;
};

/* Bit sets of a group, behind its processes. */
enum rz_turn_set {
    RZ_TURN_SET_GONE,      /* ranks that have died or left */
    RZ_TURN_SET_KEPT,      /* view of the kept decision */
    RZ_TURN_SET_COUNTS,    /* view of the round that counts */
    RZ_TURN_SET_CONFIRMED, /* daemons that have kept our decision; the only one of daemons */
    RZ_TURN_SETS
};

struct rz_turn_group {
    struct rz_turn_record record;
    uint32_t n;
    uint32_t say;
    bool local; /* a process of this daemon has arrived in it */
    struct rz_turn_decision kept, counts;
    uint64_t words[]; /* n processes, sets */
};

struct rz_turn_arrival {
    struct rz_turn_record record;
    uint32_t round, count; /* count: how-manieth of this process */
    uint64_t progress;
    uint32_t n_items;
    bool local; /* of this daemon */
    bool say;   /* to be sent to the daemon that decides */
    uint64_t items[];
};

struct rz_turn {
    struct rz_turn_config config;
    rz_id self;
    uint32_t n_local;                          /* groups */
    uint64_t used, max;                        /* words of records */
    uint64_t scratch_max;                      /* words behind them */
    uint64_t scratch_want;                     /* after RZ_NEED */
    uint64_t forgotten[RZ_TURN_FORGOTTEN_MAX]; /* a ring */
    uint32_t n_forgotten;                      /* ever */
    bool busy;                                 /* something is still to be said */
    rz_id one;                                 /* the single destination of this step */
    uint64_t block[];
};

/* --- turn_store.c: the block ------------------------------------------------------------------ */

uint32_t *rz_turn_dead_incarnations(const struct rz_turn *turn);
uint64_t *rz_turn_dead_daemons(const struct rz_turn *turn);
rz_id *rz_turn_destinations(const struct rz_turn *turn);
uint64_t *rz_turn_scratch(const struct rz_turn *turn);
uint64_t *rz_turn_processes(const struct rz_turn_group *group);
uint64_t *rz_turn_set(const struct rz_turn_group *group, enum rz_turn_set set);
uint32_t rz_turn_set_words(uint32_t n);

/* The first record, and the one behind it; NULL: none. */
struct rz_turn_record *rz_turn_first(const struct rz_turn *turn);
struct rz_turn_record *rz_turn_next(const struct rz_turn *turn,
                                    const struct rz_turn_record *record);
/* The first record of a later group. */
struct rz_turn_record *rz_turn_behind(const struct rz_turn *turn, uint64_t group);
struct rz_turn_group *rz_turn_find(const struct rz_turn *turn, uint64_t group);
struct rz_turn_arrival *rz_turn_arrival(const struct rz_turn *turn,
                                        const struct rz_turn_group *group, uint32_t rank);

/* Whether there is room for a group of n and an arrival with so many counters; else *out says how
 * large the block must become. */
bool rz_turn_has_room(struct rz_turn *turn, uint32_t n, uint32_t n_counters,
                      struct rz_actions *out);
/* The group, made if it is not there: in round 0, all ranks that are known dead gone. */
struct rz_turn_group *rz_turn_enter(struct rz_turn *turn, uint64_t number, uint32_t n,
                                    const uint64_t *processes);
/* In place of a former one of this rank. */
struct rz_turn_arrival *rz_turn_enter_arrival(struct rz_turn *turn,
                                              const struct rz_turn_group *group, uint32_t rank,
                                              const uint64_t *counters, uint32_t n_counters);
/* What lay behind it lies there now: returned, or NULL. */
struct rz_turn_record *rz_turn_remove(struct rz_turn *turn, struct rz_turn_record *record);
/* With its arrivals. */
void rz_turn_remove_group(struct rz_turn *turn, struct rz_turn_group *group);

static inline bool rz_turn_bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

static inline void rz_turn_bit_set(uint64_t *set, uint32_t i)
{
    set[i / 64] |= UINT64_C(1) << i % 64;
}

bool rz_turn_process_dead(const struct rz_turn *turn, uint64_t process);

/* --- turn_rule.c: the rule -------------------------------------------------------------------- */

/* A living process that waits in the present round. */
struct rz_turn_waiting {
    uint32_t rank;
    uint64_t progress;
    const uint64_t *counters;
    uint32_t n_counters;
};

struct rz_turn_situation {
    uint32_t n, round;
    uint64_t progress;
    const uint64_t *view, *gone; /* bit sets of ranks */
    uint32_t n_waiting;
    const struct rz_turn_waiting *waiting; /* sorted by rank */
    bool count_absent;                     /* RZ_TURN_COUNT_ABSENT */
};

/* Whether the round ends; then view (as many words as n ranks take) and *progress are those of the
 * next one. lists[n_waiting] and counters[n] are scratch. */
bool rz_turn_ends(const struct rz_turn_situation *now, struct rz_diagnose_list *lists,
                  uint32_t *counters, uint64_t *view, uint64_t *progress);

/* --- turn_decide.c: decisions ----------------------------------------------------------------- */

/* The least living daemon. */
rz_id rz_turn_leader(const struct rz_turn *turn);
/* The next round of the group, if this daemon decides and the present one ends. */
void rz_turn_decide(struct rz_turn *turn, struct rz_turn_group *group);
/* The kept decision counts, if all living daemons have kept it; then the next one, if its round
 * ends. */
void rz_turn_settle(struct rz_turn *turn, struct rz_turn_group *group);
/* The kept decision counts. */
void rz_turn_count(struct rz_turn *turn, struct rz_turn_group *group);
/* Somebody is gone: the group is forgotten when nobody is left. False: it was. */
bool rz_turn_look_at_gone(struct rz_turn *turn, struct rz_turn_group *group);
/* A daemon has died. */
void rz_turn_leader_may_change(struct rz_turn *turn, rz_id before);

#endif
