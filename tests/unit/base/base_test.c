/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorted sets, lists, pseudo-random numbers, status texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/idset.h"
#include "base/linked_list.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/status.h"

#include <string.h>

#define ITEMS_MAX 64

static void items_stay_sorted_and_single(void **state)
{
    (void)state;
    struct rz_random random = {.state = 1};
    uint64_t items[ITEMS_MAX];
    uint32_t n = 0;
    uint64_t present = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t item = rz_random_below(&random, ITEMS_MAX);
        uint64_t bit = UINT64_C(1) << item;
        assert_int_equal(rz_items_contain(items, n, item), (present & bit) != 0);
        if (rz_random_below(&random, 2)) {
            assert_int_equal(rz_items_insert(items, &n, ITEMS_MAX, item), (present & bit) == 0);
            present |= bit;
        } else {
            assert_int_equal(rz_items_remove(items, &n, item), (present & bit) != 0);
            present &= ~bit;
        }
        for (uint32_t k = 1; k < n; k++) {
            assert_true(items[k - 1] < items[k]);
        }
        assert_int_equal(n, __builtin_popcountll(present));
    }
}

static void lower_bound_is_the_place_of_insertion(void **state)
{
    (void)state;
    const uint64_t items[] = {2, 4, UINT64_MAX};
    assert_int_equal(rz_items_lower_bound(items, 0, 7), 0);
    assert_int_equal(rz_items_lower_bound(items, 3, 0), 0);
    assert_int_equal(rz_items_lower_bound(items, 3, 2), 0);
    assert_int_equal(rz_items_lower_bound(items, 3, 3), 1);
    assert_int_equal(rz_items_lower_bound(items, 3, UINT64_MAX), 2);
}

static void subset_knows_the_empty_set(void **state)
{
    (void)state;
    const uint64_t some[] = {1, 5}, more[] = {1, 3, 5};
    assert_true(rz_items_subset(NULL, 0, NULL, 0));
    assert_true(rz_items_subset(NULL, 0, some, 2));
    assert_true(rz_items_subset(some, 2, more, 3));
    assert_false(rz_items_subset(more, 3, some, 2));
    assert_false(rz_items_subset(some, 2, NULL, 0));
}

/* The published test vector of splitmix64 for the state 1234567. */
static void random_numbers_are_those_of_splitmix64(void **state)
{
    (void)state;
    struct rz_random random = {.state = 1234567};
    assert_true(rz_random_next(&random) == UINT64_C(6457827717110365317));
    assert_true(rz_random_next(&random) == UINT64_C(3203168211198807973));
    assert_true(rz_random_next(&random) == UINT64_C(9817491932198370423));
}

static void random_numbers_below_a_bound_fill_it_evenly(void **state)
{
    (void)state;
    struct rz_random random = {.state = 42};
    uint32_t count[10] = {0};
    for (int i = 0; i < 100000; i++) {
        uint64_t number = rz_random_below(&random, 10);
        assert_true(number < 10);
        count[number]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(count[i], 9500, 10500);
    }
    assert_true(rz_random_below(&random, 1) == 0);
}

static void mix_separates_streams(void **state)
{
    (void)state;
    for (uint64_t a = 0; a < 50; a++) {
        for (uint64_t b = 0; b < 50; b++) {
            assert_true((rz_mix(a, b) == rz_mix(b, a)) == (a == b));
        }
    }
}

static void each_status_has_a_text(void **state)
{
    (void)state;
    for (int i = 0; i < RZ_STATUS_COUNT; i++) {
        assert_string_not_equal(rz_status_text((rz_status_t)i), "unknown status");
    }
    assert_string_equal(rz_status_text(RZ_OK), "success");
    assert_string_equal(rz_status_text((rz_status_t)RZ_STATUS_COUNT), "unknown status");
    assert_string_equal(rz_status_text((rz_status_t)-1), "unknown status");
}

static void an_item_is_taken_out_of_a_list(void **state)
{
    (void)state;
    enum { N = 4 };
    struct item {
        struct item *next;
    } items[N], stranger = {NULL};
    for (int gone = 0; gone < N; gone++) {
        struct item *first = NULL;
        for (int i = N - 1; i >= 0; i--) {
            items[i].next = first;
            first = &items[i];
        }
        rz_list_unlink(&first, &stranger);
        rz_list_unlink(&first, &items[gone]);
        rz_list_unlink(&first, &items[gone]);
        const struct item *at = first;
        for (int i = 0; i < N; i++) {
            if (i == gone) {
                continue;
            }
            assert_ptr_equal(at, &items[i]);
            at = at->next;
        }
        assert_null(at);
    }
    struct item *empty = NULL;
    rz_list_unlink(&empty, &stranger);
    assert_null(empty);
}

static void a_terminal_is_told_nothing_by_a_text(void **state)
{
    static const struct {
        const char *in, *out, *kept;
    } cases[] = {{"a\033[31mb\177\n", "a?[31mb??", ""},
                 {"a\tb\nc\r", "a\tb\nc?", "\n\t"},
                 {"\303\204 \302\233 \342\202\254", "\303\204 ?? \342\202\254", ""},
                 /* the piece before may have ended with C2 */
                 {"\23331m\302", "?31m\302", ""},
                 /* U+2027, U+2028, U+202A, U+202E, U+202F; U+2065, U+2066, U+2069, U+206A */
                 {"\342\200\247 \342\200\250 \342\200\252 \342\200\256 \342\200\257",
                  "\342\200\247 ??? ??? ??? \342\200\257", "\n\t"},
                 {"\342\201\245 \342\201\246 \342\201\251 \342\201\252",
                  "\342\201\245 ??? ??? \342\201\252", ""},
                 /* the piece before may have ended with E2, or with E2 80 */
                 {"\200\256x", "?\256x", ""},
                 {"\256x\342\200", "?x\342\200", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[32];
        strcpy(text, cases[i].in);
        rz_printable(text, strlen(text), cases[i].kept);
        assert_string_equal(text, cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_sorted_and_single),
        cmocka_unit_test(lower_bound_is_the_place_of_insertion),
        cmocka_unit_test(subset_knows_the_empty_set),
        cmocka_unit_test(random_numbers_are_those_of_splitmix64),
        cmocka_unit_test(random_numbers_below_a_bound_fill_it_evenly),
        cmocka_unit_test(mix_separates_streams),
        cmocka_unit_test(each_status_has_a_text),
        cmocka_unit_test(an_item_is_taken_out_of_a_list),
        cmocka_unit_test(a_terminal_is_told_nothing_by_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
