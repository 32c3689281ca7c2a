/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded runs: what is shown happened, each subject at each size, the same bytes again. */
#include "explain/explain_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rz_explain *run(const char *name, uint32_t members, uint32_t kill, uint64_t seed,
                              const char *plan)
{
    const struct rz_explain_options options = {.subject = rz_explain_find(name),
                                               .members = members,
                                               .kill = kill,
                                               .seed = seed,
                                               .plan = plan};
    const char *why = "";
    assert_non_null(options.subject);
    struct rz_explain *explain = rz_explain_run(&options, &why);
    if (!explain) {
        fail_msg("%s of %u, kill %u, seed %llu: %s", name, members, kill, (unsigned long long)seed,
                 why);
    }
    return explain;
}

/* All that is recorded is consistent, whatever is drawn. */
static void check_record(const struct rz_explain *explain)
{
    assert_true(rz_explain_steps(explain) > 0);
    assert_int_equal(__builtin_popcount(explain->failed), explain->kill);
    for (uint32_t i = 0; i < explain->n_arrows; i++) {
        const struct rz_explain_arrow *arrow = &explain->arrow[i];
        assert_true(arrow->from < explain->members && arrow->to < explain->members);
        assert_true(arrow->from != arrow->to);
        assert_true(arrow->sent < explain->n_frames);
        if (arrow->received != RZ_EXPLAIN_NEVER) {
            assert_false(arrow->lost);
            assert_int_equal(explain->frame[arrow->received].at - explain->frame[arrow->sent].at,
                             RZ_EXPLAIN_UNIT);
        }
    }
    for (uint32_t step = 1; step <= rz_explain_steps(explain); step++) {
        const struct rz_explain_frame *frame = rz_explain_shown(explain, step);
        assert_non_null(frame);
        assert_true(frame->n_sentences > 0);
        for (uint32_t i = 0; i < frame->n_sentences; i++) {
            char text[512];
            rz_explain_sentence_text(explain, &frame->sentence[i], text, sizeof(text));
            assert_true(strlen(text) < sizeof(text) - 1);
            assert_int_equal(text[strlen(text) - 1], '.');
        }
    }
}

static void test_every_subject_at_many_sizes(void **state)
{
    (void)state;
    const struct rz_explain_subject *subject;
    for (size_t i = 0; (subject = rz_explain_at(i)); i++) {
        uint32_t most = rz_explain_members_max(subject);
        const uint32_t sizes[] = {2, 3, 5, 8, 13, most};
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
            for (uint64_t seed = 1; seed <= 4; seed++) {
                uint32_t n = sizes[k] < most ? sizes[k] : most;
                uint32_t kill = (uint32_t)(seed - 1) < n - 1 ? (uint32_t)(seed - 1) : n - 1;
                struct rz_explain *explain = run(rz_explain_name(subject), n, kill, seed, NULL);
                check_record(explain);
                rz_explain_destroy(explain);
            }
        }
    }
}

static char *drawn(const struct rz_explain *explain,
                   void (*draw)(const struct rz_explain *, FILE *))
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    draw(explain, out);
    fclose(out);
    return text;
}

static void test_the_same_seed_makes_the_same_bytes(void **state)
{
    (void)state;
    void (*const draws[])(const struct rz_explain *, FILE *) = {
        rz_explain_print, rz_explain_draw_sheet, rz_explain_draw_timeline, rz_explain_draw_page};
    const struct rz_explain_subject *subject;
    for (size_t i = 0; (subject = rz_explain_at(i)); i++) {
        struct rz_explain *first = run(rz_explain_name(subject), 0, 2, 3, NULL);
        struct rz_explain *again = run(rz_explain_name(subject), 0, 2, 3, NULL);
        /* And the plan that it prints gives the same run. */
        struct rz_explain *planned = run(rz_explain_name(subject), 0, 0, 3, first->plan);
        for (size_t k = 0; k < sizeof(draws) / sizeof(*draws); k++) {
            char *a = drawn(first, draws[k]), *b = drawn(again, draws[k]),
                 *c = drawn(planned, draws[k]);
            assert_string_equal(a, b);
            assert_string_equal(a, c);
            free(a);
            free(b);
            free(c);
        }
        rz_explain_destroy(first);
        rz_explain_destroy(again);
        rz_explain_destroy(planned);
    }
}

/* The tree of seven: the leaves' values go up in two steps, and the decision comes down in two. */
static void test_an_agreement_without_failures(void **state)
{
    (void)state;
    struct rz_explain *explain = run("agree", 7, 0, 1, NULL);
    char *text = drawn(explain, rz_explain_print);
    assert_string_equal(
        text,
        "Agreement that returns early\n\n"
        "  1. Members 3, 4, 5 and 6 propose, and send their values up to their parents.\n"
        "     Members 0, 1 and 2 propose, and wait for the values of their children.\n"
        "  2. Members 1 and 2 combine their children's values with their own, and send the result "
        "up.\n"
        "  3. Member 0 has the values of all living members: it decides, and sends the decision "
        "down.\n"
        "  4. Members 1 and 2 receive the decision, and pass it on.\n"
        "  5. Members 3, 4, 5 and 6 receive the decision: their calls return.\n\n"
        "The same run again: rzsim explain agree --members 7 --seed 1 --plan none\n");
    free(text);
    assert_int_equal(explain->n_arrows, 12);
    for (rz_id id = 0; id < 7; id++) {
        assert_int_equal(rz_explain_shown(explain, 5)->look[id].tone, RZ_TONE_DONE);
    }
    rz_explain_destroy(explain);
}

/* A broadcast crosses the eight members of the binomial graph in three steps. */
static void test_a_broadcast_without_failures(void **state)
{
    (void)state;
    struct rz_explain *explain = run("spread", 8, 0, 1, NULL);
    const struct rz_explain_frame *frame = rz_explain_shown(explain, 4);
    for (rz_id id = 0; id < 8; id++) {
        assert_int_equal(frame->look[id].tone, RZ_TONE_DONE);
        assert_true(id == 0 || rz_explain_shown(explain, 1)->look[id].tone == RZ_TONE_IDLE);
    }
    rz_explain_destroy(explain);
}

static void test_a_failure_by_plan(void **state)
{
    (void)state;
    struct rz_explain *explain = run("agree", 7, 0, 1, "3@0:0:0");
    assert_int_equal(explain->failed, rz_explain_bit(3));
    assert_string_equal(rz_explain_shown(explain, 1)->sentence[0].words.one, "fails");
    assert_int_equal(rz_explain_shown(explain, 1)->look[3].tone, RZ_TONE_FAILED);
    explain->kill = 1;
    check_record(explain);
    rz_explain_destroy(explain);
}

static void test_a_plan_that_does_not_fit(void **state)
{
    (void)state;
    const char *why = NULL, *const plans[] = {"7@0:0:0", "1@0:0:0,9@d4:0:0", "pause:7@0-9"};
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        const struct rz_explain_options options = {
            .subject = rz_explain_find("agree"), .members = 7, .plan = plans[i]};
        assert_null(rz_explain_run(&options, &why));
        assert_non_null(strstr(why, "names a member that is not there"));
    }
    assert_null(rz_explain_find("none"));
}

static void test_lists(void **state)
{
    (void)state;
    char text[128];
    rz_explain_list(0, text, sizeof(text));
    assert_string_equal(text, "");
    rz_explain_list(8, text, sizeof(text));
    assert_string_equal(text, "3");
    rz_explain_list(0x28, text, sizeof(text));
    assert_string_equal(text, "3 and 5");
    rz_explain_list(0x68, text, sizeof(text));
    assert_string_equal(text, "3, 5 and 6");
    rz_explain_list(UINT32_MAX, text, sizeof(text));
    assert_non_null(strstr(text, "30 and 31"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_subject_at_many_sizes),
        cmocka_unit_test(test_the_same_seed_makes_the_same_bytes),
        cmocka_unit_test(test_an_agreement_without_failures),
        cmocka_unit_test(test_a_broadcast_without_failures),
        cmocka_unit_test(test_a_failure_by_plan),
        cmocka_unit_test(test_a_plan_that_does_not_fit),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
