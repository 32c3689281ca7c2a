/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder and the decoder of the messages between gateways, generated from their table. */
#include "gateway/peer_messages.h"

#define PEER_CASE(NAME, name) RZ_SCHEMA_CASE(RZ_PEER_##NAME, name)

size_t rz_peer_encode(const struct rz_peer_message *message, void *buffer,
                      size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_PEER_TABLE, PEER_CASE)}

rz_status_t rz_peer_decode(struct rz_peer_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_PEER_TABLE, PEER_CASE, enum rz_peer_type)
}

#define PEER_TEXT(NAME, name) [RZ_PEER_##NAME] = #NAME,
const char *rz_peer_type_name(enum rz_peer_type type)
{
    static const char *const names[RZ_PEER_TYPE_COUNT] = {
        RZ_PEER_TABLE(PEER_TEXT, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                      RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_PEER_TYPE_COUNT ? names[type] : "unknown";
}
