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
static size_t head_words(const struct rz_view_change_config *config)
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

static size_t bytes_for(const struct rz_view_change_config *config, uint64_t records,
                        uint64_t scratch)
{
    return sizeof(struct rz_view_change) +
           (head_words(config) + records + scratch) * sizeof(uint64_t);
}

size_t rz_view_change_size(const struct rz_view_change_config *config)
{
    return bytes_for(config, RECORD_WORDS_DEFAULT, scratch_words(N_DEFAULT));
}

void rz_view_change_init(struct rz_view_change *turn, const struct rz_view_change_config *config,
                         rz_id self, rz_time now, uint64_t seed)
{
    (void)now, (void)seed;
    rz_assert(self < config->n_members);
    memset(turn, 0, rz_view_change_size(config));
    turn->config = *config;
    if (config->groups_max == 0) {
        turn->config.groups_max = RZ_VIEW_CHANGE_GROUPS_DEFAULT;
    }
    turn->self = self;
    turn->max = RECORD_WORDS_DEFAULT;
    turn->scratch_max = turn->scratch_want = scratch_words(N_DEFAULT);
}

void rz_view_change_grow(struct rz_view_change *turn, size_t bytes)
{
    uint64_t words = (bytes - bytes_for(&turn->config, 0, 0)) / sizeof(uint64_t);
    rz_assert(words >= turn->scratch_want && words - turn->scratch_want >= turn->max);
    turn->scratch_max = turn->scratch_want;
    turn->max = words - turn->scratch_max;
}

uint32_t *rz_view_change_failed_incarnations(const struct rz_view_change *turn)
{
    return (uint32_t *)(uintptr_t)turn->block;
}

uint64_t *rz_view_change_failed_daemons(const struct rz_view_change *turn)
{
    return (uint64_t *)(uintptr_t)turn->block + halves(turn->config.n_slots);
}

rz_id *rz_view_change_destinations(const struct rz_view_change *turn)
{
    return (rz_id *)(rz_view_change_failed_daemons(turn) +
                     rz_view_change_set_words(turn->config.n_members));
}

static uint64_t *records(const struct rz_view_change *turn)
{
    return (uint64_t *)(uintptr_t)turn->block + head_words(&turn->config);
}

uint64_t *rz_view_change_scratch(const struct rz_view_change *turn)
{
    return records(turn) + turn->max;
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

static uint64_t group_words(const struct rz_view_change *turn, uint32_t n)
{
    return GROUP_WORDS + n + (RZ_VIEW_CHANGE_SETS - 1) * (uint64_t)rz_view_change_set_words(n) +
           rz_view_change_set_words(turn->config.n_members);
}

/* ---- records ---- */

struct rz_view_change_record *rz_view_change_first(const struct rz_view_change *turn)
{
    return turn->used > 0 ? (struct rz_view_change_record *)records(turn) : NULL;
}

struct rz_view_change_record *rz_view_change_next(const struct rz_view_change *turn,
                                                  const struct rz_view_change_record *record)
{
    uint64_t *next = (uint64_t *)(uintptr_t)record + record->words;
    return next < records(turn) + turn->used ? (struct rz_view_change_record *)next : NULL;
}

/*
 * The record, or the first one behind its position; NULL: the end.
 */
static struct rz_view_change_record *at(const struct rz_view_change *turn,
                                        struct rz_view_change_record *from, uint64_t group,
                                        uint32_t key)
{
    struct rz_view_change_record *record = from;
    while (record && (record->group < group || (record->group == group && record->key < key))) {
        record = rz_view_change_next(turn, record);
    }
    return record;
}

struct rz_view_change_group *rz_view_change_find(const struct rz_view_change *turn, uint64_t number)
{
    struct rz_view_change_record *record = at(turn, rz_view_change_first(turn), number, 0);
    return record && record->group == number ? (struct rz_view_change_group *)record : NULL;
}

struct rz_view_change_arrival *rz_view_change_arrival(const struct rz_view_change *turn,
                                                      const struct rz_view_change_group *group,
                                                      uint32_t rank)
{
    struct rz_view_change_record *record =
        at(turn, rz_view_change_next(turn, &group->record), group->record.group, rank + 1);
    bool found = record && record->group == group->record.group && record->key == rank + 1;
    return found ? (struct rz_view_change_arrival *)record : NULL;
}

bool rz_view_change_has_room(struct rz_view_change *turn, uint32_t n, uint32_t n_counters,
                             struct rz_actions *out)
{
    uint64_t need = turn->used + group_words(turn, n) + ARRIVAL_WORDS + n_counters;
    uint64_t scratch = scratch_words(n), most = turn->max;
    if (need <= turn->max && scratch <= turn->scratch_max) {
        return true;
    }
    if (need > most) {
        most = need > 2 * most ? need : 2 * most;
    }
    turn->scratch_want = scratch > turn->scratch_max ? scratch : turn->scratch_max;
    out->need = bytes_for(&turn->config, most, turn->scratch_want);
    return false;
}

static struct rz_view_change_record *insert(struct rz_view_change *turn,
                                            struct rz_view_change_record *before,
                                            struct rz_view_change_record record)
{
    uint64_t *end = records(turn) + turn->used, *place = before ? (uint64_t *)before : end;
    rz_assert(turn->used + record.words <= turn->max);
    memmove(place + record.words, place, (size_t)(end - place) * sizeof(*place));
    memset(place, 0, record.words * sizeof(*place));
    memcpy(place, &record, sizeof(record));
    turn->used += record.words;
    return (struct rz_view_change_record *)place;
}

struct rz_view_change_record *rz_view_change_remove(struct rz_view_change *turn,
                                                    struct rz_view_change_record *record)
{
    uint64_t *place = (uint64_t *)record, *next = place + record->words;
    uint64_t *end = records(turn) + turn->used;
    turn->used -= record->words;
    memmove(place, next, (size_t)(end - next) * sizeof(*place));
    return place < records(turn) + turn->used ? record : NULL;
}

void rz_view_change_remove_group(struct rz_view_change *turn, struct rz_view_change_group *group)
{
    uint64_t number = group->record.group;
    struct rz_view_change_record *record = &group->record;
    while (record && record->group == number) {
        record = rz_view_change_remove(turn, record);
    }
}

struct rz_view_change_record *rz_view_change_behind(const struct rz_view_change *turn,
                                                    uint64_t group)
{
    return at(turn, rz_view_change_first(turn), group, UINT32_MAX);
}

bool rz_view_change_process_failed(const struct rz_view_change *turn, uint64_t process)
{
    return rz_view_change_failed_incarnations(turn)[(uint32_t)process] >= process >> 32;
}

struct rz_view_change_group *rz_view_change_enter(struct rz_view_change *turn, uint64_t number,
                                                  uint32_t n, const uint64_t *processes)
{
    struct rz_view_change_record *record = at(turn, rz_view_change_first(turn), number, 0);
    if (record && record->group == number) {
        return (struct rz_view_change_group *)record;
    }
    uint32_t words = (uint32_t)group_words(turn, n);
    struct rz_view_change_group *group = (struct rz_view_change_group *)insert(
        turn, record, (struct rz_view_change_record){.group = number, .words = words});
    group->n = n;
    group->kept.by = group->counts.by = RZ_ID_NONE;
    memcpy(rz_view_change_processes(group), processes, n * sizeof(*processes));
    for (uint32_t rank = 0; rank < n; rank++) {
        rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_KEPT), rank);
        rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_COUNTS), rank);
        if (rz_view_change_process_failed(turn, processes[rank])) {
            rz_view_change_bit_set(rz_view_change_set(group, RZ_VIEW_CHANGE_SET_GONE), rank);
        }
    }
    return group;
}

struct rz_view_change_arrival *
rz_view_change_enter_arrival(struct rz_view_change *turn, const struct rz_view_change_group *group,
                             uint32_t rank, const uint64_t *counters, uint32_t n_counters)
{
    struct rz_view_change_arrival *former = rz_view_change_arrival(turn, group, rank);
    if (former) {
        rz_view_change_remove(turn, &former->record);
    }
    struct rz_view_change_record record = {.group = group->record.group,
                                           .key = rank + 1,
                                           .words = (uint32_t)(ARRIVAL_WORDS + n_counters)};
    struct rz_view_change_record *before =
        at(turn, rz_view_change_next(turn, &group->record), record.group, record.key);
    struct rz_view_change_arrival *arrival =
        (struct rz_view_change_arrival *)insert(turn, before, record);
    arrival->n_items = n_counters;
    if (n_counters > 0) {
        memcpy(arrival->items, counters, n_counters * sizeof(*counters));
    }
    return arrival;
}
