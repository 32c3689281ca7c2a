/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what a report has collected, as JSON (docs/report-html.md has the fields). */
#include "launch/html_private.h"

#include "base/no_memory.h"
#include "wire/traffic_groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static json_t *needed(json_t *value)
{
    rz_need_memory(value, "for the report of a job");
    return value;
}

static void set_data(json_t *object, const char *key, json_t *value)
{
    rz_need_memory(json_object_set_new(object, key, needed(value)) == 0, "for the report of a job");
}

static void add_data(json_t *list, json_t *value)
{
    rz_need_memory(json_array_append_new(list, needed(value)) == 0, "for the report of a job");
}

/* Texts of users that are not UTF-8 lose what is not ASCII. */
static json_t *text_data(const char *text)
{
    json_t *made = json_string(text);
    char ascii[512];
    size_t n = 0;
    if (made) {
        return made;
    }
    for (; *text && n + 1 < sizeof(ascii); text++) {
        ascii[n++] = (unsigned char)*text < 0x80 ? *text : '?';
    }
    ascii[n] = 0;
    return needed(json_string(ascii));
}

/* Seconds since the begin of the job; null: it did not happen. */
static json_t *when(const struct rz_html_report *report, rz_time at)
{
    return at == 0 ? json_null() : json_real(((double)at - (double)report->job.begun) / 1e9);
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *attempts_data(const struct rz_html_report *report)
{
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->n_attempts; i++) {
        const struct rz_html_attempt *attempt = &report->attempts[i];
        json_t *one = needed(json_object());
        char job[24];
        snprintf(job, sizeof(job), "%016" PRIx64, attempt->job);
        set_data(one, "job", json_string(job));
        set_data(one, "from", when(report, attempt->from));
        set_data(one, "until", when(report, attempt->until));
        set_data(one, "status", json_integer(attempt->status));
        set_data(one, "cause", text_data(attempt->cause));
        add_data(list, one);
    }
    return list;
}

static json_t *nodes_data(const struct rz_html_report *report)
{
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->job.n_nodes; i++) {
        json_t *one = needed(json_object());
        set_data(one, "host", text_data(report->nodes[i].host));
        set_data(one, "failed", when(report, report->nodes[i].failed));
        add_data(list, one);
    }
    return list;
}

static json_t *lives_data(const struct rz_html_report *report)
{
    static const char *const ends[] = {[RZ_HTML_RUNS] = "runs",
                                       [RZ_HTML_EXITED] = "exited",
                                       [RZ_HTML_FAILED] = "failed",
                                       [RZ_HTML_ENDED_WITH_JOB] = "ended"};
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->n_lives; i++) {
        const struct rz_html_life *life = &report->lives[i];
        json_t *one = needed(json_array());
        add_data(one, json_integer(life->slot));
        add_data(one, json_integer(life->incarnation));
        add_data(one, json_integer(life->node));
        add_data(one, when(report, life->begun));
        add_data(one, when(report, life->joined));
        add_data(one, when(report, life->ended));
        add_data(one, json_string(ends[life->end]));
        add_data(list, one);
    }
    return list;
}

static json_t *lost_data(const struct rz_work_lost *lost)
{
    json_t *one = needed(json_object());
    set_data(one, "from", json_integer((json_int_t)lost->from));
    set_data(one, "to", json_integer((json_int_t)lost->to));
    set_data(one, "seconds", real_or_null(lost->seconds));
    return one;
}

static json_t *recoveries_data(const struct rz_html_report *report)
{
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->n_recoveries; i++) {
        const struct rz_recovery_times *times = &report->recoveries[i];
        json_t *one = needed(json_object()), *phases = needed(json_object());
        for (int phase = 0; phase < RZ_RECOVERY_PHASE_COUNT; phase++) {
            if (isfinite(times->phase_ms[phase])) {
                set_data(phases, rz_recovery_phase_names[phase], json_real(times->phase_ms[phase]));
            }
        }
        set_data(one, "way", json_string(rz_recovery_way_names[times->way]));
        set_data(one, "epoch", json_integer(times->epoch));
        set_data(one, "failures", json_integer(times->failures));
        set_data(one, "rounds", json_integer(times->rounds));
        set_data(one, "generation", json_integer((json_int_t)times->generation));
        set_data(one, "from", when(report, times->killed ? times->killed : times->seen));
        set_data(one, "until", when(report, times->run));
        set_data(one, "whole_ms", real_or_null(times->whole_ms));
        set_data(one, "phases_ms", phases);
        set_data(one, "lost", times->lost.known ? lost_data(&times->lost) : json_null());
        add_data(list, one);
    }
    return list;
}

static void add_checkpoint(const struct rz_html_report *report, json_t *list,
                           const struct rz_html_checkpoint *checkpoint)
{
    json_t *one = needed(json_array());
    add_data(one, json_integer((json_int_t)checkpoint->generation));
    add_data(one, when(report, checkpoint->at));
    add_data(one, json_integer((json_int_t)checkpoint->bytes));
    add_data(list, one);
}

static json_t *checkpoints_data(const struct rz_html_report *report)
{
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->n_checkpoints; i++) {
        add_checkpoint(report, list, &report->checkpoints[i]);
    }
    if (report->newest.generation > 0) {
        add_checkpoint(report, list, &report->newest);
    }
    return list;
}

static json_t *lines_data(const struct rz_html_report *report)
{
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->n_lines; i++) {
        json_t *one = needed(json_array());
        add_data(one, when(report, report->lines[i].at));
        add_data(one, json_integer(report->lines[i].bad));
        add_data(one, text_data(report->lines[i].text));
        add_data(list, one);
    }
    return list;
}

static json_t *hangs_data(const struct rz_html_report *report)
{
    json_t *list = needed(json_array());
    for (uint32_t i = 0; i < report->n_hangs; i++) {
        json_t *one = needed(json_object());
        set_data(one, "at", when(report, report->hangs[i].at));
        set_data(one, "text", text_data(report->hangs[i].text));
        add_data(list, one);
    }
    return list;
}

static json_t *samples_data(const struct rz_html_samples *samples)
{
    json_t *one = needed(json_object()), *rows = needed(json_array());
    json_t *least = needed(json_array()), *most = needed(json_array());
    char *text = malloc(samples->n_bins + 1);
    rz_need_memory(text, "for the report of a job");
    for (uint32_t rank = 0; rank < samples->n_ranks; rank++) {
        rz_html_samples_text(samples, rank, text);
        add_data(rows, json_string(text));
    }
    for (uint32_t i = 0; i < samples->used; i++) {
        const struct rz_html_iterations *marks = &samples->iterations[i];
        add_data(least, marks->most ? json_integer((json_int_t)marks->least) : json_null());
        add_data(most, marks->most ? json_integer((json_int_t)marks->most) : json_null());
    }
    free(text);
    set_data(one, "bin_seconds", json_real((double)samples->bin_ns / 1e9));
    set_data(one, "waits", rows);
    set_data(one, "least", least);
    set_data(one, "most", most);
    return one;
}

/* Of each group of ranks a flat list: to which group, messages, bytes. */
static json_t *traffic_data(const struct rz_html_traffic *traffic)
{
    json_t *one = needed(json_object()), *rows = needed(json_array());
    for (uint32_t from = 0; from < traffic->n_groups; from++) {
        const struct rz_html_sent *sent = &traffic->matrix[(size_t)from * traffic->n_groups];
        json_t *row = needed(json_array());
        for (uint32_t to = 0; to < traffic->n_groups; to++) {
            if (sent[to].messages > 0) {
                add_data(row, json_integer(to));
                add_data(row, json_integer((json_int_t)sent[to].messages));
                add_data(row, json_integer((json_int_t)sent[to].bytes));
            }
        }
        add_data(rows, row);
    }
    set_data(one, "group_ranks", json_integer(rz_traffic_group_ranks(traffic->n_ranks)));
    set_data(one, "rows", rows);
    return one;
}

static json_t *document_of(const struct rz_html_report *report)
{
    json_t *data = needed(json_object());
    const struct rz_html_attempt *last = &report->attempts[report->n_attempts - 1];
    char stamp[40];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &utc));
    set_data(data, "schema", json_string("rhizome.report.1"));
    set_data(data, "version", json_string(RZ_VERSION));
    set_data(data, "written", json_string(stamp));
    set_data(data, "command", text_data(report->command));
    set_data(data, "ranks", json_integer(report->job.n_ranks));
    set_data(data, "seconds", when(report, last->until));
    set_data(data, "left_out", json_integer((json_int_t)report->left_out));
    set_data(data, "attempts", attempts_data(report));
    set_data(data, "nodes", nodes_data(report));
    set_data(data, "lives", lives_data(report));
    set_data(data, "recoveries", recoveries_data(report));
    set_data(data, "checkpoints", checkpoints_data(report));
    set_data(data, "events", lines_data(report));
    set_data(data, "hangs", hangs_data(report));
    set_data(data, "samples", samples_data(&report->samples));
    set_data(data, "traffic", traffic_data(&report->traffic));
    set_data(data, "cases", json_incref(report->cases));
    return data;
}

/* Between < and > there may be nothing that a browser takes for the end of the script. */
void rz_html_data_write(const struct rz_html_report *report, FILE *out)
{
    json_t *data = document_of(report);
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(10));
    rz_need_memory(text, "for the report of a job");
    for (const char *at = text; *at; at++) {
        if (*at == '<' || *at == '>' || *at == '&') {
            fprintf(out, "\\u%04x", (unsigned)*at);
        } else {
            fputc(*at, out);
        }
    }
    free(text);
    json_decref(data);
}
