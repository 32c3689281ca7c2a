/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder and the decoder of the messages between daemons, generated from their table. */
#include "wire/overlay_messages.h"

#define OVERLAY_CASE(NAME, name) RZ_SCHEMA_CASE(RZ_OVERLAY_##NAME, name)

size_t rz_overlay_encode(const struct rz_overlay_message *message, void *buffer,
                         size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_OVERLAY_TABLE, OVERLAY_CASE)}

rz_status_t rz_overlay_decode(struct rz_overlay_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_OVERLAY_TABLE, OVERLAY_CASE, enum rz_overlay_type)
}

#define OVERLAY_TEXT(NAME, name) [RZ_OVERLAY_##NAME] = #NAME,
const char *rz_overlay_type_name(enum rz_overlay_type type)
{
    static const char *const names[RZ_OVERLAY_TYPE_COUNT] = {
        RZ_OVERLAY_TABLE(OVERLAY_TEXT, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                         RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_OVERLAY_TYPE_COUNT ? names[type] : "unknown";
}
