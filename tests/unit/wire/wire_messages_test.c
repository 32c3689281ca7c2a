/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoders check all input: what was encoded is decoded, truncated or invented input is refused,
 * and nothing is read out of bounds (this test also runs under the address sanitizer, every buffer
 * in a block of its own). */
#include "base/random.h"
#include "wire/launch_messages.h"
#include "wire/link_messages.h"
#include "wire/overlay_messages.h"
#include "wire/protocol_encoding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SCHEDULES 20000

/* Every family in one form: decode a block of its own size, encode it again. */
struct family {
    const char *name;
    unsigned types;
    size_t (*decode_encode)(const void *bytes, size_t n, void *out, size_t max); /* 0: refused */
};

#define FAMILY(family)                                                                             \
    static size_t family##_again(const void *bytes, size_t n, void *out, size_t max)               \
    {                                                                                              \
        struct rz_##family##_message message;                                                      \
        if (rz_##family##_decode(&message, bytes, n) != RZ_OK) {                                   \
            return 0;                                                                              \
        }                                                                                          \
        return rz_##family##_encode(&message, out, max);                                           \
    }
FAMILY(link)
FAMILY(overlay)
FAMILY(launch)
#undef FAMILY

static size_t protocol_again(const void *bytes, size_t n, void *out, size_t max)
{
    struct rz_message message;
    uint64_t items[64];
    if (rz_protocol_message_decode(&message, items, 64, bytes, n) != RZ_OK) {
        return 0;
    }
    return rz_protocol_message_encode(&message, items, out, max);
}

static const struct family families[] = {{"link", RZ_LINK_TYPE_COUNT, link_again},
                                         {"overlay", RZ_OVERLAY_TYPE_COUNT, overlay_again},
                                         {"launch", RZ_LAUNCH_TYPE_COUNT, launch_again},
                                         {"protocol", RZ_PROTOCOL_COUNT, protocol_again}};

/* In a block of exactly n bytes, so that the sanitizer sees one byte too far. */
static size_t again_in_own_block(const struct family *family, const uint8_t *bytes, size_t n,
                                 void *out, size_t max)
{
    uint8_t *block = malloc(n ? n : 1);
    assert_non_null(block);
    memcpy(block, bytes, n);
    size_t encoded = family->decode_encode(block, n, out, max);
    free(block);
    return encoded;
}

static void test_accepted_bytes_encode_to_themselves(void **state)
{
    uint8_t bytes[256], out[256];
    unsigned accepted[4] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= SCHEDULES; seed++) {
        struct rz_random random = {seed};
        const struct family *family = &families[seed % 4];
        size_t n = (size_t)rz_random_below(&random, 120);
        memset(bytes, 0, sizeof(bytes));
        for (size_t i = 0; i < n; i++) {
            bytes[i] = rz_random_below(&random, 4) ? 0 : (uint8_t)rz_random_next(&random);
        }
        bytes[0] = (uint8_t)rz_random_below(&random, family->types + 1);
        bytes[1] = bytes[2] = bytes[3] = 0;
        size_t encoded = again_in_own_block(family, bytes, n, out, sizeof(out));
        if (encoded == 0) {
            continue;
        }
        accepted[seed % 4]++;
        if (encoded != n || memcmp(bytes, out, n) != 0) {
            fail_msg("%s, seed %llu: other bytes come back", family->name,
                     (unsigned long long)seed);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_true(accepted[i] > 0); /* else the test has tested nothing */
    }
}

static void assert_every_cut_is_refused(const struct family *family, const uint8_t *bytes, size_t n)
{
    uint8_t out[1024], longer[1025];
    assert_true(n > 0 && n <= 1024);
    assert_int_equal(again_in_own_block(family, bytes, n, out, sizeof(out)), n);
    for (size_t cut = 0; cut < n; cut++) {
        if (again_in_own_block(family, bytes, cut, out, sizeof(out)) != 0) {
            fail_msg("%s: cut to %zu of %zu bytes, and accepted", family->name, cut, n);
        }
    }
    memcpy(longer, bytes, n);
    longer[n] = 0;
    assert_int_equal(again_in_own_block(family, longer, n + 1, out, sizeof(out)), 0);
}

static void test_link_hello(void **state)
{
    uint8_t buffer[1024], key[32] = {7};
    struct rz_link_message in = {.type = RZ_LINK_HELLO,
                                 .hello = {.version = RZ_LINK_VERSION,
                                           .job = UINT64_C(0x0102030405060708),
                                           .rank = 3,
                                           .incarnation = 2,
                                           .pid = 77,
                                           .key = key,
                                           .key_length = sizeof(key)}},
                           out;
    (void)state;
    size_t n = rz_link_encode(&in, buffer, sizeof(buffer));
    assert_every_cut_is_refused(&families[0], buffer, n);
    assert_int_equal(rz_link_decode(&out, buffer, n), RZ_OK);
    assert_int_equal(out.type, RZ_LINK_HELLO);
    assert_true(out.hello.job == in.hello.job && out.hello.rank == 3 && out.hello.incarnation == 2);
    assert_int_equal(out.hello.key_length, 32);
    assert_memory_equal(out.hello.key, key, sizeof(key));
    assert_int_equal(rz_link_encode(&in, buffer, n - 1), 0); /* no space: nothing, not a part */
    assert_int_equal(buffer[4], RZ_LINK_VERSION); /* little-endian, whatever the machine */
    assert_int_equal(buffer[8], 8);
}

static void test_texts_end_with_nul(void **state)
{
    uint8_t buffer[256];
    struct rz_overlay_message in = {.type = RZ_OVERLAY_FENCED,
                                    .fenced = {.reason = "declared failed"}},
                              out;
    (void)state;
    size_t n = rz_overlay_encode(&in, buffer, sizeof(buffer));
    assert_every_cut_is_refused(&families[1], buffer, n);
    assert_int_equal(rz_overlay_decode(&out, buffer, n), RZ_OK);
    assert_string_equal(out.fenced.reason, "declared failed");
    buffer[n - 1] = 'x';
    assert_int_equal(rz_overlay_decode(&out, buffer, n), RZ_ERR_MALFORMED);
}

static void test_protocol_message(void **state)
{
    uint64_t items[3] = {1, UINT64_MAX, 5}, back[3];
    struct rz_message in = {.protocol = RZ_PROTOCOL_RECOVER,
                            .type = 2,
                            .view = 1,
                            .from = 3,
                            .origin = 3,
                            .seq = 9,
                            .n_items = 3},
                      out;
    uint8_t buffer[256];
    (void)state;
    size_t n = rz_protocol_message_encode(&in, items, buffer, sizeof(buffer));
    assert_int_equal(n, RZ_PROTOCOL_HEADER_BYTES + 24);
    assert_every_cut_is_refused(&families[3], buffer, n);
    assert_int_equal(rz_protocol_message_decode(&out, back, 3, buffer, n), RZ_OK);
    assert_memory_equal(&in, &out, sizeof(in));
    assert_memory_equal(items, back, sizeof(items));
    assert_int_equal(rz_protocol_message_decode(&out, back, 2, buffer, n),
                     RZ_ERR_MALFORMED); /* no space for three */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted_bytes_encode_to_themselves),
                                       cmocka_unit_test(test_link_hello),
                                       cmocka_unit_test(test_texts_end_with_nul),
                                       cmocka_unit_test(test_protocol_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
