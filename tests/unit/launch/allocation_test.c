/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of a batch system's job: Slurm's short forms and variables, the node file of PBS. */
#include "launch/allocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool join(void *arg, const char *name)
{
    char *text = arg;
    size_t n = strlen(text);
    snprintf(text + n, 400 - n, "%s ", name);
    return true;
}

static void lists_are_expanded(void **state)
{
    static const char *const cases[][2] = {
        {"alpha", "alpha "},
        {"a,b,c", "a b c "},
        {"n[1-3]", "n1 n2 n3 "},
        {"n[08-11,20],m", "n08 n09 n10 n11 n20 m "},
        {"r[1-2]n[3,5].example", "r1n3.example r1n5.example r2n3.example r2n5.example "},
        {"[1-2]x", "1x 2x "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[400] = "";
        assert_true(rz_allocation_list(cases[i][0], join, text));
        assert_string_equal(text, cases[i][1]);
    }
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const cases[] = {"",         ",",       "a,",      "a,,b",          "n[",
                                        "n[]",      "n[1",     "n]1[",    "n[a]",          "n[1-]",
                                        "n[3-1]",   "n[1--2]", "n[1,]x[", "n[1-99999999]", "n[1 2]",
                                        "n[1-2-3]", "n[[1]]"};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[400] = "";
        if (rz_allocation_list(cases[i], join, text)) {
            fail_msg("%s: %s", cases[i], text);
        }
    }
}

static void numbers_are_expanded(void **state)
{
    uint32_t numbers[5] = {0};
    const uint32_t expected[] = {4, 4, 3, 1, 1};
    (void)state;
    assert_true(rz_allocation_numbers("4(x2),3,1(x9)", numbers, 5));
    assert_memory_equal(numbers, expected, sizeof(expected));
    assert_true(rz_allocation_numbers("7", numbers, 1));
    assert_int_equal(numbers[0], 7);
    static const char *const bad[] = {"",  "4",    "4(x2)", "4(x2", "4(2),1,1,1,1",
                                      "x", "4,,4", "-1(x5)"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_false(rz_allocation_numbers(bad[i], numbers, 5));
    }
}

static void clear_environment(void)
{
    static const char *const names[] = {
        "SLURM_JOB_ID",   "SLURM_JOB_NODELIST",      "SLURM_NTASKS", "SLURM_TASKS_PER_NODE",
        "SLURM_HET_SIZE", "SLURM_JOB_CPUS_PER_NODE", "PBS_NODEFILE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        unsetenv(names[i]);
    }
}

static void a_job_of_slurm_has_tasks_or_processors(void **state)
{
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    clear_environment();
    assert_int_equal(rz_allocation_batch(), RZ_BATCH_NONE);
    setenv("SLURM_JOB_ID", "7", 1);
    assert_int_equal(rz_allocation_batch(), RZ_BATCH_SLURM);
    assert_false(rz_allocation_add(&layout, RZ_BATCH_SLURM, &why));
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", "16(x2),8", 1);
    assert_true(rz_allocation_add(&layout, RZ_BATCH_SLURM, &why));
    assert_int_equal(layout.n_nodes, 3);
    assert_string_equal(layout.nodes[2].host, "n3");
    assert_int_equal(layout.nodes[0].place.slots, 16);
    assert_int_equal(layout.nodes[2].place.slots, 8);
    rz_layout_clear(&layout);
    layout = (struct rz_launch_layout){0};
    setenv("SLURM_NTASKS", "5", 1);
    setenv("SLURM_TASKS_PER_NODE", "2(x2),1", 1);
    assert_true(rz_allocation_add(&layout, RZ_BATCH_SLURM, &why));
    assert_int_equal(layout.nodes[1].place.slots, 2);
    assert_int_equal(layout.nodes[2].place.slots, 1);
    setenv("SLURM_HET_SIZE", "2", 1);
    assert_false(rz_allocation_add(&layout, RZ_BATCH_SLURM, &why));
    assert_non_null(strstr(why, "heterogeneous"));
    rz_layout_clear(&layout);
    clear_environment();
}

static void lines_of_a_pbs_file_are_slots(void **state)
{
    char path[] = "/tmp/rz-nodes-XXXXXX";
    struct rz_launch_layout layout = {0};
    const char *why, text[] = "a\nb\na\n\na.b\nb\na\n";
    int fd = mkstemp(path);
    (void)state;
    clear_environment();
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    setenv("PBS_NODEFILE", path, 1);
    assert_int_equal(rz_allocation_batch(), RZ_BATCH_PBS);
    assert_true(rz_allocation_add(&layout, RZ_BATCH_PBS, &why));
    assert_int_equal(layout.n_nodes, 3);
    assert_string_equal(layout.nodes[0].host, "a");
    assert_int_equal(layout.nodes[0].place.slots, 3);
    assert_int_equal(layout.nodes[1].place.slots, 2);
    assert_string_equal(layout.nodes[2].host, "a.b");
    rz_layout_clear(&layout);
    unlink(path);
    layout = (struct rz_launch_layout){0};
    assert_false(rz_allocation_add(&layout, RZ_BATCH_PBS, &why));
    assert_non_null(strstr(why, "PBS_NODEFILE"));
    clear_environment();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_expanded),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(numbers_are_expanded),
        cmocka_unit_test(a_job_of_slurm_has_tasks_or_processors),
        cmocka_unit_test(lines_of_a_pbs_file_are_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
