/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams between members of a job: each counts once, and only from a member that has the key. */
#include "net/datagram/datagram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key[RZ_DATAGRAM_KEY_BYTES] = "the key of a job under test ...";
static const uint8_t other_key[RZ_DATAGRAM_KEY_BYTES] = "the key of another job entirely";

static struct rz_datagrams *sender, *receiver, *stranger;

static int setup(void **state)
{
    (void)state;
    assert_int_equal(rz_datagrams_open(&sender, 3, 0, key), RZ_OK);
    assert_int_equal(rz_datagrams_open(&receiver, 3, 1, key), RZ_OK);
    assert_int_equal(rz_datagrams_open(&stranger, 3, 0, other_key), RZ_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rz_datagrams_close(sender);
    rz_datagrams_close(receiver);
    rz_datagrams_close(stranger);
    return 0;
}

static rz_status_t take(const uint8_t *packet, size_t n)
{
    rz_id from;
    const uint8_t *payload;
    size_t length;
    return rz_datagram_unseal(receiver, packet, n, &from, &payload, &length);
}

static void what_was_sealed_comes_out(void **state)
{
    static uint8_t data[RZ_DATAGRAM_PAYLOAD_MAX], packet[RZ_DATAGRAM_MAX];
    const size_t lengths[] = {0, 1, 48, RZ_DATAGRAM_PAYLOAD_MAX};
    (void)state;
    memset(data, 0x5A, sizeof(data));
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        rz_id from;
        const uint8_t *payload;
        size_t length, n = rz_datagram_seal(sender, 1, data, lengths[i], packet);
        assert_int_equal(rz_datagram_unseal(receiver, packet, n, &from, &payload, &length), RZ_OK);
        assert_int_equal(from, 0);
        assert_int_equal(length, lengths[i]);
        assert_memory_equal(payload, data, length);
    }
}

static void any_change_is_noticed(void **state)
{
    uint8_t packet[RZ_DATAGRAM_MAX];
    (void)state;
    size_t n = rz_datagram_seal(sender, 1, "hello", 5, packet);
    for (size_t i = 0; i < n; i++) {
        packet[i] ^= 1;
        assert_int_equal(take(packet, n), RZ_ERR_AUTHENTICATION);
        packet[i] ^= 1;
    }
    for (size_t shorter = 0; shorter < n; shorter++) {
        assert_true(take(packet, shorter) != RZ_OK);
    }
    assert_int_equal(take(packet, n), RZ_OK); /* nothing of it was noted */
}

static void strangers_and_mail_for_others_are_refused(void **state)
{
    uint8_t packet[RZ_DATAGRAM_MAX];
    (void)state;
    size_t n = rz_datagram_seal(stranger, 1, "hello", 5, packet);
    assert_int_equal(take(packet, n), RZ_ERR_AUTHENTICATION);
    n = rz_datagram_seal(sender, 2, "hello", 5, packet);
    assert_int_equal(take(packet, n), RZ_ERR_AUTHENTICATION);
    n = rz_datagram_seal(receiver, 0, "hello", 5, packet); /* its own, sent back to it */
    assert_int_equal(take(packet, n), RZ_ERR_AUTHENTICATION);
}

/* In any order, as far as the window reaches back; each once. */
static void repetitions_are_refused(void **state)
{
    enum { N = 3 * RZ_DATAGRAM_WINDOW };
    static uint8_t packet[N][RZ_DATAGRAM_MAX];
    size_t n = 0;
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        n = rz_datagram_seal(sender, 1, "hello", 5, packet[i]);
    }
    const unsigned newest = N - 1, oldest = N - RZ_DATAGRAM_WINDOW;
    assert_int_equal(take(packet[5], n), RZ_OK);
    assert_int_equal(take(packet[newest], n), RZ_OK);
    for (unsigned i = oldest; i < newest; i++) {
        assert_int_equal(take(packet[i], n), RZ_OK);
    }
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(take(packet[i], n), RZ_ERR_INVALID);
    }
}

/* Each number makes another key, the same for all; nothing of one counts under the other. */
static void derived_keys_count_anew(void **state)
{
    uint8_t first[RZ_DATAGRAM_KEY_BYTES], again[RZ_DATAGRAM_KEY_BYTES], packet[RZ_DATAGRAM_MAX];
    (void)state;
    rz_datagram_derive(key, 1, first);
    rz_datagram_derive(key, 1, again);
    assert_memory_equal(first, again, sizeof(first));
    rz_datagram_derive(key, 2, again);
    assert_memory_not_equal(first, again, sizeof(first));
    rz_datagram_derive(other_key, 1, again);
    assert_memory_not_equal(first, again, sizeof(first));
    rz_datagrams_close(stranger);
    assert_int_equal(rz_datagrams_open(&stranger, 3, 0, first), RZ_OK);
    size_t n = rz_datagram_seal(stranger, 1, "hello", 5, packet);
    assert_int_equal(take(packet, n), RZ_ERR_AUTHENTICATION);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(what_was_sealed_comes_out), TEST(any_change_is_noticed),
                                       TEST(strangers_and_mail_for_others_are_refused),
                                       TEST(repetitions_are_refused),
                                       TEST(derived_keys_count_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
