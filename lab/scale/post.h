/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries the PINGs of one cycle to their targets: each target gets its PINGs in order of the
 * senders, for any number of threads. Senders are taken in blocks; within a block each thread draws
 * the targets of one chunk of senders and sorts them by the range of the target; then each thread
 * serves its own range of targets, chunk by chunk in order.
 */
#ifndef RZ_SCALE_POST_H
#define RZ_SCALE_POST_H

#include "scale/crew.h"

struct rz_scale_message {
    rz_id from;
    rz_id to; /* deliver may leave its answer here, for collect */
};

struct rz_scale_post;

/* The functions of a model, called alternately: draw and collect by the thread of the senders,
 * deliver by the thread of the targets; both have whole words of 64 members. */
struct rz_scale_route {
    /* to[p - first] = target of p, or RZ_ID_NONE, for p in [first, end). */
    void (*draw)(void *user, uint32_t self, rz_id first, rz_id end, rz_id *to);
    /* In order; more send descriptors for the same range may follow. */
    void (*deliver)(void *user, struct rz_scale_message *send_descs, uint32_t count);
    /* The same send descriptors after all of them have been delivered, in no order. Optional. */
    void (*collect)(void *user, const struct rz_scale_message *send_descs, uint32_t count);
};

/* NULL: no memory. The crew must outlive it. */
struct rz_scale_post *rz_scale_post_create(struct rz_scale_crew *crew, uint32_t n_members);
void rz_scale_post_destroy(struct rz_scale_post *post);
uint64_t rz_scale_post_bytes(const struct rz_scale_post *post);

/* Called within one task by every thread of the crew. When it returns, all PINGs have been
 * delivered and this thread's collected; others may still be collecting theirs. */
void rz_scale_post_carry(struct rz_scale_post *post, uint32_t self,
                         const struct rz_scale_route *route, void *user);

#endif
