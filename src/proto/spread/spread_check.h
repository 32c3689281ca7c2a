/* Properties of reliable broadcast (docs/protocols/spread.md), over the states of a group.
 */
#ifndef RZ_PROTO_SPREAD_CHECK_H
#define RZ_PROTO_SPREAD_CHECK_H

#include "proto/check.h"

/* Whether each item known anywhere was broadcast, by a member: broadcast[0..n), sorted. */
bool rz_spread_check_no_invention(const struct rz_check_group *group, const uint64_t *broadcast,
                                  uint32_t n);

/* Whether what each living member delivered is what it knows: delivered[i] counts the items told to
 * host i. */
bool rz_spread_check_delivered(const struct rz_check_group *group, const uint8_t *delivered);

/* At quiescence: whether all living members know the same. */
bool rz_spread_check_all_know(const struct rz_check_group *group);

#endif
