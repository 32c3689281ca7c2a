/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder and the decoder of the messages of a gateway, generated from their table. */
#include "wire/gateway_messages.h"

#define GATEWAY_CASE(NAME, name) RZ_SCHEMA_CASE(RZ_GATEWAY_##NAME, name)

size_t rz_gateway_encode(const struct rz_gateway_message *message, void *buffer,
                         size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_GATEWAY_TABLE, GATEWAY_CASE)}

rz_status_t rz_gateway_decode(struct rz_gateway_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_GATEWAY_TABLE, GATEWAY_CASE, enum rz_gateway_type)
}

#define GATEWAY_TEXT(NAME, name) [RZ_GATEWAY_##NAME] = #NAME,
const char *rz_gateway_type_name(enum rz_gateway_type type)
{
    static const char *const names[RZ_GATEWAY_TYPE_COUNT] = {
        RZ_GATEWAY_TABLE(GATEWAY_TEXT, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                         RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_GATEWAY_TYPE_COUNT ? names[type] : "unknown";
}
