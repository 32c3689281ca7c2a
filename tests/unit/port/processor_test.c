/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of control groups, of both versions, as files say them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/control_group.h"
#include "port/processor.h"

#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char folder[] = "/tmp/processor-test-XXXXXX";

static const char *put(const char *name, const char *text)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void make(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void the_least_quota_on_the_way_counts(void **state)
{
    (void)state;
    make("a");
    make("a/b");
    make("cpu");
    make("cpu/c");
    put("a/cpu.max", "150000 100000\n");
    put("a/b/cpu.max", "max 100000\n");
    put("cpu/c/cpu.cfs_quota_us", "-1\n");
    put("cpu/c/cpu.cfs_period_us", "100000\n");
    assert_int_equal(rz_processor_quota_in(put("groups", "0::/a/b\n"), folder), 1500);
    assert_int_equal(
        rz_processor_quota_in(put("groups", "3:memory:/a\n5:cpu,cpuacct:/c\n"), folder),
        RZ_PROCESSOR_MILLI_MAX);
    put("cpu/c/cpu.cfs_quota_us", "50000\n");
    assert_int_equal(rz_processor_quota_in(put("groups", "5:cpuacct,cpu:/c\n0::/a\n"), folder),
                     500);
    assert_int_equal(rz_processor_quota_in(put("groups", "5:cpuset:/c\n"), folder),
                     RZ_PROCESSOR_MILLI_MAX);
    put("cpu.max", "90000 100000"); /* of a container, which sees its group as the root */
    assert_int_equal(rz_processor_quota_in(put("groups", "0::/\n"), folder), 900);
}

static void nonsense_is_no_quota(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "max", "0 100000", "5 0", "-7 100000", "x y", "9999999999999999999999 1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        put("cpu.max", bad[i]);
        assert_int_equal(rz_processor_quota_in(put("groups", "0::/\n"), folder),
                         RZ_PROCESSOR_MILLI_MAX);
    }
    assert_int_equal(rz_processor_quota_in(put("groups", "none\n:\n"), folder),
                     RZ_PROCESSOR_MILLI_MAX);
    assert_int_equal(rz_processor_quota_in("/nonexistent", folder), RZ_PROCESSOR_MILLI_MAX);
}

static void memory_left_is_the_least_of_the_groups(void **state)
{
    (void)state;
    make("memory");
    make("memory/c");
    put("a/b/memory.max", "max\n");
    put("a/b/memory.current", "1000\n");
    assert_int_equal(rz_control_group_memory_left(put("groups", "0::/a/b\n"), folder), UINT64_MAX);
    put("a/memory.max", "200000000\n");
    put("a/memory.current", "150000000\n");
    assert_int_equal(rz_control_group_memory_left(put("groups", "0::/a/b\n"), folder), 50000000);
    put("a/b/memory.max", "1500\n");
    assert_int_equal(rz_control_group_memory_left(put("groups", "0::/a/b\n"), folder), 500);
    put("a/b/memory.current", "1600\n");
    assert_int_equal(rz_control_group_memory_left(put("groups", "0::/a/b\n"), folder), 0);
    put("memory/c/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/c/memory.usage_in_bytes", "5\n");
    assert_int_equal(rz_control_group_memory_left(put("groups", "3:memory:/c\n"), folder),
                     UINT64_MAX);
    put("memory/c/memory.limit_in_bytes", "105\n");
    assert_int_equal(rz_control_group_memory_left(put("groups", "3:memory:/c\n"), folder), 100);
}

static void processors_are_those_of_the_mask(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_in_range(rz_processor_count(), 0, CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_in_range(rz_processor_count(), 0, 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static atomic_bool over;

static void *spin(void *arg)
{
    while (!atomic_load(&over)) {
    }
    return arg;
}

/* Threads are added until processors are busy; without one the test would not end. */
static void many_ready_threads_make_processors_busy(void **state)
{
    enum { MAX = 4096 };
    static pthread_t threads[MAX];
    int n = 0;
    (void)state;
    while (!rz_processors_busy() && n < MAX) {
        assert_int_equal(pthread_create(&threads[n++], NULL, spin, NULL), 0);
    }
    bool busy = n < MAX;
    atomic_store(&over, true);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(busy);
}

static int forget(const char *path, const struct stat *status, int flag, struct FTW *walk)
{
    (void)status, (void)flag, (void)walk;
    return remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_quota_on_the_way_counts),
        cmocka_unit_test(nonsense_is_no_quota),
        cmocka_unit_test(memory_left_is_the_least_of_the_groups),
        cmocka_unit_test(processors_are_those_of_the_mask),
        cmocka_unit_test(many_ready_threads_make_processors_busy),
    };
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
