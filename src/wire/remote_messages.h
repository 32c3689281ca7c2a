/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon on another host reads from standard input when it starts: its length (u32), then
 * one message. The job's key travels here and nowhere else: no command line and no environment
 * contains it.
 */
#ifndef RZ_WIRE_REMOTE_MESSAGES_H
#define RZ_WIRE_REMOTE_MESSAGES_H

#include "wire/schema.h"

/* Both ends have the same, or the start is refused. */
#define RZ_REMOTE_VERSION 3

#define RZ_REMOTE_MAX (1u << 20) /* the longest message */

/* clang-format off */
#define RZ_REMOTE_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    MESSAGE(BEGIN, begin) U32(version) TEXT(release) /* of this protocol, and of rzrun */ \
        U64(job) BYTES(key) U32(node) TEXT(host)     /* its number, and its name as the user gave it */ \
        TEXT(rzrun)                                  /* addresses of rzrun (port/address.h), separated by commas */ \
        TEXT(interface) TEXT(port_range)             /* "": that by which rzrun is reached; any ports */ \
        U64(within_ns)                               /* the time to reach rzrun */ \
        BYTES(agent) TEXT(command) U32(fan_out)      /* how it starts its children: words of the agent, and what the host runs */ \
        BYTES(children)                              /* of each: node u32, host text */ \
        END(BEGIN, begin)
/* clang-format on */

#define RZ_REMOTE_NAME(NAME, name) RZ_REMOTE_##NAME,
enum rz_remote_type {
    RZ_REMOTE_TABLE(RZ_REMOTE_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                    RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_REMOTE_TYPE_COUNT
};
#undef RZ_REMOTE_NAME

#define RZ_REMOTE_OPEN(NAME, name)                                                                 \
    struct rz_remote_##name {                                                                      \
        char empty_;
#define RZ_REMOTE_CLOSE(NAME, name)                                                                \
    }                                                                                              \
    name;
struct rz_remote_message {
    enum rz_remote_type type;
    union {
        RZ_REMOTE_TABLE(RZ_REMOTE_OPEN, RZ_SCHEMA_STRUCT_U32, RZ_SCHEMA_STRUCT_U64,
                        RZ_SCHEMA_STRUCT_BYTES, RZ_SCHEMA_STRUCT_TEXT, RZ_REMOTE_CLOSE)
    };
};
#undef RZ_REMOTE_OPEN
#undef RZ_REMOTE_CLOSE

/* Writes message into buffer; returns the number of bytes, or 0 if they do not fit. TEXT fields
 * must not be NULL. */
size_t rz_remote_encode(const struct rz_remote_message *message, void *buffer, size_t bytes);

/* Reads one message that fills buffer; pointers in it refer to buffer. RZ_ERR_MALFORMED: *message
 * must not be used. */
rz_status_t rz_remote_decode(struct rz_remote_message *message, const void *buffer, size_t bytes);

/* The name of a type, for logs; never NULL. */
const char *rz_remote_type_name(enum rz_remote_type type);

#endif
