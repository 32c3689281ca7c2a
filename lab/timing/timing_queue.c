/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue of timing runs: a radix heap of chunks of events. */
#include "timing/timing_queue.h"

#include "base/assert.h"
#include "timing/timing_memory.h"

#include <string.h>

#define DIGIT_BITS 8
#define CHUNK_EVENTS 42 /* a chunk fills a kilobyte */
#define SLAB_CHUNKS 256

struct rz_timing_chunk {
    struct rz_timing_chunk *next;
    uint64_t unused;
    struct rz_timing_event events[CHUNK_EVENTS];
};

void rz_timing_queue_init(struct rz_timing_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
}

void rz_timing_queue_release(struct rz_timing_queue *queue)
{
    for (uint32_t i = 0; i < queue->n_slabs; i++) {
        rz_timing_free(queue->slabs[i]);
    }
    rz_timing_free(queue->slabs);
}

static void add_slab(struct rz_timing_queue *queue)
{
    if (queue->n_slabs == queue->slabs_max) {
        queue->slabs_max = queue->slabs_max ? 2 * queue->slabs_max : 16;
        queue->slabs = rz_timing_memory(queue->slabs, queue->slabs_max * sizeof(*queue->slabs));
    }
    struct rz_timing_chunk *slab = rz_timing_memory(NULL, SLAB_CHUNKS * sizeof(*slab));
    queue->bytes += SLAB_CHUNKS * sizeof(*slab);
    queue->slabs[queue->n_slabs++] = slab;
    for (uint32_t i = SLAB_CHUNKS; i-- > 0;) {
        slab[i].next = queue->free;
        queue->free = &slab[i];
    }
}

static struct rz_timing_chunk *chunk_take(struct rz_timing_queue *queue)
{
    if (!queue->free) {
        add_slab(queue);
    }
    struct rz_timing_chunk *chunk = queue->free;
    queue->free = chunk->next;
    chunk->next = NULL;
    queue->bytes_used += sizeof(*chunk);
    if (queue->bytes_used > queue->bytes_most) {
        queue->bytes_most = queue->bytes_used;
    }
    return chunk;
}

static void chunk_give(struct rz_timing_queue *queue, struct rz_timing_chunk *chunk)
{
    chunk->next = queue->free;
    queue->free = chunk;
    queue->bytes_used -= sizeof(*chunk);
}

/* The highest digit in which the date differs from the clock. */
static uint32_t level_of(const struct rz_timing_queue *queue, rz_time date)
{
    uint64_t differs = date ^ queue->last;
    return differs ? (63 - (uint32_t)__builtin_clzll(differs)) / DIGIT_BITS : 0;
}

static struct rz_timing_event *place(struct rz_timing_queue *queue, rz_time date)
{
    uint32_t level = level_of(queue, date);
    uint32_t digit = date >> (level * DIGIT_BITS) & (RZ_QUEUE_DIGITS - 1);
    struct rz_timing_bucket *bucket = &queue->buckets[level][digit];
    if (!bucket->tail) {
        bucket->head = bucket->tail = chunk_take(queue);
        bucket->begin = bucket->end = 0;
        bucket->least = date;
        queue->used[level][digit / 64] |= UINT64_C(1) << digit % 64;
    } else if (bucket->end == CHUNK_EVENTS) {
        bucket->tail = bucket->tail->next = chunk_take(queue);
        bucket->end = 0;
    }
    if (date < bucket->least) {
        bucket->least = date;
    }
    return &bucket->tail->events[bucket->end++];
}

struct rz_timing_event *rz_timing_queue_push(struct rz_timing_queue *queue, rz_time date)
{
    rz_assert(date >= queue->last);
    queue->count++;
    struct rz_timing_event *event = place(queue, date);
    event->date = date;
    return event;
}

static bool first_digit(const struct rz_timing_queue *queue, uint32_t level, uint32_t *digit)
{
    for (uint32_t i = 0; i < RZ_QUEUE_DIGITS / 64; i++) {
        if (queue->used[level][i]) {
            *digit = 64 * i + (uint32_t)__builtin_ctzll(queue->used[level][i]);
            return true;
        }
    }
    return false;
}

static void bucket_clear(struct rz_timing_queue *queue, uint32_t level, uint32_t digit)
{
    queue->buckets[level][digit].head = queue->buckets[level][digit].tail = NULL;
    queue->used[level][digit / 64] &= ~(UINT64_C(1) << digit % 64);
}

/* Advances the clock to the least date of the first bucket of a higher digit; its events move to
 * lower digits. */
static bool refill(struct rz_timing_queue *queue, rz_time limit)
{
    uint32_t level = 1, digit = 0;
    while (level < RZ_QUEUE_LEVELS && !first_digit(queue, level, &digit)) {
        level++;
    }
    if (level == RZ_QUEUE_LEVELS || queue->buckets[level][digit].least > limit) {
        return false;
    }
    struct rz_timing_bucket bucket = queue->buckets[level][digit];
    queue->last = bucket.least;
    bucket_clear(queue, level, digit);
    for (struct rz_timing_chunk *chunk = bucket.head, *next; chunk; chunk = next) {
        uint32_t end = chunk == bucket.tail ? bucket.end : CHUNK_EVENTS;
        next = chunk->next;
        for (uint32_t i = 0; i < end; i++) {
            *place(queue, chunk->events[i].date) = chunk->events[i];
        }
        chunk_give(queue, chunk);
    }
    return true;
}

bool rz_timing_queue_pop(struct rz_timing_queue *queue, rz_time limit,
                         struct rz_timing_event *event)
{
    uint32_t digit;
    if (!first_digit(queue, 0, &digit) &&
        !(refill(queue, limit) && first_digit(queue, 0, &digit))) {
        return false;
    }
    struct rz_timing_bucket *bucket = &queue->buckets[0][digit];
    struct rz_timing_chunk *chunk = bucket->head;
    if (bucket->least > limit) {
        return false;
    }
    queue->last = bucket->least;
    *event = chunk->events[bucket->begin++];
    if (bucket->begin == (chunk == bucket->tail ? bucket->end : CHUNK_EVENTS)) {
        bucket->head = chunk->next;
        bucket->begin = 0;
        if (!bucket->head) {
            bucket_clear(queue, 0, digit);
        }
        chunk_give(queue, chunk);
    }
    queue->count--;
    return true;
}
