/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at other hosts, which are shells here: their names say how they answer. */
#include "view/look_hosts.h"

#include "../../patience.h"
#include "port/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HANG (TEST_HANG_S * RZ_SECOND)

/* The agent: $0 is the host, $1 the command, which is a file that lets late hosts answer. */
static const char agent[] =
    "case $0 in\n"
    "gone) echo 'no way to it' >&2; exit 255 ;;\n"
    "silent) exec sleep 1000 ;;\n"
    "strange) while read question; do echo '" RZ_LOOK_MARK "{\"error\": \"no /proc\"}'; done ;;\n"
    "late*) read question; until test -e \"$1\"; do sleep 0.02; done\n"
    "  echo '" RZ_LOOK_MARK "[{\"job\": \"late\"}]' ;;\n"
    "esac\n"
    "echo a greeting\n"
    "while read question; do echo \"" RZ_LOOK_MARK
    "[{\\\"host\\\": \\\"$0\\\", \\\"asked\\\": $question}]\"\n"
    "done\n";

static const char *const words[] = {"sh", "-c", agent, NULL};
static char signal_file[64];

static struct rz_look_hosts *open_hosts(const char *const *names, size_t n)
{
    struct rz_look_hosts_config config = {
        .words = words, .command = signal_file, .names = names, .n = n};
    struct rz_look_hosts *hosts;
    snprintf(signal_file, sizeof(signal_file), "/tmp/rz-look-hosts-%d", (int)getpid());
    rz_look_hosts_open(&hosts, &config);
    return hosts;
}

/* What hosts answer until none is waited for, or for a time. */
static json_t *look(struct rz_look_hosts *hosts, const char *prefix, rz_time within)
{
    json_t *pages = json_array();
    rz_time until = rz_clock_now() + within;
    rz_look_hosts_ask(hosts, prefix, true);
    while (rz_look_hosts_hear(hosts, -1, 10) && rz_clock_now() < until) {
        ;
    }
    rz_look_hosts_take(hosts, pages);
    return pages;
}

static bool is_silent(const struct rz_look_hosts *hosts, size_t i, const char *name, int status,
                      const char *word)
{
    struct rz_look_silent silent;
    return rz_look_hosts_silent(hosts, i, &silent) && strcmp(silent.name, name) == 0 &&
           silent.status == status && strcmp(silent.word, word) == 0;
}

static const char *text_in(json_t *pages, size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(pages, i), key));
    return text ? text : "";
}

static void all_answer_each_look(void **state)
{
    const char *const names[] = {"a", "b"};
    struct rz_look_hosts *hosts = open_hosts(names, 2);
    struct rz_look_silent silent;
    (void)state;
    for (int i = 0; i < 3; i++) {
        json_t *pages = look(hosts, i > 0 ? "0123" : NULL, HANG);
        assert_int_equal(json_array_size(pages), 2);
        assert_string_equal(text_in(pages, 0, "host"), "a");
        assert_string_equal(text_in(pages, 1, "host"), "b");
        json_t *asked = json_object_get(json_array_get(pages, 0), "asked");
        const char *prefix = json_string_value(json_object_get(asked, "prefix"));
        assert_true(json_is_true(json_object_get(asked, "all")));
        assert_true(i > 0 ? prefix && strcmp(prefix, "0123") == 0 : !prefix);
        assert_false(rz_look_hosts_silent(hosts, 0, &silent));
        json_decref(pages);
    }
    rz_look_hosts_close(hosts);
}

static void hosts_without_an_answer_are_named(void **state)
{
    const char *const names[] = {"gone", "a", "strange", "silent"};
    struct rz_look_hosts *hosts = open_hosts(names, 4);
    (void)state;
    rz_time until = rz_clock_now() + HANG;
    bool good = false;
    while (!good && rz_clock_now() < until) { /* shells may begin slowly */
        json_t *pages = look(hosts, NULL, RZ_SECOND);
        good = json_array_size(pages) == 1 && strcmp(text_in(pages, 0, "host"), "a") == 0 &&
               is_silent(hosts, 0, "gone", 255, "no way to it") &&
               is_silent(hosts, 1, "strange", -1, "no /proc") &&
               is_silent(hosts, 2, "silent", -1, "");
        json_decref(pages);
    }
    assert_true(good);
    rz_time begun = rz_clock_now(); /* those that were silent are not waited for any more */
    json_decref(look(hosts, NULL, HANG));
    assert_true(rz_clock_now() - begun < HANG);
    rz_look_hosts_close(hosts);
}

static void a_late_answer_counts_when_it_comes(void **state)
{
    const char *const names[] = {"late"};
    struct rz_look_hosts *hosts = open_hosts(names, 1);
    rz_time until = rz_clock_now() + HANG;
    (void)state;
    json_decref(look(hosts, NULL, RZ_SECOND / 10));
    assert_true(is_silent(hosts, 0, "late", -1, ""));
    FILE *file = fopen(signal_file, "w");
    assert_non_null(file);
    fclose(file);
    json_t *pages = look(hosts, NULL, HANG);
    while (json_array_size(pages) == 0 && rz_clock_now() < until) {
        json_decref(pages);
        pages = look(hosts, NULL, HANG);
    }
    assert_int_equal(json_array_size(pages), 1);
    json_decref(pages);
    pages = look(hosts, NULL, HANG); /* it is waited for again */
    assert_string_equal(text_in(pages, 0, "host"), "late");
    json_decref(pages);
    rz_look_hosts_close(hosts);
    unlink(signal_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_answer_each_look),
        cmocka_unit_test(hosts_without_an_answer_are_named),
        cmocka_unit_test(a_late_answer_counts_when_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
