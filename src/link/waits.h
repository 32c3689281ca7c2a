/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process waits for: its wait objects, in a memory of their own that the daemon made and
 * passed with WELCOME. The process writes them, the daemon reads them for reports of hanging calls;
 * neither ever waits for the other.
 *
 * Each object is protected by its own sequence number (odd while it is being written), so that a
 * report shows only complete objects, and a process killed while writing invalidates that object
 * only.
 *
 * Beside them a counter of progress, which the daemon's watchdog reads, the time for which calls
 * have waited, the last decisions of this process, the messages that were handed over and have
 * arrived, and how much it has sent to each slot.
 */
#ifndef RZ_LINK_WAITS_H
#define RZ_LINK_WAITS_H

#include "base/printable.h"
#include "link/decisions.h"
#include "wire/wait_text.h"

#include <stdatomic.h>
#include <string.h>

#define RZ_WAITS_MAX 32 /* waits of one process at a time; further ones are not shown */

struct rz_wait {
    _Alignas(64) _Atomic uint32_t sequence;
    _Atomic uint32_t in_use;
    _Atomic uint64_t words[(sizeof(struct rz_wait_text) + 7) / 8];
};

/*
 * How many messages the process has handed to its transports for each slot, and how many of that
 * slot have arrived, payload and all. A message that its sender has handed over and its receiver
 * has not got is under way, and the program can do nothing for it. The process writes before it
 * sleeps, at most once in RZ_WAIT_SHOWN_EVERY. A reader that sees a new count sees the time of the
 * change, too.
 */
struct rz_pair_counts {
    _Atomic uint64_t handed, arrived;
};

/* How many messages the process has sent to each slot, and their bytes, if the board says
 * RZ_BOARD_TRAFFIC. The daemon reads them also when the process has failed. */
struct rz_traffic {
    _Atomic uint64_t messages, bytes;
};

struct rz_waits {
    struct rz_wait wait[RZ_WAITS_MAX];
    _Alignas(64) _Atomic uint64_t progress; /* grows while the process calls MPI */
    _Atomic uint64_t waited;                /* rz_waits_waited_ns() */
    _Atomic uint32_t waiting;               /* calls that wait now; for the process alone */
    struct rz_decisions decisions;          /* decisions.h */
    _Atomic uint64_t pairs_changed;         /* when pairs last changed; 0: never */
    struct rz_pair_counts pairs[];          /* [n_slots] */
};

/* The size of this memory up to the counts of traffic. */
static inline size_t rz_waits_bytes_without_traffic(uint32_t n_slots)
{
    return sizeof(struct rz_waits) + (size_t)n_slots * sizeof(struct rz_pair_counts);
}

/* The size of this memory: the same whether traffic is counted or not. */
static inline size_t rz_waits_bytes(uint32_t n_slots)
{
    return rz_waits_bytes_without_traffic(n_slots) + (size_t)n_slots * sizeof(struct rz_traffic);
}

/* What was sent to each slot, if it is counted: [n_slots]. */
static inline struct rz_traffic *rz_waits_traffic(struct rz_waits *waits, uint32_t n_slots)
{
    return (struct rz_traffic *)(void *)&waits->pairs[n_slots];
}

/* Process: the counts of one slot. changed: when any count was last seen to have changed; set to
 * now if this one has. */
static inline void rz_pair_counts_set(struct rz_pair_counts *counts, uint64_t handed,
                                      uint64_t arrived, _Atomic uint64_t *changed, rz_time now)
{
    if (atomic_load_explicit(&counts->handed, memory_order_relaxed) == handed &&
        atomic_load_explicit(&counts->arrived, memory_order_relaxed) == arrived) {
        return;
    }
    atomic_store_explicit(changed, now, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&counts->handed, handed, memory_order_relaxed);
    atomic_store_explicit(&counts->arrived, arrived, memory_order_relaxed);
}

/* Process: one more message was sent. One writer at a time. */
static inline void rz_traffic_add(struct rz_traffic *traffic, uint64_t bytes)
{
    uint64_t messages = atomic_load_explicit(&traffic->messages, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(&traffic->bytes, memory_order_relaxed);
    atomic_store_explicit(&traffic->messages, messages + 1, memory_order_relaxed);
    atomic_store_explicit(&traffic->bytes, sum + bytes, memory_order_relaxed);
}

/* Process: shows that it runs, for the daemon's watchdog. Of simultaneous calls by several threads
 * one is counted. */
static inline void rz_waits_alive(struct rz_waits *waits)
{
    uint64_t progress = atomic_load_explicit(&waits->progress, memory_order_relaxed);
    atomic_store_explicit(&waits->progress, progress + 1, memory_order_relaxed);
}

/* Daemon. */
static inline uint64_t rz_waits_progress(const struct rz_waits *waits)
{
    return atomic_load_explicit(&waits->progress, memory_order_relaxed);
}

/*
 * The time for which at least one call of the process has waited. One word, so that a reader never
 * sees a half: where no call waits it is the sum in nanoseconds, else RZ_WAITS_NOW and the time at
 * which the present wait would have begun if all earlier ones had been a part of it.
 */
#define RZ_WAITS_NOW (UINT64_C(1) << 63)

/* Process: a call begins to wait, or waits no longer, at now (CLOCK_MONOTONIC). One writer at a
 * time. A call that began before an image of the process was restored ends without a begin. */
static inline void rz_waits_begin(struct rz_waits *waits, rz_time now)
{
    uint32_t waiting = atomic_load_explicit(&waits->waiting, memory_order_relaxed);
    atomic_store_explicit(&waits->waiting, waiting + 1, memory_order_relaxed);
    if (waiting == 0) {
        uint64_t waited = atomic_load_explicit(&waits->waited, memory_order_relaxed);
        atomic_store_explicit(&waits->waited, RZ_WAITS_NOW | (now - waited), memory_order_relaxed);
    }
}

static inline void rz_waits_end(struct rz_waits *waits, rz_time now)
{
    uint32_t waiting = atomic_load_explicit(&waits->waiting, memory_order_relaxed);
    if (waiting == 0) {
        return;
    }
    atomic_store_explicit(&waits->waiting, waiting - 1, memory_order_relaxed);
    if (waiting == 1) {
        uint64_t begun = atomic_load_explicit(&waits->waited, memory_order_relaxed);
        atomic_store_explicit(&waits->waited, now - (begun & ~RZ_WAITS_NOW), memory_order_relaxed);
    }
}

/* Daemon: that time, up to now. What a process has written that cannot be is 0. */
static inline rz_time rz_waits_waited_ns(const struct rz_waits *waits, rz_time now)
{
    uint64_t waited = atomic_load_explicit(&waits->waited, memory_order_relaxed);
    uint64_t sum = waited & RZ_WAITS_NOW ? now - (waited & ~RZ_WAITS_NOW) : waited;
    return sum <= now ? sum : 0;
}

/* Process: writes into wait what it waits for (text) or, with NULL, that it waits no more. One
 * writer at a time. */
static inline void rz_wait_write(struct rz_wait *wait, const struct rz_wait_text *text)
{
    uint32_t sequence = atomic_load_explicit(&wait->sequence, memory_order_relaxed);
    atomic_store_explicit(&wait->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    if (text) {
        uint64_t words[sizeof(wait->words) / sizeof(wait->words[0])] = {0};
        memcpy(words, text, sizeof(*text));
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            atomic_store_explicit(&wait->words[i], words[i], memory_order_relaxed);
        }
    }
    atomic_store_explicit(&wait->in_use, text != NULL, memory_order_relaxed);
    atomic_store_explicit(&wait->sequence, sequence + 2, memory_order_release);
}

/* Daemon: true when wait is in use and *text is complete. Its texts may be shown on a terminal,
 * whatever the process has written. */
static inline bool rz_wait_read(struct rz_wait *wait, struct rz_wait_text *text)
{
    uint64_t words[sizeof(wait->words) / sizeof(wait->words[0])];
    uint32_t before = atomic_load_explicit(&wait->sequence, memory_order_acquire);
    uint32_t in_use = atomic_load_explicit(&wait->in_use, memory_order_relaxed);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        words[i] = atomic_load_explicit(&wait->words[i], memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    if (!in_use || (before & 1) ||
        before != atomic_load_explicit(&wait->sequence, memory_order_relaxed)) {
        return false;
    }
    memcpy(text, words, sizeof(*text));
    text->call[RZ_WAIT_CALL_BYTES - 1] = '\0'; /* the process may not have ended the text */
    text->name[RZ_WAIT_NAME_BYTES - 1] = '\0';
    rz_printable(text->call, strlen(text->call), "");
    rz_printable(text->name, strlen(text->name), "");
    return true;
}

#endif
