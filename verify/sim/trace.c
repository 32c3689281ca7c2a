/* SPDX-License-Identifier: BSD-3-Clause */
/* The last events of a run as text lines, for the report of a violation; and what a watcher sees.
 */
#include "sim/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINES 120
#define LINE_BYTES 320

struct rz_sim_trace {
    FILE *live;
    uint64_t count;
    char line[LINES][LINE_BYTES];
};

struct rz_sim_trace *rz_trace_create(FILE *live)
{
    struct rz_sim_trace *trace = rz_sim_memory(NULL, sizeof(*trace));
    trace->live = live;
    trace->count = 0;
    return trace;
}

void rz_trace_destroy(struct rz_sim_trace *trace)
{
    free(trace);
}

void rz_trace_print(const struct rz_sim_trace *trace, FILE *out)
{
    uint64_t first = trace->count > LINES ? trace->count - LINES : 0;
    if (first > 0) {
        fprintf(out, "  ... %llu earlier events\n", (unsigned long long)first);
    }
    for (uint64_t i = first; i < trace->count; i++) {
        fprintf(out, "  %s\n", trace->line[i % LINES]);
    }
}

void rz_trace_line(struct rz_sim *sim, const char *format, ...)
{
    struct rz_sim_trace *trace = sim->trace;
    if (!trace) {
        return;
    }
    char *line = trace->line[trace->count++ % LINES];
    int n = snprintf(line, LINE_BYTES, "[%llu] ", (unsigned long long)sim->common->now);
    va_list list;
    va_start(list, format);
    vsnprintf(line + n, LINE_BYTES - (size_t)n, format, list);
    va_end(list);
    if (trace->live) {
        fprintf(trace->live, "  %s\n", line);
    }
}

static void put(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, bytes - used, format, list);
    va_end(list);
}

static void put_items(char *text, size_t bytes, const uint64_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < 8; i++) {
        put(text, bytes, "%s%llx", i == 0 ? " {" : " ", (unsigned long long)items[i]);
    }
    if (n > 0) {
        put(text, bytes, n > 8 ? " ...}" : "}");
    }
}

static void put_name(char *text, size_t bytes, const char *name, const char *kind, uint32_t number)
{
    if (name) {
        put(text, bytes, "%s", name);
    } else {
        put(text, bytes, "%s %u", kind, number);
    }
}

void rz_trace_packet(struct rz_sim *sim, const char *verb, rz_id member,
                     const struct rz_sim_packet *packet)
{
    if (!sim->trace) {
        return;
    }
    const struct rz_sim_scenario *scenario = sim->scenario;
    char text[256] = "";
    if (packet->is_call) {
        put_name(text, sizeof(text), scenario->call_name ? scenario->call_name(packet->call) : NULL,
                 "call", packet->call);
        put(text, sizeof(text), " %llx %llx %llx %llx", (unsigned long long)packet->arg[0],
            (unsigned long long)packet->arg[1], (unsigned long long)packet->arg[2],
            (unsigned long long)packet->arg[3]);
    } else {
        const struct rz_message *m = &packet->message;
        put_name(text, sizeof(text),
                 scenario->message_name ? scenario->message_name(m->type) : NULL, "message",
                 m->type);
        put(text, sizeof(text), " from %u origin %u seq %llu flags %x words %llx %llx", m->from,
            m->origin, (unsigned long long)m->seq, m->flags, (unsigned long long)m->word[0],
            (unsigned long long)m->word[1]);
    }
    put_items(text, sizeof(text), packet->items, packet->n_items);
    rz_trace_line(sim, "%u %s %s", member, verb, text);
}

void rz_trace_show(struct rz_sim *sim, enum rz_sim_sight sight, rz_id member, rz_id other,
                   const struct rz_sim_packet *packet)
{
    if (!sim->watcher) {
        return;
    }
    struct rz_sim_seen seen = {.sight = sight, .member = member, .other = other, .packet = packet};
    if (packet && packet->is_call) {
        seen.what = packet->call;
        seen.arg = packet->arg;
    } else if (packet) {
        seen.message = &packet->message;
    }
    sim->watcher->see(sim->watcher->data, sim, &seen);
}

void rz_trace_show_notice(struct rz_sim *sim, rz_id member, const struct rz_action *action)
{
    if (sim->watcher) {
        struct rz_sim_seen seen = {.sight = RZ_SIM_SEES_NOTICE,
                                   .member = member,
                                   .other = RZ_ID_NONE,
                                   .what = action->what,
                                   .arg = action->arg};
        sim->watcher->see(sim->watcher->data, sim, &seen);
    }
}

void rz_trace_notice(struct rz_sim *sim, rz_id member, const struct rz_action *action)
{
    if (!sim->trace) {
        return;
    }
    const struct rz_sim_scenario *scenario = sim->scenario;
    char text[256] = "";
    put_name(text, sizeof(text), scenario->notice_name ? scenario->notice_name(action->what) : NULL,
             "notice", action->what);
    put(text, sizeof(text), " %llx %llx %llx %llx", (unsigned long long)action->arg[0],
        (unsigned long long)action->arg[1], (unsigned long long)action->arg[2],
        (unsigned long long)action->arg[3]);
    put_items(text, sizeof(text), action->items, action->n_items);
    rz_trace_line(sim, "%u   tells its host %s", member, text);
}
