/* The properties of commit, to be asked after every step of any member. States: struct rz_commit.
 */
#ifndef RZ_PROTO_COMMIT_CHECK_H
#define RZ_PROTO_COMMIT_CHECK_H

#include "proto/check.h"

/*
 * Members alive in the same epoch restore the same generation (S7-5), written in the same epoch, or
 * all of them none; they have the same placement, and the same old holders until the barrier has
 * opened for one of them. What they know committed since differs by one generation at most.
 */
bool rz_commit_check_uniform(const struct rz_check_group *group);

/* A generation to restore has for each rank an owner that is not failed by decision, or what its
 * scheme gives it back from; keepers live, and but for files are others than the owner. */
bool rz_commit_check_holders(const struct rz_check_group *group);

#endif
