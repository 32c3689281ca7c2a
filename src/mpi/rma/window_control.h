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

/* A change of one element of the owner's memory that the process with the right to accumulate asks
 * it for (rma_owner_request.h). One cache line. */
struct rz_win_owner_request {
    _Alignas(64) _Atomic uint32_t state; /* enum rz_owner_request_state */
    uint32_t asker;                      /* its rank */
    uint32_t op;                         /* as in struct rz_rma_operation, as are: */
    uint8_t what, number, size, has_data, wants_result;
    uint8_t refused; /* the owner could not do it */
    uint64_t at;
    unsigned char data[2][8]; /* the new value; what it is compared with */
    unsigned char result[8];
};

/* A long row that another process of the node puts into the owner's memory, or gets from it, and
 * of which both copy pieces (rma_share.h). */
struct rz_win_share {
    _Alignas(64) _Atomic uint64_t word;   /* rank of the asker << 8, and enum rz_share_state */
    uint64_t at, there, bytes;            /* addresses at the owner and at the asker */
    uint32_t writes;                      /* to the owner's memory */
    _Atomic uint32_t failed;              /* the owner could not copy a piece */
    _Alignas(64) _Atomic uint64_t pieces; /* end of those that are not taken << 32, and the first */
};

struct rz_win_control {
    _Alignas(64) struct rz_win_identity identity;
    _Atomic uint32_t open; /* 0: its owner has freed the window, or has rolled back */
    _Alignas(64) _Atomic uint32_t exclusive; /* rank + 1 of the owner of the exclusive lock */
    _Atomic uint32_t accumulating;           /* rank + 1 of the process that accumulates */
    struct rz_win_owner_request owner_request;
    struct rz_win_share share;
    _Alignas(64) _Atomic uint8_t flags[]; /* [2 * size]: shared locks, waits */
};

/* The bytes of a control block for n members. */
static inline size_t rz_win_control_bytes(int n)
{
    return sizeof(struct rz_win_control) + 2 * (size_t)n;
}

#endif
