/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The definition of a family of messages: one table per family, from which its structs, its enum,
 * its encoder and its decoder are generated. A table is a macro
 *
 *   #define RZ_LINK_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
 *       MESSAGE(HELLO, hello) U32(version) U64(job) BYTES(key) TEXT(name) END(HELLO, hello) ...
 *
 * A BYTES field f becomes `const uint8_t *f; uint32_t f_length;`, a TEXT field `const char *f`.
 * Decoded pointers refer to the input buffer. On the wire a message is its type (u32), then its
 * fields, little-endian, in the order of the table; left-over bytes are malformed.
 */
#ifndef RZ_WIRE_SCHEMA_H
#define RZ_WIRE_SCHEMA_H

#include "base/status.h"
#include "wire/cursor.h"

#define RZ_SCHEMA_NOTHING(...)

/* The structs. */
#define RZ_SCHEMA_STRUCT_U32(field) uint32_t field;
#define RZ_SCHEMA_STRUCT_U64(field) uint64_t field;
#define RZ_SCHEMA_STRUCT_BYTES(field)                                                              \
    const uint8_t *field;                                                                          \
    uint32_t field##_length;
#define RZ_SCHEMA_STRUCT_TEXT(field) const char *field;

/* The encoder: inside a function with `w` and `m`. */
#define RZ_SCHEMA_PUT_U32(field) rz_wire_put_u32(w, m->field);
#define RZ_SCHEMA_PUT_U64(field) rz_wire_put_u64(w, m->field);
#define RZ_SCHEMA_PUT_BYTES(field) rz_wire_put_bytes(w, m->field, m->field##_length);
#define RZ_SCHEMA_PUT_TEXT(field) rz_wire_put_text(w, m->field);

/* The decoder: inside a function with `r` and `m`. */
#define RZ_SCHEMA_GET_U32(field) m->field = rz_wire_get_u32(r);
#define RZ_SCHEMA_GET_U64(field) m->field = rz_wire_get_u64(r);
#define RZ_SCHEMA_GET_BYTES(field) m->field = rz_wire_get_bytes(r, &m->field##_length);
#define RZ_SCHEMA_GET_TEXT(field) m->field = rz_wire_get_text(r);

/* One message of a table: the case of its type, with `m`, its structure in `message`. */
#define RZ_SCHEMA_CASE(TYPE, name)                                                                 \
    case TYPE: {                                                                                   \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define RZ_SCHEMA_CASE_END(NAME, name)                                                             \
    break;                                                                                         \
    }

/* Bodies for a family's encode and decode, given its enum prefix, struct prefix and table. */
#define RZ_SCHEMA_ENCODE_BODY(TABLE, MESSAGE)                                                      \
    struct rz_wire_writer writer, *w = &writer;                                                    \
    rz_wire_writer_init(w, buffer, bytes);                                                         \
    rz_wire_put_u32(w, (uint32_t)message->type);                                                   \
    switch (message->type) {                                                                       \
        TABLE(MESSAGE, RZ_SCHEMA_PUT_U32, RZ_SCHEMA_PUT_U64, RZ_SCHEMA_PUT_BYTES,                  \
              RZ_SCHEMA_PUT_TEXT, RZ_SCHEMA_CASE_END)                                              \
    default:                                                                                       \
        return 0;                                                                                  \
    }                                                                                              \
    return w->overflow ? 0 : (size_t)(w->at - w->start);

#define RZ_SCHEMA_DECODE_BODY(TABLE, MESSAGE, TYPE)                                                \
    struct rz_wire_reader reader, *r = &reader;                                                    \
    rz_wire_reader_init(r, buffer, bytes);                                                         \
    message->type = (TYPE)rz_wire_get_u32(r);                                                      \
    if (r->malformed) {                                                                            \
        return RZ_ERR_MALFORMED;                                                                   \
    }                                                                                              \
    switch (message->type) {                                                                       \
        TABLE(MESSAGE, RZ_SCHEMA_GET_U32, RZ_SCHEMA_GET_U64, RZ_SCHEMA_GET_BYTES,                  \
              RZ_SCHEMA_GET_TEXT, RZ_SCHEMA_CASE_END)                                              \
    default:                                                                                       \
        return RZ_ERR_MALFORMED;                                                                   \
    }                                                                                              \
    return r->malformed || r->at != r->end ? RZ_ERR_MALFORMED : RZ_OK;

#endif
