/* SPDX-License-Identifier: BSD-3-Clause */
/* Writers and readers of little-endian values that never pass the end of their buffer. */
#include "wire/cursor.h"

#include <string.h>

void rz_wire_writer_init(struct rz_wire_writer *writer, void *buffer, size_t bytes)
{
    *writer =
        (struct rz_wire_writer){.start = buffer, .at = buffer, .end = (uint8_t *)buffer + bytes};
}

static uint8_t *claim(struct rz_wire_writer *writer, size_t bytes)
{
    if (writer->overflow || (size_t)(writer->end - writer->at) < bytes) {
        writer->overflow = true;
        return NULL;
    }
    uint8_t *at = writer->at;
    writer->at += bytes;
    return at;
}

static void put(struct rz_wire_writer *writer, uint64_t value, unsigned bytes)
{
    uint8_t *at = claim(writer, bytes);
    for (unsigned i = 0; at && i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

void rz_wire_put_u32(struct rz_wire_writer *writer, uint32_t value)
{
    put(writer, value, 4);
}

void rz_wire_put_u64(struct rz_wire_writer *writer, uint64_t value)
{
    put(writer, value, 8);
}

void rz_wire_put_bytes(struct rz_wire_writer *writer, const void *bytes, uint32_t length)
{
    rz_wire_put_u32(writer, length);
    uint8_t *at = claim(writer, length);
    if (at && length > 0) {
        memcpy(at, bytes, length);
    }
}

void rz_wire_put_text(struct rz_wire_writer *writer, const char *text)
{
    rz_wire_put_bytes(writer, text, (uint32_t)strlen(text) + 1);
}

void rz_wire_reader_init(struct rz_wire_reader *reader, const void *buffer, size_t bytes)
{
    *reader = (struct rz_wire_reader){.at = buffer, .end = (const uint8_t *)buffer + bytes};
}

static const uint8_t *take(struct rz_wire_reader *reader, size_t bytes)
{
    if (reader->malformed || (size_t)(reader->end - reader->at) < bytes) {
        reader->malformed = true;
        return NULL;
    }
    const uint8_t *at = reader->at;
    reader->at += bytes;
    return at;
}

static uint64_t get(struct rz_wire_reader *reader, unsigned bytes)
{
    const uint8_t *at = take(reader, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < bytes; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

uint32_t rz_wire_get_u32(struct rz_wire_reader *reader)
{
    return (uint32_t)get(reader, 4);
}

uint64_t rz_wire_get_u64(struct rz_wire_reader *reader)
{
    return get(reader, 8);
}

const uint8_t *rz_wire_get_bytes(struct rz_wire_reader *reader, uint32_t *length)
{
    *length = rz_wire_get_u32(reader);
    const uint8_t *at = take(reader, *length);
    if (at) {
        return at;
    }
    *length = 0;
    return (const uint8_t *)"";
}

const char *rz_wire_get_text(struct rz_wire_reader *reader)
{
    uint32_t length;
    const uint8_t *bytes = rz_wire_get_bytes(reader, &length);
    /* The first NUL must be the last byte: text after an earlier one would be ignored. */
    if (length > 0 && memchr(bytes, 0, length) == bytes + length - 1) {
        return (const char *)bytes;
    }
    reader->malformed = true;
    return "";
}
