/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of the heartbeat ring (docs/protocols/ring.md), over the states of a group. */
#ifndef RZ_PROTO_RING_CHECK_H
#define RZ_PROTO_RING_CHECK_H

#include "proto/check.h"

/* Under the timing rule of ring.h: at any time; otherwise: after the last failure. No living member
 * is considered out of the ring. */
bool rz_ring_check_accurate(const struct rz_check_group *group);

/* At any time: no member observes or serves itself or a member that it knows to be out. */
bool rz_ring_check_safety(const struct rz_check_group *group);

/* After the last failure: each member observes its closest living predecessor and serves its
 * closest living successor. */
bool rz_ring_check_stable(const struct rz_check_group *group);

/* After the last failure: each living member knows all members that are out. Holds where the host
 * spreads the news. */
bool rz_ring_check_complete(const struct rz_check_group *group);

#endif
