/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to the studies gossip1, gossip2 and gossip3 and the figures of Katti et al.: one trial,
 * on objects or by the scale model, and its results cycle by cycle. */
#ifndef RZ_STUDY_STUDY_GOSSIP_RUN_H
#define RZ_STUDY_STUDY_GOSSIP_RUN_H

#include "proto/gossip/gossip.h"
#include "timing/timing.h"

#define RZ_GOSSIP_CYCLES_MAX 512 /* later cycles are counted as this one */
#define RZ_GOSSIP_STAGES 3       /* know all failed; have consensus on all; have committed all */

struct rz_gossip_trial_setup {
    struct rz_gossip_config gossip; /* view, start_spread as given */
    struct rz_timing_network network;
    uint64_t seed;
    const rz_id *victims; /* sorted */
    uint32_t n_victims;
    const rz_time *dates; /* when each fails; 0: before the run, it never begins */
    bool told;  /* instead of silence: each failure is reported to one living member drawn at random
                 */
    bool model; /* the scale model; LIST and SUM, all victims failed before */
    bool observe; /* objects: look at the first living member at the end of each cycle */
    rz_time until;
    rz_time slow_by; /* messages of these members come so much later */
    uint32_t slow;
    FILE *trace;
};

/* The state of the first living member at the end of a cycle, for the first victim. */
struct rz_gossip_view {
    double estimate[2]; /* SUM: members that have detected, that have consensus; NAN: none yet */
    uint64_t witnesses; /* MATRIX: members that it knows have detected it */
};

struct rz_gossip_trial {
    uint64_t living;
    /* Stage s was reached in cycle c by reached[s][c] living members; in time: first, last. 0: by
     * none; last is also 0 if a living member has not reached it. */
    uint32_t reached[RZ_GOSSIP_STAGES][RZ_GOSSIP_CYCLES_MAX + 1];
    uint64_t first[RZ_GOSSIP_STAGES], last[RZ_GOSSIP_STAGES];
    rz_time last_at[RZ_GOSSIP_STAGES];  /* RZ_TIME_NEVER: as last 0 */
    uint64_t detect_first, detect_last; /* cycle of the first, the last own detection */
    rz_time detect_first_at,
        detect_last_at;   /* a failure by any member, after it; the last of them */
    uint64_t returned;    /* cycle in which the last call returned */
    uint64_t disagreeing; /* calls without success, or with another set than the failed processes */
    uint64_t false_consensus, early_commits, false_failure_reports;
    uint64_t messages, bytes, messages_hot, bytes_hot; /* the model counts messages only */
    rz_time lasted;
    uint64_t events;
    double seconds, bytes_member;
    struct rz_gossip_view view[RZ_GOSSIP_CYCLES_MAX + 1]; /* [c]: at the end of cycle c */
};

/* The caller frees the result; NULL: *why. */
struct rz_gossip_trial *rz_gossip_trial_run(const struct rz_gossip_trial_setup *setup,
                                            const char **why);

/* The model's part of it. */
bool rz_gossip_trial_model(const struct rz_gossip_trial_setup *setup, struct rz_gossip_trial *trial,
                           const char **why);

#endif
