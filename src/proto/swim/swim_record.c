/* SPDX-License-Identifier: BSD-3-Clause */
/* The block: which members have a record, and where it is. */
#include "proto/swim/swim_state.h"

#include "base/assert.h"
#include "base/idset.h"

#include <string.h>

#define RECORD_WORDS (sizeof(struct rz_swim_record) / 8)
#define RELAY_WORDS (sizeof(struct rz_swim_relay) / 8)
#define INDEX_AT(max) (RECORD_WORDS * (max))
#define ITEMS_AT(max) (INDEX_AT(max) + (max))
#define RELAYS_AT(max) (ITEMS_AT(max) + 2 * (size_t)(max))
#define NUMBERS_AT(max) (RELAYS_AT(max) + RELAY_WORDS * (max))
#define WORDS(max) (NUMBERS_AT(max) + (max))

_Static_assert(sizeof(struct rz_swim_record) % 8 == 0 && sizeof(struct rz_swim_relay) % 8 == 0,
               "the arrays of the block follow each other at multiples of eight bytes");

size_t rz_swim_bytes_for(uint32_t max)
{
    return sizeof(struct rz_swim) + WORDS(max) * sizeof(uint64_t);
}

struct rz_swim_record *rz_swim_record_at(const struct rz_swim *swim, uint32_t number)
{
    rz_assert(number < swim->n_records);
    return (struct rz_swim_record *)swim->block + number;
}

uint64_t *rz_swim_index_of(const struct rz_swim *swim)
{
    return (uint64_t *)swim->block + INDEX_AT(swim->max);
}

uint64_t *rz_swim_items_of(const struct rz_swim *swim)
{
    return (uint64_t *)swim->block + ITEMS_AT(swim->max);
}

struct rz_swim_relay *rz_swim_relays_of(const struct rz_swim *swim)
{
    return (struct rz_swim_relay *)(swim->block + RELAYS_AT(swim->max));
}

uint32_t *rz_swim_queue_of(const struct rz_swim *swim)
{
    return (uint32_t *)(swim->block + NUMBERS_AT(swim->max));
}

uint32_t *rz_swim_timers_of(const struct rz_swim *swim)
{
    return rz_swim_queue_of(swim) + swim->max;
}

/* The arrays move to higher addresses, the last one first. */
void rz_swim_grow(struct rz_swim *swim, size_t bytes)
{
    uint32_t old = swim->max;
    uint32_t max = (uint32_t)((bytes - sizeof(*swim)) / (WORDS(1) * sizeof(uint64_t)));
    rz_assert(max >= old && rz_swim_bytes_for(max) <= bytes);
    uint64_t *block = swim->block;
    uint32_t *numbers = (uint32_t *)(block + NUMBERS_AT(max));
    memmove(numbers + max, rz_swim_timers_of(swim), swim->n_timers * sizeof(*numbers));
    memmove(numbers, rz_swim_queue_of(swim), swim->n_queue * sizeof(*numbers));
    memmove(block + RELAYS_AT(max), rz_swim_relays_of(swim),
            swim->n_relays * sizeof(struct rz_swim_relay));
    memmove(block + INDEX_AT(max), rz_swim_index_of(swim), swim->n_records * sizeof(*block));
    swim->max = max;
}

static uint32_t record_position(const struct rz_swim *swim, rz_id member)
{
    return rz_items_lower_bound(rz_swim_index_of(swim), swim->n_records, (uint64_t)member << 32);
}

uint32_t rz_swim_number_of(const struct rz_swim *swim, rz_id member)
{
    uint32_t at = record_position(swim, member);
    const uint64_t *index = rz_swim_index_of(swim);
    if (at < swim->n_records && index[at] >> 32 == member) {
        return (uint32_t)index[at];
    }
    return RZ_SWIM_NO_RECORD;
}

struct rz_swim_record *rz_swim_find(const struct rz_swim *swim, rz_id member)
{
    uint32_t number = rz_swim_number_of(swim, member);
    return number != RZ_SWIM_NO_RECORD ? rz_swim_record_at(swim, number) : NULL;
}

uint32_t rz_swim_provide(struct rz_swim *swim, rz_id member)
{
    uint32_t number = rz_swim_number_of(swim, member);
    if (number != RZ_SWIM_NO_RECORD) {
        return number;
    }
    rz_assert(swim->n_records < swim->max && member < swim->config.n_members);
    uint32_t at = record_position(swim, member);
    uint64_t *index = rz_swim_index_of(swim);
    memmove(index + at + 1, index + at, (swim->n_records - at) * sizeof(*index));
    number = swim->n_records++;
    index[at] = (uint64_t)member << 32 | number;
    struct rz_swim_record *record = rz_swim_record_at(swim, number);
    memset(record, 0, sizeof(*record));
    record->member = record->from = member;
    record->expires_at = RZ_TIME_NEVER;
    return number;
}

void rz_swim_record_set(struct rz_swim *swim, struct rz_swim_record *record,
                        enum rz_swim_state state)
{
    swim->n_untold -= record->told != record->state;
    swim->n_gone -= record->state >= RZ_SWIM_FAILED;
    record->state = (uint8_t)state;
    swim->n_untold += record->told != record->state;
    swim->n_gone += record->state >= RZ_SWIM_FAILED;
}

bool rz_swim_is_gone(const struct rz_swim *swim, rz_id member)
{
    if (swim->n_gone == 0) {
        return false;
    }
    const struct rz_swim_record *record = rz_swim_find(swim, member);
    return record && record->state >= RZ_SWIM_FAILED;
}
