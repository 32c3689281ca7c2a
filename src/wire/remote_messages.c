/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder and the decoder of what a daemon on another host is started with, generated from
 * their table. */
#include "wire/remote_messages.h"

#define REMOTE_CASE(NAME, name) RZ_SCHEMA_CASE(RZ_REMOTE_##NAME, name)

size_t rz_remote_encode(const struct rz_remote_message *message, void *buffer,
                        size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_REMOTE_TABLE, REMOTE_CASE)}

rz_status_t rz_remote_decode(struct rz_remote_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_REMOTE_TABLE, REMOTE_CASE, enum rz_remote_type)
}

#define REMOTE_TEXT(NAME, name) [RZ_REMOTE_##NAME] = #NAME,
const char *rz_remote_type_name(enum rz_remote_type type)
{
    static const char *const names[RZ_REMOTE_TYPE_COUNT] = {
        RZ_REMOTE_TABLE(REMOTE_TEXT, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                        RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_REMOTE_TYPE_COUNT ? names[type] : "unknown";
}
