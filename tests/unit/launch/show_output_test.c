/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restored process writes again is not shown again, byte by byte. */
#include "launch/show_output.h"

#include "wire/launch_messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct rz_show_output show;
static int shown, saved; /* what takes the place of standard output, and that itself */

static void begin(bool label, enum rz_rewound_output rewound)
{
    fflush(stdout);
    saved = dup(STDOUT_FILENO);
    shown = memfd_create("shown", MFD_CLOEXEC);
    assert_true(shown >= 0);
    assert_int_equal(dup2(shown, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(rz_show_output_open(&show, label), RZ_OK);
    show.rewound = rewound;
}

static void written_in(uint32_t epoch, uint32_t rank, uint64_t at, const char *text)
{
    const struct rz_launch_output output = {.rank = rank,
                                            .stream = 1,
                                            .epoch = epoch,
                                            .at = at,
                                            .data = (const uint8_t *)text,
                                            .data_length = (uint32_t)strlen(text)};
    rz_show_output(&show, &output);
}

static void written(uint32_t rank, uint64_t at, const char *text)
{
    written_in(1, rank, at, text);
}

static void is_safe(uint32_t rank, uint64_t out)
{
    rz_show_output_safe(&show, &(struct rz_launch_output_safe){.rank = rank, .out = out});
}

static void shows(const char *want)
{
    char got[4096] = "";
    rz_show_output_wait(&show, 0);
    assert_true(pread(shown, got, sizeof(got) - 1, 0) >= 0);
    assert_string_equal(got, want);
}

static void ends_as(const char *want)
{
    char got[4096] = "";
    rz_show_output_late(&show, RZ_TIME_NEVER);
    rz_show_output_wait(&show, 0);
    rz_show_output_close(&show);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_true(pread(shown, got, sizeof(got) - 1, 0) >= 0);
    close(shown);
    assert_string_equal(got, want);
}

static void test_repeated_is_dropped(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_DROPPED);
    written(0, 0, "one\ntwo\n");
    written(0, 4, "two\nthree\n"); /* restored where it had written the first line */
    written(0, 0, "one\n");        /* and once more, from its start */
    written(0, 4, "two\nthree\nfour\n");
    ends_as("one\ntwo\nthree\nfour\n");
}

static void test_half_lines(void **state)
{
    (void)state;
    begin(true, RZ_REWOUND_DROPPED);
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
    begin(false, RZ_REWOUND_DROPPED);
    written(0, 0, "zero\n");
    written(1, 0, "one\n");
    written(1, 0, "one\nmore\n");
    written(0, 5, "more of zero\n");
    ends_as("zero\none\nmore\nmore of zero\n");
}

static void test_no_place_is_always_shown(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_DROPPED);
    written(0, RZ_OUTPUT_ANYWHERE, "one\n");
    written(0, RZ_OUTPUT_ANYWHERE, "one\n");
    written(RZ_ID_NONE, RZ_OUTPUT_ANYWHERE, "a daemon\n");
    ends_as("one\none\na daemon\n");
}

static void test_repeats(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_REPEATED);
    written(0, 0, "one\ntwo\n");
    written(0, 4, "two\nthree\n");
    ends_as("one\ntwo\ntwo\nthree\n");
}

static void test_what_was_lost_is_not_waited_for(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_DROPPED);
    written(0, 0, "one\n");
    written(0, 8, "three\n"); /* bytes 4 to 7 were lost with a node */
    written(0, 4, "two\nthree\nfour\n");
    ends_as("one\nthree\nfour\n");
}

/* ---- RZ_REWOUND_HELD ---- */

static void test_held_until_safe(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "one\ntwo\nthree\n");
    shows("");
    assert_true(rz_show_output_due(&show) == RZ_TIME_NEVER); /* it waits for no time */
    is_safe(0, 8);
    shows("one\ntwo\n");
    is_safe(0, 4); /* an older one changes nothing */
    is_safe(0, 20);
    shows("one\ntwo\nthree\n");
    written(0, 14, "four\nfive\n"); /* the daemon was told to wait with it */
    shows("one\ntwo\nthree\nfour\n");
    ends_as("one\ntwo\nthree\nfour\nfive\n");
}

static void test_half_a_line_is_safe(void **state)
{
    (void)state;
    begin(true, RZ_REWOUND_HELD);
    written(1, 0, "one tw");
    written(1, 6, "o\n");
    is_safe(1, 5);
    shows("");
    assert_true(rz_show_output_due(&show) == RZ_TIME_NEVER); /* the rest is there, and not safe */
    written(0, 0, "zero\n");
    is_safe(0, 5);
    is_safe(1, 8);
    ends_as("[0] zero\n[1] one two\n");
}

static void test_a_safe_question_is_shown(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "one\nwhat? ");
    is_safe(0, 10);
    shows("one\n");
    rz_show_output_late(&show, rz_show_output_due(&show));
    shows("one\nwhat? ");
    ends_as("one\nwhat? ");
}

static void test_what_was_rolled_back_is_not_shown(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "one\nwrong\n");
    written(1, 0, "uno\nfalso\n");
    is_safe(0, 4);
    written_in(2, 0, 4, "right\n");
    written_in(2, 1, 4, ""); /* it writes nothing more; its image was safe, which we did not hear */
    written(0, 10, "late\n"); /* of the process that was killed */
    shows("one\nuno\n");
    written_in(2, 0, 10, "more\n");
    is_safe(0, 15);
    ends_as("one\nuno\nright\nmore\n");
}

static void test_back_to_the_start(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "wrong\n");
    written_in(2, 0, 0, "");
    written_in(2, 0, 0, "right, and longer\n");
    written_in(3, 0, 0, "short\n");
    ends_as("short\n");
}

static void test_back_behind_what_was_shown(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "one\ntwo\nthree\n");
    is_safe(0, 8);
    written_in(2, 0, 4, "two\n3\n"); /* the images that were safe are lost */
    shows("one\ntwo\n");
    ends_as("one\ntwo\n3\n");
}

static void test_late_from_a_node_that_is_lost(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "one\n");
    written_in(2, 0, 12, "");
    shows("one\n");
    written(0, 4, "two\n"); /* before the place of the image */
    written(0, 8, "six\nwrong\n");
    shows("one\ntwo\nsix\n");
    written_in(2, 0, 12, "ten\n");
    ends_as("one\ntwo\nsix\nten\n");
}

static void test_missing_from_a_node_that_is_lost(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "one\ntw");
    written_in(2, 0, 12, "ten\n");
    ends_as("one\ntwten\n");
}

static void test_too_much_to_hold(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20, LIMIT = RZ_SHOW_TAILS_MAX / PIECE };
    static char line[PIECE + 1];
    memset(line, 'x', PIECE);
    line[PIECE - 1] = '\n';
    begin(false, RZ_REWOUND_HELD);
    for (uint64_t i = 0; i < LIMIT; i++) {
        written((uint32_t)(i % 2), i / 2 * PIECE, line);
    }
    assert_false(show.overrun);
    written(0, (uint64_t)LIMIT / 2 * PIECE, "more\n");
    assert_true(show.overrun);
    assert_int_equal(show.waiting, 0);
    written_in(2, 0, 0, "right"); /* shown already, as far as places tell */
    assert_int_equal(show.waiting, 0);
    written_in(2, 0, (uint64_t)LIMIT / 2 * PIECE + 5, "held again\n");
    assert_int_equal(show.waiting, strlen("held again\n"));
    rz_show_output_wait(&show, 0);
    assert_int_equal(lseek(shown, 0, SEEK_CUR), (off_t)RZ_SHOW_TAILS_MAX + 5);
    rz_show_output_discard(&show); /* as at the end of an attempt, which is not the last one */
    assert_int_equal(show.waiting, 0);
    assert_int_equal(ftruncate(shown, 0), 0);
    ends_as("");
}

static void test_own_messages_do_not_wait(void **state)
{
    (void)state;
    begin(false, RZ_REWOUND_HELD);
    written(0, 0, "held\n");
    written(RZ_ID_NONE, RZ_OUTPUT_ANYWHERE, "a daemon\n");
    written(0, RZ_OUTPUT_ANYWHERE, "no place\n");
    shows("a daemon\nno place\n");
    ends_as("a daemon\nno place\nheld\n");
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
        cmocka_unit_test(test_held_until_safe),
        cmocka_unit_test(test_half_a_line_is_safe),
        cmocka_unit_test(test_a_safe_question_is_shown),
        cmocka_unit_test(test_what_was_rolled_back_is_not_shown),
        cmocka_unit_test(test_back_to_the_start),
        cmocka_unit_test(test_back_behind_what_was_shown),
        cmocka_unit_test(test_late_from_a_node_that_is_lost),
        cmocka_unit_test(test_missing_from_a_node_that_is_lost),
        cmocka_unit_test(test_too_much_to_hold),
        cmocka_unit_test(test_own_messages_do_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
