/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a child shall inherit although its parent has changed it for itself: signals, niceness, the
 * bound of open files.
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

/* At the start of a process, before it changes any of it; no signal is blocked any more. */
void rz_inherited_take(struct rz_inherited *inherited);

/* In a child between fork and exec: async-signal-safe calls only. */
void rz_inherited_give(const struct rz_inherited *inherited);

/* This process: as many open files as the system lets it have, and this niceness, where it may. */
void rz_inherited_raise(const struct rz_inherited *inherited, int niceness);

#endif
