/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Early detection: a failed process is noticed within a fraction of a millisecond, however much
 * memory it has. Each child locks a process-shared robust mutex in a page of its daemon; the kernel
 * marks the word at failure, before it releases the memory (waitpid, pidfd and socket EOF follow
 * only after that).
 *
 * Child: a helper thread with all signals blocked owns the lock and sleeps until release. Daemon:
 * one waiter thread per 127 slots in futex_waitv (on kernels that lack it, before 5.16, one per
 * slot in use, in futex), which reports failures through an eventfd and rz_watch_take.
 */
#ifndef RZ_PORT_WATCH_H
#define RZ_PORT_WATCH_H

#include "base/status.h"

#include <rhizome/types.h>

#include <sys/types.h>

struct rz_watch;      /* daemon side */
struct rz_watch_held; /* child side */

enum rz_watch_end { RZ_WATCH_FAILED, RZ_WATCH_CLEAN };

/* A watch page with `slots` slots (bounded by one or several waiter threads, started here with all
 * signals blocked). */
rz_status_t rz_watch_open(struct rz_watch **watch, uint32_t slots);
void rz_watch_close(struct rz_watch *watch);
/* Whether the kernel lets one thread wait for many words. */
bool rz_watch_waits_for_many(void);
int rz_watch_page_fd(const struct rz_watch *watch);  /* passed to children */
int rz_watch_event_fd(const struct rz_watch *watch); /* readable when rz_watch_take has something */

/* Opens a free slot for a new child, or returns RZ_ERR_NO_MEMORY. The caller closes the slot after
 * the child was reaped. */
rz_status_t rz_watch_slot_open(struct rz_watch *watch, uint32_t *slot);
void rz_watch_slot_close(struct rz_watch *watch, uint32_t slot);

/* Takes the next end that was noticed; false: none. at: when the waiter thread saw it. */
bool rz_watch_take(struct rz_watch *watch, uint32_t *slot, enum rz_watch_end *end, rz_time *at);

/* In the child: locks slot of the page (after the last exec). rz_watch_release is the clean end. */
rz_status_t rz_watch_hold(struct rz_watch_held **held, int page_fd, uint32_t slot);

/* Like rz_watch_hold. In addition beat(arg) is called at each period `every` until the release, in
 * the helper thread, which has all signals blocked and a small stack. every 0: never. */
rz_status_t rz_watch_hold_beating(struct rz_watch_held **held, int page_fd, uint32_t slot,
                                  rz_time every, void (*beat)(void *arg), void *arg);
void rz_watch_release(struct rz_watch_held *held);

/* The kernel's number of the helper thread. */
pid_t rz_watch_thread(const struct rz_watch_held *held);

#endif
