/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process joins a job that another launcher has started, one that speaks PMIx: srun
 * --mpi=pmix, Open MPI's mpirun. Its processes find each other through PMIx, start rzrun (rank 0)
 * and the daemons (the first process of each other host), and get their links from processes that
 * stand in for them (wire/meeting.h). Then they are a job like any other. README.md.
 */
#ifndef RZ_PMIX_PMIX_H
#define RZ_PMIX_PMIX_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a launcher that speaks PMIx has started this process, and no rzrun. */
bool rz_pmix_started(void);

/* Whether a launcher has started this process and others, of which it cannot know: each would be a
 * job of its own. *why says by what, and what helps. */
bool rz_pmix_is_lost(const char **why);

/*
 * Joins: the environment is then as for a process of a daemon (RZ_LINK_FD, ...). *stand_in: a
 * socket to what stands in for this process; its end means that this process must end, and
 * RZ_STAND_IN_LEFT says that this process has left the job. -1: the job has one process, which
 * needs no daemon. An error was reported; each wait has a bound. Once per process.
 */
rz_status_t rz_pmix_join(int *stand_in);

/* ---- The module: rhizome-pmix.so, which alone is linked with libpmix ---- */

#define RZ_PMIX_VERSION 1

struct rz_pmix_entry {
    uint32_t version;
    rz_status_t (*join)(int *stand_in);
};

/* What it joins by (steps.c). */
rz_status_t rz_pmix_steps_join(int *stand_in);

#endif
