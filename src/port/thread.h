/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the library, most of them inside a user's program. */
#ifndef RZ_PORT_THREAD_H
#define RZ_PORT_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Starts run(arg) with all signals blocked: the program's handlers never run there. stack: bytes;
 * the system's default size is used for 0, and if the program's thread-local data does not fit.
 * name: at most 15 characters, as shown by ps. Returns 0, or errno: then *thread is not set.
 */
int rz_thread_start(pthread_t *thread, const char *name, size_t stack, void *(*run)(void *),
                    void *arg);

/* Waits for the thread's end, at most for within_s seconds. Returns whether it has ended. */
bool rz_thread_join_within(pthread_t thread, unsigned within_s);

#endif
