/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupting a thread that computes. A helper thread sleeps until a word in shared memory
 * changes. While the thread is requested, the helper sends it a signal each millisecond, until the
 * signal arrives in the program's own code. Nothing runs and nothing polls while no thread is
 * requested.
 *
 * The signal takes effect only if the interrupted instruction is the program's own (text.h) and no
 * handler of the program runs, which means that no signal is blocked that was not blocked when the
 * nudge was opened. Otherwise the signal is ignored, and the next one tries again.
 */
#ifndef RZ_PORT_NUDGE_H
#define RZ_PORT_NUDGE_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rz_nudge_config {
    int signal;
    const _Atomic uint64_t *word; /* a writer that changes it wakes its sleepers (rz_nudge_wake) */
    bool (*due)(
        void); /* whether the thread is requested; called by any thread and in a signal handler */
    /* Called in the requested thread, in the signal's handler, with the signals blocked that were
     * before it; it may leave by longjmp and not return. */
    void (*taken)(void);
};

/*
 * Opens the nudge; the calling thread is the one to interrupt. There is at most one.
 * RZ_ERR_UNSUPPORTED: not on this machine; RZ_ERR_INVALID: no such signal; RZ_ERR_EXISTS: the
 * program has a handler for it; RZ_ERR_NO_MEMORY; RZ_ERR_SYSTEM: no thread.
 */
rz_status_t rz_nudge_open(const struct rz_nudge_config *config);

/* Closes the nudge, in the same thread: restores the signal's disposition, and no signal of the
 * nudge is pending. */
void rz_nudge_close(void);

/* To be called when the word has changed: wakes all that sleep on it, in any process. */
void rz_nudge_wake(const _Atomic uint64_t *word);

#endif
