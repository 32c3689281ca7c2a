/* SPDX-License-Identifier: BSD-3-Clause */
/* What a monitor is told by info (docs/group.md). */
#ifndef RZ_MPI_MONITOR_TERMS_H
#define RZ_MPI_MONITOR_TERMS_H

#include "mpi/chapter.h"
#include "proto/diagnose/diagnose.h"

#define RZ_MONITOR_NAME_SIZE 64

struct rz_monitor_terms {
    struct rz_diagnose_config tests; /* members, view, start and host are the thread's to say */
    char name[RZ_MONITOR_NAME_SIZE];
};

/* The defaults, and what info (NULL: nothing) says instead; keys that are not known are left alone.
 * MPI_ERR_INFO_VALUE names key and value. */
int rz_monitor_terms_read(struct rz_info *info, struct rz_monitor_terms *terms);

/* A number that is the same for the same terms: members must not differ. */
uint64_t rz_monitor_terms_number(const struct rz_monitor_terms *terms);

#endif
