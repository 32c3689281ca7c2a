/* SPDX-License-Identifier: BSD-3-Clause */
/* This process as a client of PMIx: its rank among the processes of the launcher, and values that
 * they publish for each other. Calls report their errors on standard error, once. */
#ifndef RZ_PMIX_CLIENT_H
#define RZ_PMIX_CLIENT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rz_pmix_self {
    uint32_t rank, n_ranks;
    bool first_here; /* of the launcher's processes on this host */
};

rz_status_t rz_pmix_client_open(struct rz_pmix_self *self);

/* Leaves PMIx: its threads end. What the launcher does when this process fails is then decided by
 * the exit alone. */
void rz_pmix_client_close(void);

/* Publishes bytes under a key; others see them after the next fence. */
rz_status_t rz_pmix_put(const char *key, const void *bytes, size_t n);

/* All processes have called it, and what they published before can be read. */
rz_status_t rz_pmix_fence(void);

/* What `rank` published, in memory that the caller frees. */
rz_status_t rz_pmix_get(uint32_t rank, const char *key, void **bytes, size_t *n);

#endif
