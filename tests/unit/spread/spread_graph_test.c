/* SPDX-License-Identifier: BSD-3-Clause */
/* The binomial graph: degree, connectivity, and what the order of sending is worth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/spread/spread.h"

#include <stdlib.h>
#include <string.h>

#define N_MAX 4096

/* By the definition: v is adjacent to v +- 2^k mod n for all 2^k < n. */
static uint32_t neighbours_by_definition(uint32_t n, rz_id self, bool *adjacent)
{
    uint32_t count = 0;
    memset(adjacent, 0, n * sizeof(*adjacent));
    for (uint32_t distance = 1; distance < n; distance *= 2) {
        adjacent[(self + distance) % n] = true;
        adjacent[(self + n - distance) % n] = true;
    }
    adjacent[self] = false;
    for (rz_id id = 0; id < n; id++) {
        count += adjacent[id];
    }
    return count;
}

static void each_neighbour_is_listed_once(void **state)
{
    (void)state;
    static bool adjacent[N_MAX];
    for (uint32_t n = 1; n <= 70; n++) {
        for (rz_id self = 0; self < n; self++) {
            for (rz_id origin = 0; origin<n; origin += n> 16 ? 7 : 1) {
                rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
                uint32_t n_to = rz_spread_neighbours(n, self, origin, to);
                assert_int_equal(n_to, neighbours_by_definition(n, self, adjacent));
                for (uint32_t i = 0; i < n_to; i++) {
                    assert_true(adjacent[to[i]]);
                    adjacent[to[i]] = false;
                }
            }
        }
    }
}

/* The children alone reach all members, each once. */
static void the_children_make_a_tree(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 130; n++) {
        for (rz_id origin = 0; origin < n; origin += 1 + n / 8) {
            uint32_t parents[130] = {0};
            for (rz_id self = 0; self < n; self++) {
                rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
                uint32_t n_children = rz_spread_children(n, self, origin);
                assert_in_range(n_children, 0, rz_spread_neighbours(n, self, origin, to));
                for (uint32_t i = 0; i < n_children; i++) {
                    parents[to[i]]++;
                }
            }
            for (rz_id id = 0; id < n; id++) {
                assert_int_equal(parents[id], id != origin);
            }
        }
    }
}

static void near_first_is_by_distance(void **state)
{
    (void)state;
    static const rz_id expected[] = {6, 4, 7, 3, 9, 1, 0, 10};
    static bool adjacent[N_MAX];
    rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
    assert_int_equal(rz_spread_neighbours_near(13, 5, to), 8);
    assert_memory_equal(to, expected, sizeof(expected));
    for (uint32_t n = 1; n <= 70; n++) {
        uint32_t n_to = rz_spread_neighbours_near(n, n / 3, to);
        assert_int_equal(n_to, neighbours_by_definition(n, n / 3, adjacent));
        for (uint32_t i = 0; i < n_to; i++) {
            assert_true(adjacent[to[i]]);
            adjacent[to[i]] = false;
        }
    }
}

static void degree_is_as_the_formula_says(void **state)
{
    (void)state;
    static bool adjacent[N_MAX];
    for (uint32_t n = 1; n <= N_MAX; n++) {
        assert_int_equal(rz_spread_degree(n), neighbours_by_definition(n, n / 3, adjacent));
    }
}

/* The number of members that a walk from the first live one reaches. */
static uint32_t reach(uint32_t n, uint32_t failed)
{
    rz_id first = 0;
    while (failed >> first & 1) {
        first++;
    }
    uint32_t seen = 1u << first, todo = seen, count = 0;
    while (todo) {
        rz_id self = (rz_id)__builtin_ctz(todo), to[RZ_SPREAD_NEIGHBOURS_MAX];
        todo &= todo - 1;
        count++;
        uint32_t n_to = rz_spread_neighbours(n, self, self, to);
        for (uint32_t i = 0; i < n_to; i++) {
            uint32_t bit = 1u << to[i];
            if ((failed | seen) & bit) {
                continue;
            }
            seen |= bit;
            todo |= bit;
        }
    }
    return count;
}

static void fewer_failures_than_neighbours_never_part_it(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 14; n++) {
        for (uint32_t failed = 0; failed < (1u << n) - 1; failed++) {
            uint32_t n_failed = (uint32_t)__builtin_popcount(failed);
            if (n_failed < rz_spread_degree(n) && n_failed < n) {
                assert_int_equal(reach(n, failed), n - n_failed);
            }
        }
    }
}

/* ---- a sender-serialised model: each send takes its sender 1, each transfer `latency` ---- */

struct arrival {
    uint32_t at;
    rz_id to;
};

struct model {
    struct arrival *heap;
    size_t n;
    uint32_t first[N_MAX]; /* date of the first copy, UINT32_MAX: none yet */
    uint64_t messages;
    bool near_first;
};

static bool before(const struct arrival *a, const struct arrival *b)
{
    return a->at != b->at ? a->at < b->at : a->to < b->to;
}

static void model_push(struct model *model, struct arrival arrival)
{
    size_t i = model->n++;
    for (; i > 0 && before(&arrival, &model->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        model->heap[i] = model->heap[(i - 1) / 2];
    }
    model->heap[i] = arrival;
}

static struct arrival model_pop(struct model *model)
{
    struct arrival top = model->heap[0], last = model->heap[--model->n];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < model->n) {
        child += child + 1 < model->n && before(&model->heap[child + 1], &model->heap[child]);
        if (!before(&model->heap[child], &last)) {
            break;
        }
        model->heap[i] = model->heap[child];
        i = child;
    }
    model->heap[i] = last;
    return top;
}

static void model_send(struct model *model, uint32_t n, rz_id self, uint32_t now, uint32_t latency)
{
    rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
    uint32_t n_to = model->near_first ? rz_spread_neighbours_near(n, self, to)
                                      : rz_spread_neighbours(n, self, 0, to);
    for (uint32_t i = 0; i < n_to; i++) {
        model_push(model, (struct arrival){now + i + 1 + latency, to[i]});
    }
    model->messages += n_to;
}

static uint32_t time_until_all_know(uint32_t n, uint32_t latency, bool near_first,
                                    uint64_t *messages)
{
    static struct model model;
    uint32_t last = 0;
    model.heap = malloc(n * 64 * sizeof(*model.heap));
    model.n = 0;
    model.messages = 0;
    model.near_first = near_first;
    memset(model.first, 0xFF, sizeof(model.first));
    model.first[0] = 0;
    model_send(&model, n, 0, 0, latency);
    while (model.n > 0) {
        struct arrival arrival = model_pop(&model);
        if (model.first[arrival.to] != UINT32_MAX) {
            continue;
        }
        model.first[arrival.to] = last = arrival.at;
        model_send(&model, n, arrival.to, arrival.at, latency);
    }
    free(model.heap);
    *messages = model.messages;
    return last;
}

/* The table of docs/protocols/spread.md. */
static void tree_first_order_makes_latency_logarithmic(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, tree[2], near[2]; /* latency 1 and 10 */
        uint64_t messages;
    } rows[] = {{12, {6, 26}, {10, 28}, 72},
                {64, {11, 46}, {23, 50}, 704},
                {256, {15, 58}, {38, 74}, 3840},
                {1024, {19, 78}, {58, 103}, 19456},
                {4096, {22, 92}, {82, 136}, 94208}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t messages;
        for (uint32_t far = 0; far < 2; far++) {
            uint32_t latency = far ? 10 : 1;
            assert_int_equal(time_until_all_know(rows[i].n, latency, false, &messages),
                             rows[i].tree[far]);
            assert_int_equal(messages, rows[i].messages);
            assert_int_equal(time_until_all_know(rows[i].n, latency, true, &messages),
                             rows[i].near[far]);
            assert_int_equal(messages, (uint64_t)rows[i].n * rz_spread_degree(rows[i].n));
        }
    }
}

/* The mutant has the degrees that the public code has: docs/protocols/spread.md. */
static void wrong_offsets_make_fewer_neighbours(void **state)
{
    (void)state;
    rz_id to[RZ_SPREAD_NEIGHBOURS_MAX];
    assert_int_equal(rz_spread_neighbours_wrong(64, 3, to), 10);
    assert_int_equal(rz_spread_neighbours_wrong(1024, 3, to), 14);
    assert_int_equal(rz_spread_neighbours_wrong(65536, 3, to), 24);
    assert_int_equal(rz_spread_neighbours_wrong(6, 0, to), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_neighbour_is_listed_once),
        cmocka_unit_test(the_children_make_a_tree),
        cmocka_unit_test(near_first_is_by_distance),
        cmocka_unit_test(degree_is_as_the_formula_says),
        cmocka_unit_test(wrong_offsets_make_fewer_neighbours),
        cmocka_unit_test(fewer_failures_than_neighbours_never_part_it),
        cmocka_unit_test(tree_first_order_makes_latency_logarithmic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
