/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoder and the decoder of the messages between a process and its daemon, generated from
 * their table, and pairs of slot and incarnation. */
#include "wire/link_messages.h"

#define LINK_CASE(NAME, name) RZ_SCHEMA_CASE(RZ_LINK_##NAME, name)

size_t rz_link_encode(const struct rz_link_message *message, void *buffer,
                      size_t bytes){RZ_SCHEMA_ENCODE_BODY(RZ_LINK_TABLE, LINK_CASE)}

rz_status_t rz_link_decode(struct rz_link_message *message, const void *buffer, size_t bytes)
{
    RZ_SCHEMA_DECODE_BODY(RZ_LINK_TABLE, LINK_CASE, enum rz_link_type)
}

void rz_link_put_pairs(uint8_t *out, const struct rz_link_process *processes, uint32_t n)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, out, (size_t)n * RZ_LINK_PAIR_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u32(&w, processes[i].slot);
        rz_wire_put_u32(&w, processes[i].incarnation);
    }
}

uint32_t rz_link_get_pairs(const uint8_t *bytes, uint32_t length, struct rz_link_process *processes,
                           uint32_t max)
{
    struct rz_wire_reader r;
    uint32_t n = length / RZ_LINK_PAIR_BYTES;
    rz_wire_reader_init(&r, bytes, length);
    for (uint32_t i = 0; i < n && i < max; i++) {
        processes[i].slot = rz_wire_get_u32(&r);
        processes[i].incarnation = rz_wire_get_u32(&r);
    }
    return n;
}

#define LINK_TEXT(NAME, name) [RZ_LINK_##NAME] = #NAME,
const char *rz_link_type_name(enum rz_link_type type)
{
    static const char *const names[RZ_LINK_TYPE_COUNT] = {
        RZ_LINK_TABLE(LINK_TEXT, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                      RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING)};
    return (unsigned)type < RZ_LINK_TYPE_COUNT ? names[type] : "unknown";
}
