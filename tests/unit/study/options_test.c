/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of a study: it takes what it heeds and nothing else, and says what is wrong. */
#include "study/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void own_defaults(struct rz_study_options *options)
{
    options->hb_period = 250 * RZ_MILLISECOND;
    options->hb_timeout = RZ_SECOND;
}

static const struct rz_study ring = {.name = "ring",
                                     .summary = "a ring",
                                     .members_are = "nodes",
                                     .members_default = 4096,
                                     .members_max = 1 << 16,
                                     .members_max_model = 1 << 20,
                                     .takes = RZ_STUDY_KILL | RZ_STUDY_HEARTBEAT | RZ_STUDY_MODEL |
                                              RZ_STUDY_PHASES | RZ_STUDY_COMPOSITION,
                                     .defaults = own_defaults};
static const struct rz_study gossip = {.name = "gossip",
                                       .summary = "gossip",
                                       .members_are = "members",
                                       .members_default = 64,
                                       .members_max = 1 << 20,
                                       .takes = RZ_STUDY_TOLERANCE | RZ_STUDY_TREE | RZ_STUDY_LOSS |
                                                RZ_STUDY_TESTERS};

static const struct rz_cli_option *find(const struct rz_study *study, const char *name)
{
    for (const struct rz_cli_option *o = rz_study_cli_options(study); o->name || o->help; o++) {
        if (o->name && strcmp(o->name, name) == 0) {
            return o;
        }
    }
    return NULL;
}

/* Gives request one option, as the command line does. */
static bool take(struct rz_study_request *request, const char *name, const char *value)
{
    const char *why = "";
    const struct rz_cli_option *option = find(request->study, name);
    assert_non_null(option);
    assert_int_equal(option->argument != NULL, value != NULL);
    return option->take(request, value, &why);
}

static void test_only_what_it_heeds(void **state)
{
    const char *why = NULL;
    (void)state;
    assert_non_null(find(&ring, "--hb-period"));
    assert_null(find(&ring, "--tolerance"));
    assert_null(find(&ring, "--loss"));
    assert_non_null(find(&gossip, "--tolerance"));
    assert_null(find(&gossip, "--kill"));
    assert_non_null(find(NULL, "--kill"));
    assert_non_null(find(NULL, "--tolerance"));
    assert_false(rz_study_option_is_foreign(&ring, "--hb-period=3s", &why));
    assert_false(rz_study_option_is_foreign(&ring, "--no-such-thing", &why));
    assert_true(rz_study_option_is_foreign(&ring, "--tolerance=1%", &why));
    assert_non_null(strstr(why, "ring has no '--tolerance'"));
    assert_non_null(strstr(why, "--hb-period"));
    assert_null(strstr(why, "--loss"));
}

/* No heading without an option below it. */
static void test_headings(void **state)
{
    (void)state;
    const struct rz_cli_option *o = rz_study_cli_options(&gossip);
    assert_true(!o->name && o->help);
    for (; o->name || o->help; o++) {
        assert_non_null(o->help);
        if (!o->name) {
            assert_non_null(o[1].name);
        }
        if (!o->name) {
            assert_string_not_equal(o->help, "Which members fail");
        }
    }
}

static void test_words_for_members(void **state)
{
    static const char *const words[] = {"--members", "--nodes", "--ranks"};
    struct rz_study_request request;
    (void)state;
    assert_string_equal(rz_study_cli_options(&ring)[1].name, "--nodes");
    assert_string_equal(rz_study_cli_options(&gossip)[1].name, "--members");
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        rz_study_request_begin(&request, &ring);
        assert_true(take(&request, words[i], "2^13"));
        assert_int_equal(request.options.members, 8192);
    }
    assert_non_null(strstr(find(&ring, "--nodes")->help, "at most 2^16, with --model 2^20"));
    assert_non_null(strstr(find(&ring, "--nodes")->help, "Default: 2^12"));
}

static void test_defaults(void **state)
{
    struct rz_study_request request;
    (void)state;
    rz_study_request_begin(&request, &ring);
    assert_int_equal(request.options.members, 4096);
    assert_int_equal(request.options.hb_period, 250 * RZ_MILLISECOND);
    assert_int_equal(request.options.trials, 1);
    assert_non_null(strstr(find(&ring, "--hb-period")->help, "Default: 250ms."));
    assert_non_null(strstr(find(&ring, "--hb-timeout")->help, "Default: 1s."));
    assert_non_null(strstr(find(&gossip, "--tolerance")->help, "Default: 0.1%."));
    assert_non_null(strstr(find(&gossip, "--tree")->help, "Default: binary."));
    assert_null(strstr(find(&ring, "--kill-at")->help, "584"));
}

static void test_values(void **state)
{
    struct rz_study_request request;
    (void)state;
    rz_study_request_begin(&request, &gossip);
    assert_true(take(&request, "--tree", "binbin"));
    assert_int_equal(request.options.tree, RZ_STUDY_TREE_BIN_BIN);
    assert_false(take(&request, "--tree", "oak"));
    assert_true(take(&request, "--assignment", "cube") && request.options.cube);
    assert_true(take(&request, "--assignment", "full") && !request.options.cube);
    assert_false(take(&request, "--assignment", "ring"));
    assert_true(take(&request, "--health", "8") && request.options.health == 8);
    assert_false(take(&request, "--health", "101"));
    assert_true(take(&request, "--tolerance", "0.5%"));
    assert_true(request.options.tolerance == 0.005);
    assert_false(take(&request, "--tolerance", "much"));
    assert_true(take(&request, "--loss", "1%"));
    assert_true(request.options.loss == 0.01);
    assert_true(take(&request, "--bandwidth", "12.5"));
    assert_int_equal(request.options.bytes_per_second, 12500000);
    assert_false(take(&request, "--bandwidth", "0"));
    assert_true(take(&request, "--plot", "a.png"));
    assert_false(take(&request, "--plot", "a.gif"));
    assert_false(take(&request, "--trials", "0"));
    assert_false(take(&request, "--seed", "-1"));
    rz_study_request_begin(&request, &ring);
    assert_true(take(&request, "--kill-root", NULL));
    assert_int_equal(request.options.victims, RZ_STUDY_VICTIMS_FIRST);
    assert_true(take(&request, "--kill-rack", NULL));
    assert_int_equal(request.options.victims, RZ_STUDY_VICTIMS_RACK);
    assert_true(take(&request, "--kill-at", "1.5ms"));
    assert_int_equal(request.options.kill_at, 1500000);
    assert_int_equal(request.options.phases, RZ_STUDY_PHASES_INDEPENDENT);
    assert_true(take(&request, "--phases", "same"));
    assert_int_equal(request.options.phases, RZ_STUDY_PHASES_SAME);
    assert_true(take(&request, "--phases", "independent"));
    assert_int_equal(request.options.phases, RZ_STUDY_PHASES_INDEPENDENT);
    assert_false(take(&request, "--phases", "equal"));
    assert_null(find(&gossip, "--phases"));
    assert_true(take(&request, "--composition", "daemon") && request.options.as_daemon);
    assert_true(take(&request, "--composition", "paper") && !request.options.as_daemon);
    assert_false(take(&request, "--composition", "papers"));
    assert_false(take(&request, "--hb-period", "0s"));
    assert_false(take(&request, "--hb-period", "100"));
}

static void test_what_goes_together(void **state)
{
    struct rz_study_request request;
    const char *why = "";
    (void)state;
    rz_study_request_begin(&request, &ring);
    assert_true(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--nodes", "2^20"));
    assert_false(rz_study_request_check(&request, &why));
    assert_string_equal(why, "ring goes up to 2^16 nodes, with --model to 2^20");
    assert_true(take(&request, "--model", NULL));
    assert_true(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--nodes", "2^21"));
    assert_false(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--nodes", "4") && take(&request, "--kill", "3"));
    assert_true(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--kill", "4"));
    assert_false(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--kill", "0") && take(&request, "--hb-timeout", "250ms"));
    assert_false(rz_study_request_check(&request, &why));
    assert_non_null(strstr(why, "--hb-timeout"));
}

/* The members of a flat ring are processes. */
static void test_flat_counts_processes(void **state)
{
    struct rz_study flat = ring;
    struct rz_study_request request;
    const char *why = "";
    (void)state;
    flat.takes |= RZ_STUDY_FLAT | RZ_STUDY_PER_NODE | RZ_STUDY_SLOW;
    rz_study_request_begin(&request, &flat);
    assert_true(take(&request, "--nodes", "4") && take(&request, "--per-node", "12"));
    assert_true(take(&request, "--kill", "47") && take(&request, "--slow", "47"));
    assert_false(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--flat", NULL));
    assert_true(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--slow", "48"));
    assert_false(rz_study_request_check(&request, &why));
    assert_true(take(&request, "--slow", "0") && take(&request, "--kill", "48"));
    assert_false(rz_study_request_check(&request, &why));
    assert_non_null(strstr(why, "a member alive"));
}

static void test_numbers_as_shown(void **state)
{
    char text[32];
    (void)state;
    rz_study_show_count(1000, text, sizeof(text));
    assert_string_equal(text, "1000");
    rz_study_show_count(1 << 20, text, sizeof(text));
    assert_string_equal(text, "2^20");
    rz_study_show_time(1500, text, sizeof(text));
    assert_string_equal(text, "1.5us");
    rz_study_show_time(300 * RZ_MILLISECOND, text, sizeof(text));
    assert_string_equal(text, "300ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_it_heeds),
        cmocka_unit_test(test_headings),
        cmocka_unit_test(test_words_for_members),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_goes_together),
        cmocka_unit_test(test_flat_counts_processes),
        cmocka_unit_test(test_numbers_as_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
