/* SPDX-License-Identifier: BSD-3-Clause */
/* One wait of a process, as the process reports it to its daemon (link/waits.h), the daemon to
 * rzrun (WAITING of launch_messages.h), and rzrun to the user. */
#ifndef RZ_WIRE_WAIT_TEXT_H
#define RZ_WIRE_WAIT_TEXT_H

#include <rhizome/types.h>

#define RZ_WAIT_CALL_BYTES 32
#define RZ_WAIT_NAME_BYTES 32
#define RZ_WAIT_ANY UINT32_MAX /* peer or tag: any, or not applicable */

/* A process shows its waits, and at most so often the messages that it has handed over, before it
 * sleeps. */
#define RZ_WAIT_SHOWN_EVERY (50 * RZ_MILLISECOND)

enum rz_wait_flags {
    RZ_WAIT_OTHERS = 1,  /* another process than the peer may end it: one of several, or the one
                            that has what is waited for */
    RZ_WAIT_THREADS = 2, /* the process may have other threads that call MPI */
};

struct rz_wait_text {
    char call[RZ_WAIT_CALL_BYTES]; /* "MPI_Recv" */
    char name[RZ_WAIT_NAME_BYTES]; /* of the communicator, as the user named it; "": unnamed */
    uint64_t context;              /* of the communicator */
    uint32_t members;              /* of it; 0: unknown */
    uint64_t operation;            /* number of the collective or agreement on it, 0: none */
    uint32_t peer, tag;            /* the peer; RZ_WAIT_ANY */
    uint32_t flags;                /* enum rz_wait_flags */
    rz_time since_ns;              /* CLOCK_MONOTONIC */
};

#endif
