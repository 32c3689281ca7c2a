/* SPDX-License-Identifier: BSD-3-Clause */
/* The properties of commit, to be checked after every step of any member. States: struct rz_commit.
 */
#ifndef RZ_PROTO_COMMIT_CHECK_H
#define RZ_PROTO_COMMIT_CHECK_H

#include "proto/check.h"

/*
 * Live members of the same epoch restore the same generation (S7-5), written in the same epoch, or
 * all of them none; they have the same placement, and the same old holders until the barrier has
 * opened for one of them. The newest commits that they know of since differ by one generation at
 * most.
 */
bool rz_commit_check_uniform(const struct rz_check_group *group);

/* For each rank, a generation to restore has an owner that is not failed by decision, or what its
 * scheme can restore the piece from. Keepers are alive and, except for files, differ from the
 * owner. */
bool rz_commit_check_holders(const struct rz_check_group *group);

#endif
