/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of the traces around a failure, as the JSON of a case file. */
#include "launch/cases_trace.h"

#include "base/no_memory.h"

#include <rhizome/types.h>

#include <stdlib.h>

/* Events of one ring, and of one list. */
#define RING_MAX 64u
#define BEFORE_MAX 1024u
#define AFTER_MAX 512u
#define ALL_MAX 4096u

static void set_in_trace(json_t *object, const char *key, json_t *value)
{
    int error = json_object_set_new(object, key, value);
    rz_need_memory(error == 0, "for the trace of a case");
}

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
    set_in_trace(event, "at_ns", json_integer((json_int_t)traced->event.at_ns));
    set_in_trace(event, "process", json_string(owner));
    set_in_trace(event, "thread", json_integer(traced->event.thread));
    set_in_trace(event, "module", json_string(rz_trace_module_name(meaning->module)));
    set_in_trace(event, "event", json_string(name));
    if (meaning->kind != RZ_TRACE_POINT) {
        set_in_trace(event, "edge", json_string(meaning->kind == RZ_TRACE_BEGIN ? "begin" : "end"));
    }
    for (int i = 0; i < 3; i++) {
        if (meaning->args[i][0]) {
            set_in_trace(args, meaning->args[i],
                         words[i] ? json_string(words[i]) : json_integer((json_int_t)values[i]));
        }
    }
    set_in_trace(event, "args", args);
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
    return daemon || process ? RING_MAX : 0;
}

json_t *rz_cases_trace_before(const struct rz_traces *traces, uint32_t rank, uint32_t incarnation,
                              uint32_t node, uint32_t by)
{
    struct concerned of = {rank, incarnation, node, by};
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, of_concerned, &of, BEFORE_MAX, &events);
    return list_of_events(events, n, 0, BEFORE_MAX);
}

static uint32_t whole_ring(void *arg, const struct rz_traces_ring *ring)
{
    (void)arg, (void)ring;
    return RZ_TRACE_SLOTS;
}

json_t *rz_cases_trace_after(const struct rz_traces *traces, uint64_t since_ns)
{
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, whole_ring, NULL, UINT32_MAX, &events);
    return list_of_events(events, n, since_ns, AFTER_MAX);
}

static uint32_t end_of_ring(void *arg, const struct rz_traces_ring *ring)
{
    (void)arg, (void)ring;
    return RING_MAX;
}

json_t *rz_cases_trace_all(const struct rz_traces *traces)
{
    struct rz_traced *events;
    uint32_t n = rz_traces_collect(traces, end_of_ring, NULL, ALL_MAX, &events);
    return list_of_events(events, n, 0, ALL_MAX);
}
