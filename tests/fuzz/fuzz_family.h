/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target of a family of messages (wire/schema.h): RZ_FUZZ_FAMILY(link, LINK). The file that
 * uses it defines CASE and END as the family's source does. Seeds are messages of every type,
 * written by the family's own encoder.
 */
#ifndef RZ_TESTS_FUZZ_FAMILY_H
#define RZ_TESTS_FUZZ_FAMILY_H

#include "base/random.h"
#include "fuzz.h"
#include "wire/schema.h"

#include <stdlib.h>
#include <string.h>

#define FILL_U32(field) m->field = (uint32_t)rz_random_next(random);
#define FILL_U64(field) m->field = rz_random_next(random);
#define FILL_BYTES(field)                                                                          \
    m->field = (const uint8_t *)"some bytes of any kind";                                          \
    m->field##_length = (uint32_t)rz_random_below(random, 23);
#define FILL_TEXT(field) m->field = rz_random_below(random, 4) ? "127.0.0.1" : "";

/* What was decoded lies inside what was decoded from. */
#define WITHIN(at, n)                                                                              \
    rz_fuzz_holds((const uint8_t *)(at) >= start && (const uint8_t *)(at) <= end &&                \
                  (size_t)(end - (const uint8_t *)(at)) >= (n))
#define LOOK_BYTES(field)                                                                          \
    if (m->field##_length > 0) {                                                                   \
        WITHIN(m->field, m->field##_length);                                                       \
    }
#define LOOK_TEXT(field)                                                                           \
    WITHIN(m->field, 1);                                                                           \
    rz_fuzz_holds(memchr(m->field, 0, (size_t)(end - (const uint8_t *)m->field)) != NULL);

/* fill(message, random): any values for a message of message->type. */
#define RZ_FUZZ_FILL(family, FAMILY)                                                               \
    static void fill(struct rz_##family##_message *message, struct rz_random *random)              \
    {                                                                                              \
        switch (message->type) {                                                                   \
            RZ_##FAMILY##_TABLE(CASE, FILL_U32, FILL_U64, FILL_BYTES, FILL_TEXT, END) default      \
                : break;                                                                           \
        }                                                                                          \
        (void)random;                                                                              \
    }

#define RZ_FUZZ_FAMILY(family, FAMILY)                                                             \
    RZ_FUZZ_FILL(family, FAMILY)                                                                   \
                                                                                                   \
    static size_t seed(uint32_t number, uint8_t *bytes, size_t max)                                \
    {                                                                                              \
        struct rz_random random = {number};                                                        \
        struct rz_##family##_message message = {                                                   \
            .type = (enum rz_##family##_type)(number % RZ_##FAMILY##_TYPE_COUNT)};                 \
        fill(&message, &random);                                                                   \
        return number < 2 * RZ_##FAMILY##_TYPE_COUNT ? rz_##family##_encode(&message, bytes, max)  \
                                                     : 0;                                          \
    }                                                                                              \
                                                                                                   \
    static void look(const struct rz_##family##_message *message, const uint8_t *start,            \
                     const uint8_t *end)                                                           \
    {                                                                                              \
        switch (message->type) {                                                                   \
            RZ_##FAMILY##_TABLE(CASE, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, LOOK_BYTES, LOOK_TEXT, \
                                END) default : break;                                              \
        }                                                                                          \
        (void)start, (void)end;                                                                    \
    }                                                                                              \
                                                                                                   \
    static void refuses(const uint8_t *bytes, size_t n)                                            \
    {                                                                                              \
        struct rz_##family##_message message;                                                      \
        uint8_t *copy = rz_fuzz_copy(bytes, n);                                                    \
        rz_fuzz_holds(rz_##family##_decode(&message, copy, n) == RZ_ERR_MALFORMED);                \
        free(copy);                                                                                \
    }                                                                                              \
                                                                                                   \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        struct rz_##family##_message message;                                                      \
        rz_status_t status = rz_##family##_decode(&message, data, size);                           \
        rz_fuzz_holds(status == RZ_OK || status == RZ_ERR_MALFORMED);                              \
        if (status != RZ_OK) {                                                                     \
            return 0;                                                                              \
        }                                                                                          \
        look(&message, data, data + size);                                                         \
        rz_fuzz_holds(strcmp(rz_##family##_type_name(message.type), "unknown") != 0);              \
        /* One meaning has one form: it is encoded as it was, into a block of exactly that size.   \
         */                                                                                        \
        uint8_t *again = malloc(size);                                                             \
        rz_fuzz_holds(rz_##family##_encode(&message, again, size) == size);                        \
        rz_fuzz_holds(memcmp(again, data, size) == 0);                                             \
        free(again);                                                                               \
        again = malloc(size - 1);                                                                  \
        rz_fuzz_holds(rz_##family##_encode(&message, again, size - 1) == 0);                       \
        free(again);                                                                               \
        refuses(data, size - 1);                                                                   \
        uint8_t *longer = malloc(size + 1);                                                        \
        memcpy(longer, data, size);                                                                \
        longer[size] = 0;                                                                          \
        refuses(longer, size + 1);                                                                 \
        free(longer);                                                                              \
        return 0;                                                                                  \
    }                                                                                              \
                                                                                                   \
    const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_wire_" #family,                    \
                                                  .input_max = 4096,                               \
                                                  .memory_fixed = 64,                              \
                                                  .memory_factor = 8,                              \
                                                  .seed = seed}

#endif
