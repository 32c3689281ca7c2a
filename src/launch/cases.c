/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps a JSON document for each failure, adds the events about it, and writes the file again after
 * each important one. */
#include "launch/cases.h"

#include "base/no_memory.h"
#include "port/clock.h"
#include "port/outfile.h"

#include <jansson.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct failure {
    struct failure *next;
    uint32_t number; /* of the case, from 1 */
    uint32_t rank;   /* RZ_ID_NONE: the failure of a node */
    uint32_t node, incarnation;
    bool done; /* the repair is known */
    json_t *document, *observers, *told, *agreed;
};

struct rz_cases {
    char *folder;
    uint64_t job;
    struct failure *failures; /* newest first */
    const struct rz_traces *traces;
    uint32_t n;
    uint32_t epoch;          /* the newest */
    uint64_t generation;     /* the generation to which the newest epoch rolls back */
    const char *write_error; /* about the first file that could not be written */
};

static void set_in_case(json_t *object, const char *key, json_t *value)
{
    rz_need_memory(json_object_set_new(object, key, value) == 0, "for the case file of a failure");
}

static void append(json_t *list, json_t *value)
{
    rz_need_memory(json_array_append_new(list, value) == 0, "for the case file of a failure");
}

/* ---- Traces: lists of events, bounded, in the order of their times ---- */

/* Events of one ring, and of one list. */
#define TRACE_RING_MAX 64u
#define TRACE_BEFORE_MAX 1024u
#define TRACE_AFTER_MAX 512u
#define TRACE_ALL_MAX 4096u

static json_t *event_json(const struct rz_traced *traced)
{
    const struct rz_trace_meaning *meaning = rz_trace_meaning(traced->event.event);
    json_t *event = json_object(), *args = json_object();
    char owner[48], name[48];
    uint64_t values[3];
    const char *words[3];
    rz_traces_owner(traced->node, traced->slot, traced->incarnation, owner, sizeof(owner));
    rz_traces_name(meaning, name, sizeof(name));
    rz_traces_args(&traced->event, values, words);
    set_in_case(event, "at_ns", json_integer((json_int_t)traced->event.at_ns));
    set_in_case(event, "process", json_string(owner));
    set_in_case(event, "thread", json_integer(traced->event.thread));
    set_in_case(event, "module", json_string(rz_trace_module_name(meaning->module)));
    set_in_case(event, "event", json_string(name));
    if (meaning->kind != RZ_TRACE_POINT) {
        set_in_case(event, "edge", json_string(meaning->kind == RZ_TRACE_BEGIN ? "begin" : "end"));
    }
    for (int i = 0; i < 3; i++) {
        if (meaning->args[i][0]) {
            set_in_case(args, meaning->args[i],
                        words[i] ? json_string(words[i]) : json_integer((json_int_t)values[i]));
        }
    }
    set_in_case(event, "args", args);
    return event;
}

static json_t *list_of_events(struct rz_traced *events, uint32_t n, uint64_t since_ns, uint32_t max)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n && json_array_size(list) < max; i++) {
        if (events[i].event.at_ns >= since_ns) {
            int error = json_array_append_new(list, event_json(&events[i]));
            rz_need_memory(error == 0, "for the trace of a case");
        }
    }
    free(events);
    return list;
}

struct concerned {
    uint32_t rank, incarnation, node, by;
};

static uint32_t of_concerned(void *arg, const struct rz_traces_ring *ring)
{
    const struct concerned *of = arg;
    bool daemon = ring->slot == RZ_ID_NONE && (ring->node == of->node || ring->node == of->by);
    bool process =
        ring->slot != RZ_ID_NONE &&
        (of->rank == RZ_ID_NONE ? ring->node == of->node
                                : ring->slot == of->rank && ring->incarnation == of->incarnation);
    return daemon || process ? TRACE_RING_MAX : 0;
}

/* When a failure is noticed: the last events of the failed process (of a failed node: rank
 * RZ_ID_NONE, of all its processes), of its daemon and of the daemon that has noticed it. */
static json_t *trace_before(const struct rz_traces *traces, uint32_t rank, uint32_t incarnation,
                            uint32_t node, uint32_t by)
{
    struct concerned of = {rank, incarnation, node, by};
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, of_concerned, &of, TRACE_BEFORE_MAX, &events);
    return list_of_events(events, n, 0, TRACE_BEFORE_MAX);
}

static uint32_t whole_ring(void *arg, const struct rz_traces_ring *ring)
{
    (void)arg, (void)ring;
    return RZ_TRACE_SLOTS;
}

/* The first events of all from that time on. */
static json_t *trace_after(const struct rz_traces *traces, uint64_t since_ns)
{
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, whole_ring, NULL, UINT32_MAX, &events);
    return list_of_events(events, n, since_ns, TRACE_AFTER_MAX);
}

static uint32_t end_of_ring(void *arg, const struct rz_traces_ring *ring)
{
    (void)arg, (void)ring;
    return TRACE_RING_MAX;
}

/* The last events of all. */
static json_t *trace_all(const struct rz_traces *traces)
{
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, end_of_ring, NULL, TRACE_ALL_MAX, &events);
    return list_of_events(events, n, 0, TRACE_ALL_MAX);
}

/* ---- Documents ---- */

/* A time as "7.402 ms after the failure was seen", which is what readers compare, and by the clock,
 * to compare it with other files. */
static json_t *moment(const struct failure *failure, uint32_t node, rz_time at)
{
    json_t *one = json_object();
    const json_t *first = json_object_get(failure->document, "seen_at_ns");
    set_in_case(one, "node", json_integer(node));
    set_in_case(one, "at_ns", json_integer((json_int_t)at));
    if (first) {
        set_in_case(one, "after_seconds",
                    json_real(((double)at - (double)json_integer_value(first)) / 1e9));
    }
    return one;
}

static struct failure *failure_new(struct rz_cases *cases, uint32_t rank, uint32_t node,
                                   uint32_t incarnation)
{
    struct failure *failure = calloc(1, sizeof(*failure));
    char job[24];
    rz_need_memory(failure, "for the case file of a failure");
    *failure = (struct failure){.next = cases->failures,
                                .number = ++cases->n,
                                .rank = rank,
                                .node = node,
                                .incarnation = incarnation,
                                .document = json_object(),
                                .observers = json_array(),
                                .told = json_array(),
                                .agreed = json_array()};
    cases->failures = failure;
    snprintf(job, sizeof(job), "%016" PRIx64, cases->job);
    set_in_case(failure->document, "schema", json_string("rhizome.case.2"));
    set_in_case(failure->document, "job", json_string(job));
    set_in_case(failure->document, "case", json_integer(failure->number));
    set_in_case(failure->document, "what", json_string(rank != RZ_ID_NONE ? "process" : "node"));
    if (rank != RZ_ID_NONE) {
        set_in_case(failure->document, "rank", json_integer(rank));
        set_in_case(failure->document, "incarnation", json_integer(incarnation));
    }
    set_in_case(failure->document, "node", json_integer(node));
    set_in_case(failure->document, "cause", json_string("failed"));
    set_in_case(failure->document, "observers", failure->observers);
    set_in_case(failure->document, "told", failure->told);
    set_in_case(failure->document, "agreed", failure->agreed);
    set_in_case(failure->document, "done", json_string("not known yet"));
    return failure;
}

static void write_document(struct rz_cases *cases, const json_t *document, const char *what,
                           uint32_t number)
{
    struct rz_outfile out;
    const char *why = NULL;
    char path[4096];
    if (!cases->folder) {
        return;
    }
    snprintf(path, sizeof(path), "%s/%s-%04u.json", cases->folder, what, number);
    bool good = rz_outfile_open(&out, path, &why);
    if (good) {
        good = json_dumpf(document, out.file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0;
        fputc('\n', out.file);
        good = rz_outfile_close(&out, good, &why);
    }
    if (!good && !cases->write_error) {
        cases->write_error = why ? why : "a case file could not be written";
    }
}

/* Once the repair is known, all that took part in it have traced it. */
static void write_case(struct rz_cases *cases, const struct failure *failure)
{
    const json_t *seen = json_object_get(failure->document, "seen_at_ns");
    if (cases->traces && failure->done && seen) {
        set_in_case(failure->document, "trace_after",
                    trace_after(cases->traces, (uint64_t)json_integer_value(seen)));
    }
    write_document(cases, failure->document, "case", failure->number);
}

void rz_cases_dump(struct rz_cases *cases, const char *what, uint32_t number, const char *why)
{
    char job[24];
    json_t *document = json_object();
    snprintf(job, sizeof(job), "%016" PRIx64, cases->job);
    set_in_case(document, "schema", json_string("rhizome.dump.1"));
    set_in_case(document, "job", json_string(job));
    set_in_case(document, "what", json_string(what));
    set_in_case(document, "why", json_string(why));
    set_in_case(document, "trace", cases->traces ? trace_all(cases->traces) : json_array());
    write_document(cases, document, what, number);
    json_decref(document);
}

/* ---- Events ---- */

/* The failure of that process, or of that node; an injected one may precede its detection, so that
 * the incarnation is compared only where both know it. */
static struct failure *failure_find(const struct rz_cases *cases, uint32_t rank, uint32_t node,
                                    uint32_t incarnation)
{
    struct failure *failure = cases->failures;
    for (; failure; failure = failure->next) {
        if (rank != RZ_ID_NONE ? failure->rank == rank && failure->incarnation == incarnation
                               : failure->rank == RZ_ID_NONE && failure->node == node) {
            break;
        }
    }
    return failure;
}

static struct failure *failure_of(struct rz_cases *cases, const struct rz_launch_event *event)
{
    struct failure *failure = failure_find(cases, event->rank, event->node, event->incarnation);
    return failure ? failure : failure_new(cases, event->rank, event->node, event->incarnation);
}

static void case_on_injected(struct rz_cases *cases, const struct rz_launch_event *event)
{
    if (strncmp(event->note, "kill", 4) == 0) {
        set_in_case(failure_of(cases, event)->document, "injected_at_ns",
                    json_integer((json_int_t)event->at_ns));
    }
}

static void case_on_seen(struct rz_cases *cases, uint32_t by, const struct rz_launch_event *event)
{
    struct failure *failure = failure_of(cases, event);
    const json_t *first = json_object_get(failure->document, "seen_at_ns");
    if (!first || json_integer_value(first) > (json_int_t)event->at_ns) {
        set_in_case(failure->document, "seen_at_ns", json_integer((json_int_t)event->at_ns));
    }
    json_t *observer = moment(failure, by, event->at_ns);
    set_in_case(observer, "evidence", json_string(event->note));
    append(failure->observers, observer);
    if (cases->traces && !json_object_get(failure->document, "trace")) {
        set_in_case(failure->document, "trace",
                    trace_before(cases->traces, event->rank, event->incarnation, event->node, by));
    }
    if (event->rank != RZ_ID_NONE && event->value == RZ_FAILURE_HUNG) {
        set_in_case(failure->document, "cause", json_string("hung"));
    }
    write_case(cases, failure);
}

static void case_on_news(struct rz_cases *cases, uint32_t by, const struct rz_launch_event *event)
{
    struct failure *failure = failure_of(cases, event);
    append(failure->told, moment(failure, by, event->at_ns));
}

/* A new epoch repairs all failures that were open. */
static void case_on_epoch(struct rz_cases *cases, uint32_t by, const struct rz_launch_event *event)
{
    if (event->epoch <= 1) {
        return;
    }
    for (struct failure *failure = cases->failures; failure; failure = failure->next) {
        json_t *epoch = json_object_get(failure->document, "epoch");
        if (!epoch && !failure->done) {
            set_in_case(failure->document, "epoch", json_integer(event->epoch));
            set_in_case(failure->document, "generation", json_integer((json_int_t)event->value));
            epoch = json_object_get(failure->document, "epoch");
        }
        if (epoch && json_integer_value(epoch) == (json_int_t)event->epoch) {
            append(failure->agreed, moment(failure, by, event->at_ns));
        }
    }
    if (event->epoch > cases->epoch) {
        cases->epoch = event->epoch;
        cases->generation = event->value;
    }
}

/* The epoch runs: what was lost is repaired, also in a planned epoch that never ran because another
 * failure, or damage, occurred in its recovery. */
static void case_on_run(struct rz_cases *cases, uint32_t by, const struct rz_launch_event *event)
{
    for (struct failure *failure = cases->failures; failure; failure = failure->next) {
        const json_t *epoch = json_object_get(failure->document, "epoch");
        if (failure->done || !epoch || json_integer_value(epoch) > (json_int_t)event->epoch) {
            continue;
        }
        failure->done = true;
        if (event->epoch == cases->epoch) {
            set_in_case(failure->document, "epoch", json_integer(event->epoch));
            set_in_case(failure->document, "generation",
                        json_integer((json_int_t)cases->generation));
        }
        set_in_case(failure->document, "done", json_string("global restart"));
        set_in_case(failure->document, "runs_again", moment(failure, by, event->at_ns));
        write_case(cases, failure);
    }
}

static void case_on_noted(struct rz_cases *cases, const struct rz_launch_event *event)
{
    struct failure *failure = failure_find(cases, event->rank, event->node, event->incarnation);
    if (!failure || failure->done) {
        return;
    }
    failure->done = true;
    set_in_case(failure->document, "done", json_string("noted; the program goes on without it"));
    write_case(cases, failure);
}

/* The replacement of a failed process starts. After the failure of a node each of its processes has
 * a replacement of its own. */
static void case_on_spawned(struct rz_cases *cases, uint32_t by,
                            const struct rz_launch_event *event)
{
    struct failure *failure = failure_find(cases, event->rank, event->node, event->incarnation - 1);
    if (event->value != RZ_START_REPLACES || !failure) {
        return;
    }
    failure->done = true;
    set_in_case(failure->document, "done", json_string("replaced"));
    append(failure->agreed, moment(failure, by, event->at_ns));
    write_case(cases, failure);
}

static void case_on_acknowledged(struct rz_cases *cases, const struct rz_launch_event *event)
{
    struct failure *failure = failure_find(cases, event->rank, event->node, event->incarnation);
    if (!failure || json_object_get(failure->document, "acknowledged")) {
        return;
    }
    set_in_case(failure->document, "acknowledged", json_true());
    write_case(cases, failure);
}

static void case_on_ended_by(struct rz_cases *cases, const struct rz_launch_event *event)
{
    struct failure *failure = failure_of(cases, event);
    set_in_case(failure->document, "ended_by", json_string(event->note));
}

void rz_cases_event(struct rz_cases *cases, uint32_t by, const struct rz_launch_event *event)
{
    switch (event->kind) {
    case RZ_EVENT_RECORD_INJECTED:
        case_on_injected(cases, event);
        break;
    case RZ_EVENT_RECORD_FAILURE_SEEN:
        case_on_seen(cases, by, event);
        break;
    case RZ_EVENT_RECORD_FAILURE_NEWS:
        case_on_news(cases, by, event);
        break;
    case RZ_EVENT_RECORD_EPOCH:
        case_on_epoch(cases, by, event);
        break;
    case RZ_EVENT_RECORD_RUN:
        case_on_run(cases, by, event);
        break;
    case RZ_EVENT_RECORD_NOTED:
        case_on_noted(cases, event);
        break;
    case RZ_EVENT_RECORD_SPAWNED:
        case_on_spawned(cases, by, event);
        break;
    case RZ_EVENT_RECORD_ACKNOWLEDGED:
        case_on_acknowledged(cases, event);
        break;
    case RZ_EVENT_RECORD_ENDED_BY:
        case_on_ended_by(cases, event);
        break;
    default:
        break;
    }
}

void rz_cases_started(struct rz_cases *cases, const struct rz_launch_started *started)
{
    for (struct failure *failure = cases->failures; failure; failure = failure->next) {
        if (failure->rank != started->rank || failure->incarnation + 1 != started->incarnation) {
            continue;
        }
        json_t *again = json_object();
        set_in_case(again, "incarnation", json_integer(started->incarnation));
        set_in_case(again, "node", json_integer(started->node));
        set_in_case(failure->document, "started_again", again);
    }
}

static json_t *timeline_of(const struct rz_recovery_times *times)
{
    json_t *timeline = json_object(), *phases = json_object(), *lost = json_object();
    set_in_case(timeline, "way", json_string(rz_recovery_way_names[times->way]));
    set_in_case(timeline, "failures", json_integer(times->failures));
    set_in_case(timeline, "rounds", json_integer(times->rounds));
    if (times->damaged) {
        set_in_case(timeline, "damaged_generation", json_integer((json_int_t)times->damaged));
    }
    for (int i = 0; i < RZ_RECOVERY_PHASE_COUNT; i++) {
        if (!isnan(times->phase_ms[i])) {
            set_in_case(phases, rz_recovery_phase_names[i], json_real(times->phase_ms[i] / 1e3));
        }
    }
    set_in_case(timeline, "phases_seconds", phases);
    if (!isnan(times->whole_ms)) {
        set_in_case(timeline, "whole_seconds", json_real(times->whole_ms / 1e3));
    }
    if (times->lost.known) {
        set_in_case(lost, "newest_iteration", json_integer((json_int_t)times->lost.to));
        set_in_case(lost, "again_iteration", json_integer((json_int_t)times->lost.from));
        set_in_case(lost, "iterations",
                    json_integer((json_int_t)(times->lost.to - times->lost.from)));
        if (!isnan(times->lost.seconds)) {
            set_in_case(lost, "seconds", json_real(times->lost.seconds));
        }
        set_in_case(timeline, "lost", lost);
    } else {
        json_decref(lost);
    }
    return timeline;
}

/* After a global restart: the failures that this epoch repaired; after a replacement those that
 * were replaced and have no timeline yet. */
void rz_cases_recovered(struct rz_cases *cases, const struct rz_recovery_times *times)
{
    for (struct failure *failure = cases->failures; failure; failure = failure->next) {
        const json_t *epoch = json_object_get(failure->document, "epoch");
        const char *done = json_string_value(json_object_get(failure->document, "done"));
        bool replaced = times->way == RZ_RECOVERY_REPLACE && strcmp(done, "replaced") == 0;
        bool settled = times->way == RZ_RECOVERY_REINIT && failure->done && epoch &&
                       json_integer_value(epoch) <= (json_int_t)times->epoch;
        if ((!replaced && !settled) || json_object_get(failure->document, "timeline")) {
            continue;
        }
        set_in_case(failure->document, "timeline", timeline_of(times));
        write_case(cases, failure);
    }
}

void rz_cases_stopping(struct rz_cases *cases, uint32_t node, const char *reason)
{
    struct failure *failure = failure_find(cases, RZ_ID_NONE, node, 0);
    if (!failure) {
        failure = failure_new(cases, RZ_ID_NONE, node, 0);
    }
    set_in_case(failure->document, "cause", json_string("cut off"));
    set_in_case(failure->document, "reason", json_string(reason));
    write_case(cases, failure);
}

/* ---- Init and finalize ---- */

uint32_t rz_cases_count(const struct rz_cases *cases)
{
    return cases->n;
}

/* False: *why. */
static bool make_folder(const char *folder, const char **why)
{
    struct stat there;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        *why = strerror(errno);
        return false;
    }
    if (stat(folder, &there) != 0 || !S_ISDIR(there.st_mode)) {
        *why = "it is no folder";
        return false;
    }
    return true;
}

struct rz_cases *rz_cases_open(const char *folder, uint64_t job, uint32_t before, const char **why)
{
    if (folder && !make_folder(folder, why)) {
        return NULL;
    }
    struct rz_cases *cases = calloc(1, sizeof(*cases));
    rz_need_memory(cases, "for case files");
    cases->folder = folder ? rz_need_copy(folder, strlen(folder) + 1, "for case files") : NULL;
    cases->job = job;
    cases->n = before;
    return cases;
}

json_t *rz_cases_documents(const struct rz_cases *cases)
{
    json_t *list = json_array();
    rz_need_memory(list, "for the cases of a job");
    for (const struct failure *failure = cases->failures; failure; failure = failure->next) {
        json_t *one = json_copy(failure->document);
        rz_need_memory(one, "for the cases of a job");
        json_object_del(one, "trace");
        json_object_del(one, "trace_after");
        rz_need_memory(json_array_insert_new(list, 0, one) == 0, "for the cases of a job");
    }
    return list;
}

void rz_cases_trace(struct rz_cases *cases, const struct rz_traces *traces)
{
    cases->traces = traces;
}

bool rz_cases_close(struct rz_cases *cases, int status, const char **why)
{
    while (cases->failures) {
        struct failure *failure = cases->failures;
        cases->failures = failure->next;
        if (!failure->done) {
            set_in_case(failure->document, "done", json_string("nothing: the job ended"));
            failure->done = true;
        }
        set_in_case(failure->document, "job_status", json_integer(status));
        write_case(cases, failure);
        json_decref(failure->document);
        free(failure);
    }
    *why = cases->write_error;
    free(cases->folder);
    free(cases);
    return !*why;
}
