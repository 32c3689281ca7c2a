/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of gossip objects, driven in synchronous cycles: the twin that a scale model must equal.
 */
#ifndef TEST_SCALE_TWIN_H
#define TEST_SCALE_TWIN_H

#include "proto/gossip/gossip.h"
#include "scale/scale.h"

struct twin;

/* The objects of config, begun: the PINGs of cycle 1 have left. mutations: enum
 * rz_gossip_mutation. */
struct twin *twin_create(enum rz_gossip_kind kind, const struct rz_scale_config *config,
                         uint32_t mutations);
void twin_destroy(struct twin *twin);
/* Carries the running cycle through to its end and begins the next. */
void twin_cycle(struct twin *twin);
bool twin_awake(const struct twin *twin); /* a member will ping */
/* NULL: failed. */
const struct rz_gossip *twin_member(const struct twin *twin, rz_id p);
uint64_t twin_messages(const struct twin *twin); /* of all cycles done */

#endif
