/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restored process writes again is not shown again, byte by byte. */
#include "launch/show_output.h"

#include "port/memory.h"
#include "wire/launch_messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct rz_show_output show;
static int shown, saved; /* what takes the place of standard output, and that itself */

static void begin(bool label, bool repeats)
{
    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    assert_int_equal(rz_memory_create("shown", 4096, &shown), RZ_OK);
    assert_int_equal(dup2(shown, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(rz_show_output_open(&show, label), RZ_OK);
    show.repeats = repeats;
}

static void written(uint32_t rank, uint64_t at, const char *text)
{
    const struct rz_launch_output output = {.rank = rank,
                                            .stream = 1,
                                            .at = at,
                                            .data = (const uint8_t *)text,
                                            .data_length = (uint32_t)strlen(text)};
    rz_show_output(&show, &output);
}

static void ends_as(const char *want)
{
    char got[4096] = "";
    rz_show_output_late(&show, RZ_TIME_NEVER);
    rz_show_output_wait(&show, 0);
    rz_show_output_close(&show);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_true(pread(shown, got, sizeof(got) - 1, 0) > 0);
    close(shown);
    assert_string_equal(got, want);
}

static void test_repeated_is_dropped(void **state)
{
    (void)state;
    begin(false, false);
    written(0, 0, "one\ntwo\n");
    written(0, 4, "two\nthree\n"); /* restored where it had written the first line */
    written(0, 0, "one\n");        /* and once more, from its start */
    written(0, 4, "two\nthree\nfour\n");
    ends_as("one\ntwo\nthree\nfour\n");
}

static void test_half_lines(void **state)
{
    (void)state;
    begin(true, false);
    written(1, 0, "on");
    written(1, 0, "one\nt"); /* the first half waits for its end */
    written(0, 0, "other\n");
    written(1, 2, "e");
    written(1, 3, "\ntwo\nlast");
    ends_as("[1] one\n[0] other\n[1] two\n[1] last");
}

static void test_ranks_and_streams_are_apart(void **state)
{
    (void)state;
    begin(false, false);
    written(0, 0, "zero\n");
    written(1, 0, "one\n");
    written(1, 0, "one\nmore\n");
    written(0, 5, "more of zero\n");
    ends_as("zero\none\nmore\nmore of zero\n");
}

static void test_no_place_is_always_shown(void **state)
{
    (void)state;
    begin(false, false);
    written(0, RZ_OUTPUT_ANYWHERE, "one\n");
    written(0, RZ_OUTPUT_ANYWHERE, "one\n");
    written(RZ_ID_NONE, RZ_OUTPUT_ANYWHERE, "a daemon\n");
    ends_as("one\none\na daemon\n");
}

static void test_repeats(void **state)
{
    (void)state;
    begin(false, true);
    written(0, 0, "one\ntwo\n");
    written(0, 4, "two\nthree\n");
    ends_as("one\ntwo\ntwo\nthree\n");
}

static void test_what_was_lost_is_not_waited_for(void **state)
{
    (void)state;
    begin(false, false);
    written(0, 0, "one\n");
    written(0, 8, "three\n"); /* bytes 4 to 7 were lost with a node */
    written(0, 4, "two\nthree\nfour\n");
    ends_as("one\nthree\nfour\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_is_dropped),
        cmocka_unit_test(test_half_lines),
        cmocka_unit_test(test_ranks_and_streams_are_apart),
        cmocka_unit_test(test_no_place_is_always_shown),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_what_was_lost_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
