/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that are pending, and the timers of setitimer, which send them. Without privilege no
 * process can look at a queued signal: each one is taken and queued again, with what it carries. */
#include "image/area.h"

#include "image/raw_call.h"

#include <signal.h>
#include <sys/time.h>

#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))
#define NEVER_TAKEN (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))

static uint64_t status_mask(const char *text, const char *name)
{
    uint64_t mask = 0;
    for (; *text && !rz_raw_begins(text, name); text++) {
    }
    if (*text) {
        for (text += rz_raw_length(name); *text && *text != '\n'; text++) {
            mask = mask << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
        }
    }
    return mask;
}

/* Also without room for what it carries: an earlier place in the queue has been given up. */
static void queue_signal(const struct rz_image_signal *signal, int tid)
{
    long pid = RZ_RAW0(getpid);
    int number = ((const siginfo_t *)(const void *)signal->info)->si_signo;
    if (tid != 0 && RZ_RAW4(rt_tgsigqueueinfo, pid, tid, number, signal->info) != 0) {
        RZ_RAW3(tgkill, pid, tid, number);
    }
    if (tid == 0 && RZ_RAW3(rt_sigqueueinfo, pid, number, signal->info) != 0) {
        RZ_RAW2(kill, pid, number);
    }
}

/* The next one: a signal of the thread before one of the process, as the kernel has them. */
static bool take_next(bool shared, struct rz_image_signal *signal)
{
    char text[4096];
    uint64_t wanted, none[2] = {0, 0};
    long n = rz_image_read_file("/proc/thread-self/status", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    uint64_t left = RZ_AREA->park_left ? SIGNAL_BIT(RZ_AREA->park_signal) : 0;
    uint64_t own = status_mask(text, "\nSigPnd:\t") & ~NEVER_TAKEN & ~left;
    wanted = own ? own : shared ? status_mask(text, "\nShdPnd:\t") & ~NEVER_TAKEN & ~left : 0;
    signal->tid = own ? (int32_t)RZ_RAW0(gettid) : 0;
    return wanted != 0 && RZ_RAW4(rt_sigtimedwait, &wanted, signal->info, none, 8) > 0;
}

void rz_image_forget_signals(void)
{
    atomic_store(&RZ_AREA->n_pending, 0);
    for (uint32_t i = 0; i < RZ_IMAGE_PENDING; i++) {
        RZ_AREA->pending[i].tid = -1;
    }
}

void rz_image_note_signals(bool shared)
{
    uint64_t pending = 0;
    struct rz_image_signal taken;
    bool more = RZ_RAW2(rt_sigpending, &pending, 8) == 0 && pending != 0;
    while (more && take_next(shared, &taken)) {
        uint32_t at = atomic_fetch_add(&RZ_AREA->n_pending, 1);
        more = at < RZ_IMAGE_PENDING;
        if (more) {
            RZ_AREA->pending[at] = taken;
        } else {
            queue_signal(&taken, taken.tid);
        }
    }
    int own = (int)RZ_RAW0(gettid);
    for (uint32_t i = 0; pending != 0 && i < RZ_IMAGE_PENDING; i++) {
        const struct rz_image_signal *signal = &RZ_AREA->pending[i];
        if (signal->tid == own || (shared && signal->tid == 0)) {
            queue_signal(signal, signal->tid);
        }
    }
}

/* Into the tables, when all threads have noted theirs. */
rz_status_t rz_image_keep_signals(struct rz_image_tables *image)
{
    image->head.n_signals = 0;
    image->head.pid = (int32_t)RZ_RAW0(getpid);
    if (atomic_load(&RZ_AREA->n_pending) > RZ_IMAGE_PENDING) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "more than %d signals are pending",
                               RZ_IMAGE_PENDING);
    }
    for (uint32_t i = 0; i < RZ_IMAGE_PENDING; i++) {
        if (RZ_AREA->pending[i].tid >= 0) {
            image->signal[image->head.n_signals++] = RZ_AREA->pending[i];
        }
    }
    return RZ_OK;
}

void rz_image_queue_signals(int32_t tid)
{
    struct rz_image_tables *image = &RZ_AREA->image;
    for (uint32_t i = 0; i < image->head.n_signals; i++) {
        struct rz_image_signal *signal = &image->signal[i];
        siginfo_t *info = (void *)signal->info;
        if (signal->tid != tid) {
            continue;
        }
        if (info->si_code <= 0 && info->si_pid == image->head.pid) { /* it came from itself */
            info->si_pid = (int)RZ_RAW0(getpid);
        }
        queue_signal(signal, tid != 0 ? (int)RZ_RAW0(gettid) : 0);
    }
}

void rz_image_note_timers(struct rz_image_tables *image)
{
    for (int i = 0; i < 3; i++) {
        RZ_RAW2(getitimer, i, image->head.timer[i]);
    }
}

/* A timer whose signal is pending stands still until that is delivered: one that is periodic goes
 * on; one that is not has done its work, also if it had not when it was noted. */
void rz_image_settle_timers(struct rz_image_tables *image)
{
    static const int sends[3] = {SIGALRM, SIGVTALRM, SIGPROF};
    for (int i = 0; i < 3; i++) {
        uint64_t *timer = image->head.timer[i]; /* interval, then value: seconds, microseconds */
        bool periodic = timer[0] != 0 || timer[1] != 0, stands = timer[2] == 0 && timer[3] == 0;
        for (uint32_t k = 0; k < image->head.n_signals; k++) {
            const siginfo_t *info = (const void *)image->signal[k].info;
            stands = stands || (!periodic && info->si_signo == sends[i] && info->si_code > 0);
        }
        if (stands) {
            timer[2] = timer[0], timer[3] = timer[1];
        }
    }
}
