/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks wait for: ranks that wait in the same call for the same one, and cycles of waits. */
#ifndef RZ_VIEW_TOP_WAITS_H
#define RZ_VIEW_TOP_WAITS_H

#include "base/wait_cycle.h"
#include "view/top_model.h"

#include <stdio.h>

struct rz_top_waiters {
    const struct rz_top_rank *one; /* call, communicator and peer are the same for all */
    uint32_t n;
    double longest_s;
    char ranks[200]; /* "0-2,5,..." */
};

struct rz_top_waits {
    uint32_t n, n_cycles;
    struct rz_top_waiters *waiters; /* the longest wait first */
    struct rz_wait_cycle *cycles;   /* nodes: the indices of ranks */
};

/* The waits as the model has them, which must exist as long; the caller clears them. A cycle is one
 * of this moment: its waits were read one after the other. */
void rz_top_waits_find(const struct rz_top *top, struct rz_top_waits *waits);
void rz_top_waits_clear(struct rz_top_waits *waits);

/* A hang report: the job, its waits, and each rank, in lines of text. */
void rz_top_waits_report(const struct rz_top *top, FILE *out);

#endif
