/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder and the decoder of the messages between rzrun and a daemon, generated from their
 * table. */
#include "wire/launch_messages.h"

#define LAUNCH_CASE(NAME, name) RZ_SCHEMA_CASE(RZ_LAUNCH_##NAME, name)

size_t rz_launch_encode(const struct rz_launch_message *message, void *buffer,
                        size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_LAUNCH_TABLE, LAUNCH_CASE)}

rz_status_t rz_launch_decode(struct rz_launch_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_LAUNCH_TABLE, LAUNCH_CASE, enum rz_launch_type)
}

#define LAUNCH_TEXT(NAME, name) [RZ_LAUNCH_##NAME] = #NAME,
const char *rz_launch_type_name(enum rz_launch_type type)
{
    static const char *const names[RZ_LAUNCH_TYPE_COUNT] = {
        RZ_LAUNCH_TABLE(LAUNCH_TEXT, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                        RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_LAUNCH_TYPE_COUNT ? names[type] : "unknown";
}
