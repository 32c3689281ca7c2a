/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the traces of a job into one file that Perfetto and chrome://tracing read. */
#include "launch/trace_file.h"

#include <rhizome/types.h>

#include <inttypes.h>
#include <string.h>

/* The bound of the file: so many events of an attempt, which is about 40 MB; each ring has an equal
 * share, but no less than EVENTS_MIN. */
#define EVENTS_MAX 262144u
#define EVENTS_MIN 64u

struct writing {
    struct rz_trace_file *file;
    uint32_t n_rings;
};

static void separate(struct rz_trace_file *file)
{
    fputs(file->begun ? ",\n" : "\n", file->out.file);
    file->begun = true;
}

static void name_process(struct rz_trace_file *file, const struct rz_traces_ring *ring)
{
    char owner[48], attempt[32] = "";
    FILE *out = file->out.file;
    uint32_t id = file->n_processes + 1;
    rz_traces_owner(ring->node, ring->slot, ring->incarnation, owner, sizeof(owner));
    if (file->n_attempts > 1) {
        snprintf(attempt, sizeof(attempt), ", attempt %u", file->n_attempts);
    }
    separate(file);
    fprintf(out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"%s%s\"}}",
            id, owner, attempt);
    fprintf(
        out,
        ",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"args\":{\"labels\":\"node %u, "
        "process %u\"}}",
        id, ring->node, ring->pid);
    fprintf(out,
            ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":"
            "%" PRIu64 "}}",
            id, ring->slot == RZ_ID_NONE ? (uint64_t)ring->node : UINT64_C(1) << 20 | ring->slot);
    file->n_processes++;
}

static void name_thread(const struct rz_trace_file *file, const struct rz_traces_ring *ring,
                        uint32_t thread)
{
    char name[RZ_TRACE_THREAD_NAME];
    rz_trace_thread_name(ring->ring, thread, name);
    for (char *at = name; *at; at++) {
        if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\') {
            *at = '?'; /* whatever a damaged ring has */
        }
    }
    fprintf(file->out.file,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
            file->n_processes, thread);
    if (name[0]) {
        fprintf(file->out.file, "%s\"}}", name);
    } else {
        fprintf(file->out.file, "thread %u\"}}", thread);
    }
}

/* Microseconds with three digits behind the point: no nanosecond is lost. */
static void write_event(struct rz_trace_file *file, const struct rz_trace_event *event)
{
    static const char *const phases[] = {
        [RZ_TRACE_POINT] = "i", [RZ_TRACE_BEGIN] = "b", [RZ_TRACE_END] = "e"};
    const struct rz_trace_meaning *meaning = rz_trace_meaning(event->event);
    FILE *out = file->out.file;
    char name[48];
    uint64_t args[3];
    const char *words[3];
    rz_traces_name(meaning, name, sizeof(name));
    rz_traces_args(event, args, words);
    separate(file);
    fprintf(out,
            "{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"%s\",\"ts\":%" PRIu64
            ".%03u,\"pid\":%u,\"tid\":%u",
            phases[meaning->kind], name, rz_trace_module_name(meaning->module), event->at_ns / 1000,
            (unsigned)(event->at_ns % 1000), file->n_processes, event->thread);
    if (meaning->kind == RZ_TRACE_POINT) {
        fputs(",\"s\":\"t\"", out);
    } else { /* what lasts may overlap: it is found by number, within its process */
        fprintf(out, ",\"id2\":{\"local\":\"0x%" PRIx64 "\"}", event->a);
    }
    fputs(",\"args\":{", out);
    for (int i = 0, n = 0; i < 3; i++) {
        const char *comma = n > 0 ? "," : "";
        if (meaning->args[i][0] && words[i]) {
            fprintf(out, "%s\"%s\":\"%s\"", comma, meaning->args[i], words[i]);
        } else if (meaning->args[i][0]) {
            fprintf(out, "%s\"%s\":%" PRIu64, comma, meaning->args[i], args[i]);
        }
        n += meaning->args[i][0] != '\0';
    }
    fputs("}}", out);
}

static void count_ring(void *arg, const struct rz_traces_ring *ring)
{
    struct writing *writing = arg;
    (void)ring;
    writing->n_rings++;
}

static void write_ring(void *arg, const struct rz_traces_ring *ring)
{
    const struct writing *writing = arg;
    struct rz_trace_file *file = writing->file;
    struct rz_trace_event events[64];
    uint32_t share = EVENTS_MAX / writing->n_rings, n;
    uint64_t from = rz_trace_last(ring->ring, share > EVENTS_MIN ? share : EVENTS_MIN);
    uint64_t named = 0; /* of the first 64 threads */
    name_process(file, ring);
    file->n_lost += atomic_load(&ring->ring->lost);
    while ((n = rz_trace_read(ring->ring, &from, events, 64)) > 0) {
        for (uint32_t i = 0; i < n; i++) {
            uint16_t thread = events[i].thread;
            if (thread < 64 && !(named >> thread & 1)) {
                named |= UINT64_C(1) << thread;
                name_thread(file, ring, thread);
            }
            write_event(file, &events[i]);
        }
    }
}

bool rz_trace_file_open(struct rz_trace_file *file, const char *path, const char **why)
{
    *file = (struct rz_trace_file){0};
    if (!rz_outfile_open(&file->out, path, why)) {
        return false;
    }
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file->out.file);
    return true;
}

void rz_trace_file_add(struct rz_trace_file *file, const struct rz_traces *traces, uint64_t job)
{
    struct writing writing = {.file = file};
    file->n_attempts++;
    rz_traces_each(traces, count_ring, &writing);
    rz_traces_each(traces, write_ring, &writing);
    for (uint32_t node = 0; node < traces->n_nodes && file->n_attempts == 1; node++) {
        separate(file);
        fprintf(file->out.file,
                "{\"ph\":\"M\",\"name\":\"rhizome_node\",\"pid\":0,\"args\":{\"job\":\"%016" PRIx64
                "\",\"node\":%u,\"clock\":\"CLOCK_MONOTONIC\",\"clock_offset_ns\":0}}",
                job, node);
    }
}

bool rz_trace_file_close(struct rz_trace_file *file, const char **why)
{
    if (!file->out.file) {
        return true;
    }
    fprintf(file->out.file,
            "\n],\"otherData\":{\"schema\":\"rhizome.trace.1\",\"lost\":\"%" PRIu64 "\"}}\n",
            file->n_lost);
    return rz_outfile_close(&file->out, true, why);
}
