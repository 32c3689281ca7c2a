/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of the block. */
#include "proto/view_change/view_change_private.h"

#include "base/assert.h"

#include <string.h>

#define RECORD_WORDS_DEFAULT 64
#define N_DEFAULT 8

#define GROUP_WORDS (sizeof(struct rz_view_change_group) / sizeof(uint64_t))
#define ARRIVAL_WORDS (sizeof(struct rz_view_change_arrival) / sizeof(uint64_t))
_Static_assert(sizeof(struct rz_view_change_group) % sizeof(uint64_t) == 0 &&
                   sizeof(struct rz_view_change_arrival) % sizeof(uint64_t) == 0,
               "records are words");

uint32_t rz_view_change_set_words(uint32_t n)
{
    return (n + 63) / 64;
}

static size_t halves(uint32_t n)
{
    return ((size_t)n + 1) / 2;
}

/* Words before the records. */
static size_t view_change_head_words(const struct rz_view_change_config *config)
{
    return halves(config->n_slots) + rz_view_change_set_words(config->n_members) +
           halves(config->n_members);
}

/* For a message (a number, processes, and a view or counters) or for the rule: waiting processes,
 * lists, counters, a view. */
static uint64_t scratch_words(uint32_t n)
{
    uint64_t rule = n * (sizeof(struct rz_view_change_waiting) + sizeof(struct rz_diagnose_list)) /
                        sizeof(uint64_t) +
                    halves(n) + rz_view_change_set_words(n);
    uint64_t message = 1 + 2 * (uint64_t)n;
    return rule > message ? rule : message;
}

static size_t view_change_bytes_for(const struct rz_view_change_config *config, uint64_t records,
                                    uint64_t scratch)
{
    return sizeof(struct rz_view_change) +
           (view_change_head_words(config) + records + scratch) * sizeof(uint64_t);
}

size_t rz_view_change_size(const struct rz_view_change_config *config)
{
    return view_change_bytes_for(config, RECORD_WORDS_DEFAULT, scratch_words(N_DEFAULT));
}

void rz_view_change_init(struct rz_view_change *vc, const struct rz_view_change_config *config,
                         rz_id self, rz_time now, uint64_t seed)
{
    (void)now, (void)seed;
    rz_assert(self < config->n_members);
    memset(vc, 0, rz_view_change_size(config));
    vc->config = *config;
    if (config->groups_max == 0) {
        vc->config.groups_max = RZ_VIEW_CHANGE_GROUPS_DEFAULT;
    }
    vc->self = self;
    vc->max = RECORD_WORDS_DEFAULT;
    vc->scratch_max = vc->scratch_want = scratch_words(N_DEFAULT);
}

void rz_view_change_grow(struct rz_view_change *vc, size_t bytes)
{
    uint64_t words = (bytes - view_change_bytes_for(&vc->config, 0, 0)) / sizeof(uint64_t);
    rz_assert(words >= vc->scratch_want && words - vc->scratch_want >= vc->max);
    vc->scratch_max = vc->scratch_want;
    vc->max = words - vc->scratch_max;
}

uint32_t *rz_view_change_failed_incarnations(const struct rz_view_change *vc)
{
    return (uint32_t *)(uintptr_t)vc->block;
}

uint64_t *rz_view_change_failed_daemons(const struct rz_view_change *vc)
{
    return (uint64_t *)(uintptr_t)vc->block + halves(vc->config.n_slots);
}

rz_id *rz_view_change_destinations(const struct rz_view_change *vc)
{
    return (rz_id *)(rz_view_change_failed_daemons(vc) +
                     rz_view_change_set_words(vc->config.n_members));
}

static uint64_t *records(const struct rz_view_change *vc)
{
    return (uint64_t *)(uintptr_t)vc->block + view_change_head_words(&vc->config);
}

uint64_t *rz_view_change_scratch(const struct rz_view_change *vc)
{
    return records(vc) + vc->max;
}

uint64_t *rz_view_change_processes(const struct rz_view_change_group *group)
{
    return (uint64_t *)(uintptr_t)group->words;
}

uint64_t *rz_view_change_set(const struct rz_view_change_group *group, enum rz_view_change_set set)
{
    return (uint64_t *)(uintptr_t)group->words + group->n +
           (size_t)set * rz_view_change_set_words(group->n);
}

static uint64_t group_words(const struct rz_view_change *vc, uint32_t n)
{
    return GROUP_WORDS + n + (RZ_VIEW_CHANGE_SETS - 1) * (uint64_t)rz_view_change_set_words(n) +
           rz_view_change_set_words(vc->config.n_members);
}

/* ---- records ---- */

struct rz_view_change_record *rz_view_change_first(const struct rz_view_change *vc)
{
    return vc->used > 0 ? (struct rz_view_change_record *)records(vc) : NULL;
}

struct rz_view_change_record *rz_view_change_next(const struct rz_view_change *vc,
                                                  const struct rz_view_change_record *record)
{
    uint64_t *next = (uint64_t *)(uintptr_t)record + record->words;
    return next < records(vc) + vc->used ? (struct rz_view_change_record *)next : NULL;
}

/*
 * The record, or the first one behind its position; NULL: the end.
 */
static struct rz_view_change_record *record_at(const struct rz_view_change *vc,
                                               struct rz_view_change_record *from, uint64_t group,
                                               uint32_t key)
{
    struct rz_view_change_record *record = from;
    while (record && (record->group < group || (record->group == group && record->key < key))) {
        record = rz_view_change_next(vc, record);
    }
    return record;
}

struct rz_view_change_group *rz_view_change_find(const struct rz_view_change *vc, uint64_t number)
{
    struct rz_view_change_record *record = record_at(vc, rz_view_change_first(vc), number, 0);
    return record && record->group == number ? (struct rz_view_change_group *)record : NULL;
}

struct rz_view_change_arrival *rz_view_change_arrival(const struct rz_view_change *vc,
                                                      const struct rz_view_change_group *group,
                                                      uint32_t rank)
{
    struct rz_view_change_record *record =
        record_at(vc, rz_view_change_next(vc, &group->record), group->record.group, rank + 1);
    bool found = record && record->group == group->record.group && record->key == rank + 1;
    return found ? (struct rz_view_change_arrival *)record : NULL;
}

bool rz_view_change_has_room(struct rz_view_change *vc, uint32_t n, uint32_t n_counters,
                             struct rz_actions *out)
{
    uint64_t need = vc->used + group_words(vc, n) + ARRIVAL_WORDS + n_counters;
    uint64_t scratch = scratch_words(n), most = vc->max;
    if (need <= vc->max && scratch <= vc->scratch_max) {
        return true;
    }
    if (need > most) {
        most = need > 2 * most ? need : 2 * most;
    }
    vc->scratch_want = scratch > vc->scratch_max ? scratch : vc->scratch_max;
    out->need = view_change_bytes_for(&vc->config, most, vc->scratch_want);
    return false;
}

static struct rz_view_change_record *insert(struct rz_view_change *vc,
                                            struct rz_view_change_record *before,
                                            struct rz_view_change_record record)
{
    uint64_t *end = records(vc) + vc->used, *place = before ? (uint64_t *)before : end;
    rz_assert(vc->used + record.words <= vc->max);
    memmove(place + record.words, place, (size_t)(end - place) * sizeof(*place));
    memset(place, 0, record.words * sizeof(*place));
    memcpy(place, &record, sizeof(record));
    vc->used += record.words;
    return (struct rz_view_change_record *)place;
}

struct rz_view_change_record *rz_view_change_remove(struct rz_view_change *vc,
                                                    struct rz_view_change_record *record)
{
    uint64_t *place = (uint64_t *)record, *next = place + record->words;
    uint64_t *end = records(vc) + vc->used;
    vc->used -= record->words;
    memmove(place, next, (size_t)(end - next) * sizeof(*place));
    return place < records(vc) + vc->used ? record : NULL;
}

void rz_view_change_remove_group(struct rz_view_change *vc, struct rz_view_change_group *group)
{
    uint64_t number = group->record.group;
    struct rz_view_change_record *record = &group->record;
    while (record && record->group == number) {
        record = rz_view_change_remove(vc, record);
    }
}

struct rz_view_change_record *rz_view_change_behind(const struct rz_view_change *vc, uint64_t group)
{
    return record_at(vc, rz_view_change_first(vc), group, UINT32_MAX);
}

bool rz_view_change_process_failed(const struct rz_view_change *vc, uint64_t process)
{
    return rz_view_change_failed_incarnations(vc)[(uint32_t)process] >= process >> 32;
}

struct rz_view_change_group *rz_view_change_enter(struct rz_view_change *vc, uint64_t number,
                                                  uint32_t n, const uint64_t *processes)
{
    struct rz_view_change_record *record = record_at(vc, rz_view_change_first(vc), number, 0);
    if (record && record->group == number) {
        return (struct rz_view_change_group *)record;
    }
    uint32_t words = (uint32_t)group_words(vc, n);
    struct rz_view_change_group *group = (struct rz_view_change_group *)insert(
        vc, record, (struct rz_view_change_record){.group = number, .words = words});
    group->n = n;
    group->kept.by = group->counts.by = RZ_ID_NONE;
    memcpy(rz_view_change_processes(group), processes, n * sizeof(*processes));
    for (uint32_t rank = 0; rank < n; rank++) {
        rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT), rank);
        rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_COUNTS), rank);
        if (rz_view_change_process_failed(vc, processes[rank])) {
            rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), rank);
        }
    }
    return group;
}

struct rz_view_change_arrival *
rz_view_change_enter_arrival(struct rz_view_change *vc, const struct rz_view_change_group *group,
                             uint32_t rank, const uint64_t *counters, uint32_t n_counters)
{
    struct rz_view_change_arrival *former = rz_view_change_arrival(vc, group, rank);
    if (former) {
        rz_view_change_remove(vc, &former->record);
    }
    struct rz_view_change_record record = {.group = group->record.group,
                                           .key = rank + 1,
                                           .words = (uint32_t)(ARRIVAL_WORDS + n_counters)};
    struct rz_view_change_record *before =
        record_at(vc, rz_view_change_next(vc, &group->record), record.group, record.key);
    struct rz_view_change_arrival *arrival =
        (struct rz_view_change_arrival *)insert(vc, before, record);
    arrival->n_items = n_counters;
    if (n_counters > 0) {
        memcpy(arrival->items, counters, n_counters * sizeof(*counters));
    }
    return arrival;
}
