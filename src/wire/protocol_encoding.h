/* SPDX-License-Identifier: BSD-3-Clause */
/* A protocol core's message on the wire: the 48-byte header of rhizome/protocol.h, then its items,
 * little-endian. */
#ifndef RZ_WIRE_PROTOCOL_ENCODING_H
#define RZ_WIRE_PROTOCOL_ENCODING_H

#include "base/status.h"

#include <rhizome/protocol.h>

#define RZ_PROTOCOL_HEADER_BYTES 48

/* Bytes of a message with n_items items. */
size_t rz_protocol_message_bytes(uint32_t n_items);

/* Returns the number of bytes written, or 0 if they do not fit. */
size_t rz_protocol_message_encode(const struct rz_message *message, const uint64_t *items,
                                  void *buffer, size_t bytes);

/* Items are written to items[0..items_max); RZ_ERR_MALFORMED if header and length disagree or there
 * are too many items. */
rz_status_t rz_protocol_message_decode(struct rz_message *message, uint64_t *items,
                                       uint32_t items_max, const void *buffer, size_t bytes);

#endif
