/* Inside the studies agree, twophase, rounds, shrink and revoke: hosts that agree on operations one
 * after the other, deaths, and who has decided when. */
#ifndef RZ_STUDY_STUDY_AGREE_RUN_H
#define RZ_STUDY_STUDY_AGREE_RUN_H

#include "proto/agree/agree.h"
#include "proto/rounds/rounds.h"
#include "proto/twophase/twophase.h"
#include "study/study.h"
#include "timing/timing.h"

#define RZ_AGREE_CURVE_MAX 4096

enum rz_agree_protocol { RZ_AGREE_BY_ERA, RZ_AGREE_BY_TWOPHASE, RZ_AGREE_BY_ROUNDS };

/* One trial. */
struct rz_agree_run {
    const struct rz_study_options *options;
    enum rz_agree_protocol protocol;
    bool shrinks; /* by ERA: operations are those of one shrink */
    uint32_t n, operations;
    struct rz_timing_network network;
    uint64_t seed;
    struct rz_agree_config agree;
    struct rz_twophase_config twophase;
    struct rz_rounds_config rounds;
    uint64_t *items;           /* of every proposal: options->payload of them */
    uint64_t n_items;          /* 0 but by ERA */
    uint8_t *doomed;           /* members that the study kills */
    uint8_t *stage;            /* of a shrink, per member */
    uint32_t *n_dead;          /* of a shrink: agreed dead at the last decision, per member */
    uint64_t *digest;          /* of the last decision, per member */
    uint64_t living, left;     /* members that stay; those of them that are not done */
    rz_time begun_at;          /* the first deaths or calls that the study makes */
    rz_time first_at, last_at; /* when the first and the last of the living were done */
    uint32_t decided;          /* operations that the last one decided */
    uint32_t attempts;         /* rounds, or attempts of a two-phase commit */
    rz_time curve_at[RZ_AGREE_CURVE_MAX];
    uint64_t curve_step;
    uint32_t n_curve;
};

/* Runs one trial and writes its row; the first one's curve into chart. False: *why. */
bool rz_agree_trial(struct rz_agree_run *run, uint32_t trial, struct rz_table *table,
                    struct rz_chart *chart, const char **why);
void rz_agree_columns(struct rz_table *table, enum rz_agree_protocol protocol);

/* The network of a Cray XC30 as user-level software sees it; the figures of ulfm use it, too. */
void rz_agree_defaults(struct rz_study_options *options);

/* What a pass over the bitmap of all members costs a process for each one: the "with scans" form of
 * the two-phase commit makes one for each message. */
#define RZ_AGREE_SCAN_PS 1000

#endif
