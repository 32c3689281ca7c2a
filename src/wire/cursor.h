/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded little-endian reading and writing. An error is sticky, so that callers check once, at the
 * end. */
#ifndef RZ_WIRE_CURSOR_H
#define RZ_WIRE_CURSOR_H

#include <rhizome/types.h>

struct rz_wire_writer {
    uint8_t *start, *at, *end;
    bool overflow; /* a value did not fit; nothing was written past end */
};

struct rz_wire_reader {
    const uint8_t *at, *end;
    bool malformed; /* a value was missing or ill-formed; values read since are 0 */
};

void rz_wire_writer_init(struct rz_wire_writer *writer, void *buffer, size_t bytes);
void rz_wire_put_u32(struct rz_wire_writer *writer, uint32_t value);
void rz_wire_put_u64(struct rz_wire_writer *writer, uint64_t value);
void rz_wire_put_bytes(struct rz_wire_writer *writer, const void *bytes,
                       uint32_t length);                                /* length, then bytes */
void rz_wire_put_text(struct rz_wire_writer *writer, const char *text); /* NUL included */

void rz_wire_reader_init(struct rz_wire_reader *reader, const void *buffer, size_t bytes);
uint32_t rz_wire_get_u32(struct rz_wire_reader *reader);
uint64_t rz_wire_get_u64(struct rz_wire_reader *reader);

/* Both return pointers into the input buffer. An empty or missing value is never NULL. */
const uint8_t *rz_wire_get_bytes(struct rz_wire_reader *reader, uint32_t *length);
const char *rz_wire_get_text(struct rz_wire_reader *reader);

#endif
