/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engines share; no other file includes it.
 */
#ifndef RZ_MPI_AGREEMENT_STATE_H
#define RZ_MPI_AGREEMENT_STATE_H

#include "mpi/agree/agreement.h"

/* What differs between engines. Functions may be NULL, except propose, message and failure. */
struct rz_agreement_class {
    bool (*open)(struct rz_agreement *agreement);
    void (*propose)(struct rz_agreement *agreement);
    void (*message)(struct rz_agreement *agreement, const struct rz_event *event);
    void (*failure)(struct rz_agreement *agreement, rz_id member);
    void (*tick)(struct rz_agreement *agreement);
    void (*close)(struct rz_agreement *agreement);
    void (*sending)(struct rz_agreement *agreement, const struct rz_action *action);
    rz_time (*deadline)(const struct rz_agreement *agreement);
    rz_id (*awaited)(const struct rz_agreement *agreement);
    bool (*knows_failed)(const struct rz_agreement *agreement, rz_id member);
    bool cached; /* the core is src/proto/agree, and its decisions are the engine's, with the same
                    numbers */
};

struct rz_agreement {
    struct rz_agreement_config config;
    struct rz_agreement_host host;
    const struct rz_agreement_class *class;
    struct rz_embedded core; /* the core that decides: agree or twophase */
    rz_time now;             /* of the current event */
    uint64_t proposed, and, min, max;
    bool decided; /* a decision has been made and not taken yet */
    struct rz_decision decision;
    rz_id *failed; /* [n_members]; decision.failed */
    void *more;    /* belongs to the class */
};

extern const struct rz_agreement_class rz_agreement_era, rz_agreement_twophase, rz_agreement_gossip;

/* agreement.c: one event for `core`, processed completely. The core's notices go to told, which
 * gets this agreement; its messages go to the host. */
void rz_agreement_step(struct rz_agreement *agreement, struct rz_embedded *core,
                       const struct rz_event *event,
                       void (*told)(struct rz_agreement *agreement,
                                    const struct rz_action *action));

/* agreement_era.c: whether the text names a tree; also if it is NULL or empty. */
bool rz_agreement_era_knows_tree(const char *text);

/* ERA as a part of another engine: its core, the member it waits for, and its decision. */
bool rz_agreement_era_open(struct rz_agreement *agreement);
rz_id rz_agreement_era_awaited(const struct rz_agreement *agreement);
void rz_agreement_era_decided(struct rz_agreement *agreement, const struct rz_action *action);

#endif
