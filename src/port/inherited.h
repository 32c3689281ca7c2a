/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a child must inherit unchanged although its parent has changed it for itself: signals,
 * niceness, and the limit of open files.
 */
#ifndef RZ_PORT_INHERITED_H
#define RZ_PORT_INHERITED_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

struct rz_inherited {
    uint64_t ignored; /* bit N: signal N */
    sigset_t blocked;
    int niceness;
    struct rlimit files;
};

/* Saves everything. To be called at the start of a process, before it changes any of it; afterwards
 * no signal is blocked. */
void rz_inherited_take(struct rz_inherited *inherited);

/* Restores everything in a child between fork and exec: async-signal-safe. */
void rz_inherited_give(const struct rz_inherited *inherited);

/* Raises the limit of open files of this process as far as the system lets it, and sets this
 * niceness if allowed. */
void rz_inherited_raise(const struct rz_inherited *inherited, int niceness);

#endif
