/*
 * How the checkers of the protocol rooms (ROOM_check.c) see a group of members: states by position,
 * through the room's read-only accessors. Checkers know neither simulator nor host; they are not
 * part of librzproto.a.
 */
#ifndef RZ_PROTO_CHECK_H
#define RZ_PROTO_CHECK_H

#include <rhizome/types.h>

struct rz_check_group {
    uint32_t n_members;
    const void *const
        *state; /* [n_members]: the member's state block, or NULL when it is dead or has stopped */
    const bool *crashed; /* [n_members]: died, as opposed to stopped of its own */
    rz_time now;
    char *why; /* a checker that returns false writes its reason here, by snprintf */
    size_t why_bytes;
};

#endif
