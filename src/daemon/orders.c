#include "daemon/orders.h"

#include "daemon/keeper.h"
#include "daemon/launcher.h"
#include "daemon/child.h"
#include "port/clock.h"
#include "wire/cursor.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* A daemon that is about to kill itself gives its last record so much time to leave. */
#define LAST_WORDS_MS 100

/* Of one network fault; more are not looked at. */
#define INJECT_NODES_MAX 64

static void record_injected(struct rz_daemon *daemon, const struct rz_launch_inject *inject,
                            uint32_t incarnation, const char *note)
{
    bool rank = inject->what == RZ_INJECT_KILL_RANK || inject->what == RZ_INJECT_STOP_RANK;
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_INJECTED,
                                    .epoch = daemon->epoch,
                                    .rank = rank ? inject->rank : RZ_ID_NONE,
                                    .node = daemon->job.node,
                                    .incarnation = incarnation,
                                    .value = inject->for_ns,
                                    .note = note};
    rz_daemon_record(daemon, &event);
}

static void inject_rank(struct rz_daemon *daemon, const struct rz_launch_inject *inject)
{
    struct rz_child *p = rz_child_of(daemon, inject->rank);
    if (!p) {
        rz_daemon_log(daemon, 0, "rank %u cannot be hit: it does not live on node %u", inject->rank,
                      daemon->job.node);
        return;
    }
    bool kill_it = inject->what == RZ_INJECT_KILL_RANK;
    record_injected(daemon, inject, p->incarnation, kill_it ? "kill rank" : "stop rank");
    if (kill_it)
        rz_child_signal(p, SIGKILL);
    else
        rz_child_stop_for(p, inject->for_ns);
}

/* Told to all nodes; those that are cut off, delayed or deafened record it. */
static void inject_network(struct rz_daemon *daemon, const struct rz_launch_inject *inject)
{
    static const char *const notes[] = {[RZ_INJECT_CUT] = "cut node",
                                        [RZ_INJECT_DELAY] = "delay node",
                                        [RZ_INJECT_LOSE] = "lose node",
                                        [RZ_INJECT_HEAL] = "heal"};
    uint32_t nodes[INJECT_NODES_MAX], n = inject->nodes_length / sizeof *nodes;
    struct rz_wire_reader r;
    bool here = inject->what == RZ_INJECT_HEAL;
    rz_wire_reader_init(&r, inject->nodes, inject->nodes_length);
    n = n < INJECT_NODES_MAX ? n : INJECT_NODES_MAX;
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = rz_wire_get_u32(&r);
        here |= nodes[i] == daemon->job.node;
    }
    if (rz_overlay_inject(daemon->overlay, (enum rz_inject)inject->what, nodes, n,
                          inject->amount) != RZ_OK)
        rz_daemon_log(daemon, 0, "the fault cannot be injected: no memory");
    else if (here)
        record_injected(daemon, inject, 0,
                        inject->amount > 0 ? notes[inject->what] : "end of a network fault");
}

void rz_orders_inject(struct rz_daemon *daemon, const struct rz_launch_inject *inject)
{
    switch ((enum rz_inject)inject->what) {
    case RZ_INJECT_KILL_RANK:
    case RZ_INJECT_STOP_RANK:
        inject_rank(daemon, inject);
        break;
    case RZ_INJECT_KILL_NODE:
        record_injected(daemon, inject, 0, "kill node");
        rz_launcher_flush(daemon->launcher, LAST_WORDS_MS);
        kill(getpid(), SIGKILL);
        break;
    case RZ_INJECT_STOP_NODE:
        if (daemon->lifeline_fd < 0 ||
            rz_keeper_freeze(daemon->lifeline_fd, inject->for_ns) != RZ_OK)
            rz_daemon_log(daemon, 0, "node %u cannot be stopped: it has no keeper to continue it",
                          daemon->job.node);
        else
            record_injected(daemon, inject, 0, "stop node");
        break;
    case RZ_INJECT_CUT:
    case RZ_INJECT_DELAY:
    case RZ_INJECT_LOSE:
    case RZ_INJECT_HEAL:
        inject_network(daemon, inject);
        break;
    }
}

void rz_orders_signal(struct rz_daemon *daemon, uint32_t number)
{
    if (number > 0 && number < NSIG)
        rz_children_signal(daemon, (int)number);
}

/* ---- who waits for whom */

static const enum rz_waiting_state idle_state[] = {[RZ_CHILD_SPAWNED] = RZ_WAITING_NOT_JOINED,
                                                   [RZ_CHILD_JOINED] = RZ_WAITING_COMPUTES,
                                                   [RZ_CHILD_LEFT] = RZ_WAITING_LEFT,
                                                   [RZ_CHILD_FAILED] = RZ_WAITING_FAILED};

static void tell_waiting(struct rz_daemon *daemon, const struct rz_child *p,
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
                    .for_ns = now > w->since_ns && w->since_ns > 0 ? now - w->since_ns : 0}};
    rz_daemon_tell_launcher(daemon, &message);
}

static void dump_process(struct rz_daemon *daemon, const struct rz_child *p)
{
    struct rz_wait_text text;
    bool waits = false;
    for (uint32_t i = 0; p->share.waits && i < RZ_WAITS_MAX; i++)
        if (p->state == RZ_CHILD_JOINED && rz_wait_read(&p->share.waits->wait[i], &text)) {
            waits = true;
            tell_waiting(daemon, p, RZ_WAITING_IN_CALL, &text);
        }
    if (!waits) {
        const struct rz_wait_text none = {.peer = RZ_WAIT_ANY, .tag = RZ_WAIT_ANY};
        tell_waiting(daemon, p, idle_state[p->state], &none);
    }
}

void rz_orders_dump_waiting(struct rz_daemon *daemon)
{
    for (struct rz_child *p = rz_children(daemon); p; p = p->next)
        dump_process(daemon, p);
    struct rz_launch_message end = {.type = RZ_LAUNCH_WAITING_END};
    rz_daemon_tell_launcher(daemon, &end);
}
