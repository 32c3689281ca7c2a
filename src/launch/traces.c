/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace memories of the nodes: makes them, reads their rings in the order of time, and writes
 * them into one file that Perfetto and chrome://tracing read. */
#include "launch/traces.h"

#include "base/no_memory.h"
#include "port/trace_memory.h"
#include "wire/launch_messages.h"
#include "wire/link_messages.h"
#include "wire/overlay_messages.h"

#include <rhizome/types.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rings of a node: it may come to carry all ranks, some of them several times. */
#define RINGS_PER_RANK 4u
#define RINGS_MIN 64u
#define RINGS_MAX 4096u

/* Events of one look, at most. */
#define SHOWN_MAX 65536u

struct rz_traces_seen {
    uint32_t node, index, slot, incarnation;
    uint64_t next;
};

/* ---- Memory ---- */

void rz_traces_open(struct rz_traces *traces, uint32_t n_nodes, uint32_t n_ranks,
                    const struct rz_trace_levels *levels)
{
    uint64_t n_rings = 1 + (uint64_t)n_ranks * RINGS_PER_RANK;
    n_rings = n_rings < RINGS_MIN ? RINGS_MIN : n_rings > RINGS_MAX ? RINGS_MAX : n_rings;
    *traces = (struct rz_traces){.n_nodes = n_nodes, .fds = malloc(n_nodes * sizeof(int))};
    rz_need_memory(traces->fds, "for the traces of the job");
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (rz_trace_memory_of_node(i, (uint32_t)n_rings, levels, &traces->fds[i]) != RZ_OK) {
            traces->fds[i] = -1;
        }
    }
}

void rz_traces_close(struct rz_traces *traces)
{
    for (uint32_t i = 0; i < traces->n_nodes; i++) {
        if (traces->fds[i] >= 0) {
            close(traces->fds[i]);
        }
    }
    free(traces->fds);
    free(traces->seen);
    *traces = (struct rz_traces){0};
}

/* ---- Reading ---- */

static uint32_t rings_of(int fd)
{
    struct rz_trace_ring *first;
    if (fd < 0 || rz_trace_memory_map(fd, 0, false, &first) != RZ_OK) {
        return 0;
    }
    uint32_t used = atomic_load(&first->rings), all = rz_trace_memory_rings(fd);
    rz_trace_memory_unmap(first);
    return used == 0 ? 1 : used < all ? used : all;
}

void rz_traces_each(const struct rz_traces *traces,
                    void (*look)(void *arg, const struct rz_traces_ring *ring), void *arg)
{
    for (uint32_t node = 0; node < traces->n_nodes; node++) {
        uint32_t n = rings_of(traces->fds[node]);
        for (uint32_t i = 0; i < n; i++) {
            struct rz_trace_ring *ring;
            if (rz_trace_memory_map(traces->fds[node], i, false, &ring) != RZ_OK) {
                continue;
            }
            look(arg, &(struct rz_traces_ring){.ring = ring,
                                               .node = node,
                                               .index = i,
                                               .slot = i == 0 ? RZ_ID_NONE : ring->slot,
                                               .incarnation = ring->incarnation,
                                               .pid = ring->pid});
            rz_trace_memory_unmap(ring);
        }
    }
}

struct event_collection {
    rz_traces_want_fn want;
    void *arg;
    struct rz_traced *events;
    size_t n, max;
};

static void add_event(struct event_collection *all, const struct rz_traces_ring *ring,
                      const struct rz_trace_event *event)
{
    if (all->n == all->max) {
        all->max = all->max > 0 ? 2 * all->max : 256;
        all->events = realloc(all->events, all->max * sizeof(*all->events));
        rz_need_memory(all->events, "for the traces of the job");
    }
    all->events[all->n++] = (struct rz_traced){
        .event = *event, .node = ring->node, .slot = ring->slot, .incarnation = ring->incarnation};
}

static void collect_ring(void *arg, const struct rz_traces_ring *ring)
{
    struct event_collection *all = arg;
    struct rz_trace_event events[64];
    uint32_t wanted = all->want(all->arg, ring), n;
    uint64_t from = rz_trace_last(ring->ring, wanted), end = rz_trace_last(ring->ring, 0);
    while (wanted > 0 && from < end && (n = rz_trace_read(ring->ring, &from, events, 64)) > 0) {
        for (uint32_t i = 0; i < n && events[i].number < end; i++) {
            add_event(all, ring, &events[i]);
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const struct rz_traced *one = a, *other = b;
    if (one->event.at_ns != other->event.at_ns) {
        return one->event.at_ns < other->event.at_ns ? -1 : 1;
    }
    return one->event.number < other->event.number ? -1 : one->event.number > other->event.number;
}

uint32_t rz_traces_collect(const struct rz_traces *traces, rz_traces_want_fn want, void *arg,
                           uint32_t max, struct rz_traced **events)
{
    struct event_collection all = {.want = want, .arg = arg};
    rz_traces_each(traces, collect_ring, &all);
    if (all.n > 1) {
        qsort(all.events, all.n, sizeof(*all.events), by_time);
    }
    if (all.n > max) {
        memmove(all.events, all.events + all.n - max, max * sizeof(*all.events));
        all.n = max;
    }
    *events = all.events;
    return (uint32_t)all.n;
}

/* ---- Showing ---- */

void rz_traces_owner(uint32_t node, uint32_t slot, uint32_t incarnation, char *text, size_t bytes)
{
    if (slot == RZ_ID_NONE) {
        snprintf(text, bytes, "daemon %u", node);
    } else {
        snprintf(text, bytes, "rank %u.%u", slot, incarnation);
    }
}

void rz_traces_name(const struct rz_trace_meaning *meaning, char *text, size_t bytes)
{
    size_t n = strlen(meaning->name);
    n -= meaning->kind == RZ_TRACE_BEGIN ? strlen("_BEGIN")
         : meaning->kind == RZ_TRACE_END ? strlen("_END")
                                         : 0;
    n = n < bytes ? n : bytes - 1;
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)tolower((unsigned char)meaning->name[i]);
    }
    text[n] = '\0';
}

static const char *word_of(uint32_t event, int arg, uint32_t number)
{
    switch (event) {
    case RZ_TRACE_ORDER:
    case RZ_TRACE_RZRUN_SAID:
        return arg == 0 ? rz_launch_type_name((enum rz_launch_type)number) : NULL;
    case RZ_TRACE_TOLD_DAEMON:
    case RZ_TRACE_HEARD_DAEMON:
        return arg == 0 ? rz_link_type_name((enum rz_link_type)number) : NULL;
    case RZ_TRACE_PROCESS_TOLD:
    case RZ_TRACE_PROCESS_SAID:
        return arg == 1 ? rz_link_type_name((enum rz_link_type)number) : NULL;
    case RZ_TRACE_PEER_TOLD:
    case RZ_TRACE_PEER_SAID:
        return arg == 1 ? rz_overlay_type_name((enum rz_overlay_type)number) : NULL;
    default:
        return NULL;
    }
}

void rz_traces_args(const struct rz_trace_event *event, uint64_t args[3], const char *words[3])
{
    args[0] = event->a;
    args[1] = event->b;
    args[2] = event->c;
    for (int i = 0; i < 3; i++) {
        words[i] = word_of(event->event, i, (uint32_t)args[i]);
    }
}

static void show_event(const struct rz_traced *traced, FILE *out, uint64_t since_ns)
{
    const struct rz_trace_meaning *meaning = rz_trace_meaning(traced->event.event);
    char owner[48], name[48];
    uint64_t args[3];
    const char *words[3];
    rz_traces_owner(traced->node, traced->slot, traced->incarnation, owner, sizeof(owner));
    rz_traces_name(meaning, name, sizeof(name));
    rz_traces_args(&traced->event, args, words);
    fprintf(out, "rzrun: %.6f s: %s: %s %s%s",
            ((double)traced->event.at_ns - (double)since_ns) / 1e9, owner,
            rz_trace_module_name(meaning->module), name,
            meaning->kind == RZ_TRACE_BEGIN ? " begins"
            : meaning->kind == RZ_TRACE_END ? " ends"
                                            : "");
    for (int i = 0; i < 3; i++) {
        const char *comma = i > 0 ? "," : "";
        if (meaning->args[i][0] && words[i]) {
            fprintf(out, "%s %s %s", comma, meaning->args[i], words[i]);
        } else if (meaning->args[i][0]) {
            fprintf(out, "%s %s %" PRIu64, comma, meaning->args[i], args[i]);
        }
    }
    fputc('\n', out);
}

static struct rz_traces_seen *seen_of(struct rz_traces *traces, const struct rz_traces_ring *ring)
{
    struct rz_traces_seen *seen = NULL;
    for (uint32_t i = 0; i < traces->n_seen && !seen; i++) {
        if (traces->seen[i].node == ring->node && traces->seen[i].index == ring->index) {
            seen = &traces->seen[i];
        }
    }
    if (!seen) {
        traces->seen = realloc(traces->seen, (traces->n_seen + 1) * sizeof(*traces->seen));
        rz_need_memory(traces->seen, "for the traces of the job");
        seen = &traces->seen[traces->n_seen++];
        *seen = (struct rz_traces_seen){.node = ring->node, .index = ring->index};
    }
    if (seen->slot != ring->slot || seen->incarnation != ring->incarnation) {
        seen->slot = ring->slot; /* it was given to another process */
        seen->incarnation = ring->incarnation;
        seen->next = 0;
    }
    return seen;
}

static uint32_t unseen(void *arg, const struct rz_traces_ring *ring)
{
    struct rz_traces_seen *seen = seen_of(arg, ring);
    uint64_t end = rz_trace_last(ring->ring, 0);
    uint64_t n = end > seen->next ? end - seen->next : 0;
    seen->next = end;
    return n < RZ_TRACE_SLOTS ? (uint32_t)n : RZ_TRACE_SLOTS;
}

void rz_traces_show(struct rz_traces *traces, FILE *out, uint64_t since_ns)
{
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, unseen, traces, SHOWN_MAX, &events);
    for (uint32_t i = 0; i < n; i++) {
        show_event(&events[i], out, since_ns);
    }
    free(events);
}

/* ---- --trace FILE ---- */

/* The bound of the file: so many events of an attempt, which is about 40 MB; each ring has an equal
 * share, but no less than FILE_EVENTS_MIN. */
#define FILE_EVENTS_MAX 262144u
#define FILE_EVENTS_MIN 64u

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
    uint32_t share = FILE_EVENTS_MAX / writing->n_rings, n;
    uint64_t from = rz_trace_last(ring->ring, share > FILE_EVENTS_MIN ? share : FILE_EVENTS_MIN);
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
