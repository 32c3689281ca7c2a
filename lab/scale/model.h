/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the two models: the rules of a run, checked and with their defaults, and the
 * counts of a cycle. */
#ifndef RZ_SCALE_MODEL_H
#define RZ_SCALE_MODEL_H

#include "scale/crew.h"
#include "scale/post.h"
#include "scale/scale.h"

struct rz_scale_rules {
    uint32_t n_members, n_living, n_failed;
    rz_id failed[RZ_SCALE_FAILED_MAX];
    uint64_t failed_filter; /* bit id % 64 of each failed member: excludes most other members */
    uint64_t stem;          /* the seed of member p is rz_mix(stem, p) */
    uint32_t initial, window, tolerance_ppm, cycles_max;
    uint32_t least; /* ceil(log2 n) */
};

/* The rules of the list or of push-sum, with defaults filled in. False: *why names the invalid one.
 */
bool rz_scale_rules_make(const struct rz_scale_config *config, bool list,
                         struct rz_scale_rules *rules, const char **why);

/* Position of member p among the failed, or n_failed. */
static inline uint32_t rz_scale_failed_at(const struct rz_scale_rules *rules, rz_id p)
{
    uint32_t i = rules->failed_filter >> (p & 63) & 1 ? 0 : rules->n_failed;
    while (i < rules->n_failed && rules->failed[i] != p) {
        i++;
    }
    return i;
}

/* Of one cycle; first per thread, then summed up. */
struct rz_scale_tally {
    uint64_t pings, replies;
    uint64_t detected, consensus,
        committed;  /* members that have reached the stage, for all failures */
    uint64_t aware; /* list: know of some failed */
    uint64_t new_consensus, new_committed; /* in this cycle */
    uint64_t awake;                        /* ping in the next cycle */
    double estimate_detected, estimate_consensus;
    char apart[64]; /* threads write their own: no shared cache line */
};

static inline void rz_scale_tally_add(struct rz_scale_tally *to, const struct rz_scale_tally *more)
{
    to->pings += more->pings;
    to->replies += more->replies;
    to->aware += more->aware;
    to->detected += more->detected;
    to->consensus += more->consensus;
    to->committed += more->committed;
    to->new_consensus += more->new_consensus;
    to->new_committed += more->new_committed;
    to->awake += more->awake;
    to->estimate_detected += more->estimate_detected; /* one thread has them */
    to->estimate_consensus += more->estimate_consensus;
}

/* A model of one algorithm, for the loop that both share. */
struct rz_scale_model {
    void *(*create)(const struct rz_scale_rules *rules, struct rz_scale_crew *crew);
    void (*destroy)(void *model);
    /* False: out of memory; nothing has happened. */
    bool (*cycle)(void *model, struct rz_scale_tally *tally);
    uint64_t (*bytes)(const void *model); /* the most so far */
};

#endif
