/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a snapshot and its messages; only this component and its tests include this header.
 *
 * Each message downwards (WAVE, SAVE, END) follows the message upwards (REPORT, FIXED) by which
 * its receiver completed the step before. So only messages of children can come early, and only to
 * a member that has not started the attempt: those of its first wave, which are kept. No order of
 * arrival is needed.
 */
#ifndef RZ_PROTO_SNAPSHOT_PRIVATE_H
#define RZ_PROTO_SNAPSHOT_PRIVATE_H

#include "proto/snapshot/snapshot.h"
#include "proto/spread/spread.h"

/* seq = attempt << 32 | wave. */
enum rz_snapshot_message {
    /* To the parent, for the subtree: word[0] = messages sent, word[1] = taken in. With
     * RZ_SNAPSHOT_REFUSED: word[0] = member, word[1] = reason. */
    RZ_SNAPSHOT_REPORT,
    /* To the parent: after its contribution to this wave, the state of a member of the subtree has
     * changed. */
    RZ_SNAPSHOT_CHANGED,
    /* To the parent: the subtree has saved; with RZ_SNAPSHOT_REFUSED as in REPORT. */
    RZ_SNAPSHOT_FIXED,
    /* To the children. END: word[0] = member, word[1] = reason. */
    RZ_SNAPSHOT_WAVE,
    RZ_SNAPSHOT_SAVE,
    RZ_SNAPSHOT_END,
    RZ_SNAPSHOT_MESSAGE_COUNT
};

/* Flags. */
#define RZ_SNAPSHOT_REFUSED 1u     /* of REPORT, FIXED */
#define RZ_SNAPSHOT_CHANGED_TOO 2u /* of REPORT: implies CHANGED */

struct rz_snapshot_sums {
    uint64_t sent, delivered;
};

struct rz_snapshot {
    struct rz_snapshot_config config;
    rz_id self;
    rz_id parent; /* RZ_ID_NONE: the root */
    uint32_t n_children;
    rz_id children[RZ_SPREAD_NEIGHBOURS_MAX]; /* the first n_children */
    enum rz_snapshot_phase phase;
    uint32_t attempt, wave;
    uint32_t heard;                   /* bit set of the children that completed this step */
    struct rz_snapshot_end refusal;   /* the smallest member known here, in this attempt */
    struct rz_snapshot_sums sums;     /* of the children heard in this wave */
    struct rz_snapshot_sums own;      /* the latest numbers of this member */
    struct rz_snapshot_sums reported; /* its contribution to this wave */
    struct rz_snapshot_sums balanced; /* root: the last wave with as many taken in as sent */
    uint8_t has_balanced;
    uint8_t busy;    /* with own */
    uint8_t fresh;   /* own is of after the arrival of this wave */
    uint8_t done;    /* this step is completed here: contributed, or saved */
    uint8_t changed; /* something in the subtree has changed after its contribution */
    uint8_t told;    /* the parent knows of it */
    uint8_t zero[2];
    struct rz_snapshot_end end; /* of the last attempt */
};

#endif
