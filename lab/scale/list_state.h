/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the model of algorithm 2. Private to its files: list.c, list_busy.c, list_count.c.
 */
#ifndef RZ_SCALE_LIST_STATE_H
#define RZ_SCALE_LIST_STATE_H

#include "scale/list.h"
#include "scale/plane.h"

#include "proto/gossip/gossip.h"

#include <stdatomic.h>

/*
 * A message is the sender's knowledge at the start of the cycle; the answer of a target is its
 * knowledge after all PINGs up to this one. So `known` is constant during a cycle, `heard` follows
 * the PINGs in their order, and `gained` keeps the results of answers and timeouts until all PINGs
 * are processed.
 */
struct rz_scale_list {
    struct rz_scale_rules rules;
    struct rz_scale_crew *crew;
    struct rz_scale_post *post;
    uint64_t cycle, bytes;
    struct rz_scale_plane known, heard, gained;
    uint32_t all;  /* the set of all failed */
    bool complete; /* all living members know all failures */
    bool told;     /* all had consensus at once: no table records it */

    /* list_busy.c: nearly all members know the same, `usual`: nothing or all. */
    bool sparse;
    uint32_t usual;
    _Atomic uint64_t *busy; /* a bit per group of members: a PING there may matter */
    uint64_t busy_bytes;

    /* list_count.c: after the initial phase, if the cycle's number is not sufficient. */
    bool counting;
    struct rz_scale_plane settled;
    struct rz_scale_plane answered, returned; /* 1 bit */
    struct rz_scale_plane counts;             /* 8 bits per bit of known */

    struct rz_scale_tally tally[RZ_SCALE_CREW_MAX];
};

#define RZ_SCALE_LIST_AHEAD 32 /* prefetch distance, in send descriptors */

/* The target of p in this cycle, q being its first draw; a failed member if p does not know its
 * failure. RZ_ID_NONE: p knows that no other member is alive. */
static inline rz_id rz_scale_list_target(const struct rz_scale_list *list, rz_id p, rz_id q)
{
    const struct rz_scale_rules *rules = &list->rules;
    uint32_t known = rz_scale_plane_get(list->known, p), at;
    if ((uint32_t)__builtin_popcount(known) + 1 >= rules->n_members) {
        return RZ_ID_NONE;
    }
    for (uint32_t attempt = 1;
         (at = rz_scale_failed_at(rules, q)) < rules->n_failed && known >> at & 1; attempt++) {
        q = rz_gossip_target(rz_mix(rules->stem, p), rules->n_members, p, list->cycle, attempt);
    }
    return q;
}

/* ---- list_busy.c ---- */

#define RZ_SCALE_LIST_GROUP 512

bool rz_scale_list_busy_create(struct rz_scale_list *list);
void rz_scale_list_busy_destroy(struct rz_scale_list *list);
/* Before a cycle: whether PINGs can be left out in it; `aware` members know some failure. */
void rz_scale_list_busy_decide(struct rz_scale_list *list, uint64_t aware, uint64_t detected);
/* By each thread, for its part: which groups matter. */
void rz_scale_list_busy_mark(struct rz_scale_list *list, struct rz_scale_part part);

/* Whether a PING to q can change anything, or its answer. */
static inline bool rz_scale_list_matters(const struct rz_scale_list *list, rz_id q)
{
    rz_id group = q / RZ_SCALE_LIST_GROUP;
    return atomic_load_explicit(&list->busy[group / 64], memory_order_relaxed) >> (group & 63) & 1;
}

/* ---- list_count.c ---- */

/* False: no memory. */
bool rz_scale_list_count_begin(struct rz_scale_list *list);
void rz_scale_list_count_destroy(struct rz_scale_list *list);
/* One thread's part of a cycle; draw is that of the initial phase. */
void rz_scale_list_count_part(struct rz_scale_list *list, uint32_t self,
                              void (*draw)(void *user, uint32_t self, rz_id first, rz_id end,
                                           rz_id *to));
bool rz_scale_list_awake(const struct rz_scale_list *list, rz_id p);
uint8_t *rz_scale_list_counts(const struct rz_scale_list *list, rz_id p);

#endif
