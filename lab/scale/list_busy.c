/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse cycles: at the beginning few members know any failure, at the end few do not know all. If
 * sender and target know the same, and no other member tells the target more during the cycle,
 * neither the PING nor the answer changes anything, and the post need not carry them.
 */
#include "scale/list_state.h"

#include <string.h>

#define SPARSE 4096 /* one in this many members: then at most a fourth of the groups is busy */

bool rz_scale_list_busy_create(struct rz_scale_list *list)
{
    uint64_t groups = (uint64_t)list->rules.n_members / RZ_SCALE_LIST_GROUP + 1;
    list->busy_bytes = (groups + 63) / 64 * sizeof(uint64_t);
    list->busy = rz_scale_table_create(list->busy_bytes);
    return list->busy != NULL;
}

void rz_scale_list_busy_destroy(struct rz_scale_list *list)
{
    rz_scale_table_destroy(list->busy, list->busy_bytes);
}

void rz_scale_list_busy_decide(struct rz_scale_list *list, uint64_t aware, uint64_t detected)
{
    uint64_t few = list->rules.n_members / SPARSE, living = list->rules.n_living;
    list->sparse = aware <= few || living - detected <= few;
    list->usual = aware <= few ? 0 : list->all;
    memset(list->busy, 0, list->sparse ? list->busy_bytes : 0);
}

static void mark(struct rz_scale_list *list, rz_id p)
{
    rz_id group = p / RZ_SCALE_LIST_GROUP;
    atomic_fetch_or_explicit(&list->busy[group / 64], UINT64_C(1) << (group & 63),
                             memory_order_relaxed);
}

/* The knowledge of p differs from the usual one: p matters, and so does its target. */
static void mark_both(struct rz_scale_list *list, rz_id p)
{
    const struct rz_scale_rules *rules = &list->rules;
    if (p >= rules->n_members || rz_scale_failed_at(rules, p) < rules->n_failed) {
        return;
    }
    rz_id q = rz_gossip_target(rz_mix(rules->stem, p), rules->n_members, p, list->cycle, 0);
    q = rz_scale_list_target(list, p, q);
    mark(list, p);
    if (q != RZ_ID_NONE) {
        mark(list, q);
    }
}

void rz_scale_list_busy_mark(struct rz_scale_list *list, struct rz_scale_part part)
{
    uint32_t log_bits = list->known.log_bits;
    uint64_t usual = rz_scale_plane_lowest(log_bits) * list->usual;
    struct rz_scale_part words = rz_scale_plane_words(list->known, part);
    for (uint64_t w = words.first; w < words.end; w++) {
        for (uint64_t odd = list->known.words[w] ^ usual; odd != 0;) {
            uint32_t at = (uint32_t)__builtin_ctzll(odd) >> log_bits;
            mark_both(list, (rz_id)(w << (6 - log_bits)) + at);
            odd &= ~(((UINT64_C(2) << ((1U << log_bits) - 1)) - 1) << (at << log_bits));
        }
    }
}
