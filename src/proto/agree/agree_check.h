/*
 * Properties of agreement (numbers as in docs/protocols/agree.md), as predicates over the states of
 * a group.
 *
 * Two decisions are compared while both members live (S3-1): that is stronger than comparing at
 * quiescence, and no more can be had: a member that decides and fails before anybody heard of it
 * may have decided otherwise than the survivors. What a failed member decided must still be what it
 * handed on (S3-1c): who took a decision from it took the same one. Not more either: a message of a
 * later operation does not carry the decision of an earlier one.
 *
 * Each returns whether the property holds, and else writes the reason to group->why.
 */
#ifndef RZ_PROTO_AGREE_CHECK_H
#define RZ_PROTO_AGREE_CHECK_H

#include "proto/agree/agree.h"
#include "proto/agree/agree_tree.h"
#include "proto/check.h"

/* What a member proposes to an operation, where that can be told from both. Each member has an item
 * of its own. */
struct rz_agree_proposal {
    uint64_t and, min, max;
    uint64_t item;
};
typedef struct rz_agree_proposal (*rz_agree_proposal_of)(rz_id member, uint64_t seq);

/* What was last seen of an operation at a member; zeroed at the start. n_members times
 * rz_agree_watch_slots of them. */
struct rz_agree_watched {
    uint64_t seq;
    uint64_t digest; /* of its decision; 0: none seen */
    uint32_t status;
    uint32_t zero;
};
uint32_t rz_agree_watch_slots(const struct rz_agree_config *config);

/* S3-1 one decision, S3-3 only the failed processes are found failed, S3-6 nothing is forgotten
 * that a living member may ask for, S3-8 the same members agreed failed. After any step. */
bool rz_agree_check_agreement(const struct rz_check_group *group);

/* S3-2 a decision has in it what every member proposed that is not among the agreed failed. After
 * any step. */
bool rz_agree_check_participation(const struct rz_check_group *group,
                                  rz_agree_proposal_of proposal_of);

/* S3-7 the whole tree: one root, every other living member once in its parent's list, above it only
 * lower ids. */
bool rz_agree_check_tree(const struct rz_check_group *group, const struct rz_agree_tree_view *tree);

/* S3-5 who gathers misses a child, who has sent UP has sent it to its parent, whose child it is.
 * After any step. */
bool rz_agree_check_trees(const struct rz_check_group *group);

/* S3-4 states go forward only, but for a new root, and S3-1c. Between calls, each member may take
 * one step. */
bool rz_agree_check_progress(const struct rz_check_group *group, struct rz_agree_watched *watched);

/* L3-1 what all living members contributed to is decided, L3-2 nobody waits for what another one
 * has decided. At quiescence: nothing in flight, all failures told. */
bool rz_agree_check_liveness(const struct rz_check_group *group);

#endif
