/* SPDX-License-Identifier: BSD-3-Clause */
/* The spool: what is kept, what is dropped and counted, and readers at their own pace. */
#include "base/random.h"
#include "daemon/launcher/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct rz_spool *spool_of(uint64_t bytes_max)
{
    struct rz_spool *spool;
    assert_int_equal(rz_spool_open(&spool, bytes_max), RZ_OK);
    return spool;
}

static void put(struct rz_spool *spool, const char *text)
{
    assert_int_equal(rz_spool_put(spool, text, strlen(text), strlen(text)), RZ_OK);
}

/* The next frame as text; *missed before it. */
static const char *next(const struct rz_spool *spool, struct rz_spool_place *place,
                        uint64_t *missed)
{
    static char text[64];
    const void *frame;
    size_t n;
    if (!rz_spool_next(spool, place, &frame, &n, missed)) {
        return NULL;
    }
    snprintf(text, sizeof(text), "%.*s", (int)n, (const char *)frame);
    return text;
}

static void test_all_ranks_read_all(void **state)
{
    struct rz_spool *spool = spool_of(1 << 20);
    struct rz_spool_place early = {0}, late = {0};
    uint64_t missed;
    (void)state;
    assert_null(next(spool, &early, &missed));
    put(spool, "one");
    assert_string_equal(next(spool, &early, &missed), "one");
    assert_null(next(spool, &early, &missed));
    put(spool, "two");
    assert_string_equal(next(spool, &early, &missed), "two");
    assert_string_equal(next(spool, &late, &missed), "one");
    assert_string_equal(next(spool, &late, &missed), "two");
    assert_int_equal(missed, 0);
    rz_spool_close(spool);
}

/* Frames without output (a line of the hang report) are dropped without being counted. */
static void test_only_output_counts_as_missed(void **state)
{
    struct rz_spool *spool = spool_of(1);
    struct rz_spool_place place = {0};
    uint64_t missed;
    (void)state;
    put(spool, "12345");
    assert_int_equal(rz_spool_put(spool, "line", 4, 0), RZ_OK);
    put(spool, "newest"); /* kept, although it does not fit */
    assert_string_equal(next(spool, &place, &missed), "newest");
    assert_int_equal(missed, 5);
    assert_null(next(spool, &place, &missed));
    rz_spool_close(spool);
}

/* Readers that come and lag as they like: what they read and what they miss is all that there was,
 * in order, and the bound holds. */
static void test_random_readers(void **state)
{
    enum { READERS = 3, PUTS = 20000, BYTES_MAX = 4096 };
    struct rz_spool *spool = spool_of(BYTES_MAX);
    struct rz_spool_place places[READERS] = {{0}};
    uint64_t got[READERS] = {0}, missed, put_bytes = 0;
    struct rz_random random = {.state = 7};
    const void *frame;
    size_t n;
    (void)state;
    for (uint32_t i = 0; i < PUTS; i++) {
        uint8_t bytes[600];
        size_t length = 4 + rz_random_below(&random, sizeof(bytes) - 4);
        memset(bytes, 0, sizeof(bytes));
        memcpy(bytes, &put_bytes, 4); /* each frame says how much was put before it */
        assert_int_equal(rz_spool_put(spool, bytes, length, length), RZ_OK);
        put_bytes += length;
        uint32_t reader = (uint32_t)rz_random_below(&random, READERS);
        uint64_t reads = rz_random_below(&random, 6 * READERS), held = 0;
        while (reads-- > 0 && rz_spool_next(spool, &places[reader], &frame, &n, &missed)) {
            uint32_t before;
            memcpy(&before, frame, sizeof(before));
            got[reader] += missed;
            assert_int_equal(before, (uint32_t)got[reader]);
            got[reader] += n;
            held += n;
        }
        assert_in_range(held, 0, BYTES_MAX);
    }
    for (uint32_t reader = 0; reader < READERS; reader++) {
        while (rz_spool_next(spool, &places[reader], &frame, &n, &missed)) {
            got[reader] += missed + n;
        }
        assert_int_equal(got[reader], put_bytes);
    }
    rz_spool_close(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_ranks_read_all),
                                       cmocka_unit_test(test_only_output_counts_as_missed),
                                       cmocka_unit_test(test_random_readers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
