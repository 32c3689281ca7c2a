/* SPDX-License-Identifier: BSD-3-Clause */
/* The view of a round, joined from lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "proto/diagnose/diagnose.h"

#include <string.h>

#define N 6
#define LISTS(...) ((const struct rz_diagnose_list[]){__VA_ARGS__})
#define LIST(sender, ...)                                                                          \
    {                                                                                              \
        .from = sender, .items = (const uint64_t[]){__VA_ARGS__},                                  \
        .n_items = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)                      \
    }
#define ITEM RZ_DIAGNOSE_ITEM

static void joined_is(uint32_t n_lists, const struct rz_diagnose_list *lists,
                      const uint32_t *expected)
{
    uint32_t counters[N];
    memset(counters, 0xFF, sizeof(counters));
    rz_diagnose_join(N, n_lists, lists, counters);
    assert_memory_equal(counters, expected, sizeof(counters));
}

static void the_greatest_counter_holds(void **state)
{
    (void)state;
    joined_is(1, LISTS({.from = 3}), (const uint32_t[N]){0});
    joined_is(3,
              LISTS(LIST(0, ITEM(1, 2), ITEM(5, 1)), LIST(1, ITEM(1, 2), ITEM(4, 3)),
                    LIST(2, ITEM(1, 2), ITEM(4, 4), ITEM(5, 1))),
              (const uint32_t[N]){0, 2, 0, 0, 4, 1});
}

static void of_two_that_report_each_other_the_first_stays(void **state)
{
    (void)state;
    joined_is(2, LISTS(LIST(0, ITEM(1, 1)), LIST(1, ITEM(0, 1))), (const uint32_t[N]){0, 1});
    /* a loaded tester that is late excludes no other; no member receives its list */
    joined_is(3,
              LISTS(LIST(0, ITEM(4, 1)), {.from = 2}, LIST(4, ITEM(0, 1), ITEM(2, 1), ITEM(3, 1))),
              (const uint32_t[N]){0, 0, 0, 0, 1});
    /* a first one does, but for itself */
    joined_is(3, LISTS(LIST(0, ITEM(2, 1), ITEM(4, 1)), LIST(2, ITEM(0, 1)), LIST(4, ITEM(0, 1))),
              (const uint32_t[N]){0, 0, 1, 0, 1});
}

static void a_member_that_was_readmitted_meanwhile_speaks(void **state)
{
    (void)state;
    joined_is(2, LISTS(LIST(0, ITEM(3, 1)), LIST(3, ITEM(2, 1), ITEM(3, 2))),
              (const uint32_t[N]){0, 0, 1, 2});
}

static void a_member_that_holds_itself_for_excluded_speaks_for_itself_alone(void **state)
{
    (void)state;
    joined_is(2, LISTS(LIST(1, ITEM(1, 3), ITEM(4, 1)), LIST(2, ITEM(5, 1))),
              (const uint32_t[N]){0, 3, 0, 0, 0, 1});
    joined_is(2, LISTS(LIST(1, ITEM(1, 3), ITEM(4, 1)), LIST(2, ITEM(2, 1))),
              (const uint32_t[N]){0, 4, 1});
}

static void draw_lists(struct rz_random *random, uint64_t items[N][N],
                       struct rz_diagnose_list *lists, uint32_t *n_lists)
{
    uint64_t senders = 1 + rz_random_below(random, (1u << N) - 1);
    uint64_t most = 1 + rz_random_below(random, 4);
    *n_lists = 0;
    for (rz_id id = 0; id < N; id++) {
        if (!(senders >> id & 1)) {
            continue;
        }
        struct rz_diagnose_list *list = &lists[(*n_lists)++];
        *list = (struct rz_diagnose_list){.from = id, .items = items[id]};
        for (rz_id k = 0; k < N; k++) {
            if (rz_random_below(random, 2) == 0) {
                items[id][list->n_items++] = ITEM(k, 1 + rz_random_below(random, most));
            }
        }
    }
}

static uint32_t listed(const struct rz_diagnose_list *list, rz_id k)
{
    for (uint32_t i = 0; i < list->n_items; i++) {
        if (list->items[i] >> 32 == k) {
            return (uint32_t)list->items[i];
        }
    }
    return 0;
}

/* Of any lists: a sender is recommended, and considers itself so, or none is; nothing is invented;
 * the first that considers itself recommended counts. */
static void a_process_is_in_and_nothing_is_made_up(void **state)
{
    (void)state;
    struct rz_random random = {7};
    for (uint32_t trial = 0; trial < 200000; trial++) {
        struct rz_diagnose_list lists[N];
        uint64_t items[N][N];
        uint32_t n_lists, counters[N], first = N, in = 0;
        draw_lists(&random, items, lists, &n_lists);
        rz_diagnose_join(N, n_lists, lists, counters);
        for (uint32_t l = n_lists; l-- > 0;) {
            in += counters[lists[l].from] % 2 == 0;
            if (listed(&lists[l], lists[l].from) % 2 == 0) {
                first = l;
            }
        }
        assert_true(in > 0);
        assert_true(first < N ||
                    (in == 1 && counters[lists[0].from] == listed(&lists[0], lists[0].from) + 1));
        for (rz_id k = 0; k < N; k++) {
            uint32_t greatest = 0;
            for (uint32_t l = 0; l < n_lists; l++) {
                greatest = listed(&lists[l], k) > greatest ? listed(&lists[l], k) : greatest;
            }
            assert_true(first == N || counters[k] <= greatest);
            assert_true(first == N || counters[k] >= listed(&lists[first], k));
        }
    }
}

static void malformed_lists_are_known(void **state)
{
    (void)state;
    const uint64_t good[] = {ITEM(1, 1), ITEM(5, 2)}, twice[] = {ITEM(1, 1), ITEM(1, 2)};
    const uint64_t no_member[] = {ITEM(6, 1)}, huge[] = {ITEM(1, 0x80000000)};
    assert_true(rz_diagnose_are_counters(N, good, 2) && rz_diagnose_are_counters(N, NULL, 0));
    assert_false(rz_diagnose_are_counters(N, twice, 2));
    assert_false(rz_diagnose_are_counters(N, no_member, 1));
    assert_false(rz_diagnose_are_counters(N, huge, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greatest_counter_holds),
        cmocka_unit_test(of_two_that_report_each_other_the_first_stays),
        cmocka_unit_test(a_member_that_was_readmitted_meanwhile_speaks),
        cmocka_unit_test(a_member_that_holds_itself_for_excluded_speaks_for_itself_alone),
        cmocka_unit_test(a_process_is_in_and_nothing_is_made_up),
        cmocka_unit_test(malformed_lists_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
