/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process has decided with others, cached where its daemon can read it: beside its wait
 * objects (waits.h). A member whose message is awaited may have left its call and compute for long;
 * its daemon answers for it (docs/protocols/agree.md).
 *
 * One cached decision per communicator, its last decision; if there are more communicators than
 * places, the oldest one is replaced. Each is protected by a sequence number of its own (odd while
 * it is being written): a process killed while writing invalidates that one alone, and no process
 * waits for another.
 */
#ifndef RZ_LINK_DECISIONS_H
#define RZ_LINK_DECISIONS_H

#include <rhizome/types.h>

#include <stdatomic.h>

#define RZ_DECISIONS_MAX 64
#define RZ_DECISION_WORDS_MAX 128 /* a decision with more is not cached */

struct rz_cached_decision {
    _Alignas(64) _Atomic uint32_t sequence;
    _Atomic uint32_t n_words;                      /* 0: not in use */
    _Atomic uint64_t communicator;                 /* a number that is unique in the job */
    _Atomic uint64_t number;                       /* number of the decision, counted from 1 */
    _Atomic uint64_t words[RZ_DECISION_WORDS_MAX]; /* not interpreted here */
};

struct rz_decisions {
    struct rz_cached_decision cached[RZ_DECISIONS_MAX];
};

/* Process: writes a cached decision, replacing its content. One writer. */
static inline void rz_decision_write(struct rz_cached_decision *cached, uint64_t communicator,
                                     uint64_t number, const uint64_t *words, uint32_t n_words)
{
    uint32_t sequence = atomic_load_explicit(&cached->sequence, memory_order_relaxed);
    atomic_store_explicit(&cached->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    if (n_words > RZ_DECISION_WORDS_MAX) {
        n_words = 0;
    }
    atomic_store_explicit(&cached->n_words, n_words, memory_order_relaxed);
    atomic_store_explicit(&cached->communicator, communicator, memory_order_relaxed);
    atomic_store_explicit(&cached->number, number, memory_order_relaxed);
    for (uint32_t i = 0; i < n_words; i++) {
        atomic_store_explicit(&cached->words[i], words[i], memory_order_relaxed);
    }
    atomic_store_explicit(&cached->sequence, sequence + 2, memory_order_release);
}

/* Daemon: copies that decision and returns its number of words; 0: it is not here, or is being
 * written. */
static inline uint32_t rz_decision_read(const struct rz_decisions *decisions, uint64_t communicator,
                                        uint64_t number, uint64_t words[RZ_DECISION_WORDS_MAX])
{
    for (int i = 0; i < RZ_DECISIONS_MAX; i++) {
        const struct rz_cached_decision *cached = &decisions->cached[i];
        uint32_t before = atomic_load_explicit(&cached->sequence, memory_order_acquire);
        uint32_t n = atomic_load_explicit(&cached->n_words, memory_order_relaxed);
        if (n > RZ_DECISION_WORDS_MAX || before % 2 != 0 ||
            atomic_load_explicit(&cached->communicator, memory_order_relaxed) != communicator ||
            atomic_load_explicit(&cached->number, memory_order_relaxed) != number) {
            continue;
        }
        for (uint32_t k = 0; k < n; k++) {
            words[k] = atomic_load_explicit(&cached->words[k], memory_order_relaxed);
        }
        atomic_thread_fence(memory_order_acquire);
        if (before == atomic_load_explicit(&cached->sequence, memory_order_relaxed)) {
            return n;
        }
    }
    return 0;
}

#endif
