/* SPDX-License-Identifier: BSD-3-Clause */
/* Dialogs with programs, which are shells here: orders and answers, other lines, silence, ends. */
#include "remote/dialog.h"

#include "../../patience.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "remote/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HANG (TEST_HANG_S * RZ_SECOND)

struct rig {
    char answers[400], others[400];
};

static bool heard(void *arg, char *line)
{
    struct rig *rig = arg;
    bool answer = strncmp(line, "answer ", 7) == 0;
    char *to = answer ? rig->answers : rig->others;
    size_t n = strlen(to);
    snprintf(to + n, sizeof(rig->answers) - n, "%.40s|", line);
    return answer;
}

static void begin(struct rz_dialog *dialog, struct rig *rig, const char *script, bool greets)
{
    const char *words[] = {"sh", "-c", script, NULL};
    *rig = (struct rig){{0}, {0}};
    *dialog = (struct rz_dialog){.heard = heard, .arg = rig, .line_max = 1000};
    rz_dialog_start(dialog, words, greets);
    assert_true(dialog->pid > 0);
}

static void await_all(struct rz_dialog *dialogs, size_t n)
{
    rz_time begun = rz_clock_now();
    rz_dialogs_await(dialogs, n, begun + HANG);
    assert_true(rz_clock_now() - begun < HANG);
}

static void orders_and_answers(void **state)
{
    struct rz_dialog dialog;
    struct rig rig;
    (void)state;
    begin(&dialog, &rig,
          "echo Welcome; echo a warning >&2; echo answer 0; while read word; do echo answer $word; "
          "done; echo goodbye; exit 7",
          true);
    await_all(&dialog, 1);
    assert_true(dialog.answered >= dialog.ordered);
    rz_dialog_order(&dialog, "first");
    assert_true(dialog.waits);
    await_all(&dialog, 1);
    rz_dialog_order(&dialog, "second");
    await_all(&dialog, 1);
    assert_string_equal(rig.answers, "answer 0|answer first|answer second|");
    assert_non_null(strstr(rig.others, "Welcome|"));
    rz_dialogs_end(&dialog, 1);
    assert_non_null(strstr(rig.others, "a warning|"));
    assert_non_null(strstr(rig.others, "goodbye|"));
    assert_int_equal(dialog.pid, -1);
    assert_int_equal(dialog.status, 7);
}

static void a_terminal_may_show_what_is_said(void **state)
{
    struct rz_dialog dialog;
    struct rig rig;
    (void)state;
    begin(&dialog, &rig, "printf 'a\\tb\\033[31m \\302\\233 \\342\\200\\256\\n' >&2; echo answer 0",
          true);
    await_all(&dialog, 1);
    rz_dialogs_end(&dialog, 1);
    assert_string_equal(rig.others, "a\tb?[31m ?? ???|");
}

static void one_that_is_silent_delays_no_other(void **state)
{
    struct rz_dialog dialogs[3];
    struct rig rigs[3];
    (void)state;
    begin(&dialogs[0], &rigs[0], "exec sleep 1000", false);
    begin(&dialogs[1], &rigs[1], "read word; echo answer $word; read word", false);
    begin(&dialogs[2], &rigs[2], "exit 3", true);
    rz_dialog_order(&dialogs[0], "x");
    rz_dialog_order(&dialogs[1], "x");
    for (rz_time until = rz_clock_now() + HANG; dialogs[1].waits && rz_clock_now() < until;) {
        rz_dialogs_hear(dialogs, 3, -1, 10);
    }
    assert_string_equal(rigs[1].answers, "answer x|");
    assert_true(dialogs[0].waits);
    rz_dialogs_await(dialogs, 3, rz_clock_now() + RZ_SECOND / 10); /* gives the silent one up */
    assert_true(dialogs[0].waits);
    const pid_t pids[] = {dialogs[0].pid, dialogs[1].pid};
    rz_dialogs_end(dialogs, 3);
    assert_int_equal(dialogs[2].status, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dialogs[i].pid, -1);
        assert_false(rz_child_process_exists(pids[i]));
    }
}

static void one_that_is_stopped_is_not_waited_for(void **state)
{
    struct rz_dialog dialog;
    struct rig rig;
    (void)state;
    begin(&dialog, &rig, "exec sleep 1000", true);
    rz_dialog_stop(&dialog);
    await_all(&dialog, 1);
    rz_dialogs_end(&dialog, 1);
    assert_int_equal(dialog.pid, -1);
}

static void lines_of_any_length(void **state)
{
    struct rz_dialog dialog;
    struct rig rig;
    (void)state;
    begin(
        &dialog, &rig,
        "printf '%1500s' x | tr ' ' a; echo; printf 'answer '; printf '%900s' x; echo; printf end",
        true);
    await_all(&dialog, 1);
    rz_dialogs_end(&dialog, 1);
    assert_memory_equal(rig.others, "aaaa", 4); /* in two parts */
    assert_non_null(strstr(rig.others, "|aaa"));
    assert_non_null(strstr(rig.others, "end|"));
}

static void a_program_that_is_not_there(void **state)
{
    const char *words[] = {"/no/such/agent", NULL};
    struct rig rig = {{0}, {0}};
    struct rz_dialog dialog = {.heard = heard, .arg = &rig, .line_max = 1000};
    (void)state;
    rz_dialog_start(&dialog, words, true);
    await_all(&dialog, 1);
    assert_int_equal(dialog.status, RZ_AGENT_NOT_STARTED);
    assert_non_null(strstr(rig.others, "/no/such/agent cannot be started"));
    rz_dialog_order(&dialog, "nothing happens");
    rz_dialogs_end(&dialog, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_and_answers),
        cmocka_unit_test(a_terminal_may_show_what_is_said),
        cmocka_unit_test(one_that_is_silent_delays_no_other),
        cmocka_unit_test(one_that_is_stopped_is_not_waited_for),
        cmocka_unit_test(lines_of_any_length),
        cmocka_unit_test(a_program_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
