/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the events of a job for its page. */
#include "launch/html_private.h"

#include "base/no_memory.h"
#include "launch/report_template.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Open and close ---- */

static void *zeroed(size_t n, size_t bytes)
{
    void *memory = calloc(n ? n : 1, bytes);
    rz_need_memory(memory, "for the report of a job");
    return memory;
}

struct rz_html_report *rz_html_report_open(const struct rz_html_job *job)
{
    struct rz_html_report *report = zeroed(1, sizeof(*report));
    report->job = *job;
    report->command = rz_need_copy(job->command, strlen(job->command) + 1, "for a command line");
    report->nodes = zeroed(job->n_nodes, sizeof(*report->nodes));
    report->newest_life = zeroed(job->n_ranks, sizeof(*report->newest_life));
    report->recoveries = zeroed(RZ_HTML_RECOVERIES_MAX, sizeof(*report->recoveries));
    report->checkpoints = zeroed(RZ_HTML_CHECKPOINTS_MAX, sizeof(*report->checkpoints));
    report->lines = zeroed(RZ_HTML_LINES_MAX, sizeof(*report->lines));
    report->cases = json_array();
    rz_need_memory(report->cases, "for the report of a job");
    report->stride = 1;
    rz_html_samples_open(&report->samples, job->n_ranks);
    rz_html_traffic_open(&report->traffic, job->n_ranks);
    return report;
}

void rz_html_report_free(struct rz_html_report *report)
{
    if (!report) {
        return;
    }
    for (uint32_t i = 0; i < report->n_hangs; i++) {
        free(report->hangs[i].text);
    }
    rz_html_samples_close(&report->samples);
    rz_html_traffic_close(&report->traffic);
    json_decref(report->cases);
    free(report->command);
    free(report->nodes);
    free(report->newest_life);
    free(report->recoveries);
    free(report->checkpoints);
    free(report->lines);
    free(report->attempts);
    free(report->lives);
    free(report);
}

static rz_time age_of(const struct rz_html_report *report, rz_time at)
{
    return at > report->job.begun ? at - report->job.begun : 0;
}

static void say_line(struct rz_html_report *report, rz_time at, bool bad, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void say_line(struct rz_html_report *report, rz_time at, bool bad, const char *format, ...)
{
    va_list arguments;
    if (report->n_lines == RZ_HTML_LINES_MAX) {
        report->left_out++;
        return;
    }
    struct rz_html_line *line = &report->lines[report->n_lines++];
    line->at = at;
    line->bad = bad;
    va_start(arguments, format);
    vsnprintf(line->text, sizeof(line->text), format, arguments);
    va_end(arguments);
}

/* ---- Attempts and nodes ---- */

void rz_html_report_attempt(struct rz_html_report *report, uint64_t job, rz_time at)
{
    struct rz_html_attempt *more =
        realloc(report->attempts, (report->n_attempts + 1) * sizeof(*more));
    rz_need_memory(more, "for the report of a job");
    report->attempts = more;
    more[report->n_attempts++] = (struct rz_html_attempt){.job = job, .from = at};
    report->newest = (struct rz_html_checkpoint){.generation = 0};
    rz_html_traffic_attempt(&report->traffic, at);
    if (report->n_attempts > 1) {
        say_line(report, at, false, "the job restarts (attempt %u)", report->n_attempts);
    }
}

void rz_html_report_node(struct rz_html_report *report, uint32_t node, const char *host)
{
    if (node < report->job.n_nodes) {
        snprintf(report->nodes[node].host, sizeof(report->nodes[node].host), "%s", host);
    }
}

void rz_html_report_attempt_over(struct rz_html_report *report, int status, const char *cause,
                                 json_t *cases, rz_time at)
{
    struct rz_html_attempt *attempt = &report->attempts[report->n_attempts - 1];
    json_t *one;
    size_t i;
    attempt->until = at;
    attempt->status = status;
    snprintf(attempt->cause, sizeof(attempt->cause), "%s", cause ? cause : "");
    for (uint32_t j = 0; j < report->n_lives; j++) {
        if (report->lives[j].end == RZ_HTML_RUNS) {
            report->lives[j].end = RZ_HTML_ENDED_WITH_JOB;
            report->lives[j].ended = at;
        }
    }
    json_array_foreach(cases, i, one)
    {
        if (json_array_size(report->cases) < RZ_HTML_CASES_MAX) {
            rz_need_memory(json_array_append(report->cases, one) == 0, "for the cases of a report");
        } else {
            report->left_out++;
        }
    }
    json_decref(cases);
    say_line(report, at, status != 0, "the job has ended with status %d%s%s", status,
             attempt->cause[0] ? ": " : "", attempt->cause);
}

/* ---- Processes ---- */

/* The life of that process in this attempt; NULL: it is not known. */
static struct rz_html_life *life_of(struct rz_html_report *report, uint32_t slot,
                                    uint32_t incarnation)
{
    for (uint32_t i = report->n_lives; i-- > 0;) {
        struct rz_html_life *life = &report->lives[i];
        if (life->attempt + 1 != report->n_attempts) {
            break;
        }
        if (life->slot == slot && life->incarnation == incarnation) {
            return life;
        }
    }
    return NULL;
}

static void life_begins(struct rz_html_report *report, uint32_t by,
                        const struct rz_launch_event *event)
{
    if (life_of(report, event->rank, event->incarnation)) {
        return;
    }
    if (report->n_lives == RZ_HTML_LIVES_MAX && report->job.n_ranks <= RZ_HTML_LIVES_MAX / 2) {
        report->left_out++;
        return;
    }
    if (report->n_lives == report->max_lives) {
        report->max_lives = report->max_lives ? 2 * report->max_lives : 256;
        struct rz_html_life *more =
            realloc(report->lives, report->max_lives * sizeof(*report->lives));
        rz_need_memory(more, "for the report of a job");
        report->lives = more;
    }
    report->lives[report->n_lives++] = (struct rz_html_life){.slot = event->rank,
                                                             .incarnation = event->incarnation,
                                                             .node = by,
                                                             .attempt = report->n_attempts - 1,
                                                             .begun = event->at_ns};
    if (event->rank < report->job.n_ranks) {
        report->newest_life[event->rank] = report->n_lives;
    }
}

static void life_ends(struct rz_html_life *life, enum rz_html_end end, rz_time at)
{
    if (life && (life->end == RZ_HTML_RUNS || (end == RZ_HTML_FAILED && life->end != end))) {
        life->end = end;
        life->ended = at;
    }
}

static void node_fails(struct rz_html_report *report, const struct rz_launch_event *event)
{
    if (event->node >= report->job.n_nodes || report->nodes[event->node].failed) {
        return;
    }
    report->nodes[event->node].failed = event->at_ns;
    say_line(report, event->at_ns, true, "node %u failed; noticed by %s", event->node, event->note);
    for (uint32_t i = 0; i < report->n_lives; i++) {
        if (report->lives[i].node == event->node && report->lives[i].end == RZ_HTML_RUNS) {
            life_ends(&report->lives[i], RZ_HTML_FAILED, event->at_ns);
        }
    }
}

static void process_fails(struct rz_html_report *report, const struct rz_launch_event *event)
{
    struct rz_html_life *life = life_of(report, event->rank, event->incarnation);
    if (life && life->end == RZ_HTML_FAILED) {
        return;
    }
    life_ends(life, RZ_HTML_FAILED, event->at_ns);
    say_line(report, event->at_ns, true, "rank %u (incarnation %u) on node %u %s; noticed by %s",
             event->rank, event->incarnation, event->node,
             event->value == RZ_FAILURE_HUNG ? "hung and was killed" : "failed", event->note);
}

/* The process was looked at: until now its calls have waited for so long, from its begin on;
 * RZ_WAITED_UNKNOWN: it is stopped, or of another MPI. */
static void life_seen(struct rz_html_report *report, struct rz_html_life *life, rz_time waited,
                      rz_time at)
{
    if (!life || !life->joined) {
        return;
    }
    rz_time from = life->seen ? life->seen : life->joined;
    if (waited == RZ_WAITED_UNKNOWN) { /* so is what it did until now */
        life->seen = at > from ? at : from;
    } else if (at > from) {
        rz_html_samples_take(&report->samples, life->slot, age_of(report, from), age_of(report, at),
                             waited > life->waited ? waited - life->waited : 0);
        life->seen = at;
        life->waited = waited;
    }
}

void rz_html_report_exited(struct rz_html_report *report, const struct rz_launch_exited *exited,
                           rz_time at)
{
    struct rz_html_life *life = life_of(report, exited->rank, exited->incarnation);
    life_seen(report, life, exited->waited_ns,
              life && life->end == RZ_HTML_FAILED ? life->ended : at);
    life_ends(life, RZ_HTML_EXITED, at);
}

/* ---- Checkpoints ---- */

/* The newest checkpoint goes into the list; when that is full, every second one leaves it. */
static void keep_newest(struct rz_html_report *report)
{
    if (report->newest.generation == 0 || report->newest.generation % report->stride != 0) {
        return;
    }
    if (report->n_checkpoints == RZ_HTML_CHECKPOINTS_MAX) {
        report->stride *= 2;
        report->n_checkpoints = 0;
        for (uint32_t i = 0; i < RZ_HTML_CHECKPOINTS_MAX; i++) {
            if (report->checkpoints[i].generation % report->stride == 0) {
                report->checkpoints[report->n_checkpoints++] = report->checkpoints[i];
            }
        }
    }
    if (report->n_checkpoints < RZ_HTML_CHECKPOINTS_MAX) {
        report->checkpoints[report->n_checkpoints++] = report->newest;
    }
}

static void checkpoint_committed(struct rz_html_report *report, const struct rz_launch_event *event)
{
    struct rz_html_checkpoint *newest = &report->newest;
    if (newest->generation != event->value || newest->epoch != event->epoch) {
        if (event->epoch < newest->epoch ||
            (event->epoch == newest->epoch && event->value < newest->generation)) {
            return; /* a late report of one before */
        }
        keep_newest(report);
        *newest = (struct rz_html_checkpoint){
            .generation = event->value, .epoch = event->epoch, .at = event->at_ns};
    }
    newest->bytes += strtoull(event->note, NULL, 10);
}

/* ---- Events ---- */

static void life_joins(struct rz_html_report *report, const struct rz_launch_event *event)
{
    struct rz_html_life *life = life_of(report, event->rank, event->incarnation);
    if (life && !life->joined) {
        life->joined = event->at_ns;
    }
}

void rz_html_report_event(struct rz_html_report *report, uint32_t by,
                          const struct rz_launch_event *event)
{
    switch ((enum rz_event_record)event->kind) {
    case RZ_EVENT_RECORD_BEGUN:
        life_begins(report, by, event);
        break;
    case RZ_EVENT_RECORD_JOINED:
        life_joins(report, event);
        break;
    case RZ_EVENT_RECORD_FAILURE_SEEN:
        (event->rank == RZ_ID_NONE ? node_fails : process_fails)(report, event);
        break;
    case RZ_EVENT_RECORD_COMMITTED:
        checkpoint_committed(report, event);
        break;
    case RZ_EVENT_RECORD_INJECTED:
        say_line(report, event->at_ns, true, "a fault is injected on node %u: %s", by, event->note);
        break;
    case RZ_EVENT_RECORD_FELL_BACK:
        if (by == 0) {
            say_line(report, event->at_ns, true,
                     "checkpoint %" PRIu64 " cannot be restored and is given up", event->value);
        }
        break;
    default:
        break;
    }
}

void rz_html_report_mark(struct rz_html_report *report, const struct rz_launch_mark *mark)
{
    if (mark->rank < report->job.n_ranks) {
        rz_html_samples_mark(&report->samples, mark->iteration, age_of(report, mark->at_ns));
    }
}

void rz_html_report_waiting(struct rz_html_report *report, const struct rz_launch_waiting *waiting,
                            rz_time at)
{
    bool counts = waiting->state == RZ_WAITING_COMPUTES || waiting->state == RZ_WAITING_IN_CALL;
    uint32_t newest = waiting->rank < report->job.n_ranks ? report->newest_life[waiting->rank] : 0;
    struct rz_html_life *life = newest > 0 ? &report->lives[newest - 1] : NULL;
    if (counts && life && life->end == RZ_HTML_RUNS) {
        life_seen(report, life, waiting->waited_ns, at);
    }
}

void rz_html_report_traffic(struct rz_html_report *report, const struct rz_launch_traffic *told)
{
    rz_html_traffic_take(&report->traffic, told);
}

void rz_html_report_recovered(struct rz_html_report *report, const struct rz_recovery_times *times)
{
    if (report->n_recoveries == RZ_HTML_RECOVERIES_MAX) {
        report->left_out++;
        return;
    }
    report->recoveries[report->n_recoveries++] = *times;
    say_line(report, times->run ? times->run : times->seen, false,
             "recovered in %.1f ms by %s (epoch %u)", times->whole_ms,
             rz_recovery_way_names[times->way], times->epoch);
}

void rz_html_report_hang(struct rz_html_report *report, const char *why, const char *lines,
                         rz_time at)
{
    say_line(report, at, true, "hang report: %s", why);
    if (report->n_hangs == RZ_HTML_HANGS_MAX) {
        report->left_out++;
        return;
    }
    struct rz_html_hang *hang = &report->hangs[report->n_hangs++];
    hang->at = at;
    rz_need_memory(asprintf(&hang->text, "%s; these ranks wait:\n%s", why, lines) >= 0,
                   "for the report of a job");
}

rz_time rz_html_report_every(const struct rz_html_report *report)
{
    return rz_html_samples_every(&report->samples);
}

bool rz_html_report_traffic_due(struct rz_html_report *report, rz_time now)
{
    return rz_html_traffic_due(&report->traffic, now);
}

bool rz_html_report_begun(const struct rz_html_report *report)
{
    return report->n_attempts > 0;
}

void rz_html_report_write(const struct rz_html_report *report, FILE *out)
{
    const char *page = rz_report_template, *mark = strstr(page, RZ_REPORT_TEMPLATE_MARK);
    fwrite(page, 1, (size_t)(mark - page), out);
    rz_html_data_write(report, out);
    fputs(mark + sizeof(RZ_REPORT_TEMPLATE_MARK) - 1, out);
}
