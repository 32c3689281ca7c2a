/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a blocked call waits for. The library tells the daemon (link/waits.h) when the call first
 * sleeps, and again when that changes. The monitoring pages show from it which process waits for
 * which.
 */
#ifndef RZ_MPI_BLOCKED_H
#define RZ_MPI_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

#include <rhizome/types.h>

struct rz_comm;
struct rz_wait;

/* `comm` may be NULL; `peer` is a process's number, or -1 for any or all of comm. */
struct rz_blocked {
    const char *call;
    const struct rz_comm *comm;
    /* the sequence number of the collective operation in comm; 0: point-to-point */
    uint64_t operation;
    int64_t peer;
    bool others; /* another process than the peer may end it */
    int tag;     /* MPI_ANY_TAG where no single tag is meant */
    /* It waits beside the program's own work, and so has no time for other processes. */
    bool beside;

    /* Sets the other fields again where they change while the call waits; NULL: they do not change.
     * arg: the one of rz_engine_wait. */
    void (*look)(struct rz_blocked *blocked, const void *arg);
};

/* What the daemon was told of one wait; {NULL} at its beginning. */
struct rz_blocked_told {
    struct rz_wait *wait; /* NULL: nothing was told yet, or no wait object was free */
    rz_time since;        /* 0: nothing was told yet */
    bool threads;         /* set by the caller: other threads may call MPI */
    struct rz_blocked what;
};

/* The call is about to sleep: writes its wait object, or updates it with what it waits for now. */
void rz_blocked_tell(struct rz_blocked_told *told, const struct rz_blocked *blocked,
                     const void *arg);

/* The call waits no longer: clears its wait object. */
void rz_blocked_over(struct rz_blocked_told *told);

#endif
