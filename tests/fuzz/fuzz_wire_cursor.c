/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cursor and the envelope. An input is a program of reads, then the bytes that it reads; a
 * reader written again for this test says what each must give.
 */
#include "fuzz.h"
#include "wire/cursor.h"
#include "wire/envelope.h"

#include <stdlib.h>
#include <string.h>

#define READS_MAX 32

struct model {
    const uint8_t *bytes;
    size_t n, at;
    bool bad;
};

static uint64_t model_number(struct model *model, unsigned bytes)
{
    uint64_t value = 0;
    if (model->bad || model->n - model->at < bytes) {
        model->bad = true;
        return 0;
    }
    for (unsigned i = bytes; i-- > 0;) {
        value = value << 8 | model->bytes[model->at + i];
    }
    model->at += bytes;
    return value;
}

/* Where it is, or NULL. */
static const uint8_t *model_bytes(struct model *model, uint32_t *length)
{
    *length = (uint32_t)model_number(model, 4);
    if (model->bad || model->n - model->at < *length) {
        model->bad = true;
        *length = 0;
        return NULL;
    }
    model->at += *length;
    return model->bytes + model->at - *length;
}

static void read_bytes(struct rz_wire_reader *reader, struct model *model,
                       struct rz_wire_writer *writer)
{
    uint32_t length, expected;
    const uint8_t *bytes = rz_wire_get_bytes(reader, &length);
    const uint8_t *want = model_bytes(model, &expected);
    rz_fuzz_holds(bytes && length == expected && (!want || want == bytes));
    rz_wire_put_bytes(writer, bytes, length);
}

static void read_text(struct rz_wire_reader *reader, struct model *model,
                      struct rz_wire_writer *writer)
{
    uint32_t length;
    const char *text = rz_wire_get_text(reader);
    const uint8_t *want = model_bytes(model, &length);
    const uint8_t *end = want && length > 0 ? memchr(want, 0, length) : NULL;
    /* A text ends where it says, and nowhere before. */
    if (!end || end != want + length - 1) {
        model->bad = true;
    }
    rz_fuzz_holds(text && (model->bad ? *text == 0 : text == (const char *)want));
    rz_wire_put_text(writer, text);
}

static void check_cursor(struct rz_fuzz_input input)
{
    size_t reads = rz_fuzz_below(&input, READS_MAX);
    const uint8_t *program = rz_fuzz_bytes(&input, &reads); /* a read each, by its value modulo 4 */
    size_t n = rz_fuzz_left(&input);
    uint8_t *written = malloc(n);
    struct model model = {input.at, n, 0, false};
    struct rz_wire_reader reader;
    struct rz_wire_writer writer;
    rz_wire_reader_init(&reader, input.at, n);
    rz_wire_writer_init(&writer, written, n);
    for (size_t i = 0; i < reads; i++) {
        uint64_t value = 0;
        if (program[i] % 4 == 0) {
            value = rz_wire_get_u32(&reader);
            rz_fuzz_holds(value == model_number(&model, 4));
            rz_wire_put_u32(&writer, (uint32_t)value);
        } else if (program[i] % 4 == 1) {
            value = rz_wire_get_u64(&reader);
            rz_fuzz_holds(value == model_number(&model, 8));
            rz_wire_put_u64(&writer, value);
        } else if (program[i] % 4 == 2) {
            read_bytes(&reader, &model, &writer);
        } else {
            read_text(&reader, &model, &writer);
        }
        rz_fuzz_holds(reader.malformed == model.bad);
    }
    rz_fuzz_holds(writer.at >= written && (size_t)(writer.at - written) <= n);
    if (!reader.malformed) {
        rz_fuzz_holds(!writer.overflow && (size_t)(writer.at - written) == model.at);
        rz_fuzz_holds(model.at == 0 || memcmp(written, input.at, model.at) == 0);
    }
    free(written);
}

static void check_envelope(const uint8_t *data, size_t size)
{
    struct rz_envelope envelope;
    bool good = rz_envelope_decode(&envelope, data, size);
    if (!good) {
        /* Only length, kind and the field that must be 0 speak against one. */
        rz_fuzz_holds(size != RZ_ENVELOPE_BYTES || data[32] >= RZ_ENVELOPE_COUNT || data[33] ||
                      data[34] || data[35] || data[36] || data[37] || data[38] || data[39]);
        return;
    }
    uint8_t again[RZ_ENVELOPE_BYTES];
    rz_fuzz_holds(size == RZ_ENVELOPE_BYTES && envelope.kind < RZ_ENVELOPE_COUNT);
    rz_envelope_encode(&envelope, again);
    rz_fuzz_holds(memcmp(again, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    check_cursor(input);
    check_envelope(data, size);
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    static const uint8_t reads[][6] = {{5, 0, 1, 2, 3, 0}, {5, 2, 2, 3, 3, 0}, {5, 3, 2, 1, 0, 1}};
    struct rz_wire_writer writer;
    if (number == 3) {
        struct rz_envelope envelope = {.job_token = 99, .epoch = 1, .slot = 3, .serial = 7};
        rz_envelope_encode(&envelope, bytes);
        return RZ_ENVELOPE_BYTES;
    }
    if (number > 3) {
        return 0;
    }
    memcpy(bytes, reads[number], sizeof(reads[number]));
    rz_wire_writer_init(&writer, bytes + sizeof(reads[number]), max - sizeof(reads[number]));
    for (size_t i = 1; i < sizeof(reads[number]); i++) {
        if (reads[number][i] == 0) {
            rz_wire_put_u32(&writer, 0x12345678);
        } else if (reads[number][i] == 1) {
            rz_wire_put_u64(&writer, UINT64_MAX - i);
        } else if (reads[number][i] == 2) {
            rz_wire_put_bytes(&writer, "bytes", 5);
        } else {
            rz_wire_put_text(&writer, "text");
        }
    }
    return (size_t)(writer.at - bytes);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_wire_cursor",
                                              .input_max = 512,
                                              .memory_fixed = 64,
                                              .memory_factor = 2,
                                              .seed = seed};
