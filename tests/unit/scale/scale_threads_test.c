/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of threads changes nothing; what cannot be done is refused with a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "scale/scale.h"

#include <string.h>
#include <sys/resource.h>

#define MEMBERS 70000 /* more than one block of two threads */

typedef bool scale_function(const struct rz_scale_config *, rz_scale_progress *, void *,
                            struct rz_scale_result *, const char **);

struct watch {
    uint64_t cycles, hash, stop_after;
    double estimate; /* the last */
};

static bool watch_cycle(void *user, const struct rz_scale_cycle *cycle)
{
    struct watch *watch = user;
    uint64_t words[sizeof(*cycle) / sizeof(uint64_t)];
    memcpy(words, cycle, sizeof(*cycle));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        watch->hash = rz_mix(watch->hash, words[i]);
    }
    watch->estimate = cycle->estimate_consensus;
    return ++watch->cycles != watch->stop_after;
}

static void hold(scale_function *scale, struct rz_scale_config config)
{
    struct rz_scale_result one = {0};
    uint64_t hash = 0;
    static const uint32_t threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        struct rz_scale_result result = {0};
        struct watch watch = {0};
        const char *why = NULL;
        config.threads = threads[i];
        assert_true(scale(&config, watch_cycle, &watch, &result, &why));
        assert_int_equal(watch.cycles, result.cycles);
        if (i == 0) {
            one = result;
            hash = watch.hash;
        }
        result.seconds = one.seconds;
        result.bytes_member = one.bytes_member;
        assert_memory_equal(&result, &one, sizeof(one));
        assert_int_equal(watch.hash, hash);
    }
    assert_true(one.known_last > 0 && one.consensus_last > one.known_last);
}

static void the_list_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    struct rz_scale_config config = {
        .n_members = MEMBERS, .seed = 3, .n_failed = 3, .failed = {MEMBERS - 1, 77, 32768}};
    hold(rz_scale_list, config);
    config.initial = 13;
    config.window = 3;
    hold(rz_scale_list, config);
}

static void the_sum_is_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    hold(rz_scale_sum, (struct rz_scale_config){
                           .n_members = MEMBERS, .seed = 3, .n_failed = 1, .failed = {12345}});
}

static void the_estimate_comes_to_the_number_of_the_living(void **state)
{
    (void)state;
    struct rz_scale_config config = {.n_members = 5000, .seed = 9, .n_failed = 1};
    for (config.failed[0] = 0; config.failed[0] < 2; config.failed[0]++) {
        struct rz_scale_result result;
        struct watch watch = {0};
        const char *why = NULL;
        assert_true(rz_scale_sum(&config, watch_cycle, &watch, &result, &why));
        assert_true(result.commit_last > 0);
        assert_true(watch.estimate > 4999 * 0.999 && watch.estimate < 4999 * 1.001);
    }
}

static void progress_can_stop_a_run(void **state)
{
    (void)state;
    struct rz_scale_config config = {.n_members = 1000, .seed = 1, .n_failed = 1, .threads = 2};
    scale_function *const both[] = {rz_scale_list, rz_scale_sum};
    for (size_t i = 0; i < 2; i++) {
        struct rz_scale_result result;
        struct watch watch = {.stop_after = 4};
        const char *why = NULL;
        assert_true(both[i](&config, watch_cycle, &watch, &result, &why));
        assert_int_equal(result.cycles, 4);
        assert_int_equal(watch.cycles, 4);
        assert_int_equal(result.commit_last, 0);
    }
}

static void refuses(scale_function *scale, struct rz_scale_config config)
{
    struct rz_scale_result result;
    const char *why = NULL;
    assert_false(scale(&config, NULL, NULL, &result, &why));
    assert_non_null(why);
}

static void impossible_runs_are_refused(void **state)
{
    (void)state;
    struct rz_scale_config good = {.n_members = 8, .n_failed = 2, .failed = {1, 2}}, bad;
    refuses(rz_scale_sum, good);
    bad = good, bad.n_members = 1, refuses(rz_scale_list, bad);
    bad = good, bad.n_members = UINT64_C(1) << 31, refuses(rz_scale_list, bad);
    bad = good, bad.n_members = 2, refuses(rz_scale_list, bad);
    bad = good, bad.n_failed = 0, refuses(rz_scale_list, bad);
    bad = good, bad.n_failed = RZ_SCALE_FAILED_MAX + 1, refuses(rz_scale_list, bad);
    bad = good, bad.failed[1] = 8, refuses(rz_scale_list, bad);
    bad = good, bad.failed[1] = 1, refuses(rz_scale_list, bad);
    bad = good, bad.window = 256, refuses(rz_scale_list, bad);
    bad = good, bad.cycles_max = 65536, refuses(rz_scale_list, bad);
}

/* Sanitizers map more than any limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static void too_little_memory_is_told(void **state)
{
    (void)state;
    if (SANITIZED) {
        skip();
    }
    struct rz_scale_config config = {.n_members = UINT64_C(1) << 28, .n_failed = 1, .threads = 1};
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = UINT64_C(96) << 20; /* two of the list's three tables */
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    refuses(rz_scale_list, config);
    refuses(rz_scale_sum, config);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(the_sum_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(the_estimate_comes_to_the_number_of_the_living),
        cmocka_unit_test(progress_can_stop_a_run),
        cmocka_unit_test(impossible_runs_are_refused),
        cmocka_unit_test(too_little_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
