/* SPDX-License-Identifier: BSD-3-Clause */
/* What --rewind-check keeps of the output of runs, and in which line it says that they differ. */
#include "launch/check_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 1000 };

static void take(struct rz_check_output *output, uint32_t epoch, uint64_t at, const char *text)
{
    const struct rz_launch_output message = {.rank = 1,
                                             .stream = 1,
                                             .epoch = epoch,
                                             .at = at,
                                             .data = (const uint8_t *)text,
                                             .data_length = (uint32_t)strlen(text)};
    rz_check_output_take(output, &message);
}

static struct rz_check_output output_of(const char *text)
{
    struct rz_check_output output;
    rz_check_output_open(&output, 2, BYTES_MAX);
    take(&output, 1, RZ_OUTPUT_ANYWHERE, text);
    return output;
}

static void assert_kept(const struct rz_check_output *output, const char *text)
{
    const struct rz_bytes *bytes = &output->streams[RZ_CHECK_STREAMS].bytes;
    assert_int_equal(bytes->n, strlen(text));
    assert_memory_equal(bytes->at, text, bytes->n);
}

static void what_was_taken_back_is_replaced(void **state)
{
    struct rz_check_output output;
    (void)state;
    rz_check_output_open(&output, 2, BYTES_MAX);
    take(&output, 1, 0, "a\nb\n");
    take(&output, 1, 4, "old\n");
    take(&output, 2, 4, "new\n");   /* restored behind "b" */
    take(&output, 1, 8, "older\n"); /* late, of the process that has ended */
    take(&output, 2, 8, "c\n");
    assert_kept(&output, "a\nb\nnew\nc\n");
    take(&output, 3, 0, "x"); /* from the start of the program */
    assert_kept(&output, "x");
    rz_check_output_close(&output);
}

static void no_more_is_kept_than_there_is_room(void **state)
{
    struct rz_check_output output;
    (void)state;
    rz_check_output_open(&output, 2, 6);
    take(&output, 1, 0, "abcd\nefgh\n");
    take(&output, 1, 10, "x");
    assert_kept(&output, "abcd\ne");
    rz_check_output_close(&output);
}

struct comparison {
    const char *rewound, *undisturbed, *again;
    bool part;     /* not all ran to their ends */
    uint64_t line; /* in which they differ; 0: in none */
    uint64_t lines;
};

static void the_first_other_line_is_found(void **state)
{
    static const struct comparison all[] = {
        {"a\nb\n", "a\nb\n", NULL, false, 0, 2},
        {"", "", NULL, false, 0, 0},
        {"a\nx\nc\n", "a\nb\nc\n", NULL, false, 2, 1},
        {"a\nb", "a\nb\n", NULL, false, 0, 2},
        {"a\n", "a\nb\n", NULL, false, 2, 1},
        {"a\nb\n", "a\n", NULL, false, 2, 1},
        {"a\n", "a\nb\n", NULL, true, 0, 1},
        {"a\nb", "a\nbc\n", NULL, true, 0, 1},
        {"a\nt1\nc\n", "a\nt2\nc\n", "a\nt3\nc\n", false, 0, 2},
        {"a\nt1\nx\n", "a\nt2\nc\n", "a\nt3\nc\n", false, 3, 1},
        {"a\nt1\nx\n", "a\nt2\nc\n", "a\nt3\nt4\nc\n", false, 0, 1},
        {"x\nt1\nx\n", "a\nt2\nc\n", "a\nt3\nt4\nc\n", false, 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct rz_check_output rewound = output_of(all[i].rewound),
                               undisturbed = output_of(all[i].undisturbed),
                               again = output_of(all[i].again ? all[i].again : "");
        const struct rz_check_runs runs = {.rewound = &rewound,
                                           .undisturbed = &undisturbed,
                                           .again = all[i].again ? &again : NULL,
                                           .whole = !all[i].part};
        struct rz_check_difference found = {.line = 0};
        uint64_t lines;
        bool differs = rz_check_output_differs(&runs, &found, &lines);
        if (differs != (all[i].line > 0) || found.line != all[i].line || lines != all[i].lines) {
            fail_msg("comparison %zu: line %d, %d lines", i, (int)found.line, (int)lines);
        }
        assert_true(!differs || (found.rank == 1 && !found.error));
        rz_check_output_close(&rewound);
        rz_check_output_close(&undisturbed);
        rz_check_output_close(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_back_is_replaced),
        cmocka_unit_test(no_more_is_kept_than_there_is_room),
        cmocka_unit_test(the_first_other_line_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
