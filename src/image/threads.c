/* SPDX-License-Identifier: BSD-3-Clause */
/* The other threads: each stands in a handler, on its own stack, and from there it continues, in
 * this process or as a new thread in a restored one. */
#include "image/area.h"

#include "image/raw_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <signal.h>

#define GET_FS 0x1003
#define SET_GS 0x1001
#define GET_GS 0x1004
#define IO_OF_THREAD 1        /* ioprio_get, IOPRIO_WHO_PROCESS */
#define OWN_RETURN 0x04000000 /* SA_RESTORER */
#define PARK_VALUE 0x72686963 /* what the signal carries that calls a thread */
#define RSEQ_BYTES 32
#define RSEQ_SIGNATURE 0x53053053
/* A thread that blocks the signal for so long is not waited for; one that does not is, longer. */
#define BLOCKED_MAX_MS 2000
#define STUBBORN_MAX_MS 16 /* as the former, if it did not stop last time either */
#define STOP_MAX_MS 60000
#define WAITS_FOR_SIGNAL                                                                           \
    0x128 /* 128 in decimal, read as hexadecimal: rt_sigtimedwait, as sigwait calls it */

extern const ptrdiff_t __rseq_offset __attribute__((weak, visibility("default")));
extern const unsigned __rseq_size __attribute__((weak, visibility("default")));

/* Scheduling and placement, and what else the kernel keeps for each thread. */
static void note_properties(struct rz_image_thread *thread)
{
    rz_raw_zero(thread->schedule, sizeof(thread->schedule));
    RZ_RAW4(sched_getattr, 0, thread->schedule, sizeof(thread->schedule), 0);
    thread->io_priority = (int32_t)RZ_RAW2(ioprio_get, IO_OF_THREAD, 0);
    thread->timer_slack = (uint64_t)RZ_RAW1(prctl, PR_GET_TIMERSLACK);
    thread->memory_mode = 0;
    if (RZ_RAW5(get_mempolicy, &thread->memory_mode, thread->memory_nodes,
                8 * sizeof(thread->memory_nodes), 0, 0) != 0) {
        thread->memory_mode = 0;
    }
    thread->parent_signal = 0;
    RZ_RAW2(prctl, PR_GET_PDEATHSIG, &thread->parent_signal);
    thread->personality = (uint64_t)RZ_RAW1(personality, 0xffffffff);
    thread->gs = 0;
    RZ_RAW2(arch_prctl, GET_GS, &thread->gs);
}

/* What the system refuses (a higher priority) is left as it is: it changes no result. */
static void become_properties(const struct rz_image_thread *thread)
{
    struct rz_image_thread is;
    note_properties(&is);
    bool same = true;
    for (int i = 0; i < 6; i++) {
        same = same && is.schedule[i] == thread->schedule[i];
    }
    if (!same) {
        RZ_RAW3(sched_setattr, 0, thread->schedule, 0);
    }
    if (is.io_priority != thread->io_priority) {
        RZ_RAW3(ioprio_set, IO_OF_THREAD, 0, thread->io_priority);
    }
    if (is.timer_slack != thread->timer_slack) {
        RZ_RAW2(prctl, PR_SET_TIMERSLACK, thread->timer_slack);
    }
    if (is.memory_mode != 0 || thread->memory_mode != 0) {
        RZ_RAW3(set_mempolicy, thread->memory_mode,
                thread->memory_mode ? thread->memory_nodes : NULL,
                thread->memory_mode ? 8 * sizeof(thread->memory_nodes) : 0);
    }
    if (is.parent_signal != thread->parent_signal) {
        RZ_RAW2(prctl, PR_SET_PDEATHSIG, thread->parent_signal);
    }
    if (is.personality != thread->personality) {
        RZ_RAW1(personality, thread->personality);
    }
    if (is.gs != thread->gs) {
        RZ_RAW2(arch_prctl, SET_GS, thread->gs);
    }
}

/* The memory in which the kernel says on which processor the thread runs. libc says where its own
 * is; the kernel does not say where that of a program is, only that it has one when another is
 * registered. */
static void note_rseq(struct rz_image_thread *thread)
{
    _Alignas(RSEQ_BYTES) uint8_t any[RSEQ_BYTES];
    bool of_libc = &__rseq_size && __rseq_size != 0;
    uint64_t at = of_libc ? thread->fs + (uint64_t)__rseq_offset : (uint64_t)(uintptr_t)any;
    rz_raw_zero(any, sizeof(any));
    long result = RZ_RAW4(rseq, at, RSEQ_BYTES, 0, RSEQ_SIGNATURE);
    if (result == 0) { /* there was none */
        RZ_RAW4(rseq, at, RSEQ_BYTES, 1 /* unregister */, RSEQ_SIGNATURE);
    }
    thread->rseq = of_libc && result != 0 ? at : 0;
    thread->rseq_unknown = result == -EINVAL || (result == -EBUSY && !of_libc);
}

/* What the kernel knows of a thread and does not tell. */
static rz_status_t refuse_rseq(const struct rz_image_thread *thread)
{
    return !thread->rseq_unknown
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                 "thread %d (%s) is registered with the kernel (rseq) by other "
                                 "code than libc, or in an unknown way",
                                 thread->tid, thread->name);
}

rz_status_t rz_image_threads_refuse(const struct rz_image_thread *own, bool saves)
{
    rz_status_t status = refuse_rseq(own);
    status = status == RZ_OK && saves ? rz_image_refuse_thread(own) : status;
    for (uint32_t i = 1; status == RZ_OK && i < RZ_AREA->n_parked; i++) {
        const struct rz_image_thread *thread = &RZ_AREA->parked[i].thread;
        if (atomic_load(&RZ_AREA->parked[i].state) == RZ_THREAD_PARKED) {
            status = refuse_rseq(thread);
            status = status == RZ_OK && saves ? rz_image_refuse_thread(thread) : status;
        }
    }
    return status;
}

void rz_image_thread_note(struct rz_image_thread *thread)
{
    RZ_RAW2(arch_prctl, GET_FS, &thread->fs);
    RZ_RAW2(prctl, PR_GET_TID_ADDRESS, &thread->tid_at);
    RZ_RAW3(get_robust_list, 0, &thread->robust, &thread->robust_bytes);
    RZ_RAW2(sigaltstack, 0, thread->stack);
    RZ_RAW2(prctl, PR_GET_NAME, thread->name);
    thread->tid = (int32_t)RZ_RAW0(gettid);
    thread->processors_bytes =
        (int32_t)RZ_RAW3(sched_getaffinity, 0, sizeof(thread->processors), thread->processors);
    thread->processors_own = !rz_image_given_processors(thread);
    note_properties(thread);
    note_rseq(thread);
    thread->changed = rz_image_changed();
}

/* The kernel is to write to none of the thread's memory any more. */
bool rz_image_thread_forget(const struct rz_image_thread *thread)
{
    if (thread->rseq != 0 &&
        RZ_RAW4(rseq, thread->rseq, RSEQ_BYTES, 1 /* unregister */, RSEQ_SIGNATURE) != 0) {
        return false;
    }
    RZ_RAW2(set_robust_list, 0, 24);
    return true;
}

/* What the kernel knew of the thread that was saved; called in its new thread. */
void rz_image_thread_become(const struct rz_image_thread *thread)
{
    RZ_RAW1(set_tid_address, thread->tid_at);
    RZ_RAW2(set_robust_list, thread->robust, thread->robust_bytes);
    RZ_RAW2(sigaltstack, thread->stack, 0);
    RZ_RAW2(prctl, PR_SET_NAME, thread->name);
    become_properties(thread);
    if ((RZ_AREA->in_place || thread->processors_own) && /* else the launcher's hold */
        thread->processors_bytes > 0) {
        RZ_RAW3(sched_setaffinity, 0, thread->processors_bytes, thread->processors);
    }
    if (thread->rseq != 0) {
        RZ_RAW4(rseq, thread->rseq, RSEQ_BYTES, 0, RSEQ_SIGNATURE);
    }
    rz_image_queue_signals(thread->tid);
    RZ_RAW4(rt_sigprocmask, SIG_SETMASK, &thread->mask, 0, 8);
}

/* ---- The handler ---- */

static struct rz_image_parked *parked_of(int tid)
{
    for (uint32_t i = 1; i < RZ_AREA->n_parked; i++) {
        if (RZ_AREA->parked[i].thread.tid == tid) {
            return &RZ_AREA->parked[i];
        }
    }
    return NULL;
}

static void end_thread(struct rz_image_parked *me)
{
    if (me - RZ_AREA->parked == RZ_AREA->restorer) {
        rz_image_thread_forget(&me->thread);
        atomic_store(&me->state, RZ_THREAD_FREE);
        rz_image_run_restore();
    }
    rz_image_thread_forget(&me->thread);
    RZ_RAW1(set_tid_address, &me->state); /* the kernel says when its stack is not used any more */
    RZ_RAW1(exit, 0);
}

static int32_t await_order_after(enum rz_image_order last)
{
    int32_t order;
    while ((order = atomic_load(&RZ_AREA->order)) <= (int32_t)last) {
        RZ_RAW4(futex, &RZ_AREA->order, FUTEX_WAIT_PRIVATE, order, 0);
    }
    return order;
}

void rz_image_await_order(void)
{
    await_order_after(RZ_ORDER_NOTE);
}

/* libc's, of one of its threads to all others (setuid). */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    uintptr_t handler = RZ_AREA->park_action[0];
    if (handler == (uintptr_t)SIG_DFL || handler == (uintptr_t)SIG_IGN) {
        return;
    }
    if (RZ_AREA->park_action[1] & SA_SIGINFO) {
        ((void (*)(int, siginfo_t *, void *))handler)(signal, info, context);
    } else {
        ((void (*)(int))handler)(signal);
    }
}

static void on_park(int signal, siginfo_t *info, void *context)
{
    if (info->si_code != SI_QUEUE || info->si_value.sival_int != PARK_VALUE) {
        pass_on(signal, info, context);
        return;
    }
    struct rz_image_parked *me = parked_of((int)RZ_RAW0(gettid));
    int32_t called = RZ_THREAD_CALLED;
    if (!me || !atomic_compare_exchange_strong(&me->state, &called, RZ_THREAD_CALLED)) {
        return; /* a signal that comes late */
    }
    rz_image_thread_note(&me->thread);
    RZ_RAW4(rt_sigprocmask, SIG_SETMASK, 0, &me->thread.mask, 8);
    atomic_store(&me->state, RZ_THREAD_STANDS);
    if (await_order_after(RZ_ORDER_WAIT) != RZ_ORDER_NOTE) { /* another one does not stop */
        atomic_store(&me->state, RZ_THREAD_FREE);
        return;
    }
    if (RZ_AREA->notes_signals) { /* which threads that still ran may have sent to this one */
        rz_image_note_signals(false);
    }
    if (rz_image_registers_save(&me->thread.registers) != 0) {
        rz_image_await_order();
        rz_image_thread_become(&me->thread);
        atomic_store(&me->state, RZ_THREAD_FREE);
        return;
    }
    atomic_store(&me->state, RZ_THREAD_PARKED);
    rz_image_await_order();
    if (atomic_load(&RZ_AREA->order) == RZ_ORDER_END) {
        end_thread(me);
    }
    atomic_store(&me->state, RZ_THREAD_FREE);
}

/* ---- Its signal, for as long as it is needed ---- */

/* One that libc keeps for itself: sigfillset leaves it out and no call of libc blocks it. So it is
 * not taken by a thread that waits for all signals (sigwait, sigtimedwait), which would show it to
 * the program, and comes to one that blocks them all. What libc itself sends by it, libc gets. */
static void take_signal(void)
{
    uint64_t own[4] = {(uintptr_t)on_park, SA_RESTART | SA_SIGINFO | OWN_RETURN,
                       (uintptr_t)rz_image_signal_return, ~UINT64_C(0)};
    uint64_t was[4] = {0};
    RZ_AREA->park_signal = RZ_IMAGE_PARK_SIGNAL;
    RZ_RAW4(rt_sigaction, RZ_AREA->park_signal, own, was, 8);
    if (was[0] != own[0]) { /* else it was left there */
        rz_raw_copy(RZ_AREA->park_action, was, sizeof(was));
    }
}

static void give_signal_back(void)
{
    if (!RZ_AREA->park_left) {
        RZ_RAW4(rt_sigaction, RZ_AREA->park_signal, RZ_AREA->park_action, 0, 8);
    }
}

/* ---- Stopping ---- */

static bool is_excluded_thread(int tid)
{
    for (uint32_t i = 0; i < RZ_AREA->n_excluded_threads; i++) {
        if (RZ_AREA->excluded_thread[i] == tid) {
            return true;
        }
    }
    return false;
}

static void task_path(char *path, int tid, const char *name)
{
    rz_raw_copy(path, "/proc/self/task/", 17);
    rz_image_number(path + 16, (uint64_t)tid);
    size_t n = rz_raw_length(path);
    rz_raw_copy(path + n, name, rz_raw_length(name) + 1);
}

/* What the signal would do now. A program that waits for it without libc must not find it; so a
 * thread is called only when it has been seen to take it. */
enum taking {
    TAKES_NOW,
    TAKES_LATER, /* perhaps: it blocks the signal, or has ended although it is listed */
    TAKES_NEVER, /* it waits for this signal itself, or blocks it and waits for others */
};

static bool has_signal(uint64_t set)
{
    return set >> (RZ_AREA->park_signal - 1) & 1;
}

static const char *take_hex(const char *c, uint64_t *value)
{
    for (*value = 0; *c && *c != ' ' && *c != '\n'; c++) {
        uint64_t digit = (uint64_t)(*c <= '9' ? *c - '0' : (*c | 0x20) - 'a' + 10);
        *value = *c == 'x' ? 0 : *value << 4 | digit;
    }
    return *c == ' ' ? c + 1 : c;
}

/* "128 0xSET ...": what sigwait or sigtimedwait waits for. The kernel takes these signals out of
 * those that the thread blocks. */
static bool waits_for_signals(int tid, uint64_t *set)
{
    char path[64], text[256];
    uint64_t number, at;
    task_path(path, tid, "/syscall");
    long n = rz_image_read_file(path, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    take_hex(take_hex(text, &number), &at);
    if (number != WAITS_FOR_SIGNAL || at == 0 || !rz_raw_readable(at)) {
        return false;
    }
    *set = *(const volatile uint64_t *)at;
    return true;
}

static enum taking taking_of(int tid)
{
    char path[64], text[4096];
    uint64_t blocked = 0, set;
    bool waits = waits_for_signals(tid, &set);
    task_path(path, tid, "/status");
    long n = rz_image_read_file(path, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    for (const char *c = text; *c; c++) {
        if (rz_raw_begins(c, "\nState:\tZ")) {
            return TAKES_LATER;
        }
        if (rz_raw_begins(c, "\nSigBlk:\t")) {
            take_hex(c + 9, &blocked);
        }
    }
    bool blocks = has_signal(blocked);
    waits = waits || (!blocks && waits_for_signals(tid, &set)); /* it may have begun to */
    return waits && (blocks || has_signal(set)) ? TAKES_NEVER : blocks ? TAKES_LATER : TAKES_NOW;
}

static rz_status_t refuse_thread(int tid)
{
    char path[64], name[64];
    task_path(path, tid, "/comm");
    long n = rz_image_read_file(path, name, sizeof(name) - 1);
    name[n > 1 ? n - 1 : 0] = '\0';
    RZ_AREA->stubborn = tid;
    for (uint32_t i = 1; i < RZ_AREA->n_parked; i++) {
        bool called = atomic_load(&RZ_AREA->parked[i].state) == RZ_THREAD_CALLED;
        RZ_AREA->park_left = RZ_AREA->park_left || called; /* its signal is on the way */
    }
    return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                           "thread %d (%s) does not stop: it blocks the signals of libc, waits for "
                           "them (rt_sigtimedwait), or has ended",
                           tid, name);
}

/* False: no more signals can be queued now, or it has ended. */
static bool call_thread(struct rz_image_parked *parked)
{
    siginfo_t info;
    long pid = RZ_RAW0(getpid);
    rz_raw_zero(&info, sizeof(info));
    info.si_signo = RZ_AREA->park_signal, info.si_code = SI_QUEUE, info.si_pid = (int)pid;
    info.si_value.sival_int = PARK_VALUE;
    atomic_store(&parked->state, RZ_THREAD_CALLED);
    if (RZ_RAW4(rt_tgsigqueueinfo, pid, parked->thread.tid, info.si_signo, &info) == 0) {
        return true;
    }
    atomic_store(&parked->state, RZ_THREAD_LISTED);
    return false;
}

static rz_status_t await_parked(struct rz_image_parked *parked)
{
    int tid = parked->thread.tid, blocked_ms = 0, state;
    int max_ms = RZ_AREA->stubborn == tid ? STUBBORN_MAX_MS : BLOCKED_MAX_MS;
    for (int ms = 0;
         (state = atomic_load(&parked->state)) == RZ_THREAD_CALLED || state == RZ_THREAD_LISTED;
         ms++) {
        int64_t nap[2] = {0, ms < 20 ? 50000 : 1000000};
        RZ_RAW2(nanosleep, nap, 0);
        if (state == RZ_THREAD_CALLED && ms % 16 != 15) {
            continue;
        }
        if (RZ_RAW3(tgkill, RZ_RAW0(getpid), tid, 0) == -ESRCH) {
            atomic_store(&parked->state, RZ_THREAD_GONE);
            continue;
        }
        enum taking taking = taking_of(tid);
        bool comes = taking == TAKES_NOW && (state == RZ_THREAD_CALLED || call_thread(parked));
        blocked_ms = comes ? 0 : blocked_ms + (state == RZ_THREAD_CALLED ? 16 : 1);
        if (taking == TAKES_NEVER || blocked_ms > max_ms || ms > STOP_MAX_MS) {
            return refuse_thread(tid);
        }
    }
    return RZ_OK;
}

/* Calls the threads in the list that have not been called; how many these are, or -1. */
static int call_threads(const char *list, long bytes)
{
    int new = 0, own = (int)RZ_RAW0(gettid), tid;
    long at = 0;
    while ((tid = rz_image_next_number(list, bytes, &at)) >= 0) {
        if (tid == own || is_excluded_thread(tid) || parked_of(tid)) {
            continue;
        }
        if (RZ_AREA->n_parked == RZ_IMAGE_THREADS) {
            return -1;
        }
        struct rz_image_parked *parked = &RZ_AREA->parked[RZ_AREA->n_parked];
        parked->thread.tid = tid;
        atomic_store(&parked->state, RZ_THREAD_LISTED);
        RZ_AREA->n_parked++;
        if (taking_of(tid) == TAKES_NOW) {
            call_thread(parked);
        }
        new ++;
    }
    return new;
}

static rz_status_t call_all(int *new)
{
    long fd = RZ_RAW4(openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return rz_image_refuse(RZ_ERR_SYSTEM, "%s", rz_image_why_unread(fd));
    }
    long bytes;
    *new = 0;
    while (*new >= 0 &&
           (bytes = RZ_RAW3(getdents64, fd, RZ_AREA->maps, sizeof(RZ_AREA->maps))) > 0) {
        int called = call_threads(RZ_AREA->maps, bytes);
        *new = called < 0 ? -1 : *new + called;
    }
    RZ_RAW1(close, fd);
    return *new < 0
               ? rz_image_refuse(RZ_ERR_UNSUPPORTED, "more than %d threads run", RZ_IMAGE_THREADS)
               : RZ_OK;
}

/* When all stand none runs that could send another one a signal: now each notes those that it has.
 */
static void note_all(void)
{
    rz_image_threads_order(RZ_ORDER_NOTE);
    for (uint32_t i = 1; i < RZ_AREA->n_parked; i++) {
        while (atomic_load(&RZ_AREA->parked[i].state) == RZ_THREAD_STANDS) {
            RZ_RAW0(sched_yield);
        }
    }
}

/* Until all are parked, and they had made no others. On an error they run again. */
rz_status_t rz_image_threads_stop(void)
{
    atomic_store(&RZ_AREA->order, RZ_ORDER_WAIT);
    RZ_AREA->n_parked = 1; /* 0 is this thread */
    RZ_AREA->restorer = 0;
    take_signal();
    int new = 1;
    rz_status_t status = RZ_OK;
    while (status == RZ_OK && new > 0) {
        status = call_all(&new);
        for (uint32_t i = 1; status == RZ_OK && i < RZ_AREA->n_parked; i++) {
            status = await_parked(&RZ_AREA->parked[i]);
        }
    }
    if (status != RZ_OK) {
        rz_image_threads_order(RZ_ORDER_GO);
        rz_image_threads_await();
    } else {
        note_all();
        RZ_AREA->stubborn = 0;
    }
    give_signal_back();
    return status;
}

void rz_image_threads_order(enum rz_image_order order)
{
    atomic_store(&RZ_AREA->order, (int32_t)order);
    RZ_RAW3(futex, &RZ_AREA->order, FUTEX_WAKE_PRIVATE, RZ_IMAGE_THREADS);
}

/* Until those that were parked have ended or run. */
void rz_image_threads_await(void)
{
    for (uint32_t i = 1; i < RZ_AREA->n_parked; i++) {
        int32_t state;
        while ((state = atomic_load(&RZ_AREA->parked[i].state)) == RZ_THREAD_PARKED ||
               state == RZ_THREAD_STANDS) {
            RZ_RAW0(sched_yield);
        }
    }
}
