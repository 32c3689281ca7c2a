/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts threads with all signals blocked, and joins them with a bound. */
#include "port/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

int rz_thread_start(pthread_t *thread, const char *name, size_t stack, void *(*run)(void *),
                    void *arg)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    if (stack > 0) {
        pthread_attr_setstacksize(&attributes, stack);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, &attributes, run, arg);
    if (error == EINVAL) { /* the program's thread-local data does not fit into a small stack */
        error = pthread_create(thread, NULL, run, arg);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error == 0) {
        pthread_setname_np(*thread, name);
    }
    return error;
}

bool rz_thread_join_within(pthread_t thread, unsigned within_s)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += within_s;
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}
