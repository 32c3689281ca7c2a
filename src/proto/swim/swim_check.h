/*
 * Properties of SWIM (docs/protocols/swim.md, S5-1 to S5-6, L5-1, L5-2), over the states of a group
 * and what the checker remembers of earlier ones.
 */
#ifndef RZ_PROTO_SWIM_CHECK_H
#define RZ_PROTO_SWIM_CHECK_H

#include "proto/check.h"

/* What the checker remembers of a group of so many members, in words that are 0 at the start: the
 * last incarnation of each, and the weight of the evidence that each had of each. */
#define RZ_SWIM_CHECK_WORDS(members) ((members) + (members) * (members))

/* Always. S5-1: what an observer knows of a member never gets older; S5-2: nobody knows an
 * incarnation that the member did not make; S5-3: nobody holds itself for suspect or failed, unless
 * it leaves; S5-5: news are not sent on more often than their limit; S5-6: one timer for each
 * suspect, none for others. final: as in the members' configuration. */
bool rz_swim_check_safety(const struct rz_check_group *group, bool final, uint64_t *memory);

/* Where no answer is late and nothing is lost: nobody living is suspected. */
bool rz_swim_check_accurate(const struct rz_check_group *group);

/* At the end. L5-1: all living hold all others for failed or gone, and L5-2: hold each other for
 * alive. S5-4: they have the same incarnation of each. */
bool rz_swim_check_complete(const struct rz_check_group *group);
bool rz_swim_check_cleared(const struct rz_check_group *group);
bool rz_swim_check_agreed(const struct rz_check_group *group);

/* At the end, where failure is final. S5-7: who lives and is held for failed by another one living
 * has parted from it for good: both hold the other for failed. More is the host's work (a quorum).
 */
bool rz_swim_check_parted(const struct rz_check_group *group);

#endif
