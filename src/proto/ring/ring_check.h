/* Properties of the heartbeat ring (docs/protocols/ring.md), over the states of a group. */
#ifndef RZ_PROTO_RING_CHECK_H
#define RZ_PROTO_RING_CHECK_H

#include "proto/check.h"

/* Always: nobody living is held for out, nobody watches itself or one it knows out, nobody is its
 * own observer. */
bool rz_ring_check_safety(const struct rz_check_group *group);

/* After the storm: each member watches its closest living predecessor and serves its closest living
 * successor. */
bool rz_ring_check_stable(const struct rz_check_group *group);

/* After the storm: each living member knows all that are out. Holds where the host spreads the
 * news. */
bool rz_ring_check_complete(const struct rz_check_group *group);

#endif
