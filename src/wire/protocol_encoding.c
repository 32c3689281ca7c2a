/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes the header and the items of a protocol core's message. */
#include "wire/protocol_encoding.h"

#include "wire/cursor.h"

size_t rz_protocol_message_bytes(uint32_t n_items)
{
    return RZ_PROTOCOL_HEADER_BYTES + (size_t)n_items * 8;
}

size_t rz_protocol_message_encode(const struct rz_message *message, const uint64_t *items,
                                  void *buffer, size_t bytes)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, buffer, bytes);
    rz_wire_put_u32(&w, (uint32_t)message->protocol | (uint32_t)message->type << 8 |
                            (uint32_t)message->flags << 16);
    rz_wire_put_u32(&w, message->view);
    rz_wire_put_u32(&w, message->from);
    rz_wire_put_u32(&w, message->origin);
    rz_wire_put_u64(&w, message->seq);
    rz_wire_put_u64(&w, message->word[0]);
    rz_wire_put_u64(&w, message->word[1]);
    rz_wire_put_u32(&w, message->n_items);
    rz_wire_put_u32(&w, 0);
    for (uint32_t i = 0; i < message->n_items; i++) {
        rz_wire_put_u64(&w, items[i]);
    }
    return w.overflow ? 0 : (size_t)(w.at - w.start);
}

rz_status_t rz_protocol_message_decode(struct rz_message *message, uint64_t *items,
                                       uint32_t items_max, const void *buffer, size_t bytes)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, buffer, bytes);
    uint32_t first = rz_wire_get_u32(&r);
    *message = (struct rz_message){.protocol = (uint8_t)first,
                                   .type = (uint8_t)(first >> 8),
                                   .flags = (uint16_t)(first >> 16)};
    message->view = rz_wire_get_u32(&r);
    message->from = rz_wire_get_u32(&r);
    message->origin = rz_wire_get_u32(&r);
    message->seq = rz_wire_get_u64(&r);
    message->word[0] = rz_wire_get_u64(&r);
    message->word[1] = rz_wire_get_u64(&r);
    message->n_items = rz_wire_get_u32(&r);
    message->zero = rz_wire_get_u32(&r);
    if (r.malformed || message->zero != 0 || message->protocol >= RZ_PROTOCOL_COUNT ||
        message->n_items > items_max || bytes != rz_protocol_message_bytes(message->n_items)) {
        return RZ_ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < message->n_items; i++) {
        items[i] = rz_wire_get_u64(&r);
    }
    return RZ_OK;
}
