/* Properties of the heartbeat ring (docs/protocols/ring.md), over the states of a group. */
#ifndef RZ_PROTO_RING_CHECK_H
#define RZ_PROTO_RING_CHECK_H

#include "proto/check.h"

/* Under the timing rule of ring.h always, else after the storm: nobody living is held for out. */
bool rz_ring_check_accurate(const struct rz_check_group *group);

/* Always: nobody watches or serves itself or one it knows out. */
bool rz_ring_check_safety(const struct rz_check_group *group);

/* After the storm: each member watches its closest living predecessor and serves its closest living
 * successor. */
bool rz_ring_check_stable(const struct rz_check_group *group);

/* After the storm: each living member knows all that are out. Holds where the host spreads the
 * news. */
bool rz_ring_check_complete(const struct rz_check_group *group);

#endif
