/* SPDX-License-Identifier: BSD-3-Clause */
/* How large a job may be (docs/bounds.md). */
#ifndef RZ_BASE_JOB_BOUNDS_H
#define RZ_BASE_JOB_BOUNDS_H

#define RZ_NODES_MAX 1024
#define RZ_RANKS_MAX 65536
/* Its ranks, and as many for spawned processes. */
#define RZ_SLOTS_MAX (2 * RZ_RANKS_MAX)

#endif
