/* SPDX-License-Identifier: BSD-3-Clause */
/* The matcher against a list of everything, under random orders of messages and receives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "mpi/p2p/match.h"

#include <stdio.h>
#include <stdlib.h>

#define ITEMS_MAX 4000

struct item {
    struct rz_match_entry entry;
    bool present;
    uint64_t order;
};

/* The reference: all items in order; the first that fits is it. */
struct reference {
    struct item items[ITEMS_MAX];
    size_t n;
};

static bool fits(const struct rz_match_entry *receive, uint64_t context, int32_t source,
                 int32_t tag)
{
    return receive->context == context &&
           (receive->source == source || receive->source == RZ_MATCH_ANY_SOURCE) &&
           (receive->tag == tag || receive->tag == RZ_MATCH_ANY_TAG);
}

static struct item *reference_receive_for(struct reference *posted, uint64_t context,
                                          int32_t source, int32_t tag)
{
    for (size_t i = 0; i < posted->n; i++) {
        struct item *item = &posted->items[i];
        if (item->present && fits(&item->entry, context, source, tag)) {
            return item;
        }
    }
    return NULL;
}

static struct item *reference_message_for(struct reference *early, uint64_t context, int32_t source,
                                          int32_t tag)
{
    struct rz_match_entry receive = {.context = context, .source = source, .tag = tag};
    for (size_t i = 0; i < early->n; i++) {
        const struct rz_match_entry *e = &early->items[i].entry;
        if (early->items[i].present && fits(&receive, e->context, e->source, e->tag)) {
            return &early->items[i];
        }
    }
    return NULL;
}

static struct item *add(struct reference *reference, uint64_t context, int32_t source, int32_t tag)
{
    struct item *item = &reference->items[reference->n++];
    item->entry = (struct rz_match_entry){.context = context, .source = source, .tag = tag};
    item->present = true;
    return item;
}

static void one_step(struct rz_matcher *matcher, struct reference *posted, struct reference *early,
                     struct rz_random *random)
{
    uint64_t context = rz_random_below(random, 3) * 4;
    int32_t source = (int32_t)rz_random_below(random, 4);
    int32_t tag = (int32_t)rz_random_below(random, 3);
    if (rz_random_below(random, 2) == 0) {
        struct rz_match_entry *met = rz_match_arrive(matcher, context, source, tag);
        struct item *expected = reference_receive_for(posted, context, source, tag);
        assert_ptr_equal(met, expected ? &expected->entry : NULL);
        if (expected) {
            rz_match_unpost(matcher, met);
            expected->present = false;
        } else {
            assert_true(rz_match_keep(matcher, &add(early, context, source, tag)->entry));
        }
        return;
    }
    source = rz_random_below(random, 3) == 0 ? RZ_MATCH_ANY_SOURCE : source;
    tag = rz_random_below(random, 3) == 0 ? RZ_MATCH_ANY_TAG : tag;
    struct item *expected = reference_message_for(early, context, source, tag);
    struct rz_match_entry *seen = rz_match_find(matcher, context, source, tag, false);
    assert_ptr_equal(seen, expected ? &expected->entry : NULL);
    if (expected) {
        assert_ptr_equal(rz_match_find(matcher, context, source, tag, true), seen);
        expected->present = false;
    } else {
        assert_true(rz_match_post(matcher, &add(posted, context, source, tag)->entry));
    }
}

/* Takes back a random posted receive, as MPI_Cancel does. */
static void one_cancel(struct rz_matcher *matcher, struct reference *posted,
                       struct rz_random *random)
{
    size_t i = posted->n > 0 ? rz_random_below(random, posted->n) : 0;
    if (posted->n > 0 && posted->items[i].present) {
        rz_match_unpost(matcher, &posted->items[i].entry);
        posted->items[i].present = false;
    }
}

static void matches_as_the_reference_does(void **state)
{
    (void)state;
    const char *given = getenv("RZ_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    uint64_t last = given ? first : 60;
    static struct reference posted, early;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct rz_random random = {.state = seed};
        struct rz_matcher matcher;
        if (seed == first) {
            fprintf(stderr, "replay: RZ_SEED=<seed> match_test; seeds from %llu\n",
                    (unsigned long long)seed);
        }
        posted.n = early.n = 0;
        assert_true(rz_matcher_init(&matcher));
        for (int step = 0; step < 3000; step++) {
            one_step(&matcher, &posted, &early, &random);
            if (rz_random_below(&random, 20) == 0) {
                one_cancel(&matcher, &posted, &random);
            }
        }
        rz_matcher_clear(&matcher);
    }
}

static void many_keys_stay_findable(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct rz_matcher matcher;
    struct rz_match_entry *entries = calloc(N, sizeof(*entries));
    assert_true(rz_matcher_init(&matcher));
    for (int i = 0; i < N; i++) {
        entries[i] =
            (struct rz_match_entry){.context = (uint64_t)i % 100 * 4, .source = 1, .tag = i};
        assert_true(rz_match_keep(&matcher, &entries[i]));
    }
    for (int i = N - 1; i >= 0; i--) {
        uint64_t context = (uint64_t)i % 100 * 4;
        assert_ptr_equal(rz_match_find(&matcher, context, 1, i, true), &entries[i]);
    }
    for (int i = 0; i < 100; i++) {
        rz_match_release(&matcher, (uint64_t)i * 4);
    }
    assert_int_equal(matcher.n_contexts, 0);
    rz_matcher_clear(&matcher);
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_as_the_reference_does),
        cmocka_unit_test(many_keys_stay_findable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
