/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithm 2 of Katti et al.: the initial phase, and the whole. Once all members know all
 * failures, no message can change anything: from then on cycles of the initial phase are only
 * counted, and with window 1 so is the one after it, because each member gets its answer.
 */
#include "scale/list_state.h"

#include <stdlib.h>

/* ---- the part of a thread in a cycle ---- */

/* The cases that are rare in the initial phase: failed, asleep, a target that has failed. */
static rz_id draw_carefully(struct rz_scale_list *list, rz_id p, rz_id q,
                            struct rz_scale_tally *tally)
{
    const struct rz_scale_rules *rules = &list->rules;
    if (rz_scale_failed_at(rules, p) < rules->n_failed || !rz_scale_list_awake(list, p)) {
        return RZ_ID_NONE;
    }
    q = rz_scale_list_target(list, p, q);
    if (q == RZ_ID_NONE) {
        return RZ_ID_NONE;
    }
    tally->pings++;
    uint32_t at = rz_scale_failed_at(rules, q);
    if (at < rules->n_failed) {
        rz_scale_plane_add(list->gained, p, 1U << at); /* its timeout */
        return RZ_ID_NONE;
    }
    tally->replies++;
    return q;
}

static void draw(void *user, uint32_t self, rz_id first, rz_id end, rz_id *to)
{
    struct rz_scale_list *list = user;
    uint64_t stem = list->rules.stem, filter = list->rules.failed_filter, cycle = list->cycle;
    uint32_t n = list->rules.n_members, usual = 0;
    bool care = list->counting || list->rules.n_living < 2, sparse = list->sparse;
    for (rz_id p = first; p < end; p++) {
        to[p - first] = rz_gossip_target(rz_mix(stem, p), n, p, cycle, 0);
    }
    struct rz_scale_tally *tally = &list->tally[self];
    for (rz_id p = first; p < end; p++) {
        rz_id q = to[p - first];
        if (care || (filter >> (q & 63) | filter >> (p & 63)) & 1) {
            to[p - first] = draw_carefully(list, p, q, tally);
            continue;
        }
        usual++;
        if (sparse && !rz_scale_list_matters(list, q)) {
            to[p - first] = RZ_ID_NONE;
        }
    }
    tally->pings += usual;
    tally->replies += usual;
}

static void deliver(void *user, struct rz_scale_message *send_descs, uint32_t count)
{
    const struct rz_scale_list *list = user;
    struct rz_scale_plane known = list->known, heard = list->heard;
    for (uint32_t i = 0; i < count; i++) {
        rz_id next = send_descs[i + RZ_SCALE_LIST_AHEAD < count ? i + RZ_SCALE_LIST_AHEAD : i].to;
        __builtin_prefetch(rz_scale_plane_word(heard, next), 1);
        rz_id to = send_descs[i].to;
        rz_scale_plane_add(heard, to, rz_scale_plane_get(known, send_descs[i].from));
        send_descs[i].to = rz_scale_plane_get(heard, to);
    }
}

static void collect(void *user, const struct rz_scale_message *send_descs, uint32_t count)
{
    const struct rz_scale_list *list = user;
    struct rz_scale_plane gained = list->gained;
    for (uint32_t i = 0; i < count; i++) {
        rz_scale_plane_add(gained, send_descs[i].from, send_descs[i].to);
    }
}

static const struct rz_scale_route route = {draw, deliver, collect};

static void turn(struct rz_scale_list *list, struct rz_scale_part part,
                 struct rz_scale_tally *tally)
{
    uint32_t n_failed = list->rules.n_failed;
    uint64_t lowest = rz_scale_plane_lowest(list->known.log_bits);
    struct rz_scale_part words = rz_scale_plane_words(list->known, part);
    for (uint64_t w = words.first; w < words.end; w++) {
        uint64_t word = list->heard.words[w] | list->gained.words[w];
        list->known.words[w] = list->heard.words[w] = word;
        list->gained.words[w] = 0;
        uint64_t some = word, all = word;
        for (uint32_t i = 1; i < n_failed; i++) {
            some |= word >> i;
            all &= word >> i;
        }
        tally->aware += (uint64_t)__builtin_popcountll(some & lowest);
        tally->detected += (uint64_t)__builtin_popcountll(all & lowest);
    }
    tally->awake += part.end - part.first;
}

static void cycle_part(void *user, uint32_t self)
{
    struct rz_scale_list *list = user;
    struct rz_scale_part part = rz_scale_crew_part(list->crew, self, list->rules.n_members);
    if (list->counting) {
        rz_scale_list_count_part(list, self, draw);
        return;
    }
    if (list->sparse) {
        rz_scale_list_busy_mark(list, part);
        rz_scale_crew_meet(list->crew);
    }
    rz_scale_post_carry(list->post, self, &route, list);
    rz_scale_crew_meet(list->crew);
    struct rz_scale_tally tally = list->tally[self];
    turn(list, part, &tally);
    list->tally[self] = tally;
}

/* ---- the whole ---- */

static void list_destroy(void *model)
{
    struct rz_scale_list *list = model;
    rz_scale_plane_destroy(&list->known);
    rz_scale_plane_destroy(&list->heard);
    rz_scale_plane_destroy(&list->gained);
    rz_scale_list_busy_destroy(list);
    rz_scale_list_count_destroy(list);
    if (list->post) {
        rz_scale_post_destroy(list->post);
    }
    free(list);
}

static void *list_create(const struct rz_scale_rules *rules, struct rz_scale_crew *crew)
{
    struct rz_scale_list *list = calloc(1, sizeof(*list));
    if (!list) {
        return NULL;
    }
    uint32_t n = rules->n_members;
    uint32_t log_bits = rules->n_failed == 1 ? 0 : rules->n_failed == 2 ? 1 : 2;
    list->rules = *rules;
    list->crew = crew;
    list->all = (1U << rules->n_failed) - 1;
    list->post = rz_scale_post_create(crew, n);
    if (!list->post || !rz_scale_plane_create(&list->known, n, log_bits) ||
        !rz_scale_plane_create(&list->heard, n, log_bits) ||
        !rz_scale_plane_create(&list->gained, n, log_bits) || !rz_scale_list_busy_create(list)) {
        list_destroy(list);
        return NULL;
    }
    list->bytes =
        sizeof(*list) + rz_scale_post_bytes(list->post) + 3 * list->known.bytes + list->busy_bytes;
    rz_scale_list_busy_decide(list, 0, 0);
    return list;
}

/* All members know all failures: the result of this cycle is known without computing it. */
static void cycle_told(struct rz_scale_list *list, struct rz_scale_tally *tally)
{
    uint64_t living = list->rules.n_living;
    list->told = list->cycle > list->rules.initial;
    tally->pings = tally->replies = tally->detected = living;
    tally->consensus = list->told ? living : 0;
    tally->awake = list->told ? 0 : living;
}

static bool list_cycle(void *model, struct rz_scale_tally *tally)
{
    struct rz_scale_list *list = model;
    bool late = list->cycle >= list->rules.initial;
    bool told = list->complete && list->rules.n_living > 1 &&
                (!late || (!list->counting && list->rules.window == 1));
    if (late && !told && !list->counting && !rz_scale_list_count_begin(list)) {
        return false;
    }
    *tally = (struct rz_scale_tally){0};
    list->cycle++;
    if (told) {
        cycle_told(list, tally);
        return true;
    }
    rz_scale_crew_do(list->crew, cycle_part, list);
    for (uint32_t i = 0; i < rz_scale_crew_size(list->crew); i++) {
        rz_scale_tally_add(tally, &list->tally[i]);
        list->tally[i] = (struct rz_scale_tally){0};
    }
    list->complete = tally->detected == list->rules.n_living;
    rz_scale_list_busy_decide(list, tally->aware, tally->detected);
    return true;
}

static uint64_t list_bytes(const void *model)
{
    return ((const struct rz_scale_list *)model)->bytes;
}

const struct rz_scale_model rz_scale_list_model = {list_create, list_destroy, list_cycle,
                                                   list_bytes};

struct rz_scale_list_member rz_scale_list_member(const struct rz_scale_list *list, rz_id p)
{
    struct rz_scale_list_member member = {.known = rz_scale_plane_get(list->known, p),
                                          .settled = list->told ? list->all : 0,
                                          .returned =
                                              list->told || list->cycle >= list->rules.cycles_max};
    if (!list->counting) {
        return member;
    }
    member.settled = rz_scale_plane_get(list->settled, p);
    member.returned |= rz_scale_plane_get(list->returned, p);
    for (uint32_t i = 0; i < list->rules.n_failed; i++) {
        member.count[i] = rz_scale_list_counts(list, p)[i];
    }
    return member;
}
