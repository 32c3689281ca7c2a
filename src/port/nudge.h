/*
 * Interrupting a thread that computes: a helper thread sleeps until a word in shared memory
 * changes, and as long as the thread is wanted it sends it a signal, each millisecond, until that
 * lands in the program's own code. Nothing runs and nothing polls while nobody is wanted.
 *
 * The signal is acted upon only where the interrupted instruction is the program's own (text.h)
 * and no handler of the program's runs: where no signal is blocked that was not when the nudge was
 * opened. Else it passes, and the next one tries again.
 */
#ifndef RZ_PORT_NUDGE_H
#define RZ_PORT_NUDGE_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rz_nudge_config {
    int signal;
    const _Atomic uint64_t *word; /* whoever changes it wakes its sleepers (rz_nudge_wake) */
    bool (*due)(void); /* whether the thread is wanted; by any thread and in a signal handler */
    /* In the wanted thread, in the signal's handler, with the signals blocked that were before it;
     * it may leave by longjmp, for good. */
    void (*taken)(void);
};

/*
 * The calling thread is the one wanted. One at a time. RZ_ERR_UNSUPPORTED: not on this machine;
 * RZ_ERR_INVALID: no such signal; RZ_ERR_EXISTS: the program has a handler for it;
 * RZ_ERR_NO_MEMORY; RZ_ERR_SYSTEM: no thread.
 */
rz_status_t rz_nudge_open(const struct rz_nudge_config *config);

/* The signal's disposition is as before, and none of ours is pending. In the same thread. */
void rz_nudge_close(void);

/* The word has changed: wakes all that sleep for it, in any process. */
void rz_nudge_wake(const _Atomic uint64_t *word);

#endif
