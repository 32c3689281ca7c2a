/*
 * Cycle-synchronous scale models of gossip: what algorithms 2 and 3 do with 2^27 and 2^30 members,
 * in the memory of one machine. A model keeps a few bits or words per member instead of an object,
 * and does a whole cycle of all members at a time, in the order that proto/gossip/gossip.h states
 * for synchronous cycles. The twin test holds it against the objects, member by member and cycle by
 * cycle, up to 2^12 members.
 *
 * Models know failures that happened before the first cycle only (figures 10, 12 to 15).
 */
#ifndef RZ_SCALE_SCALE_H
#define RZ_SCALE_SCALE_H

#include <rhizome/types.h>

#define RZ_SCALE_FAILED_MAX 4

struct rz_scale_config {
    uint64_t n_members; /* 2 .. 2^30 */
    uint64_t
        seed; /* of the run: member p draws from rz_mix(rz_mix(seed, 1), p), as in a timing run */
    rz_id failed[RZ_SCALE_FAILED_MAX];
    uint32_t n_failed; /* 1 .. RZ_SCALE_FAILED_MAX; list: any; sum: 1 */
    uint32_t initial;  /* as in rz_gossip_config; 0: its default */
    uint32_t window;
    uint32_t tolerance_ppm;
    uint32_t cycles_max;
    uint32_t threads; /* 0: one per processor; the result does not depend on it */
};

/* After each cycle: how many living members are there. */
struct rz_scale_cycle {
    uint64_t cycle;
    uint64_t detected, consensus,
        committed; /* know all failed; have consensus on all; 3: committed all */
    double estimate_detected,
        estimate_consensus; /* 3: what member 0 (the first living) estimates, in members */
    uint64_t pings;
};

/* progress is called after each cycle, by the caller's thread; returns false to stop: the run is
 * then a success with the cycles done so far. */
typedef bool rz_scale_progress(void *user, const struct rz_scale_cycle *cycle);

struct rz_scale_result {
    uint64_t cycles; /* done in all */
    uint64_t known_first,
        known_last; /* cycle in which the first, the last living member knew all failed; 0: never */
    uint64_t consensus_first, consensus_last;
    uint64_t commit_first, commit_last;
    uint64_t messages;
    uint64_t false_consensus; /* 3: consensus while some living member did not know: S4-5's rate */
    uint64_t early_commits;   /* 3: commits while some living member had no consensus */
    double seconds;           /* wall time */
    double bytes_member;      /* of memory */
};

/* Algorithm 2. False: *why (no memory, bad configuration). */
bool rz_scale_list(const struct rz_scale_config *config, rz_scale_progress *progress, void *user,
                   struct rz_scale_result *result, const char **why);
/* Algorithm 3. */
bool rz_scale_sum(const struct rz_scale_config *config, rz_scale_progress *progress, void *user,
                  struct rz_scale_result *result, const char **why);

#endif
