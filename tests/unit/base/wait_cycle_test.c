/* SPDX-License-Identifier: BSD-3-Clause */
/* Cycles of waits: ranks that wait for each other, and what only looks like it. */
#include "base/wait_cycle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MANY = 100000 };

static size_t walk[MANY];
static struct rz_wait_cycle cycles[MANY];

/* A wait for a message, of no collective operation. */
static struct rz_wait_node receive(uint32_t rank, size_t peer)
{
    return (struct rz_wait_node){.rank = rank, .peer = peer};
}

static struct rz_wait_node collective(uint32_t rank, size_t peer, uint64_t sequence,
                                      uint64_t operation)
{
    return (struct rz_wait_node){
        .rank = rank, .peer = peer, .sequence = sequence, .operation = operation};
}

static size_t find(const struct rz_wait_node *nodes, size_t n)
{
    return rz_wait_cycles(nodes, n, walk, cycles);
}

static void each_cycle_is_found_once_by_its_lowest_rank(void **state)
{
    /* 1 -> 3 -> 1 and 0 -> 2 -> 5 -> 0, in another order; 4 waits for one of a cycle. */
    const struct rz_wait_node nodes[] = {receive(5, 3), receive(3, 4), receive(4, 1),
                                         receive(0, 5), receive(1, 1), receive(2, 0)};
    (void)state;
    assert_int_equal(find(nodes, 6), 2);
    assert_int_equal(cycles[0].first, 3);
    assert_int_equal(cycles[0].n, 3);
    assert_int_equal(cycles[1].first, 4);
    assert_int_equal(cycles[1].n, 2);
    assert_int_equal(rz_wait_next(nodes, cycles[1].first), 1);
}

static void a_rank_may_wait_for_itself(void **state)
{
    const struct rz_wait_node nodes[] = {receive(7, 0)};
    (void)state;
    assert_int_equal(find(nodes, 1), 1);
    assert_int_equal(cycles[0].n, 1);
}

static void a_chain_is_no_cycle(void **state)
{
    const struct rz_wait_node nodes[] = {receive(0, 1), receive(1, 2), receive(2, RZ_WAIT_NONE)};
    (void)state;
    assert_int_equal(find(nodes, 3), 0);
    assert_int_equal(find(nodes, 0), 0);
}

/* Rank 2 has not come: the others wait for each other inside of the operation. */
static void one_collective_operation_is_no_cycle(void **state)
{
    const struct rz_wait_node nodes[] = {collective(0, 1, 8, 3), collective(1, 0, 8, 3)};
    (void)state;
    assert_int_equal(find(nodes, 2), 0);
}

static void operations_in_another_order_are_a_cycle(void **state)
{
    const struct rz_wait_node nodes[] = {collective(0, 1, 8, 3), collective(1, 0, 16, 3)};
    (void)state;
    assert_int_equal(find(nodes, 2), 1);
}

static void a_rank_that_is_ahead_keeps_none(void **state)
{
    const struct rz_wait_node nodes[] = {collective(0, 1, 8, 3), collective(1, 0, 8, 4)};
    (void)state;
    assert_int_equal(rz_wait_next(nodes, 0), RZ_WAIT_NONE);
    assert_int_equal(rz_wait_next(nodes, 1), 0);
    assert_int_equal(find(nodes, 2), 0);
}

static void a_receive_and_a_collective_operation_are_a_cycle(void **state)
{
    const struct rz_wait_node nodes[] = {collective(0, 1, 8, 3), receive(1, 0)};
    (void)state;
    assert_int_equal(find(nodes, 2), 1);
}

/* All wait for one, in a chain: each node is looked at a few times only. */
static void many_waits_take_little_time(void **state)
{
    static struct rz_wait_node nodes[MANY];
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        nodes[i] = receive((uint32_t)i, (i + 1) % MANY);
    }
    assert_int_equal(find(nodes, MANY), 1);
    assert_int_equal(cycles[0].n, MANY);
    nodes[0].peer = RZ_WAIT_NONE;
    assert_int_equal(find(nodes, MANY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cycle_is_found_once_by_its_lowest_rank),
        cmocka_unit_test(a_rank_may_wait_for_itself),
        cmocka_unit_test(a_chain_is_no_cycle),
        cmocka_unit_test(one_collective_operation_is_no_cycle),
        cmocka_unit_test(operations_in_another_order_are_a_cycle),
        cmocka_unit_test(a_rank_that_is_ahead_keeps_none),
        cmocka_unit_test(a_receive_and_a_collective_operation_are_a_cycle),
        cmocka_unit_test(many_waits_take_little_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
