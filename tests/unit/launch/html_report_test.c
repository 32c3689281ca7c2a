/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of --report-html, from events that are made here: its size, its data, and that no text
 * of a job can be taken for a part of the page. With a file name as argument it writes the page of
 * the large job there, for a look by a browser; with the word `huge` behind it that of the huge
 * one.
 */
#include "launch/html_private.h"

#include "wire/cursor.h"
#include "wire/traffic_groups.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BEGUN (1000 * RZ_SECOND)

static struct rz_html_report *open_report(uint32_t n_ranks, uint32_t n_nodes, const char *command)
{
    struct rz_html_report *report = rz_html_report_open(&(struct rz_html_job){
        .command = command, .n_ranks = n_ranks, .n_nodes = n_nodes, .begun = BEGUN});
    rz_html_report_attempt(report, 0x1234, BEGUN);
    return report;
}

static void event(struct rz_html_report *report, enum rz_event_record kind, uint32_t rank,
                  uint32_t incarnation, uint32_t node, rz_time at)
{
    rz_html_report_event(report, node,
                         &(struct rz_launch_event){.kind = kind,
                                                   .rank = rank,
                                                   .incarnation = incarnation,
                                                   .node = node,
                                                   .at_ns = BEGUN + at,
                                                   .note = "robust mutex"});
}

static void start(struct rz_html_report *report, uint32_t rank, uint32_t incarnation, uint32_t node,
                  rz_time at)
{
    event(report, RZ_EVENT_RECORD_BEGUN, rank, incarnation, node, at);
    event(report, RZ_EVENT_RECORD_JOINED, rank, incarnation, node, at + 200 * RZ_MILLISECOND);
}

static void commit(struct rz_html_report *report, uint64_t generation, uint32_t node, rz_time at)
{
    rz_html_report_event(report, node,
                         &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_COMMITTED,
                                                   .epoch = 1,
                                                   .rank = RZ_ID_NONE,
                                                   .node = node,
                                                   .value = generation,
                                                   .at_ns = BEGUN + at,
                                                   .note = "1000000 bytes"});
}

static void recovery(struct rz_html_report *report, uint32_t epoch, rz_time at)
{
    struct rz_recovery_times times = {.way = RZ_RECOVERY_REINIT,
                                      .epoch = epoch,
                                      .failures = 1,
                                      .rounds = 1,
                                      .killed = BEGUN + at,
                                      .seen = BEGUN + at + RZ_MILLISECOND,
                                      .run = BEGUN + at + 2 * RZ_SECOND,
                                      .generation = 3,
                                      .whole_ms = 2000,
                                      .lost = {.known = true, .from = 90, .to = 99, .seconds = 12}};
    for (int i = 0; i < RZ_RECOVERY_PHASE_COUNT; i++) {
        times.phase_ms[i] = i == RZ_RECOVERY_STOP ? NAN : 100 + 50 * i;
    }
    rz_html_report_recovered(report, &times);
}

static char *written(const struct rz_html_report *report, size_t *n)
{
    char *text;
    FILE *out = open_memstream(&text, n);
    rz_html_report_write(report, out);
    fclose(out);
    return text;
}

/* The data of the page, which the caller frees. */
static json_t *data_of(const char *page)
{
    const char *from = strstr(page, "id=\"data\">");
    assert_non_null(from);
    from += strlen("id=\"data\">");
    const char *until = strstr(from, "</script>");
    assert_non_null(until);
    json_t *data = json_loadb(from, (size_t)(until - from), 0, NULL);
    assert_non_null(data);
    return data;
}

/* Each rank waits for another share of each second. */
static void sample_all(struct rz_html_report *report, uint32_t n_ranks, rz_time at)
{
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        rz_html_report_waiting(
            report,
            &(struct rz_launch_waiting){.rank = rank,
                                        .state = RZ_WAITING_COMPUTES,
                                        .waited_ns = at / 100 * (20 + rank % 60)},
            BEGUN + at);
    }
}

/* What a process has sent since it began: pairs of messages and bytes, and in front of each the
 * number of the receiving group. */
static void tell(struct rz_html_report *report, uint32_t rank, uint32_t incarnation,
                 const uint64_t (*entries)[3], size_t n)
{
    static uint8_t sent[(RZ_TRAFFIC_GROUPS_MAX + 1) * RZ_TRAFFIC_ENTRY_BYTES];
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, sent, sizeof(sent));
    for (size_t i = 0; i < n; i++) {
        rz_wire_put_u32(&w, (uint32_t)entries[i][0]);
        rz_wire_put_u64(&w, entries[i][1]);
        rz_wire_put_u64(&w, entries[i][2]);
    }
    assert_false(w.overflow);
    rz_html_report_traffic(report,
                           &(struct rz_launch_traffic){.rank = rank,
                                                       .incarnation = incarnation,
                                                       .sent = sent,
                                                       .sent_length = (uint32_t)(w.at - w.start)});
}

/* Each rank sends much to its neighbours and a little to all others. */
static void tell_all(struct rz_html_report *report, uint32_t n_ranks, uint64_t second)
{
    static uint64_t entries[RZ_TRAFFIC_GROUPS_MAX][3];
    uint32_t n_groups = rz_traffic_groups(n_ranks);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        uint32_t own = rz_traffic_group_of(rank, n_ranks);
        for (uint32_t to = 0; to < n_groups; to++) {
            uint64_t apart = own > to ? own - to : to - own;
            uint64_t messages = second * (apart < 2 ? 1000 : 2);
            entries[to][0] = to;
            entries[to][1] = messages;
            entries[to][2] = messages * (apart < 2 ? 40000 : 64 + apart);
        }
        tell(report, rank, 1, (const uint64_t(*)[3])entries, n_groups);
    }
}

/* 256 ranks on 16 nodes for an hour: samples, marks, checkpoints, a failure every four minutes and
 * two lost nodes. */
static struct rz_html_report *large_job(void)
{
    enum { RANKS = 256, NODES = 16 };
    struct rz_html_report *report = open_report(RANKS, NODES, "rzrun -n 256 ./synthetic");
    uint32_t incarnations[RANKS];
    for (uint32_t i = 0; i < NODES; i++) {
        char host[32];
        snprintf(host, sizeof(host), "node%02u.cluster.example", i);
        rz_html_report_node(report, i, host);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        incarnations[rank] = 1;
        start(report, rank, 1, rank / (RANKS / NODES), 50 * RZ_MILLISECOND + rank * RZ_MILLISECOND);
    }
    for (rz_time at = RZ_SECOND, last = 0; at < 3600 * RZ_SECOND; at += RZ_SECOND) {
        unsigned second = (unsigned)(at / RZ_SECOND);
        sample_all(report, RANKS, at);
        for (uint32_t rank = 0; rank < RANKS; rank += 16) {
            rz_html_report_mark(report,
                                &(struct rz_launch_mark){.rank = rank,
                                                         .iteration = 10 * second + rank % 3,
                                                         .epoch = 1,
                                                         .at_ns = BEGUN + at});
        }
        for (uint32_t node = 0; second % 5 == 0 && node < NODES; node++) {
            commit(report, second / 5, node, at);
        }
        if (second % 60 == 0) {
            tell_all(report, RANKS, second);
        }
        if (second % 240 == 0 && at > last) {
            uint32_t rank = second * 7 % RANKS, node = rank / (RANKS / NODES);
            event(report, RZ_EVENT_RECORD_FAILURE_SEEN, rank, incarnations[rank], node, at);
            start(report, rank, ++incarnations[rank], node, at + RZ_SECOND);
            recovery(report, second / 240 + 1, at);
            last = at;
        }
        if (second == 1000 || second == 2500) {
            uint32_t lost = second / 500;
            event(report, RZ_EVENT_RECORD_FAILURE_SEEN, RZ_ID_NONE, 0, lost, at);
            for (uint32_t rank = lost * 16; rank < lost * 16 + 16; rank++) {
                start(report, rank, ++incarnations[rank], (lost + rank) % NODES, at + RZ_SECOND);
            }
            recovery(report, 100 + second / 500, at);
        }
    }
    rz_html_report_hang(report, "nothing has come for 60 s to a rank that waits",
                        "  ranks 0-7 wait in MPI_Recv for rank 8\n", BEGUN + 1800 * RZ_SECOND);
    rz_html_report_attempt_over(report, 0, NULL, json_array(), BEGUN + 3600 * RZ_SECOND);
    return report;
}

/* 4096 ranks on 256 nodes for ten minutes, without failures. */
static struct rz_html_report *huge_job(void)
{
    enum { RANKS = 4096, NODES = 256 };
    struct rz_html_report *report = open_report(RANKS, NODES, "rzrun -n 4096 ./synthetic");
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        start(report, rank, 1, rank / (RANKS / NODES), rank * RZ_MILLISECOND / 4);
    }
    for (unsigned second = 10; second < 600; second += 10) {
        sample_all(report, RANKS, second * RZ_SECOND);
    }
    tell_all(report, RANKS, 300);
    tell_all(report, RANKS, 600);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rz_html_report_exited(report, &(struct rz_launch_exited){.rank = rank, .incarnation = 1},
                              BEGUN + 600 * RZ_SECOND);
    }
    rz_html_report_attempt_over(report, 0, NULL, json_array(), BEGUN + 600 * RZ_SECOND);
    return report;
}

/* Messages, or (what 1) bytes, from one group to another. */
static long long sent_of(const json_t *data, size_t from, long long to, size_t what)
{
    const json_t *rows = json_object_get(json_object_get(data, "traffic"), "rows");
    const json_t *row = json_array_get(rows, from);
    for (size_t i = 0; i < json_array_size(row); i += 3) {
        if (json_integer_value(json_array_get(row, i)) == to) {
            return json_integer_value(json_array_get(row, i + 1 + what));
        }
    }
    return 0;
}

static void ten_minutes_of_4096_ranks(void **state)
{
    struct rz_html_report *report = huge_job();
    size_t n;
    char *page = written(report, &n);
    (void)state;
    assert_true(n < 5000000);
    json_t *data = data_of(page);
    const json_t *traffic = json_object_get(data, "traffic");
    assert_int_equal(json_integer_value(json_object_get(traffic, "group_ranks")), 16);
    assert_int_equal(json_array_size(json_object_get(traffic, "rows")), 256 + 1);
    assert_int_equal(sent_of(data, 7, 8, 0), 16 * 600 * 1000);
    assert_int_equal(sent_of(data, 7, 8, 1), 16 * 600 * 1000 * 40000LL);
    assert_int_equal(sent_of(data, 0, 255, 0), 16 * 600 * 2);
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

static void traffic_adds_up(void **state)
{
    struct rz_html_report *report = open_report(3, 1, "x");
    size_t n;
    (void)state;
    tell(report, 0, 1, (const uint64_t[][3]){{1, 2, 200}}, 1);
    tell(report, 0, 1, (const uint64_t[][3]){{1, 5, 500}, {3, 1, 8}}, 2); /* 3: spawned */
    tell(report, 0, 2, (const uint64_t[][3]){{1, 1, 10}}, 1);
    tell(report, 0, 1, (const uint64_t[][3]){{1, 6, 600}, {3, 1, 8}}, 2); /* its last words */
    tell(report, 4, 1, (const uint64_t[][3]){{2, 7, 70}}, 1);             /* 4: spawned */
    tell(report, 5, 1, (const uint64_t[][3]){{2, 1, 1}}, 1);
    tell(report, 1000, 1, (const uint64_t[][3]){{1, 9, 9}}, 1);         /* no such process */
    tell(report, 2, 1, (const uint64_t[][3]){{4, 9, 9}, {0, 9, 9}}, 2); /* no such group */
    rz_html_report_traffic(
        report, &(struct rz_launch_traffic){
                    .rank = 2, .incarnation = 1, .sent = (const uint8_t *)"\1", .sent_length = 1});
    rz_html_report_attempt_over(report, 1, "x", json_array(), BEGUN + RZ_SECOND);
    rz_html_report_attempt(report, 0x5678, BEGUN + RZ_SECOND);
    tell(report, 0, 1, (const uint64_t[][3]){{1, 1, 1000}}, 1); /* another process: it adds */
    rz_html_report_attempt_over(report, 0, NULL, json_array(), BEGUN + 2 * RZ_SECOND);
    char *page = written(report, &n);
    json_t *data = data_of(page);
    const json_t *rows = json_object_get(json_object_get(data, "traffic"), "rows");
    assert_int_equal(json_array_size(rows), 3 + 1);
    assert_int_equal(json_array_size(json_array_get(rows, 0)), 6);
    assert_int_equal(json_array_size(json_array_get(rows, 1)), 0);
    assert_int_equal(json_array_size(json_array_get(rows, 2)), 0);
    assert_int_equal(sent_of(data, 0, 1, 0), 6 + 1 + 1);
    assert_int_equal(sent_of(data, 0, 1, 1), 600 + 10 + 1000);
    assert_int_equal(sent_of(data, 0, 3, 0), 1);
    assert_int_equal(sent_of(data, 3, 2, 0), 7 + 1);
    assert_int_equal(sent_of(data, 3, 2, 1), 71);
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

static void traffic_is_asked_less_and_less_often(void **state)
{
    struct rz_html_report *report = open_report(2, 1, "x");
    unsigned asked = 0;
    (void)state;
    for (rz_time at = 0; at < 3600 * RZ_SECOND; at += RZ_SECOND) {
        bool due = rz_html_report_traffic_due(report, BEGUN + at);
        asked += due;
        assert_true(!due || at >= 2 * RZ_SECOND);
    }
    assert_in_range(asked, 60, 70);
    rz_html_report_free(report);
}

static void groups_of_ranks(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 10000; n++) {
        uint32_t ranks = rz_traffic_group_ranks(n), groups = rz_traffic_groups(n);
        assert_in_range(groups, n < 129 ? n : 129, 256);
        assert_int_equal(rz_traffic_group_of(0, n), 0);
        assert_int_equal(rz_traffic_group_of(n - 1, n), groups - 1);
        assert_int_equal(rz_traffic_group_of(n, n), groups);
        assert_int_equal(ranks == 1, n <= 256);
    }
}

static void an_hour_of_256_ranks(void **state)
{
    struct rz_html_report *report = large_job();
    size_t n;
    char *page = written(report, &n);
    (void)state;
    assert_true(n < 5000000);
    json_t *data = data_of(page), *samples = json_object_get(data, "samples");
    assert_string_equal(json_string_value(json_object_get(data, "schema")), "rhizome.report.1");
    assert_int_equal(json_array_size(json_object_get(data, "lives")), 256 + 14 + 32);
    assert_int_equal(json_array_size(json_object_get(data, "recoveries")), 14 + 2);
    assert_int_equal(json_array_size(json_object_get(data, "checkpoints")), 719);
    assert_int_equal(json_array_size(json_object_get(samples, "waits")), 256);
    assert_int_equal(json_integer_value(json_object_get(data, "left_out")), 0);
    size_t bins = strlen(json_string_value(json_array_get(json_object_get(samples, "waits"), 0)));
    double width = json_real_value(json_object_get(samples, "bin_seconds"));
    assert_in_range(bins, RZ_HTML_BINS_MAX / 2, RZ_HTML_BINS_MAX);
    assert_true((double)bins * width >= 3599);
    const json_t *newest = json_array_get(json_object_get(data, "checkpoints"), 718);
    assert_int_equal(json_integer_value(json_array_get(newest, 0)), 719);
    assert_int_equal(json_integer_value(json_array_get(newest, 2)), 16000000);
    assert_int_equal(sent_of(data, 100, 101, 0), 3540 * 1000);
    assert_int_equal(sent_of(data, 0, 255, 1), 3540 * 2 * (64 + 255));
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

static void texts_stay_texts(void **state)
{
    static const char evil[] = "</script><script>alert(1)</script><!-- \xff &amp; \x01";
    struct rz_html_report *report = open_report(1, 1, evil);
    size_t n;
    (void)state;
    rz_html_report_node(report, 0, evil);
    start(report, 0, 1, 0, 0);
    rz_html_report_event(report, 0,
                         &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_INJECTED,
                                                   .rank = 0,
                                                   .incarnation = 1,
                                                   .at_ns = BEGUN,
                                                   .note = evil});
    rz_html_report_hang(report, evil, evil, BEGUN);
    json_t *cases = json_array();
    json_array_append_new(cases, json_pack("{s:s}", "reason", "</script><b>"));
    rz_html_report_attempt_over(report, 1, evil, cases, BEGUN + RZ_SECOND);
    char *page = written(report, &n);
    assert_null(strstr(page, "alert(1)</script>"));
    assert_null(strstr(page, "<b>"));
    json_t *data = data_of(page);
    assert_non_null(
        strstr(json_string_value(json_object_get(data, "command")), "</script><script>"));
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

/* Restarts begin with incarnation 1 again; a page of a job that failed at once is one, too. */
static void attempts_are_apart(void **state)
{
    struct rz_html_report *report = open_report(2, 1, "x");
    size_t n;
    (void)state;
    start(report, 0, 1, 0, 0);
    event(report, RZ_EVENT_RECORD_FAILURE_SEEN, 0, 1, 0, RZ_SECOND);
    rz_html_report_attempt_over(report, 1, "rank 0 failed", json_array(), BEGUN + RZ_SECOND);
    rz_html_report_attempt(report, 0x5678, BEGUN + 2 * RZ_SECOND);
    start(report, 0, 1, 0, 2 * RZ_SECOND);
    rz_html_report_exited(report, &(struct rz_launch_exited){.rank = 0, .incarnation = 1},
                          BEGUN + 3 * RZ_SECOND);
    rz_html_report_attempt_over(report, 0, NULL, json_array(), BEGUN + 3 * RZ_SECOND);
    char *page = written(report, &n);
    json_t *data = data_of(page), *lives = json_object_get(data, "lives");
    assert_int_equal(json_array_size(lives), 2);
    assert_string_equal(json_string_value(json_array_get(json_array_get(lives, 0), 6)), "failed");
    assert_string_equal(json_string_value(json_array_get(json_array_get(lives, 1), 6)), "exited");
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

static void nothing_happened(void **state)
{
    struct rz_html_report *report = open_report(0, 0, "");
    size_t n;
    (void)state;
    rz_html_report_attempt_over(report, 4, NULL, json_array(), BEGUN);
    char *page = written(report, &n);
    json_decref(data_of(page));
    free(page);
    rz_html_report_free(report);
}

static void samples_in_bins(void **state)
{
    const rz_time bin = RZ_HTML_BIN_NS;
    struct rz_html_samples samples;
    char text[RZ_HTML_BINS_MAX + 1];
    (void)state;
    rz_html_samples_open(&samples, 4);
    rz_html_samples_take(&samples, 1, 0, bin, bin);
    rz_html_samples_take(&samples, 1, bin, 3 * bin / 2, 0);
    rz_html_samples_take(&samples, 1, 5 * bin / 2, 6 * bin, 2 * bin); /* some of 3.5 bins */
    rz_html_samples_take(&samples, 9, 0, bin, bin);                   /* no such rank */
    rz_html_samples_take(&samples, 2, bin, bin, bin);                 /* no time */
    rz_html_samples_text(&samples, 1, text);
    assert_string_equal(text, "905555");
    rz_html_samples_text(&samples, 2, text);
    assert_string_equal(text, "......");
    rz_html_samples_mark(&samples, 7, bin * RZ_HTML_BINS_MAX); /* two bins become one */
    assert_int_equal(samples.bin_ns, 2 * bin);
    rz_html_samples_text(&samples, 1, text);
    assert_int_equal(text[0], '6'); /* waited for two thirds of what is known */
    rz_html_samples_take(&samples, 3, 0, 2 * bin, 9 * bin); /* not longer than there was time */
    rz_html_samples_text(&samples, 3, text);
    assert_int_equal(text[0], '9');
    assert_int_equal(samples.iterations[RZ_HTML_BINS_MAX / 2].most, 7);
    rz_html_samples_mark(&samples, 8, UINT64_C(1) << 62); /* a clock that is wrong */
    assert_true(samples.used <= samples.n_bins);
    rz_html_samples_close(&samples);
}

static void look(struct rz_html_report *report, uint32_t rank, rz_time waited, rz_time at)
{
    rz_html_report_waiting(report,
                           &(struct rz_launch_waiting){
                               .rank = rank, .state = RZ_WAITING_COMPUTES, .waited_ns = waited},
                           BEGUN + at);
}

/* A rank's time is known from MPI_Init to the last look at it, or to its end; the rest is said to
 * be unknown, and a new incarnation begins at 0. */
static void only_known_time_is_told(void **state)
{
    struct rz_html_report *report = open_report(3, 2, "rzrun");
    size_t n;
    (void)state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        start(report, rank, 1, rank / 2, 200 * RZ_MILLISECOND); /* joined at 0.4 s */
        look(report, rank, rank == 1 ? 0 : 300 * RZ_MILLISECOND, 700 * RZ_MILLISECOND);
    }
    look(report, 1, RZ_WAITED_UNKNOWN, 800 * RZ_MILLISECOND);
    event(report, RZ_EVENT_RECORD_FAILURE_SEEN, RZ_ID_NONE, 0, 1, RZ_SECOND);
    start(report, 2, 2, 0, RZ_SECOND); /* joined at 1.2 s */
    look(report, 2, 0, 1300 * RZ_MILLISECOND);
    rz_html_report_exited(
        report,
        &(struct rz_launch_exited){.rank = 0, .incarnation = 1, .waited_ns = 300 * RZ_MILLISECOND},
        BEGUN + RZ_SECOND);
    rz_html_report_attempt_over(report, 0, NULL, json_array(), BEGUN + 1500 * RZ_MILLISECOND);
    char *page = written(report, &n);
    json_t *data = data_of(page);
    const json_t *waits = json_object_get(json_object_get(data, "samples"), "waits");
    assert_string_equal(json_string_value(json_array_get(waits, 0)), "....999000...");
    assert_string_equal(json_string_value(json_array_get(waits, 1)), "....000......");
    assert_string_equal(json_string_value(json_array_get(waits, 2)), "....999.....0");
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

/* More than there is room for: lists keep a bound, and the page says so. */
static void lists_are_bounded(void **state)
{
    struct rz_html_report *report = open_report(4, 1, "x");
    size_t n;
    (void)state;
    for (uint64_t i = 1; i <= 100000; i++) {
        commit(report, i, 0, i * RZ_MILLISECOND);
        recovery(report, (uint32_t)i + 1, i * RZ_MILLISECOND);
        rz_html_report_hang(report, "why", "lines", BEGUN + i);
    }
    rz_html_report_attempt_over(report, 0, NULL, json_array(), BEGUN + 100 * RZ_SECOND);
    char *page = written(report, &n);
    json_t *data = data_of(page);
    assert_true(n < 2000000);
    assert_true(json_integer_value(json_object_get(data, "left_out")) > 100000);
    json_decref(data);
    free(page);
    rz_html_report_free(report);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        bool huge = argc > 2 && strcmp(argv[2], "huge") == 0;
        struct rz_html_report *report = huge ? huge_job() : large_job();
        FILE *out = fopen(argv[1], "w");
        if (!out) {
            return 1;
        }
        rz_html_report_write(report, out);
        rz_html_report_free(report);
        return fclose(out);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_minutes_of_4096_ranks),
                                       cmocka_unit_test(traffic_adds_up),
                                       cmocka_unit_test(traffic_is_asked_less_and_less_often),
                                       cmocka_unit_test(groups_of_ranks),
                                       cmocka_unit_test(an_hour_of_256_ranks),
                                       cmocka_unit_test(texts_stay_texts),
                                       cmocka_unit_test(attempts_are_apart),
                                       cmocka_unit_test(nothing_happened),
                                       cmocka_unit_test(samples_in_bins),
                                       cmocka_unit_test(only_known_time_is_told),
                                       cmocka_unit_test(lists_are_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
