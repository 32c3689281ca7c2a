/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The terms of a monitor, as info sets them (docs/group.md).
 */
#ifndef RZ_MPI_MONITOR_TERMS_H
#define RZ_MPI_MONITOR_TERMS_H

#include "mpi/impl.h"
#include "proto/diagnose/diagnose.h"

#define RZ_MONITOR_NAME_SIZE 64

struct rz_monitor_terms {
    struct rz_diagnose_config tests; /* the thread sets members, view, start and host */
    char name[RZ_MONITOR_NAME_SIZE];
};

/* Sets the defaults, and the values in info (NULL: none); unknown keys are ignored.
 * MPI_ERR_INFO_VALUE names key and value. */
int rz_monitor_terms_read(struct rz_info *info, struct rz_monitor_terms *terms);

/* A number for the terms, equal for equal terms: members must not differ. */
uint64_t rz_monitor_terms_number(const struct rz_monitor_terms *terms);

#endif
