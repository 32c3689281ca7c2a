/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of processes: ranks, and those of spawns whose slots are used again. */
#include "gateway/gateway.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 3, SLOTS = 6 };

static struct rz_gateway make(void)
{
    struct rz_gateway gateway = {
        .job = {.node = 1, .n_nodes = 2, .n_ranks = RANKS, .n_slots = SLOTS}};
    const struct rz_gateway_process ranks[RANKS] = {
        {.slot = 0, .node = 0}, {.slot = 1, .node = 1}, {.slot = 2, .node = 0}};
    gateway.process_of = malloc(SLOTS * sizeof(uint32_t));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        gateway.process_of[slot] = UINT32_MAX;
    }
    rz_gateway_add_world(&gateway, 0, ranks, RANKS);
    return gateway;
}

static void clear(struct rz_gateway *gateway)
{
    for (uint32_t world = 0; world < gateway->n_worlds; world++) {
        free(gateway->worlds[world].served_at);
    }
    free(gateway->processes);
    free(gateway->worlds);
    free(gateway->process_of);
}

static void test_ranks_are_found_by_their_slot(void **state)
{
    struct rz_gateway gateway = make();
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++) { /* whatever their incarnation */
        assert_int_equal(rz_gateway_find(&gateway, rank, 1 + rank), rank);
        assert_int_equal(rz_gateway_rank(&gateway, rank), rank);
        assert_int_equal(rz_gateway_is_here(&gateway, rank), rank == 1);
    }
    assert_int_equal(rz_gateway_find(&gateway, RANKS, 1), UINT32_MAX);
    assert_int_equal(rz_gateway_find(&gateway, SLOTS, 1), UINT32_MAX);
    assert_false(rz_gateway_is_here(&gateway, UINT32_MAX));
    clear(&gateway);
}

static void test_a_slot_is_used_again(void **state)
{
    struct rz_gateway gateway = make();
    const struct rz_gateway_process first[2] = {{.slot = 3, .incarnation = 1, .node = 1},
                                                {.slot = 4, .incarnation = 1, .node = 0}};
    const struct rz_gateway_process second[2] = {{.slot = 5, .incarnation = 1, .node = 0},
                                                 {.slot = 3, .incarnation = 2, .node = 0}};
    (void)state;
    rz_gateway_add_world(&gateway, 0, first, 2);
    rz_gateway_add_world(&gateway, 1, second, 2);
    assert_null(gateway.worlds[1].served_at);
    assert_non_null(gateway.worlds[2].served_at);
    assert_int_equal(rz_gateway_n_served(&gateway), 0);
    gateway.worlds[0].served = gateway.worlds[2].served = true; /* but not the one between */
    assert_int_equal(rz_gateway_n_served(&gateway), 1);
    gateway.worlds[1].served = true;
    assert_int_equal(rz_gateway_n_served(&gateway), 3);
    assert_int_equal(gateway.n_worlds, 3);
    assert_int_equal(gateway.n_processes, RANKS + 4);
    assert_int_equal(rz_gateway_find(&gateway, 3, 1), RANKS);
    assert_int_equal(rz_gateway_find(&gateway, 3, 2), RANKS + 3);
    assert_int_equal(rz_gateway_find(&gateway, 3, 3), UINT32_MAX);
    assert_int_equal(rz_gateway_find(&gateway, 4, 1), RANKS + 1);
    assert_int_equal(rz_gateway_find(&gateway, 4, 2), UINT32_MAX);
    assert_int_equal(gateway.processes[RANKS + 3].world, 2);
    assert_int_equal(rz_gateway_rank(&gateway, RANKS + 3), 1);
    assert_true(rz_gateway_is_here(&gateway, RANKS));
    assert_false(rz_gateway_is_here(&gateway, RANKS + 3));
    clear(&gateway);
}

static void test_texts(void **state)
{
    struct rz_gateway_texts texts = {NULL, 0};
    (void)state;
    rz_gateway_add_text(&texts, "%s=%d", "A", 7);
    rz_gateway_add_text(&texts, "%s", "");
    rz_gateway_add_text(&texts, "b");
    assert_int_equal(texts.bytes, 4 + 1 + 2);
    assert_memory_equal(texts.at, "A=7\0\0b", 7);
    free(texts.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks_are_found_by_their_slot),
                                       cmocka_unit_test(test_a_slot_is_used_again),
                                       cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
