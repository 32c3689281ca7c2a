/* SPDX-License-Identifier: BSD-3-Clause */
/* After the initial phase: the number of consecutive messages that listed a failure, for each
 * member and failure; which members have consensus, which have returned. */
#include "scale/list_state.h"

#include <string.h>

#define COUNT_MAX UINT8_MAX

bool rz_scale_list_count_begin(struct rz_scale_list *list)
{
    uint32_t n = list->rules.n_members, log_bits = list->known.log_bits;
    if (!rz_scale_plane_create(&list->settled, n, log_bits) ||
        !rz_scale_plane_create(&list->answered, n, 0) ||
        !rz_scale_plane_create(&list->returned, n, 0) ||
        !rz_scale_plane_create(&list->counts, n, log_bits + 3)) {
        return false;
    }
    list->bytes +=
        list->settled.bytes + list->answered.bytes + list->returned.bytes + list->counts.bytes;
    list->counting = true;
    return true;
}

void rz_scale_list_count_destroy(struct rz_scale_list *list)
{
    rz_scale_plane_destroy(&list->settled);
    rz_scale_plane_destroy(&list->answered);
    rz_scale_plane_destroy(&list->returned);
    rz_scale_plane_destroy(&list->counts);
}

bool rz_scale_list_awake(const struct rz_scale_list *list, rz_id p)
{
    return !list->counting || !rz_scale_plane_get(list->returned, p) ||
           (rz_scale_plane_get(list->known, p) & ~rz_scale_plane_get(list->settled, p)) != 0;
}

uint8_t *rz_scale_list_counts(const struct rz_scale_list *list, rz_id p)
{
    return (uint8_t *)list->counts.words + ((uint64_t)p << list->known.log_bits);
}

/* A message with the knowledge `said` arrives at p. */
static void count_message(const struct rz_scale_list *list, rz_id p, uint32_t known, uint32_t said)
{
    uint8_t *counts = rz_scale_list_counts(list, p);
    uint32_t open = known & ~rz_scale_plane_get(list->settled, p);
    for (uint32_t i = 0; open >> i; i++) {
        if (open >> i & 1) {
            counts[i] = said >> i & 1 ? counts[i] + (counts[i] < COUNT_MAX) : 0;
        }
    }
}

static void deliver(void *user, struct rz_scale_message *send_descs, uint32_t count)
{
    const struct rz_scale_list *list = user;
    for (uint32_t i = 0; i < count; i++) {
        rz_id next = send_descs[i + RZ_SCALE_LIST_AHEAD < count ? i + RZ_SCALE_LIST_AHEAD : i].to;
        __builtin_prefetch(rz_scale_plane_word(list->heard, next), 1);
        __builtin_prefetch(rz_scale_plane_word(list->settled, next));
        __builtin_prefetch(rz_scale_list_counts(list, next), 1);
        rz_id to = send_descs[i].to;
        uint32_t said = rz_scale_plane_get(list->known, send_descs[i].from);
        count_message(list, to, rz_scale_plane_get(list->heard, to), said);
        rz_scale_plane_add(list->heard, to, said);
        send_descs[i].to = rz_scale_plane_get(list->heard, to);
    }
}

static void collect(void *user, const struct rz_scale_message *send_descs, uint32_t count)
{
    const struct rz_scale_list *list = user;
    for (uint32_t i = 0; i < count; i++) {
        rz_scale_plane_add(list->gained, send_descs[i].from, send_descs[i].to);
        rz_scale_plane_add(list->answered, send_descs[i].from, 1);
    }
}

/* The answer, the timeout, then the end of the cycle. */
static void turn(struct rz_scale_list *list, rz_id p, struct rz_scale_tally *tally)
{
    uint32_t known = rz_scale_plane_get(list->heard, p),
             gained = rz_scale_plane_get(list->gained, p);
    if (rz_scale_plane_get(list->answered, p)) {
        count_message(list, p, known, gained);
    }
    rz_scale_plane_add(list->heard, p, gained);
    rz_scale_plane_add(list->known, p, known | gained);
    known |= gained;
    uint32_t settled = rz_scale_plane_get(list->settled, p), open = known & ~settled;
    uint8_t *counts = rz_scale_list_counts(list, p);
    for (uint32_t i = 0; open >> i; i++) {
        if (open >> i & 1 && counts[i] >= list->rules.window) {
            settled |= 1U << i;
        }
    }
    rz_scale_plane_add(list->settled, p, settled);
    if (settled == known) {
        rz_scale_plane_add(list->returned, p, 1);
    }
    tally->detected += known == list->all;
    tally->consensus += settled == list->all;
    tally->awake += settled != known;
}

void rz_scale_list_count_part(struct rz_scale_list *list, uint32_t self,
                              void (*draw)(void *user, uint32_t self, rz_id first, rz_id end,
                                           rz_id *to))
{
    const struct rz_scale_route route = {draw, deliver, collect};
    rz_scale_post_carry(list->post, self, &route, list);
    rz_scale_crew_meet(list->crew);
    struct rz_scale_part part = rz_scale_crew_part(list->crew, self, list->rules.n_members);
    for (uint64_t p = part.first; p < part.end; p++) {
        if (rz_scale_failed_at(&list->rules, (rz_id)p) == list->rules.n_failed) {
            turn(list, (rz_id)p, &list->tally[self]);
        }
    }
    struct rz_scale_part gained = rz_scale_plane_words(list->gained, part);
    struct rz_scale_part answered = rz_scale_plane_words(list->answered, part);
    memset(list->gained.words + gained.first, 0, (gained.end - gained.first) * sizeof(uint64_t));
    memset(list->answered.words + answered.first, 0,
           (answered.end - answered.first) * sizeof(uint64_t));
}
