/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The view that the checkers of the protocol components (PROTOCOL_check.c) have of a group of
 * members: states by position, read through the accessors of the component. Checkers know neither
 * simulator nor host; they are not part of librzproto.a.
 */
#ifndef RZ_PROTO_CHECK_H
#define RZ_PROTO_CHECK_H

#include <rhizome/types.h>

struct rz_check_group {
    uint32_t n_members;
    const void *const
        *state; /* [n_members]: the member's state block, or NULL if it has failed or has stopped */
    const bool *crashed; /* [n_members]: failed, as opposed to stopped by itself */
    rz_time now;
    char *why; /* a checker that returns false writes the reason here */
    size_t why_bytes;
};

/* Writes the violated property to group->why; returns false, for the checker to return. */
bool rz_check_say(const struct rz_check_group *group, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
