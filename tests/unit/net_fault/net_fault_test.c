/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of messages under injected faults. */
#include "net/fault/net_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW (100 * RZ_SECOND)

static int setup(void **state)
{
    struct rz_net_fault *fault;
    assert_int_equal(rz_net_fault_open(&fault, 3, 7), RZ_OK);
    *state = fault;
    return 0;
}

static int teardown(void **state)
{
    rz_net_fault_close(*state);
    return 0;
}

static void without_a_fault_everything_leaves_at_once(void **state)
{
    for (uint32_t peer = 0; peer < 3; peer++) {
        assert_int_equal(rz_net_fault_datagram(*state, peer, NOW), NOW);
        assert_int_equal(rz_net_fault_stream(*state, peer, NOW), NOW);
        assert_false(rz_net_fault_is_cut(*state, peer));
    }
}

static void behind_a_cut_datagrams_are_lost_and_streams_wait(void **state)
{
    rz_net_fault_cut(*state, 1, true);
    assert_true(rz_net_fault_is_cut(*state, 1));
    assert_true(rz_net_fault_datagram(*state, 1, NOW) == RZ_TIME_NEVER);
    assert_true(rz_net_fault_stream(*state, 1, NOW) == RZ_TIME_NEVER);
    assert_int_equal(rz_net_fault_datagram(*state, 2, NOW), NOW); /* of this way only */
    rz_net_fault_heal(*state);
    assert_int_equal(rz_net_fault_stream(*state, 1, NOW + 1), NOW + 1);
}

static void a_delay_keeps_the_order_of_a_stream(void **state)
{
    rz_net_fault_delay(*state, 0, 30 * RZ_MILLISECOND);
    assert_int_equal(rz_net_fault_datagram(*state, 0, NOW), NOW + 30 * RZ_MILLISECOND);
    assert_int_equal(rz_net_fault_stream(*state, 0, NOW), NOW + 30 * RZ_MILLISECOND);
    rz_net_fault_delay(*state, 0, 0);
    assert_int_equal(rz_net_fault_datagram(*state, 0, NOW), NOW);
    assert_int_equal(rz_net_fault_stream(*state, 0, NOW + 1), NOW + 30 * RZ_MILLISECOND);
}

static void so_many_datagrams_are_lost_as_was_ordered(void **state)
{
    unsigned lost = 0;
    rz_net_fault_lose(*state, 0, 300);
    for (unsigned i = 0; i < 10000; i++) {
        lost += rz_net_fault_datagram(*state, 0, NOW) == RZ_TIME_NEVER;
    }
    assert_in_range(lost, 2700, 3300);
    rz_net_fault_lose(*state, 0, RZ_NET_FAULT_CERTAIN);
    assert_true(rz_net_fault_datagram(*state, 0, NOW) == RZ_TIME_NEVER);
}

/* What a stream loses it repeats: nothing is lost, nothing overtakes. */
static void a_lossy_stream_is_late_only(void **state)
{
    rz_time last = 0, latest = NOW + RZ_NET_FAULT_REPEATS_MAX * RZ_NET_FAULT_REPEAT_NS;
    unsigned late = 0;
    rz_net_fault_lose(*state, 0, 300);
    for (unsigned i = 0; i < 1000; i++) {
        rz_time at = rz_net_fault_stream(*state, 0, NOW);
        assert_true(at >= last && at >= NOW && at <= latest);
        late += at > NOW;
        last = at;
    }
    assert_true(late > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(without_a_fault_everything_leaves_at_once),
                                       TEST(behind_a_cut_datagrams_are_lost_and_streams_wait),
                                       TEST(a_delay_keeps_the_order_of_a_stream),
                                       TEST(so_many_datagrams_are_lost_as_was_ordered),
                                       TEST(a_lossy_stream_is_late_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
