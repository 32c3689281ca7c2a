/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue of timing runs: a radix heap over dates with digits of eight bits. Dates never
 * decrease, so an event moves at most once per digit in which its date differs from the clock,
 * whatever the number of events: the cost of an event stays flat. Buckets keep the order of
 * queueing, and equal dates always share a bucket, so events of equal dates leave in the order in
 * which they were queued.
 *
 * After Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem" (1990).
 */
#ifndef RZ_TIMING_TIMING_QUEUE_H
#define RZ_TIMING_TIMING_QUEUE_H

#include <rhizome/types.h>

struct rz_timing_event {
    rz_time date;
    uint32_t member;
    uint32_t blob; /* RZ_TIMING_NO_BLOB: none */
    uint32_t
        flight; /* of a message: nanoseconds since it was sent; UINT32_MAX: this many or more */
    uint8_t kind, part;
    uint16_t zero;
};

#define RZ_QUEUE_LEVELS 8
#define RZ_QUEUE_DIGITS 256

struct rz_timing_chunk;

/* The data needed to add an event is stored here, and not in the chunks, which are cold. */
struct rz_timing_bucket {
    struct rz_timing_chunk *head, *tail; /* all but the tail are full; NULL: empty */
    uint32_t begin, end;                 /* in the head, and in the tail */
    rz_time least;                       /* of the dates in it */
};

struct rz_timing_queue {
    rz_time last; /* the date of the clock: no event is earlier */
    uint64_t count;
    uint64_t bytes;                  /* of memory */
    uint64_t bytes_used, bytes_most; /* of it: in use now, and at most */
    struct rz_timing_chunk *free;
    struct rz_timing_chunk **slabs;
    uint32_t n_slabs, slabs_max;
    uint64_t used[RZ_QUEUE_LEVELS][RZ_QUEUE_DIGITS / 64];
    struct rz_timing_bucket buckets[RZ_QUEUE_LEVELS][RZ_QUEUE_DIGITS];
};

void rz_timing_queue_init(struct rz_timing_queue *queue);
void rz_timing_queue_release(struct rz_timing_queue *queue);

/* The memory for an event of this date, to be written at once; the date is set. date >=
 * queue->last. */
struct rz_timing_event *rz_timing_queue_push(struct rz_timing_queue *queue, rz_time date);

/* The first event, if one is not later than limit. */
bool rz_timing_queue_pop(struct rz_timing_queue *queue, rz_time limit,
                         struct rz_timing_event *event);

#endif
