/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out rzrun's orders while the job runs: injected faults, signals, and the report of the
 * waits of this node's processes. */
#include "daemon/launcher/orders.h"

#include "daemon/launcher/keeper.h"
#include "daemon/process/child_life.h"
#include "daemon/process/tell_counts.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/process.h"
#include "port/signals.h"
#include "wire/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long a daemon that is about to kill itself waits until its last record is sent. */
#define LAST_WORDS_MS 100

/* The largest number of nodes of one network fault; further ones are ignored. */
#define INJECT_NODES_MAX 64

struct rz_orders {
    struct rz_orders_config config;
    const struct rz_own_node *own; /* copied from config */
};

static void record_injected(const struct rz_orders *orders, const struct rz_launch_inject *inject,
                            uint32_t incarnation, const char *note)
{
    bool rank = inject->what == RZ_INJECT_KILL_RANK || inject->what == RZ_INJECT_STOP_RANK;
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_INJECTED,
                                    .epoch = orders->own->membership.epoch,
                                    .rank = rank ? inject->rank : RZ_ID_NONE,
                                    .node = orders->own->job.node,
                                    .incarnation = incarnation,
                                    .value = inject->for_ns,
                                    .note = note};
    rz_report_event(&orders->own->report, &event);
}

static void inject_rank(const struct rz_orders *orders, const struct rz_launch_inject *inject)
{
    struct rz_child *p = rz_child_of(orders->config.children, inject->rank);
    if (!p) {
        rz_report_log(&orders->own->report, 0,
                      "no fault can be injected at rank %u: it does not run on node %u",
                      inject->rank, orders->own->job.node);
        return;
    }
    bool kill_it = inject->what == RZ_INJECT_KILL_RANK;
    record_injected(orders, inject, p->incarnation, kill_it ? "kill rank" : "stop rank");
    if (kill_it) {
        rz_child_signal(p, SIGKILL);
    } else {
        rz_child_stop_for(p, inject->for_ns);
    }
}

/* The order goes to all nodes. Those that are cut off, delayed or deafened record it. */
static void inject_network(const struct rz_orders *orders, const struct rz_launch_inject *inject)
{
    static const char *const notes[] = {[RZ_INJECT_CUT] = "cut node",
                                        [RZ_INJECT_DELAY] = "delay node",
                                        [RZ_INJECT_LOSE] = "lose node",
                                        [RZ_INJECT_HEAL] = "heal"};
    uint32_t nodes[INJECT_NODES_MAX], n = inject->nodes_length / sizeof(*nodes);
    struct rz_wire_reader r;
    bool here = inject->what == RZ_INJECT_HEAL;
    rz_wire_reader_init(&r, inject->nodes, inject->nodes_length);
    n = n < INJECT_NODES_MAX ? n : INJECT_NODES_MAX;
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = rz_wire_get_u32(&r);
        here |= nodes[i] == orders->own->job.node;
    }
    if (rz_overlay_inject(orders->config.overlay, (enum rz_inject)inject->what, nodes, n,
                          inject->amount) != RZ_OK) {
        rz_report_log(&orders->own->report, 0, "the fault cannot be injected: no memory");
    } else if (here) {
        record_injected(orders, inject, 0,
                        inject->amount > 0 ? notes[inject->what] : "end of a network fault");
    }
}

static const char *on_inject(void *arg, const struct rz_launch_message *message)
{
    const struct rz_orders *orders = arg;
    const struct rz_launch_inject *inject = &message->inject;
    switch ((enum rz_inject)inject->what) {
    case RZ_INJECT_KILL_RANK:
    case RZ_INJECT_STOP_RANK:
        inject_rank(orders, inject);
        break;
    case RZ_INJECT_KILL_NODE:
        record_injected(orders, inject, 0, "kill node");
        rz_launcher_flush(orders->config.launcher, LAST_WORDS_MS);
        rz_child_process_signal(getpid(), SIGKILL);
        break;
    case RZ_INJECT_STOP_NODE:
        if (orders->config.lifeline_fd < 0 ||
            rz_keeper_freeze(orders->config.lifeline_fd, inject->for_ns) != RZ_OK) {
            rz_report_log(&orders->own->report, 0,
                          "node %u cannot be stopped: it has no keeper to continue it",
                          orders->own->job.node);
        } else {
            record_injected(orders, inject, 0, "stop node");
        }
        break;
    case RZ_INJECT_CUT:
    case RZ_INJECT_DELAY:
    case RZ_INJECT_LOSE:
    case RZ_INJECT_HEAL:
        inject_network(orders, inject);
        break;
    }
    return NULL;
}

static const char *on_signal(void *arg, const struct rz_launch_message *message)
{
    const struct rz_orders *orders = arg;
    if (rz_child_process_is_signal(message->signal.number)) {
        rz_children_signal(orders->config.children, (int)message->signal.number);
    }
    return NULL;
}

/* ---- the report of waits ---- */

static const enum rz_waiting_state idle_state[] = {[RZ_CHILD_SPAWNED] = RZ_WAITING_NOT_JOINED,
                                                   [RZ_CHILD_JOINED] = RZ_WAITING_COMPUTES,
                                                   [RZ_CHILD_LEFT] = RZ_WAITING_LEFT,
                                                   [RZ_CHILD_FAILED] = RZ_WAITING_FAILED};

static enum rz_waiting_state idle_state_of(const struct rz_child *p)
{
    if (p->state == RZ_CHILD_SPAWNED && p->service != RZ_CHILD_UNSERVED) {
        return p->service == RZ_CHILD_CONNECTED ? RZ_WAITING_UNKNOWN : RZ_WAITING_LEFT;
    }
    return idle_state[p->state];
}

/* For how long the process has handed over no message and got none. */
static rz_time still_ns_of(const struct rz_child *p, rz_time now)
{
    rz_time changed =
        p->share.waits ? atomic_load_explicit(&p->share.waits->pairs_changed, memory_order_relaxed)
                       : 0;
    return changed == 0 ? UINT64_MAX : now > changed ? now - changed : 0;
}

/* What a stopped process does is not known: it neither runs nor waits in a call. */
static rz_time waited_ns_of(const struct rz_child *p)
{
    char state = rz_process_state(p->joined ? p->share.pid : p->pid);
    return state == 'T' || state == 't' ? RZ_WAITED_UNKNOWN : rz_child_waited_ns(p);
}

static void tell_waiting(const struct rz_orders *orders, const struct rz_child *p,
                         enum rz_waiting_state state, const struct rz_wait_text *w)
{
    rz_time now = rz_clock_now();
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_WAITING,
        .waiting = {.rank = p->rank,
                    .pid = (uint32_t)p->pid,
                    .state = state,
                    .call = w->call,
                    .communicator = w->name,
                    .context = w->context,
                    .members = w->members,
                    .operation = w->operation,
                    .peer = w->peer,
                    .tag = w->tag,
                    .flags = w->flags,
                    .waited_ns = waited_ns_of(p),
                    .still_ns = still_ns_of(p, now),
                    .for_ns = now > w->since_ns && w->since_ns > 0 ? now - w->since_ns : 0}};
    rz_report_send(&orders->own->report, &message);
}

static void dump_process(const struct rz_orders *orders, const struct rz_child *p)
{
    struct rz_wait_text text;
    bool waits = false;
    for (uint32_t i = 0; p->share.waits && i < RZ_WAITS_MAX; i++) {
        if (p->state == RZ_CHILD_JOINED && rz_wait_read(&p->share.waits->wait[i], &text)) {
            waits = true;
            tell_waiting(orders, p, RZ_WAITING_IN_CALL, &text);
        }
    }
    if (!waits) {
        const struct rz_wait_text none = {.peer = RZ_WAIT_ANY, .tag = RZ_WAIT_ANY};
        tell_waiting(orders, p, idle_state_of(p), &none);
    }
}

void rz_orders_dump_waiting(const struct rz_orders *orders)
{
    for (struct rz_child *p = orders->config.children->first; p; p = p->next) {
        dump_process(orders, p);
    }
    struct rz_launch_message end = {.type = RZ_LAUNCH_WAITING_END};
    rz_report_send(&orders->own->report, &end);
}

static const char *on_dump_waiting(void *arg, const struct rz_launch_message *message)
{
    const struct rz_orders *orders = arg;
    const struct rz_launch_dump_waiting *wanted = &message->dump_waiting;
    if (wanted->traffic) {
        rz_children_tell_traffic(orders->config.children);
    }
    if (wanted->ranks_length > 0) { /* before the times of the last changes are read */
        rz_children_tell_under_way(orders->config.children, wanted->ranks, wanted->ranks_length);
        atomic_thread_fence(memory_order_acquire);
    }
    rz_orders_dump_waiting(orders);
    return NULL;
}

/* ---- open and close ---- */

rz_status_t rz_orders_open(struct rz_orders **result, const struct rz_orders_config *config)
{
    struct rz_orders *orders = calloc(1, sizeof(*orders));
    if (!orders) {
        return RZ_ERR_NO_MEMORY;
    }
    orders->config = *config;
    orders->own = config->own;
    rz_launcher_handle(config->launcher, RZ_LAUNCH_INJECT, RZ_LAUNCHER_IN_JOB, on_inject, orders);
    rz_launcher_handle(config->launcher, RZ_LAUNCH_SIGNAL, RZ_LAUNCHER_IN_JOB, on_signal, orders);
    rz_launcher_handle(config->launcher, RZ_LAUNCH_DUMP_WAITING, RZ_LAUNCHER_IN_JOB,
                       on_dump_waiting, orders);
    *result = orders;
    return RZ_OK;
}

void rz_orders_close(struct rz_orders *orders)
{
    free(orders);
}
