/* SPDX-License-Identifier: BSD-3-Clause */
/* How a component outputs an action. */
#ifndef RZ_PROTO_EMIT_H
#define RZ_PROTO_EMIT_H

#include "base/assert.h"

#include <rhizome/protocol.h>

#include <string.h>

/* The next action, zeroed; the caller of the step provided enough entries. */
static inline struct rz_action *rz_emit(struct rz_actions *out, enum rz_action_kind kind)
{
    rz_assert(out->count < out->max);
    struct rz_action *action = &out->v[out->count++];
    memset(action, 0, sizeof(*action));
    action->kind = kind;
    return action;
}

#endif
