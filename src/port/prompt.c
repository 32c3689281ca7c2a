/* SPDX-License-Identifier: BSD-3-Clause */
/* A timer that sends SIGURG to one thread; its handler does nothing. */
#include "port/prompt.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL_AGAIN_NS 1000000

#ifndef sigev_notify_thread_id /* glibc before 2.38 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The kernel's calls: older C libraries have them in a library of their own, or not at all. */
static _Thread_local bool prepared;
static _Thread_local int timer;
static _Thread_local struct sigaction before;
static _Thread_local sigset_t mask_before;

static void nothing(int number)
{
    (void)number;
}

rz_status_t rz_prompt_prepare(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (prepared) {
        return RZ_OK;
    }
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) {
        return RZ_ERR_SYSTEM;
    }
    /* Without SA_RESTART: what was interrupted is not to wait again. */
    const struct sigaction ours = {.sa_handler = nothing};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGURG);
    sigaction(SIGURG, &ours, &before);
    pthread_sigmask(SIG_UNBLOCK, &one, &mask_before);
    prepared = true;
    return RZ_OK;
}

void rz_prompt_forget(void)
{
    if (prepared) {
        prepared = false;
        syscall(SYS_timer_delete, timer);
        pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
        sigaction(SIGURG, &before, NULL);
    }
}

static void set(long ns)
{
    if (prepared) {
        const struct itimerspec spec = {{.tv_nsec = ns}, {.tv_nsec = ns}};
        syscall(SYS_timer_settime, timer, 0, &spec, NULL);
    }
}

void rz_prompt_begin(void)
{
    set(SIGNAL_AGAIN_NS);
}

void rz_prompt_end(void)
{
    set(0);
}

void rz_prompt_close(int fd)
{
    rz_prompt_begin();
    close(fd);
    rz_prompt_end();
}
