/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells rzrun this node's part of the messages that are under way (wire/message_balance.h). */
#ifndef RZ_DAEMON_TELL_UNDER_WAY_H
#define RZ_DAEMON_TELL_UNDER_WAY_H

#include "daemon/process/child.h"

/* Between the slots of these bits. Takes time in proportion to all slots, for each process here. */
void rz_children_tell_under_way(const struct rz_children *children, const uint8_t *bits,
                                uint32_t bytes);

#endif
