/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycle-synchronous scale models of gossip: what algorithms 2 and 3 do with 2^27 and 2^30 members,
 * in the memory of one machine. A model keeps a few bits or words per member instead of an object,
 * and does a whole cycle of all members at a time, in the order that proto/gossip/gossip.h defines
 * for synchronous cycles. The twin test compares it with the objects, member by member and cycle by
 * cycle, up to 2^12 members.
 *
 * Models know failures that happened before the first cycle only (figures 10, 12 to 15); algorithm
 * 3 is the published one, without restarts: before_only of rz_gossip_config.
 */
#ifndef RZ_SCALE_SCALE_H
#define RZ_SCALE_SCALE_H

#include <rhizome/types.h>

#define RZ_SCALE_FAILED_MAX 4

/* Fields named as in rz_gossip_config have the same meaning; 0: its default. */
struct rz_scale_config {
    uint64_t n_members; /* 2 .. 2^30 */
    uint64_t seed;      /* of the run; member p's is rz_mix(rz_mix(seed, 1), p), as in timing */
    rz_id failed[RZ_SCALE_FAILED_MAX]; /* all different; at least one member is alive */
    uint32_t n_failed;                 /* list: 1 .. RZ_SCALE_FAILED_MAX; sum: 1 */
    uint32_t initial;
    uint32_t window; /* <= 255 */
    uint32_t tolerance_ppm;
    uint32_t cycles_max; /* <= 65535 */
    uint32_t threads;    /* 0: one per processor; the result does not depend on it */
};

/* After each cycle. */
struct rz_scale_cycle {
    uint64_t cycle;
    uint64_t detected;  /* living members that know all failed */
    uint64_t consensus; /* that have consensus on all */
    uint64_t committed; /* sum: that have committed all */
    /* Sum: the number of members that, by the estimate of the least living one, have reached the
     * stage; 0: no estimate. */
    double estimate_detected, estimate_consensus;
    uint64_t pings; /* sent in this cycle */
};

/* progress is called after each cycle, by the caller's thread; returns false to stop: the run is
 * then a success with the cycles done so far. */
typedef bool rz_scale_progress(void *user, const struct rz_scale_cycle *cycle);

struct rz_scale_result {
    uint64_t cycles; /* done in all */
    /* The cycle in which the first, the last living member knew all failures; 0: never; and
     * likewise below. */
    uint64_t known_first, known_last;
    uint64_t consensus_first, consensus_last;
    uint64_t commit_first, commit_last; /* sum */
    uint64_t messages;                  /* PINGs and REPLYs sent */
    uint64_t false_consensus; /* sum: while some living member did not know the failure: the rate of
                                 S4-5 */
    uint64_t early_commits;   /* sum: while some living member had no consensus */
    double seconds;           /* wall time */
    double bytes_member;      /* of memory */
};

/* Algorithm 2. False: *why (out of memory, invalid configuration), and *result is unchanged.
 * Threads are started and joined within. */
bool rz_scale_list(const struct rz_scale_config *config, rz_scale_progress *progress, void *user,
                   struct rz_scale_result *result, const char **why);
/* Algorithm 3. */
bool rz_scale_sum(const struct rz_scale_config *config, rz_scale_progress *progress, void *user,
                  struct rz_scale_result *result, const char **why);

#endif
