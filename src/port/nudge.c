/* SPDX-License-Identifier: BSD-3-Clause */
/* A helper thread that sleeps on a futex word and, while the thread is requested, sends it a queued
 * signal; the handler decides whether the interrupted instruction is the program's own. */
#include "port/nudge.h"

#include "port/kernel.h"
#include "port/text.h"
#include "port/thread.h"

#include <rhizome/types.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Between two signals to a requested thread. */
#define RETRY_NS (long)RZ_MILLISECOND

/* Between two checks of whether the helper has ended. */
#define NUDGE_END_LOOK_NS (long)(RZ_MILLISECOND / 10)

enum { NUDGE_STACK_BYTES = 64 * 1024 };

static struct {
    struct rz_nudge_config config;
    pthread_t helper;
    pid_t thread; /* the requested one */
    sigset_t blocked;
    struct sigaction before;
    atomic_bool ending; /* the helper must end */
    /* Signals of this kind queue up: the next one is sent after the last one was handled. */
    atomic_bool on_its_way;
} nudge;

/* ---- the interrupted thread ---- */

/* Whether a signal is blocked there that was not blocked at the beginning: then most likely a
 * handler of the program was interrupted, which may itself have interrupted any code. */
static bool more_is_blocked(const sigset_t *there)
{
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (sigismember(there, number) == 1 && sigismember(&nudge.blocked, number) != 1) {
            return true;
        }
    }
    return false;
}

static void arrived(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    const sigset_t *blocked = &((const ucontext_t *)context)->uc_sigmask;
    (void)number, (void)info;
    atomic_store(&nudge.on_its_way, false);
    if ((pid_t)syscall(SYS_gettid) == nudge.thread && nudge.config.due() &&
        rz_text_holds(rz_text_interrupted(context)) && !more_is_blocked(blocked)) {
        pthread_sigmask(SIG_SETMASK, blocked, NULL);
        nudge.config.taken();
    }
    errno = saved;
}

/* ---- the helper ---- */

static const uint32_t *low_half(const _Atomic uint64_t *word)
{
    const uint32_t *half = (const uint32_t *)(const void *)word;
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? half : half + 1;
}

void rz_nudge_wake(const _Atomic uint64_t *word)
{
    syscall(SYS_futex, low_half(word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sleep_until_news(uint32_t seen)
{
    syscall(SYS_futex, low_half(nudge.config.word), FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void *help(void *arg)
{
    (void)arg;
    while (!atomic_load(&nudge.ending)) {
        uint32_t seen = (uint32_t)atomic_load_explicit(nudge.config.word, memory_order_acquire);
        if (!nudge.config.due()) {
            sleep_until_news(seen);
            continue;
        }
        if (!atomic_exchange(&nudge.on_its_way, true) &&
            syscall(SYS_tgkill, getpid(), nudge.thread, nudge.config.signal) != 0) {
            atomic_store(&nudge.on_its_way, false); /* too many are queued for this user: later */
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    }
    return NULL;
}

/* ---- open and close ---- */

rz_status_t rz_nudge_open(const struct rz_nudge_config *config)
{
    struct sigaction action = {.sa_sigaction = arrived, .sa_flags = SA_SIGINFO | SA_RESTART};
    rz_status_t status = rz_text_look();
    if (status != RZ_OK) {
        return status;
    }
    if (sigaction(config->signal, NULL, &nudge.before) != 0) {
        return RZ_ERR_INVALID;
    }
    if ((nudge.before.sa_flags & SA_SIGINFO) ||
        (nudge.before.sa_handler != SIG_DFL && nudge.before.sa_handler != SIG_IGN)) {
        return RZ_ERR_EXISTS;
    }
    nudge.config = *config;
    nudge.thread = (pid_t)syscall(SYS_gettid);
    atomic_store(&nudge.ending, false);
    atomic_store(&nudge.on_its_way, false);
    pthread_sigmask(SIG_SETMASK, NULL, &nudge.blocked);
    sigemptyset(&action.sa_mask);
    if (sigaction(config->signal, &action, NULL) != 0) {
        return RZ_ERR_INVALID;
    }
    if (rz_thread_start(&nudge.helper, "rz-nudge", NUDGE_STACK_BYTES, help, NULL) == 0) {
        return RZ_OK;
    }
    sigaction(config->signal, &nudge.before, NULL);
    return RZ_ERR_SYSTEM;
}

void rz_nudge_close(void)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    atomic_store(&nudge.ending, true);
    /* The helper may be about to wait for a word that does not change: it is woken until it has
     * ended. */
    while (pthread_tryjoin_np(nudge.helper, NULL) == EBUSY) {
        rz_nudge_wake(nudge.config.word);
        nanosleep(&(struct timespec){.tv_nsec = NUDGE_END_LOOK_NS}, NULL);
    }
    sigaction(nudge.config.signal, &ignored, NULL); /* drops one that the program has blocked */
    sigaction(nudge.config.signal, &nudge.before, NULL);
}
