/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of agreement (numbers as in docs/protocols/agree.md), as predicates over the states of
 * a group.
 *
 * Two decisions are compared while both members live (S3-1): this is stronger than a comparison at
 * quiescence. Nothing stronger holds: a member that decides and fails before any other member
 * receives the decision may have decided otherwise than the survivors. But a failed member must
 * have decided what it sent (S3-1c): a member that took its decision holds the same one. Again
 * nothing stronger holds: a message of a later operation does not carry the decision of an earlier
 * one.
 *
 * Each returns whether the property holds, and otherwise writes the reason to group->why.
 */
#ifndef RZ_PROTO_AGREE_CHECK_H
#define RZ_PROTO_AGREE_CHECK_H

#include "proto/agree/agree.h"
#include "proto/agree/agree_tree.h"
#include "proto/check.h"

/* What a member proposes to an operation, a function of both. Each member has an item of its own.
 */
struct rz_agree_proposal {
    uint64_t and, min, max;
    uint64_t item;
};
typedef struct rz_agree_proposal (*rz_agree_proposal_of)(rz_id member, uint64_t seq);

/* The last observed state of an operation at a member; zeroed at the start. n_members times
 * rz_agree_watch_slots of them. */
struct rz_agree_watched {
    uint64_t seq;
    uint64_t digest; /* of its decision; 0: none seen */
    uint32_t status;
    uint32_t zero;
};
uint32_t rz_agree_watch_slots(const struct rz_agree_config *config);

/* S3-1 one decision; S3-3 only failed members are known failed; S3-6 no decision is forgotten that
 * a living member may ask for; S3-8 the same members are agreed failed. After any step. */
bool rz_agree_check_agreement(const struct rz_check_group *group);

/* S3-2 a decision contains the proposal of every member that is not agreed failed. After any step.
 */
bool rz_agree_check_participation(const struct rz_check_group *group,
                                  rz_agree_proposal_of proposal_of);

/* S3-7 the whole tree: one root; every other living member occurs once in its parent's list and has
 * only ancestors of lower ids. */
bool rz_agree_check_tree(const struct rz_check_group *group, const struct rz_agree_tree_view *tree);

/* S3-5 a member that is GATHERING misses a child; a member that has sent UP has sent it to its
 * parent, which has it as a child. After any step. */
bool rz_agree_check_trees(const struct rz_check_group *group);

/* S3-4 states go forward only, except at a new root; and S3-1c. Between two calls each member may
 * take one step. */
bool rz_agree_check_progress(const struct rz_check_group *group, struct rz_agree_watched *watched);

/* L3-1 an operation that all living members contributed to is decided; L3-2 no member waits for a
 * decision that another one has. At quiescence: no message in flight, all failures reported. */
bool rz_agree_check_liveness(const struct rz_check_group *group);

#endif
