/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a blocked call waits for, told to the daemon (link/waits.h) when the call first sleeps, and
 * again where that changes: for the pages that show who waits for whom.
 */
#ifndef RZ_MPI_BLOCKED_H
#define RZ_MPI_BLOCKED_H

#include <stdint.h>

#include <rhizome/types.h>

struct rz_comm;
struct rz_wait;

/* `comm` may be NULL; `peer` is a process's number, or -1 for any or all of comm. */
struct rz_blocked {
    const char *call;
    const struct rz_comm *comm;
    uint64_t operation; /* the number of the collective operation in comm, 0: point-to-point */
    int64_t peer;
    int tag; /* MPI_ANY_TAG where no single tag is meant */

    /* Where the others change while the call waits (NULL: they stay): sets them again. arg: of
     * rz_engine_wait. */
    void (*look)(struct rz_blocked *blocked, const void *arg);
};

/* What was said of one wait; {NULL} at its begin. */
struct rz_blocked_told {
    struct rz_wait *wait; /* NULL: nothing yet, or there was no room to say it */
    rz_time since;
    struct rz_blocked what;
};

/* It is about to sleep: says so, or what it waits for now. */
void rz_blocked_tell(struct rz_blocked_told *told, const struct rz_blocked *blocked,
                     const void *arg);

/* It waits no more. */
void rz_blocked_over(struct rz_blocked_told *told);

#endif
