/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue of events about the failures of nodes. Each is held until the job has agreed on the
 * failure, and dropped if only a cut-off node reports it. */
#include "launch/settled.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

struct rz_settled_held {
    struct rz_settled_held *next;
    uint32_t by;
    struct rz_launch_event event;
    char note[];
};

void rz_settled_open(struct rz_settled *settled, uint32_t n_nodes,
                     void (*deliver)(void *arg, uint32_t by, const struct rz_launch_event *event),
                     void *arg)
{
    *settled = (struct rz_settled){.n_nodes = n_nodes, .deliver = deliver, .arg = arg};
    settled->nodes = calloc(n_nodes, sizeof(*settled->nodes));
    rz_need_memory(settled->nodes, "for events of nodes");
    settled->end = &settled->held;
}

void rz_settled_close(struct rz_settled *settled)
{
    while (settled->held) {
        struct rz_settled_held *held = settled->held;
        settled->held = held->next;
        free(held);
    }
    free(settled->nodes);
    settled->nodes = NULL;
}

static bool is_node(const struct rz_settled *settled, uint32_t node)
{
    return node < settled->n_nodes;
}

static void hold_event(struct rz_settled *settled, uint32_t by, const struct rz_launch_event *event)
{
    size_t bytes = strlen(event->note) + 1;
    struct rz_settled_held *held = malloc(sizeof(*held) + bytes);
    rz_need_memory(held, "for an event of a node");
    *held = (struct rz_settled_held){.by = by, .event = *event};
    memcpy(held->note, event->note, bytes);
    held->event.note = held->note;
    *settled->end = held;
    settled->end = &held->next;
}

/* Checks all held events: passes on those that count now, drops those that never will. */
static void look_at_held(struct rz_settled *settled)
{
    struct rz_settled_held *held, **at = &settled->held;
    while ((held = *at)) {
        bool dropped = settled->nodes[held->by].barred,
             due = settled->nodes[held->event.node].failed;
        if (!dropped && !due) {
            at = &held->next;
            continue;
        }
        if (!dropped) {
            settled->deliver(settled->arg, held->by, &held->event);
        }
        *at = held->next;
        free(held);
    }
    settled->end = at;
}

void rz_settled_cut_off(struct rz_settled *settled, uint32_t node)
{
    settled->nodes[node].barred = true;
    look_at_held(settled);
}

void rz_settled_gone(struct rz_settled *settled, uint32_t node)
{
    settled->nodes[node].failed = true;
    look_at_held(settled);
}

static bool settles(const struct rz_settled *settled, const struct rz_launch_event *event)
{
    if (event->rank != RZ_ID_NONE || !is_node(settled, event->node)) {
        return false;
    }
    return event->kind == RZ_EVENT_RECORD_EXCLUDED ||
           (event->kind == RZ_EVENT_RECORD_NOTED && !settled->left);
}

static bool reports(const struct rz_settled *settled, const struct rz_launch_event *event)
{
    return event->rank == RZ_ID_NONE && is_node(settled, event->node) &&
           (event->kind == RZ_EVENT_RECORD_FAILURE_SEEN ||
            event->kind == RZ_EVENT_RECORD_FAILURE_NEWS);
}

void rz_settled_event(struct rz_settled *settled, uint32_t by, const struct rz_launch_event *event)
{
    if (!is_node(settled, by) || settled->nodes[by].barred) {
        return;
    }
    settled->left |= event->kind == RZ_EVENT_RECORD_LEFT;
    if (settles(settled, event)) {
        settled->nodes[event->node] = (struct rz_settled_node){.failed = true, .barred = true};
        look_at_held(settled);
    }
    if (reports(settled, event) && !settled->nodes[event->node].failed) {
        hold_event(settled, by, event);
    } else {
        settled->deliver(settled->arg, by, event);
    }
}
