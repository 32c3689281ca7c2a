/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring: its one writer process, with all its threads, and its readers. */
#include "base/trace.h"

#include <rhizome/types.h>

#include <string.h>

struct rz_trace_levels rz_trace_levels;

static struct rz_trace_ring *_Atomic own;
static uint64_t (*clock_of)(void);
static _Thread_local uint32_t own_thread; /* its number + 1; 0: it has written nothing yet */

void rz_trace_ring_make(struct rz_trace_ring *ring, const struct rz_trace_owner *owner,
                        const struct rz_trace_levels *levels)
{
    atomic_store_explicit(&ring->magic, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    bool used = atomic_load_explicit(&ring->next, memory_order_relaxed) > 0;
    for (uint32_t i = 0; used && i < RZ_TRACE_SLOTS; i++) {
        atomic_store_explicit(&ring->slots[i].number, 0, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < RZ_TRACE_THREADS; i++) {
        atomic_store_explicit(&ring->thread_name[i][0], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&ring->next, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->lost, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->threads, 0, memory_order_relaxed);
    ring->layout = RZ_TRACE_LAYOUT;
    ring->n_events = RZ_TRACE_EVENT_COUNT;
    ring->slot = owner->slot;
    ring->incarnation = owner->incarnation;
    ring->node = owner->node;
    ring->pid = owner->pid;
    ring->levels = *levels;
    atomic_store_explicit(&ring->magic, RZ_TRACE_MAGIC, memory_order_release);
}

bool rz_trace_ring_valid(const struct rz_trace_ring *ring)
{
    return atomic_load_explicit(&ring->magic, memory_order_acquire) == RZ_TRACE_MAGIC &&
           ring->layout == RZ_TRACE_LAYOUT && ring->n_events == RZ_TRACE_EVENT_COUNT;
}

/* ---- Writing ---- */

bool rz_trace_begin(struct rz_trace_ring *ring, uint64_t (*now)(void))
{
    if (!rz_trace_ring_valid(ring)) {
        return false;
    }
    clock_of = now;
    atomic_store_explicit(&own, ring, memory_order_release);
    rz_trace_levels = ring->levels;
    return true;
}

void rz_trace_end(void)
{
    memset(&rz_trace_levels, 0, sizeof(rz_trace_levels));
    atomic_store_explicit(&own, NULL, memory_order_release);
}

static uint32_t thread_in(struct rz_trace_ring *ring)
{
    if (own_thread == 0) {
        own_thread = atomic_fetch_add_explicit(&ring->threads, 1, memory_order_relaxed) + 1;
    }
    return (own_thread - 1) & 0xFFFF;
}

void rz_trace_thread(const char *name)
{
    struct rz_trace_ring *ring = atomic_load_explicit(&own, memory_order_acquire);
    uint32_t thread = ring ? thread_in(ring) : RZ_TRACE_THREADS;
    if (thread >= RZ_TRACE_THREADS) {
        return;
    }
    for (uint32_t i = 0; i < RZ_TRACE_THREAD_NAME; i++) {
        char c = i + 1 < RZ_TRACE_THREAD_NAME ? name[i] : '\0';
        atomic_store_explicit(&ring->thread_name[thread][i], c, memory_order_relaxed);
        if (!c) {
            break;
        }
    }
}

void rz_trace_put(enum rz_trace_number event, uint64_t a, uint64_t b, uint32_t c)
{
    struct rz_trace_ring *ring = atomic_load_explicit(&own, memory_order_acquire);
    if (!ring) {
        return;
    }
    uint64_t at_ns = clock_of();
    uint32_t what = (uint32_t)event | thread_in(ring) << 16;
    uint64_t i = atomic_fetch_add_explicit(&ring->next, 1, memory_order_relaxed);
    struct rz_trace_slot *slot = &ring->slots[i % RZ_TRACE_SLOTS];
    uint64_t before = atomic_load_explicit(&slot->number, memory_order_relaxed);
    /* One that is so slow that all others have come round must not write over theirs. */
    if (before & 1 || before > 2 * i ||
        !atomic_compare_exchange_strong_explicit(&slot->number, &before, 2 * i + 1,
                                                 memory_order_relaxed, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
        return;
    }
    /* Each word is released, so that a reader that finds a new word finds the odd number, too. */
    atomic_store_explicit(&slot->at_ns, at_ns, memory_order_release);
    atomic_store_explicit(&slot->a, a, memory_order_release);
    atomic_store_explicit(&slot->b, b, memory_order_release);
    atomic_store_explicit(&slot->what, what, memory_order_release);
    atomic_store_explicit(&slot->c, c, memory_order_release);
    atomic_store_explicit(&slot->number, 2 * i + 2, memory_order_release);
}

/* ---- Reading ---- */

uint64_t rz_trace_last(const struct rz_trace_ring *ring, uint32_t n)
{
    uint64_t next = atomic_load_explicit(&ring->next, memory_order_acquire);
    return next > n ? next - n : 0;
}

static bool read_slot(const struct rz_trace_ring *ring, uint64_t i, struct rz_trace_event *event)
{
    const struct rz_trace_slot *slot = &ring->slots[i % RZ_TRACE_SLOTS];
    uint64_t number = atomic_load_explicit(&slot->number, memory_order_acquire);
    if (number != 2 * i + 2) {
        return false;
    }
    event->number = i;
    event->at_ns = atomic_load_explicit(&slot->at_ns, memory_order_acquire);
    event->a = atomic_load_explicit(&slot->a, memory_order_acquire);
    event->b = atomic_load_explicit(&slot->b, memory_order_acquire);
    uint32_t what = atomic_load_explicit(&slot->what, memory_order_acquire);
    event->c = atomic_load_explicit(&slot->c, memory_order_acquire);
    event->event = (uint16_t)(what & 0xFFFF);
    event->thread = (uint16_t)(what >> 16);
    return atomic_load_explicit(&slot->number, memory_order_relaxed) == number &&
           event->event < RZ_TRACE_EVENT_COUNT;
}

uint32_t rz_trace_read(const struct rz_trace_ring *ring, uint64_t *from,
                       struct rz_trace_event *events, uint32_t max)
{
    uint64_t next = atomic_load_explicit(&ring->next, memory_order_acquire);
    uint64_t oldest = next > RZ_TRACE_SLOTS ? next - RZ_TRACE_SLOTS : 0;
    uint32_t n = 0;
    if (*from < oldest || *from > next) {
        *from = oldest;
    }
    for (; *from < next && n < max; ++*from) {
        n += read_slot(ring, *from, &events[n]);
    }
    return n;
}

void rz_trace_thread_name(const struct rz_trace_ring *ring, uint32_t thread,
                          char name[RZ_TRACE_THREAD_NAME])
{
    for (uint32_t i = 0; i < RZ_TRACE_THREAD_NAME; i++) {
        name[i] = thread < RZ_TRACE_THREADS
                      ? atomic_load_explicit(&ring->thread_name[thread][i], memory_order_relaxed)
                      : '\0';
    }
    name[RZ_TRACE_THREAD_NAME - 1] = '\0';
}
