/* SPDX-License-Identifier: BSD-3-Clause */
/* rztop's model and screens, from documents that are made here. Each screen is compared with a file
 * in screens/; RZ_WRITE_SCREENS=1 writes these anew, for a look at the difference. */
#include "view/look.h"
#include "view/top_screen.h"
#include "view/top_waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Documents ---- */

static json_t *rank_of(const json_t *job, size_t rank)
{
    return json_array_get(json_object_get(job, "ranks"), rank);
}

static json_t *process_of(const json_t *job, size_t rank)
{
    return json_array_get(json_object_get(job, "processes"), rank);
}

static json_t *document(uint32_t n_nodes, uint32_t n_ranks, double seconds)
{
    json_t *job = json_pack(
        "{s:s, s:s, s:s, s:f, s:i, s:s, s:s, s:{s:s, s:f, s:f, s:f}, s:{s:i, s:I, s:b, s:f}}",
        "job", "0123456789abcdef", "program", "/home/user/bin/hpccg", "schema", "rhizome.status.2",
        "seconds", seconds, "epoch", 1, "phase", "run", "detached", "no", "detection", "detector",
        "ring", "hb_period_seconds", 0.1, "hb_timeout_seconds", 0.4, "heartbeat_bytes_per_second",
        1920.0, "checkpoint", "generation", 7, "bytes", (json_int_t)3200000, "safe", 1,
        "age_seconds", 1.4);
    json_t *nodes = json_array(), *ranks = json_array(), *processes = json_array();
    for (uint32_t i = 0; i < n_nodes; i++) {
        json_array_append_new(nodes, json_pack("{s:i, s:s, s:s, s:i}", "node", i, "address",
                                               "127.0.0.1", "state", "alive", "slots", 2));
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        uint32_t node = i * n_nodes / n_ranks;
        json_array_append_new(ranks, json_pack("{s:i, s:b, s:i, s:i, s:s}", "rank", i, "spawned", 0,
                                               "node", node, "incarnation", 1, "state", "alive"));
        json_array_append_new(
            processes, json_pack("{s:i, s:i, s:i, s:i, s:s, s:i, s:f, s:f, s:i, s:[]}", "rank", i,
                                 "node", node, "incarnation", 1, "pid", 1000 + i, "state", "joined",
                                 "iteration", 40 + (int)(10 * (seconds - 10)), "processor_seconds",
                                 seconds * 0.9, "waited_seconds", seconds * 0.25, "resident_bytes",
                                 12500000 + (int)i, "waits"));
    }
    json_object_set_new(job, "nodes", nodes);
    json_object_set_new(job, "ranks", ranks);
    json_object_set_new(job, "processes", processes);
    json_object_set_new(job, "groups", json_array());
    return job;
}

static void set_state(json_t *job, size_t rank, const char *state)
{
    json_object_set_new(rank_of(job, rank), "state", json_string(state));
}

static void set_incarnation(json_t *job, size_t rank, int incarnation, int node)
{
    json_object_set_new(rank_of(job, rank), "incarnation", json_integer(incarnation));
    json_object_set_new(rank_of(job, rank), "node", json_integer(node));
    json_object_set_new(process_of(job, rank), "incarnation", json_integer(incarnation));
}

static void set_wait(json_t *job, size_t rank, const char *call, int peer, double seconds)
{
    json_array_append_new(json_object_get(process_of(job, rank), "waits"),
                          json_pack("{s:s, s:s, s:s, s:i, s:i, s:f}", "call", call, "name",
                                    "MPI_COMM_WORLD", "communicator", "0000000000000001", "peer",
                                    peer, "tag", 77, "seconds", seconds));
}

static void set_node_failed(json_t *job, size_t node)
{
    json_object_set_new(json_array_get(json_object_get(job, "nodes"), node), "state",
                        json_string("failed"));
}

static void take(struct rz_top *top, json_t *job)
{
    rz_top_take(top, job);
    json_decref(job);
}

/* ---- Screens ---- */

static char *screen_text(const struct rz_top *top, struct rz_top_view *view, uint32_t rows,
                         uint32_t columns)
{
    struct rz_top_screen screen;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    rz_top_screen_open(&screen, rows, columns);
    rz_top_draw(top, view, &screen);
    for (size_t i = 0; i < (size_t)screen.rows * screen.columns; i++) {
        assert_in_range(screen.cells[i].character, ' ', '~');
        assert_in_range(screen.cells[i].style, 0, RZ_TOP_STYLE_COUNT - 1);
    }
    rz_top_screen_print(&screen, out);
    rz_top_screen_close(&screen);
    fclose(out);
    return text;
}

static void compare_text(const char *text, const char *name)
{
    char path[512], *expected;
    snprintf(path, sizeof(path), TEST_SCREENS "/%s.txt", name);
    if (getenv("RZ_WRITE_SCREENS")) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
    }
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    expected = calloc(1, 1 << 16);
    assert_non_null(expected);
    assert_true(fread(expected, 1, (1 << 16) - 1, in) > 0);
    fclose(in);
    assert_string_equal(text, expected);
    free(expected);
}

static void compare_screen(const struct rz_top *top, enum rz_top_page page, uint32_t chosen,
                           const char *name)
{
    struct rz_top_view view = {.page = page, .chosen = chosen};
    char *text = screen_text(top, &view, 24, 80);
    compare_text(text, name);
    free(text);
}

static bool has_event(const struct rz_top *top, const char *text)
{
    const struct rz_top_event *event;
    for (uint32_t i = 0; (event = rz_top_event(top, i)); i++) {
        if (strcmp(event->text, text) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- Tests ---- */

static void a_job_as_it_runs(void **state)
{
    struct rz_top top = {.known = false};
    (void)state;
    take(&top, document(4, 8, 10));
    json_t *job = document(4, 8, 12);
    set_wait(job, 2, "MPI_Recv", 5, 3.25);
    set_wait(job, 6, "MPI_Allreduce", 0, 0.01);
    take(&top, job);
    struct rz_top_sums sums = rz_top_sums(&top);
    assert_int_equal(sums.states[RZ_TOP_RUNS], 7);
    assert_int_equal(sums.states[RZ_TOP_WAITS], 1);
    assert_true(sums.per_second > 9.99 && sums.per_second < 10.01);
    compare_screen(&top, RZ_TOP_PAGE_MAP, 0, "map");
    compare_screen(&top, RZ_TOP_PAGE_RANKS, 2, "ranks");
    compare_screen(&top, RZ_TOP_PAGE_ONE, 2, "one");
    compare_screen(&top, RZ_TOP_PAGE_HELP, 0, "help");
    rz_top_clear(&top);
}

static void a_recovery_as_it_happens(void **state)
{
    struct rz_top top = {.known = false};
    (void)state;
    take(&top, document(4, 8, 10));
    json_t *job = document(4, 8, 11);
    set_state(job, 3, "failed");
    take(&top, job);
    assert_true(has_event(&top, "rank 3 failed on node 1"));

    job = document(4, 8, 12);
    set_incarnation(job, 3, 2, 1);
    json_object_set_new(job, "epoch", json_integer(2));
    json_object_set_new(job, "phase", json_string("enter"));
    json_object_set_new(json_object_get(job, "checkpoint"), "safe", json_false());
    take(&top, job);
    assert_int_equal(rz_top_sums(&top).states[RZ_TOP_BEGINS], 8);
    assert_true(has_event(&top, "rank 3 started again on node 1 (incarnation 2)"));

    job = document(4, 8, 13);
    set_incarnation(job, 3, 2, 1);
    json_object_set_new(job, "epoch", json_integer(2));
    take(&top, job);
    assert_true(has_event(&top, "epoch 2 runs"));

    job = document(4, 8, 14); /* a whole recovery between two looks */
    json_object_set_new(job, "epoch", json_integer(3));
    set_node_failed(job, 2);
    set_incarnation(job, 3, 2, 1);
    set_incarnation(job, 4, 2, 0);
    set_incarnation(job, 5, 2, 3);
    take(&top, job);
    assert_true(has_event(&top, "node 2 failed"));
    assert_false(has_event(&top, "rank 4 failed on node 2"));
    assert_int_equal(rz_top_sums(&top).failures, 3);
    compare_screen(&top, RZ_TOP_PAGE_MAP, 0, "recovered");
    compare_screen(&top, RZ_TOP_PAGE_EVENTS, 0, "events");

    take(&top, NULL);
    assert_true(top.over);
    assert_int_equal(rz_top_sums(&top).states[RZ_TOP_RUNS], 0); /* none runs any more */
    uint32_t n = top.n_events;
    take(&top, NULL);
    assert_int_equal(top.n_events, n); /* said once */
    rz_top_clear(&top);
}

/* What had happened before the view began has no date. */
static void a_view_that_begins_late(void **state)
{
    struct rz_top top = {.known = false};
    json_t *job = document(4, 8, 17.3);
    (void)state;
    set_node_failed(job, 2);
    set_state(job, 1, "failed");
    set_incarnation(job, 4, 2, 0);
    set_incarnation(job, 5, 2, 3);
    take(&top, job);
    assert_true(has_event(&top, "node 2 failed"));
    assert_true(has_event(&top, "rank 1 failed on node 0"));
    assert_true(has_event(&top, "rank 4 failed, and was started again (incarnation 2)"));
    for (uint32_t i = 0; i < top.n_events; i++) {
        assert_true(rz_top_event(&top, i)->at_s < 0);
    }
    compare_screen(&top, RZ_TOP_PAGE_MAP, 0, "late");
    rz_top_clear(&top);
}

/* A large terminal is used: all events that fit, and what ranks and nodes use. */
static void a_large_terminal(void **state)
{
    struct rz_top top = {.known = false};
    (void)state;
    take(&top, document(4, 8, 10));
    for (int i = 0; i < 20; i++) {
        json_t *job = document(4, 8, 11 + i);
        set_incarnation(job, 3, 2 + i, 1);
        take(&top, job);
    }
    for (int page = 0; page < 2; page++) {
        struct rz_top_view view = {.page = page ? RZ_TOP_PAGE_RANKS : RZ_TOP_PAGE_MAP};
        char *text = screen_text(&top, &view, 50, 120);
        compare_text(text, page ? "large-ranks" : "large-map");
        free(text);
    }
    rz_top_clear(&top);
}

static void waits_and_cycles(void **state)
{
    struct rz_top top = {.known = false};
    json_t *job = document(4, 8, 60);
    (void)state;
    set_wait(job, 0, "MPI_Recv", 1, 12.5);
    set_wait(job, 1, "MPI_Recv", 4, 12.25);
    set_wait(job, 4, "MPI_Recv", 0, 12.5);
    set_wait(job, 2, "MPI_Send", 3, 2);
    set_state(job, 3, "failed");
    for (size_t i = 5; i < 8; i++) {
        set_wait(job, i, "MPI_Allreduce", 0, (double)i);
    }
    json_object_set_new(json_array_get(json_object_get(process_of(job, 7), "waits"), 0), "peer",
                        json_string("any"));
    take(&top, job);
    struct rz_top_waits waits;
    rz_top_waits_find(&top, &waits);
    assert_int_equal(waits.n_cycles, 1);
    assert_int_equal(waits.cycles[0].first, 0);
    assert_int_equal(waits.cycles[0].n, 3);
    rz_top_waits_clear(&waits);
    compare_screen(&top, RZ_TOP_PAGE_WAITS, 0, "waits");

    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    rz_top_waits_report(&top, out);
    fclose(out);
    compare_text(text, "hang-report");
    free(text);
    rz_top_clear(&top);
}

/* Number of the collective operation in which the rank waits; and the communicator. */
static void set_operation(json_t *job, size_t rank, int operation, const char *context)
{
    json_t *wait = json_array_get(json_object_get(process_of(job, rank), "waits"), 0);
    json_object_set_new(wait, "operation", json_integer(operation));
    json_object_set_new(wait, "communicator", json_string(context));
}

static uint32_t cycles_of(json_t *job)
{
    struct rz_top top = {.known = false};
    struct rz_top_waits waits;
    take(&top, job);
    rz_top_waits_find(&top, &waits);
    uint32_t n = waits.n_cycles;
    rz_top_waits_clear(&waits);
    rz_top_clear(&top);
    return n;
}

/* Ranks 0 and 1 wait for each other in these operations of these communicators. */
static json_t *two_that_wait(const int operations[2], const char *const contexts[2])
{
    json_t *job = document(1, 2, 60);
    for (int i = 0; i < 2; i++) {
        set_wait(job, (size_t)i, "MPI_Allreduce", 1 - i, 3);
        set_operation(job, (size_t)i, operations[i], contexts[i]);
    }
    return job;
}

static void no_cycle_in_one_collective(void **state)
{
    const char *const same[] = {"1", "1"}, *const others[] = {"1", "2"};
    (void)state;
    assert_int_equal(cycles_of(two_that_wait((int[]){5, 5}, same)), 0);
    assert_int_equal(cycles_of(two_that_wait((int[]){5, 6}, same)), 0);
    assert_int_equal(cycles_of(two_that_wait((int[]){5, 0}, same)), 1);
    assert_int_equal(cycles_of(two_that_wait((int[]){5, 5}, others)), 1);

    json_t *job = two_that_wait((int[]){0, 0}, same);
    set_wait(job, 1, "MPI_Send", 0, 1); /* of another thread */
    assert_int_equal(cycles_of(job), 0);
}

static void many_ranks(void **state)
{
    struct rz_top top = {.known = false};
    json_t *job = document(64, 4096, 4000);
    (void)state;
    set_state(job, 1234, "failed");
    for (size_t i = 2048; i < 4096; i++) {
        set_wait(job, i, "MPI_Barrier", 0, 5);
    }
    take(&top, job);
    compare_screen(&top, RZ_TOP_PAGE_MAP, 0, "map-4096");
    compare_screen(&top, RZ_TOP_PAGE_RANKS, 4095, "ranks-4096");
    compare_screen(&top, RZ_TOP_PAGE_WAITS, 0, "waits-4096");
    rz_top_clear(&top);
}

static void rates(void **state)
{
    char text[32];
    (void)state;
    rz_top_rate_text(0.0456, text, sizeof(text));
    assert_string_equal(text, "0.0456");
    rz_top_rate_text(999.4, text, sizeof(text));
    assert_string_equal(text, "999");
    rz_top_rate_text(123456.7, text, sizeof(text));
    assert_string_equal(text, "123457");
}

/* The name of a program that is too long is cut, and nothing else of the title. */
static void a_long_name(void **state)
{
    struct rz_top top = {.known = false};
    struct rz_top_view view = {.page = RZ_TOP_PAGE_MAP};
    json_t *job = document(1, 4, 10);
    (void)state;
    json_object_set_new(job, "detached", json_string("running"));
    json_object_set_new(job, "program",
                        json_string("/bin/a_name_of_more_than_forty_characters_is_too_long"));
    take(&top, job);
    for (uint32_t columns = 60; columns >= 40; columns -= 20) {
        char *text = screen_text(&top, &view, 24, columns), *end = strchr(text, '\n');
        assert_non_null(end);
        *end = 0;
        assert_string_equal(
            text, columns == 60 ? " rztop  a_name_of_more_than_  job 01234567 detached  10.0 s"
                                : " rztop    job 01234567 detached  10.0 s");
        free(text);
    }
    rz_top_clear(&top);
}

/* A detached job whose result waits: it is over, and how it ended is said once. */
static void a_detached_job_is_over(void **state)
{
    struct rz_top top = {.known = false};
    struct rz_top_view view = {.page = RZ_TOP_PAGE_MAP};
    (void)state;
    for (unsigned turn = 0; turn < 2; turn++) {
        json_t *job = document(1, 4, 10);
        json_object_set_new(job, "detached", json_string("over"));
        json_object_set_new(job, "result",
                            json_pack("{s:i, s:s, s:f}", "status", 9, "cause",
                                      "rank 1 ended the job", "age_seconds", 2.0));
        json_object_set_new(job, "processes", json_array());
        for (size_t rank = 0; rank < 4; rank++) {
            set_state(job, rank, "ended");
        }
        take(&top, job);
    }
    assert_int_equal(top.n_events, 1);
    assert_string_equal(rz_top_event(&top, 0)->text,
                        "the job is over: exit status 9: rank 1 ended the job");
    char *text = screen_text(&top, &view, 24, 80);
    assert_non_null(strstr(text, " OVER  10.0 s"));
    assert_non_null(strstr(text, " ranks 4: 4 ended "));
    assert_non_null(strstr(text, " epoch 1, over (exit status 9) "));
    free(text);
    rz_top_clear(&top);
}

static void groups_are_shown(void **state)
{
    struct rz_top top = {.known = false};
    json_t *job = document(1, 4, 10);
    (void)state;
    json_array_append_new(json_object_get(job, "groups"),
                          json_pack("{s:s, s:i, s:[iiii], s:[]}", "name", "slices", "round", 3,
                                    "members", 0, 1, 2, 3, "excluded"));
    take(&top, job);
    job = document(1, 4, 11);
    json_array_append_new(json_object_get(job, "groups"),
                          json_pack("{s:s, s:i, s:[iii], s:[i]}", "name", "slices", "round", 4,
                                    "members", 0, 1, 2, "excluded", 3));
    take(&top, job);
    assert_true(has_event(&top, "group slices: 3 of 4 take part in round 4"));
    compare_screen(&top, RZ_TOP_PAGE_MAP, 0, "group");
    rz_top_clear(&top);
}

/* Each page on each size of terminal: it stays within the screen (a sanitizer sees if not). */
static void any_size(void **state)
{
    struct rz_top top = {.known = false}, empty = {.known = false};
    (void)state;
    take(&top, document(5, 23, 10));
    for (uint32_t rows = 0; rows < 30; rows += 3) {
        for (uint32_t columns = 0; columns < 130; columns += 13) {
            for (int page = RZ_TOP_PAGE_MAP; page <= RZ_TOP_PAGE_HELP; page++) {
                struct rz_top_view view = {
                    .page = (enum rz_top_page)page, .first = 1000, .chosen = 1000};
                free(screen_text(&top, &view, rows, columns));
                free(screen_text(&empty, &view, rows, columns));
            }
        }
    }
    rz_top_clear(&top);
}

static void documents_that_are_none(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"ranks\": 3, \"nodes\": {}, \"processes\": \"x\", \"groups\": [1], \"job\": 7}",
        "{\"ranks\": [{\"rank\": -1}, {\"rank\": 4294967295}, {}], \"nodes\": [{\"node\": -1}]}",
        "{\"program\": \"/\\u001b[2J\\u00e9\\u0001\", \"job\": "
        "\"\\u007fxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
        "{\"ranks\": [{\"rank\": 0, \"incarnation\": 1, \"state\": \"alive\", \"node\": 99}],"
        " \"processes\": [{\"rank\": 0, \"incarnation\": 1, \"pid\": 1, \"iteration\": -5,"
        " \"waits\": [{\"call\": \"\\u001b]0;x\", \"peer\": 0, \"seconds\": -1e300}]}]}",
        "{\"result\": {\"status\": 1, \"cause\": \"\\u001b[2J\\u00e9\\u202e\"}}"};
    struct rz_top top = {.known = false};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        take(&top, json_loads(texts[i], 0, NULL));
        for (int page = RZ_TOP_PAGE_MAP; page <= RZ_TOP_PAGE_HELP; page++) {
            struct rz_top_view view = {.page = (enum rz_top_page)page};
            free(screen_text(&top, &view, 24, 80));
        }
    }
    rz_top_clear(&top);
}

/* The document of the daemon of one node, which knows its own rank's process alone. */
static json_t *page_of(int node, int epoch, double seconds)
{
    json_t *page = document(2, 2, seconds);
    json_object_set_new(page, "node", json_integer(node));
    json_object_set_new(page, "epoch", json_integer(epoch));
    json_array_remove(json_object_get(page, "processes"), (size_t)(1 - node));
    json_object_del(json_array_get(json_object_get(page, "processes"), 0), "node");
    return page;
}

static int64_t number_in(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static json_t *merged(json_t *pages)
{
    json_t *jobs = rz_look_jobs(pages), *job = json_incref(json_array_get(jobs, 0));
    assert_int_equal(json_array_size(jobs), 1);
    json_decref(jobs);
    json_decref(pages);
    return job;
}

static void documents_of_several_daemons(void **state)
{
    (void)state;
    json_t *job = merged(json_pack("[o,o]", page_of(1, 1, 10), page_of(0, 1, 10)));
    json_t *processes = json_object_get(job, "processes");
    assert_int_equal(json_array_size(processes), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(number_in(json_array_get(processes, (size_t)i), "rank"), i);
        assert_int_equal(number_in(json_array_get(processes, (size_t)i), "node"), i);
    }
    assert_int_equal(number_in(json_object_get(job, "checkpoint"), "bytes"), 6400000);
    json_decref(job);
}

static void a_node_that_was_asked_twice(void **state)
{
    (void)state;
    json_t *pages = json_pack("[o,o,o,o]", page_of(1, 1, 10), page_of(0, 1, 10), page_of(1, 1, 10),
                              page_of(0, 1, 10));
    json_t *job = merged(pages);
    assert_int_equal(json_array_size(json_object_get(job, "processes")), 2);
    assert_int_equal(number_in(json_object_get(job, "checkpoint"), "bytes"), 6400000);
    json_decref(job);
}

static void a_node_that_was_cut_off_does_not_speak_for_the_job(void **state)
{
    (void)state;
    json_t *job = merged(json_pack("[o,o]", page_of(0, 1, 10), page_of(1, 3, 20)));
    assert_int_equal(number_in(job, "epoch"), 3);
    assert_int_equal(json_array_size(json_object_get(job, "processes")), 2);
    json_decref(job);
}

static void documents_of_several_jobs_and_of_none(void **state)
{
    json_t *other = page_of(0, 1, 10), *pages, *jobs;
    (void)state;
    json_object_set_new(other, "job", json_string("0000000000000001"));
    pages = json_pack("[o,o,s,{},{s:i},o]", page_of(0, 1, 10), other, "no document", "job", 7,
                      page_of(1, 1, 10));
    jobs = rz_look_jobs(pages);
    assert_int_equal(json_array_size(jobs), 2);
    assert_ptr_equal(json_array_get(jobs, 0), other);
    assert_int_equal(json_array_size(json_object_get(json_array_get(jobs, 1), "processes")), 2);
    json_decref(jobs);
    json_decref(pages);
}

static json_t *job_named(const char *number, int uid, double seconds)
{
    json_t *job = json_pack("{s:s, s:f}", "job", number, "seconds", seconds);
    if (uid >= 0) {
        json_object_set_new(job, "uid", json_integer(uid));
    }
    return job;
}

/* Whatever others claim of number and age, one's own jobs come first. */
static void the_job_that_is_meant(void **state)
{
    (void)state;
    json_t *jobs = json_pack("[o,o,o,o]", job_named("aa", -1, 20), job_named("aa", 7, 0.1),
                             job_named("ab", -1, 10), job_named("ac", 8, 0.1));
    json_t *own[] = {json_array_get(jobs, 0), json_array_get(jobs, 2)};
    json_t *others[] = {json_array_get(jobs, 1), json_array_get(jobs, 3)};
    assert_ptr_equal(rz_look_choose(jobs, false).job, own[1]);
    struct rz_look_choice choice = rz_look_choose(jobs, true);
    assert_null(choice.job);
    assert_int_equal(choice.n, 2);
    assert_ptr_equal(choice.two[0], own[0]);
    assert_ptr_equal(choice.two[1], own[1]);
    assert_ptr_equal(rz_look_find(jobs, "aa", -1), own[0]);
    assert_ptr_equal(rz_look_find(jobs, "aa", 7), others[0]);
    assert_null(rz_look_find(jobs, "ac", -1));
    json_array_remove(jobs, 2);
    assert_ptr_equal(rz_look_choose(jobs, true).job, own[0]);
    json_array_remove(jobs, 0);
    for (int named = 0; named < 2; named++) {
        choice = rz_look_choose(jobs, named);
        assert_null(choice.job);
        assert_ptr_equal(choice.two[0], others[0]);
        assert_ptr_equal(choice.two[1], others[1]);
    }
    json_array_remove(jobs, 0);
    assert_ptr_equal(rz_look_choose(jobs, false).job, others[1]);
    json_array_clear(jobs);
    assert_null(rz_look_choose(jobs, false).job);
    json_decref(jobs);
}

static void the_user_of_a_foreign_job_is_named(void **state)
{
    struct rz_top top = {.known = false};
    struct rz_top_view view = {.page = RZ_TOP_PAGE_MAP};
    json_t *job = document(2, 4, 10);
    (void)state;
    json_object_set_new(job, "uid", json_integer(1002));
    json_object_set_new(job, "program",
                        json_string("a-program-of-a-name-that-is-too-long-to-show"));
    take(&top, job);
    char *text = screen_text(&top, &view, 24, 80);
    assert_non_null(strstr(text, "a-name-that-is-too-long  job 01234567 of uid 1002"));
    assert_non_null(strstr(text, " 10.0 s\n"));
    free(text);
    rz_top_clear(&top);
}

/* Names of fields are printed, too. */
static void documents_for_a_terminal(void **state)
{
    json_t *page = page_of(0, 1, 10), *pages, *jobs;
    (void)state;
    json_object_set_new(page,
                        "\302\233"
                        "31mred",
                        json_string("\302\233\177"));
    json_object_set_new(page, "a\177", json_pack("[{s:i}]", "\342\200\256x", 1));
    json_object_set_new(page, "a\033", json_pack("[{s:i}]", "\342\201\246y", 2));
    pages = json_pack("[o]", page);
    jobs = rz_look_jobs(pages);
    char *text = json_dumps(jobs, JSON_COMPACT);
    assert_non_null(strstr(text, "\"??31mred\":\"???\""));
    assert_non_null(strstr(text, "\"a?\":[{\"???y\":2}]"));
    assert_null(strpbrk(text, "\033\177\302\342"));
    free(text);
    json_decref(jobs);
    json_decref(pages);
}

static void hosts_that_do_not_answer_are_named(void **state)
{
    struct rz_top top = {.known = false};
    struct rz_top_view view = {.notice = "h2 does not answer: port 22: Connection refused"};
    (void)state;
    take(&top, document(2, 4, 10));
    char *text = screen_text(&top, &view, 24, 80);
    assert_non_null(strstr(text, "\n h2 does not answer: port 22: Connection refused\n"));
    assert_non_null(strstr(text, "heartbeats ring"));
    assert_non_null(strstr(text, "node 1"));
    free(text);
    rz_top_clear(&top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_as_it_runs),
        cmocka_unit_test(a_recovery_as_it_happens),
        cmocka_unit_test(a_view_that_begins_late),
        cmocka_unit_test(a_large_terminal),
        cmocka_unit_test(waits_and_cycles),
        cmocka_unit_test(no_cycle_in_one_collective),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test(rates),
        cmocka_unit_test(a_long_name),
        cmocka_unit_test(a_detached_job_is_over),
        cmocka_unit_test(groups_are_shown),
        cmocka_unit_test(any_size),
        cmocka_unit_test(documents_that_are_none),
        cmocka_unit_test(documents_of_several_daemons),
        cmocka_unit_test(a_node_that_was_asked_twice),
        cmocka_unit_test(a_node_that_was_cut_off_does_not_speak_for_the_job),
        cmocka_unit_test(documents_of_several_jobs_and_of_none),
        cmocka_unit_test(the_job_that_is_meant),
        cmocka_unit_test(the_user_of_a_foreign_job_is_named),
        cmocka_unit_test(documents_for_a_terminal),
        cmocka_unit_test(hosts_that_do_not_answer_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
