/* SPDX-License-Identifier: BSD-3-Clause */
/* The control block of a member of a window, in memory that the processes of its node share. The
 * locks in it: window_words.h. */
#ifndef RZ_MPI_WINDOW_CONTROL_H
#define RZ_MPI_WINDOW_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Says whose memory it is. */
struct rz_win_identity {
    uint64_t job;
    uint32_t job_token, rank, incarnation, zero;
};

struct rz_win_control {
    _Alignas(64) struct rz_win_identity identity;
    _Atomic uint32_t open; /* 0: its owner has freed the window, or has rolled back */
    _Alignas(64) _Atomic uint32_t exclusive; /* rank + 1 of the owner of the exclusive lock */
    _Atomic uint32_t accumulating;           /* rank + 1 of the process that accumulates */
    _Alignas(64) _Atomic uint8_t flags[];    /* [2 * size]: shared locks, waits */
};

/* The bytes of a control block for n members. */
static inline size_t rz_win_control_bytes(int n)
{
    return sizeof(struct rz_win_control) + 2 * (size_t)n;
}

#endif
