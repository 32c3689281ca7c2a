#include "timing/timing_queue.h"

#include "base/assert.h"
#include "timing/timing_memory.h"

#include <string.h>

#define DIGIT_BITS 8
#define CHUNK_EVENTS 42 /* a chunk fills 1024 bytes */
#define SLAB_CHUNKS 256

struct rz_timing_chunk {
    struct rz_timing_chunk *next;
    uint32_t begin, end; /* events[begin..end) are queued */
    struct rz_timing_event events[CHUNK_EVENTS];
};

void rz_timing_queue_init(struct rz_timing_queue *queue)
{
    memset(queue, 0, sizeof *queue);
}

void rz_timing_queue_release(struct rz_timing_queue *queue)
{
    for (uint32_t i = 0; i < queue->n_slabs; i++)
        rz_timing_free(queue->slabs[i]);
    rz_timing_free(queue->slabs);
}

static void add_slab(struct rz_timing_queue *queue)
{
    if (queue->n_slabs == queue->slabs_max) {
        queue->slabs_max = queue->slabs_max ? 2 * queue->slabs_max : 16;
        queue->slabs = rz_timing_memory(queue->slabs, queue->slabs_max * sizeof *queue->slabs);
    }
    struct rz_timing_chunk *slab = rz_timing_memory(NULL, SLAB_CHUNKS * sizeof *slab);
    queue->bytes += SLAB_CHUNKS * sizeof *slab;
    queue->slabs[queue->n_slabs++] = slab;
    for (uint32_t i = SLAB_CHUNKS; i-- > 0;) {
        slab[i].next = queue->free;
        queue->free = &slab[i];
    }
}

static struct rz_timing_chunk *chunk_take(struct rz_timing_queue *queue)
{
    if (!queue->free)
        add_slab(queue);
    struct rz_timing_chunk *chunk = queue->free;
    queue->free = chunk->next;
    chunk->next = NULL;
    chunk->begin = chunk->end = 0;
    return chunk;
}

static void chunk_give(struct rz_timing_queue *queue, struct rz_timing_chunk *chunk)
{
    chunk->next = queue->free;
    queue->free = chunk;
}

/* The highest digit in which the date differs from the clock. */
static uint32_t level_of(const struct rz_timing_queue *queue, rz_time date)
{
    uint64_t differs = date ^ queue->last;
    return differs ? (63 - (uint32_t)__builtin_clzll(differs)) / DIGIT_BITS : 0;
}

static void put(struct rz_timing_queue *queue, const struct rz_timing_event *event)
{
    uint32_t level = level_of(queue, event->date);
    uint32_t digit = event->date >> (level * DIGIT_BITS) & (RZ_QUEUE_DIGITS - 1);
    struct rz_timing_bucket *bucket = &queue->buckets[level][digit];
    if (!bucket->tail) {
        bucket->head = bucket->tail = chunk_take(queue);
        bucket->least = event->date;
        queue->used[level][digit / 64] |= UINT64_C(1) << digit % 64;
    } else if (bucket->tail->end == CHUNK_EVENTS) {
        bucket->tail = bucket->tail->next = chunk_take(queue);
    }
    if (event->date < bucket->least)
        bucket->least = event->date;
    bucket->tail->events[bucket->tail->end++] = *event;
}

void rz_timing_queue_push(struct rz_timing_queue *queue, const struct rz_timing_event *event)
{
    rz_assert(event->date >= queue->last);
    put(queue, event);
    queue->count++;
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

/* The clock goes on to the least date of the first bucket of a higher digit; what is in it falls to
 * lower digits. */
static bool refill(struct rz_timing_queue *queue, rz_time limit)
{
    uint32_t level = 1, digit = 0;
    while (level < RZ_QUEUE_LEVELS && !first_digit(queue, level, &digit))
        level++;
    if (level == RZ_QUEUE_LEVELS || queue->buckets[level][digit].least > limit)
        return false;
    struct rz_timing_chunk *chunk = queue->buckets[level][digit].head;
    queue->last = queue->buckets[level][digit].least;
    bucket_clear(queue, level, digit);
    while (chunk) {
        struct rz_timing_chunk *next = chunk->next;
        for (uint32_t i = chunk->begin; i < chunk->end; i++)
            put(queue, &chunk->events[i]);
        chunk_give(queue, chunk);
        chunk = next;
    }
    return true;
}

bool rz_timing_queue_pop(struct rz_timing_queue *queue, rz_time limit,
                         struct rz_timing_event *event)
{
    uint32_t digit;
    if (!first_digit(queue, 0, &digit) && !(refill(queue, limit) && first_digit(queue, 0, &digit)))
        return false;
    struct rz_timing_bucket *bucket = &queue->buckets[0][digit];
    struct rz_timing_chunk *chunk = bucket->head;
    if (bucket->least > limit)
        return false;
    queue->last = bucket->least;
    *event = chunk->events[chunk->begin++];
    if (chunk->begin == chunk->end) {
        bucket->head = chunk->next;
        if (!bucket->head)
            bucket_clear(queue, 0, digit);
        chunk_give(queue, chunk);
    }
    queue->count--;
    return true;
}
