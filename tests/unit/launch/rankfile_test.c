/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that says on which host each rank starts. */
#include "launch/rankfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static bool read_text(struct rz_rankfile *ranks, const char *text, const char **why)
{
    char path[64];
    int fd = memfd_create("ranks", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool good = rz_rankfile_read(ranks, path, why);
    close(fd);
    return good;
}

static void ranks_are_read_in_any_order(void **state)
{
    struct rz_rankfile ranks = {0};
    const char *why;
    (void)state;
    assert_true(read_text(
        &ranks, "# two hosts\nrank 1=b slot=0:1\n\n  rank 0 = a # first\nrank 2=a\n", &why));
    assert_int_equal(ranks.n, 3);
    assert_string_equal(ranks.hosts[0], "a");
    assert_string_equal(ranks.hosts[1], "b");
    assert_string_equal(ranks.hosts[2], "a");
    rz_rankfile_clear(&ranks);
}

static void what_is_no_rankfile_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"", "names no rank"},
        {"# none\n", "names no rank"},
        {"rank 0=a\nrank 2=a\n", "rank 1 has no line"},
        {"rank 0=a\nrank 0=b\n", "line 2: the rank has a line already"},
        {"rank 0=\n", "line 1: a line is"},
        {"rank x=a\n", "line 1: a line is"},
        {"0=a\n", "line 1: a line is"},
        {"rank -1=a\n", "line 1: "},
        {"rank 70000=a\n", "too many ranks"},
        {"rank 0=a b\n", "only slot="},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rz_rankfile ranks = {0};
        const char *why = "";
        if (read_text(&ranks, cases[i][0], &why) || !strstr(why, cases[i][1])) {
            fail_msg("%s: %s", cases[i][0], why);
        }
        rz_rankfile_clear(&ranks);
    }
}

static void nodes_are_those_of_the_file(void **state)
{
    struct rz_rankfile ranks = {0};
    struct rz_launch_layout layout = {0};
    const uint32_t expected[] = {0, 1, 0, 2};
    const char *why;
    (void)state;
    assert_true(read_text(&ranks, "rank 0=a\nrank 1=b\nrank 2=a\nrank 3=c\n", &why));
    assert_true(rz_rankfile_add_nodes(&ranks, &layout, &why));
    assert_int_equal(layout.n_nodes, 3);
    assert_int_equal(layout.nodes[0].place.slots, 2);
    assert_true(rz_rankfile_settle(&ranks, &layout, true, &why));
    rz_layout_place(&layout, ranks.n, RZ_PLACE_BY_SLOT);
    assert_memory_equal(layout.placement, expected, sizeof(expected));
    rz_layout_clear(&layout);
    rz_rankfile_clear(&ranks);
}

static void named_nodes_bound_it(void **state)
{
    struct rz_rankfile ranks = {0};
    struct rz_launch_layout layout = {0};
    const char *why;
    (void)state;
    assert_true(rz_layout_add_hosts(&layout, "a:2,b:1,spare:4", &why));
    assert_true(read_text(&ranks, "rank 0=a\nrank 1=b\nrank 2=b\n", &why));
    assert_false(rz_rankfile_settle(&ranks, &layout, true, &why));
    assert_non_null(strstr(why, "2 ranks on b, which has 1 slots"));
    free(layout.given);
    assert_true(rz_rankfile_settle(&ranks, &layout, false, &why));
    assert_true(layout.nodes[2].place.spare && !layout.nodes[0].place.spare);
    free(layout.given);
    assert_true(read_text(&ranks, "rank 0=elsewhere\n", &why));
    assert_false(rz_rankfile_settle(&ranks, &layout, false, &why));
    assert_non_null(strstr(why, "elsewhere is none of"));
    rz_layout_clear(&layout);
    rz_rankfile_clear(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_read_in_any_order),
        cmocka_unit_test(what_is_no_rankfile_is_refused),
        cmocka_unit_test(nodes_are_those_of_the_file),
        cmocka_unit_test(named_nodes_bound_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
