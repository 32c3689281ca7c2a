/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces in the JSON form of Chrome's trace events, as Perfetto opens them: one track per member
 * (grouped by node), a slice per step, an arrow from each send to the step that it causes, marks
 * for notices and failures.
 */
#include "timing/timing_run.h"

#include <inttypes.h>
#include <string.h>

#define EVENTS_MAX_DEFAULT 1000000

struct rz_timing_trace {
    FILE *out;
    uint64_t events, events_max, left_out;
    bool first;
    uint8_t *named; /* bit per member: its track has a name */
};

struct rz_timing_trace *rz_timing_trace_begin(struct rz_timing *timing)
{
    struct rz_timing_trace *trace = rz_timing_memory(NULL, sizeof(*trace));
    size_t bytes = timing->n / 8 + 1;
    *trace = (struct rz_timing_trace){.out = timing->setup.trace,
                                      .events_max = timing->setup.trace_events_max > 0
                                                        ? timing->setup.trace_events_max
                                                        : EVENTS_MAX_DEFAULT,
                                      .first = true,
                                      .named = rz_timing_memory(NULL, bytes)};
    memset(trace->named, 0, bytes);
    fprintf(trace->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    return trace;
}

void rz_timing_trace_end(struct rz_timing *timing)
{
    struct rz_timing_trace *trace = timing->trace;
    fprintf(trace->out,
            "\n],\"otherData\":{\"members\":%u,\"seed\":\"%" PRIu64 "\",\"events\":%" PRIu64
            ",\"left_out\":%" PRIu64 "}}\n",
            timing->n, timing->setup.seed, trace->events, trace->left_out);
    fflush(trace->out);
    rz_timing_free(trace->named);
    rz_timing_free(trace);
    timing->trace = NULL;
}

/* ---- one event ---- */

static void separate(struct rz_timing_trace *trace)
{
    fputs(trace->first ? "\n" : ",\n", trace->out);
    trace->first = false;
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        fputc((unsigned char)*text >= ' ' ? *text : ' ', out);
    }
    fputc('"', out);
}

/* Tracks are numbered from 1: 0 means the idle thread to the viewer. */
static void put_place(const struct rz_timing *timing, rz_id member)
{
    uint32_t process = timing->per_node > 1 ? member / timing->per_node + 1 : 1;
    fprintf(timing->trace->out, ",\"pid\":%u,\"tid\":%u", process, member + 1);
}

static void name_track(struct rz_timing *timing, rz_id member)
{
    struct rz_timing_trace *trace = timing->trace;
    if (trace->named[member / 8] >> member % 8 & 1) {
        return;
    }
    trace->named[member / 8] |= (uint8_t)(1U << member % 8);
    separate(trace);
    fprintf(trace->out, "{\"ph\":\"M\",\"name\":\"thread_name\"");
    put_place(timing, member);
    fprintf(trace->out, ",\"args\":{\"name\":\"member %u\"}}", member);
    if (timing->per_node == 1) {
        return;
    }
    separate(trace);
    fprintf(trace->out, "{\"ph\":\"M\",\"name\":\"process_name\"");
    put_place(timing, member);
    fprintf(trace->out, ",\"args\":{\"name\":\"node %u\"}}", member / timing->per_node);
}

/* Begins an event up to its date; false: the file has reached its limit of events. The caller ends
 * it. */
static bool put_event(struct rz_timing *timing, const char *phase, rz_id member, const char *name,
                      rz_time at)
{
    struct rz_timing_trace *trace = timing->trace;
    if (trace->events >= trace->events_max) {
        trace->left_out++;
        return false;
    }
    trace->events++;
    name_track(timing, member);
    separate(trace);
    fprintf(trace->out, "{\"ph\":\"%s\",\"name\":", phase);
    put_text(trace->out, name);
    put_place(timing, member);
    fprintf(trace->out, ",\"ts\":%" PRIu64 ".%03u", at / 1000, (unsigned)(at % 1000));
    return true;
}

static const char *message_name(const struct rz_timing *timing, uint32_t part, uint8_t type,
                                char text[32])
{
    const char *name = timing->setup.message_name ? timing->setup.message_name(part, type) : NULL;
    if (name) {
        return name;
    }
    snprintf(text, 32, "%s %u", timing->setup.parts[part]->name, type);
    return text;
}

/* The same number at both ends of an arrow, exact as a double. */
static uint64_t arrow(const struct rz_timing_blob *blob, rz_id to)
{
    return (blob->serial & UINT32_MAX) << 20 | (to & 0xFFFFF);
}

/* ---- content ---- */

void rz_timing_trace_step(struct rz_timing *timing, rz_id member, uint32_t part,
                          enum rz_timing_kind kind, uint32_t handle, struct rz_timing_span span)
{
    char text[32];
    const struct rz_timing_blob *blob =
        handle != RZ_TIMING_NO_BLOB ? rz_timing_blob_at(timing, handle) : NULL;
    const char *name = kind == RZ_TIMING_TICK   ? "tick"
                       : kind == RZ_TIMING_CALL ? "call"
                                                : "failure";
    if (kind == RZ_TIMING_ARRIVE) {
        name = message_name(timing, part, blob->message.type, text);
    }
    if (!put_event(timing, "X", member, name, span.begin)) {
        return;
    }
    rz_time lasts =
        span.end > span.begin ? span.end - span.begin : 1; /* an arrow must start in a slice */
    fprintf(timing->trace->out, ",\"cat\":\"%s\",\"dur\":%" PRIu64 ".%03u",
            timing->setup.parts[part]->name, lasts / 1000, (unsigned)(lasts % 1000));
    if (kind != RZ_TIMING_ARRIVE) {
        fputs("}", timing->trace->out);
        return;
    }
    fprintf(timing->trace->out, ",\"args\":{\"from\":%u,\"origin\":%u,\"items\":%u}}",
            blob->message.from, blob->message.origin, blob->message.n_items);
    if (put_event(timing, "f", member, "message", span.begin)) {
        fprintf(timing->trace->out, ",\"cat\":\"message\",\"bp\":\"e\",\"id\":%" PRIu64 "}",
                arrow(blob, member));
    }
}

void rz_timing_trace_send(struct rz_timing *timing, rz_id from, rz_id to, uint32_t part,
                          uint32_t blob, rz_time at)
{
    (void)part;
    if (put_event(timing, "s", from, "message", at)) {
        fprintf(timing->trace->out, ",\"cat\":\"message\",\"id\":%" PRIu64 "}",
                arrow(rz_timing_blob_at(timing, blob), to));
    }
}

void rz_timing_trace_notice(struct rz_timing *timing, rz_id member, uint32_t part,
                            const struct rz_action *notice)
{
    char text[32];
    const char *name =
        timing->setup.notice_name ? timing->setup.notice_name(part, notice->what) : NULL;
    if (!name) {
        snprintf(text, sizeof(text), "%s tells %u", timing->setup.parts[part]->name, notice->what);
        name = text;
    }
    if (put_event(timing, "i", member, name, timing->now)) {
        fprintf(timing->trace->out, ",\"s\":\"t\",\"args\":{\"arg\":\"%" PRIu64 "\"}}",
                notice->arg[0]);
    }
}

void rz_timing_trace_failure(struct rz_timing *timing, rz_id member)
{
    if (put_event(timing, "i", member, "fails", timing->now)) {
        fputs(",\"s\":\"p\"}", timing->trace->out);
    }
}
