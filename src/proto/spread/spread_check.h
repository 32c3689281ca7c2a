/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of reliable broadcast (docs/protocols/spread.md), over the states of a group.
 */
#ifndef RZ_PROTO_SPREAD_CHECK_H
#define RZ_PROTO_SPREAD_CHECK_H

#include "proto/check.h"

/* Whether each item known at any member was broadcast by a member: broadcast[0..n), sorted. */
bool rz_spread_check_no_invention(const struct rz_check_group *group, const uint64_t *broadcast,
                                  uint32_t n);

/* Whether each living member knows exactly the items it delivered: delivered[i] counts those
 * delivered to host i. */
bool rz_spread_check_delivered(const struct rz_check_group *group, const uint8_t *delivered);

/* At quiescence: whether all living members know the same items. */
bool rz_spread_check_all_know(const struct rz_check_group *group);

#endif
