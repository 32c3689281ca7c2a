/*
 * What a process of the job inherits although its daemon has changed it for itself: signals,
 * niceness, the bound of open files. (Directory, umask and all other bounds the daemon leaves as it
 * found them.)
 */
#ifndef RZ_DAEMON_INHERITED_H
#define RZ_DAEMON_INHERITED_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

struct rz_inherited {
    uint64_t ignored; /* bit N: signal N */
    sigset_t blocked;
    int niceness;
    struct rlimit files;
};

/* At the start of the daemon, before it changes any of it; no signal is blocked any more. */
void rz_inherited_take(struct rz_inherited *inherited);

/* In a child between fork and exec: async-signal-safe calls only. */
void rz_inherited_give(const struct rz_inherited *inherited);

#endif
