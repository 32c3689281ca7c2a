/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to the studies agree, twophase, rounds, shrink and revoke: hosts that agree on
 * operations one after the other, failures, and dates of decisions. */
#ifndef RZ_STUDY_STUDY_AGREE_RUN_H
#define RZ_STUDY_STUDY_AGREE_RUN_H

#include "proto/agree/agree.h"
#include "proto/rounds/rounds.h"
#include "proto/twophase/twophase.h"
#include "study/study.h"
#include "timing/timing.h"

#define RZ_AGREE_CURVE_MAX 4096

enum rz_agree_protocol { RZ_AGREE_BY_ERA, RZ_AGREE_BY_TWOPHASE, RZ_AGREE_BY_ROUNDS };

/* The adapters of the nodes: messages of the ranks of a node to other nodes leave it one after the
 * other, RZ_AGREE_ADAPTER_GAP apart (LogGP's g; the engine knows ranks only). */
struct rz_agree_adapters {
    rz_time *free_at; /* per node */
    uint32_t per_node;
    rz_time overhead;  /* of one send: those of a multicast do not leave at once */
    rz_id sender;      /* of the multicast under way, */
    rz_time sender_at; /* its date, */
    uint32_t sent;     /* and how much of it has left */
};
#define RZ_AGREE_ADAPTER_GAP ((rz_time)100)

void rz_agree_adapters_begin(struct rz_agree_adapters *adapters, uint32_t members,
                             const struct rz_timing_network *network);
void rz_agree_adapters_end(struct rz_agree_adapters *adapters);
/* How long a message of the step at `now` waits for its node's adapter. */
rz_time rz_agree_adapters_wait(struct rz_agree_adapters *adapters, rz_time now, rz_id from,
                               rz_id to);

/* One trial. */
struct rz_agree_run {
    const struct rz_study_options *options;
    enum rz_agree_protocol protocol;
    bool shrinks; /* operations are those of one shrink */
    uint32_t n, operations;
    struct rz_timing_network network;
    struct rz_agree_adapters adapters;
    uint64_t seed;
    struct rz_agree_config agree;
    struct rz_twophase_config twophase;
    struct rz_rounds_config rounds;
    uint64_t *items;           /* of every proposal: options->payload of them */
    uint64_t n_items;          /* 0 but by ERA */
    uint8_t *doomed;           /* members that the study kills */
    uint8_t *stage;            /* of a shrink, per member */
    uint32_t *n_failed;        /* of a shrink: agreed failed at the last decision, per member */
    uint64_t *digest;          /* of the last decision, per member */
    uint64_t living, left;     /* members that stay alive; those of them that are not done */
    rz_time begun_at;          /* the first failures or calls that the study makes */
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

/* The cost for a process of a pass over the bitmap of all members, per member: the "with scans"
 * form of the two-phase commit makes one pass for each message. */
#define RZ_AGREE_SCAN_PS 1000

#endif
