/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the faults that the user ordered to the daemons that carry them out, at their times. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "wire/cursor.h"

static void order_fault(struct rz_launch_session *session, uint32_t node, enum rz_inject what,
                        uint32_t rank, rz_time for_ns)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_INJECT,
                                        .inject = {.what = what, .rank = rank, .for_ns = for_ns}};
    rz_node_send(&session->nodes[node], &message);
    rz_kill_here(RZ_KILL_LAUNCH_FAULT);
}

/* Draws a running rank; RZ_ID_NONE: there is none. */
static uint32_t draw_rank(struct rz_launch_session *session)
{
    uint32_t running = 0, n = session->referee.outcome.n_ranks;
    for (uint32_t i = 0; i < n; i++) {
        running += session->referee.outcome.ranks[i].state == RZ_RANK_RUNNING;
    }
    if (running == 0) {
        return RZ_ID_NONE;
    }
    uint64_t skip = rz_random_below(&session->random, running);
    for (uint32_t i = 0; i < n; i++) {
        if (session->referee.outcome.ranks[i].state == RZ_RANK_RUNNING && skip-- == 0) {
            return i;
        }
    }
    return RZ_ID_NONE;
}

/* Draws a live node, but never the last one; RZ_ID_NONE: there is none. */
static uint32_t draw_node(struct rz_launch_session *session)
{
    uint32_t live = 0, n = session->options->layout.n_nodes;
    for (uint32_t i = 0; i < n; i++) {
        live += !session->nodes[i].gone;
    }
    if (live < 2) {
        return RZ_ID_NONE;
    }
    uint64_t skip = rz_random_below(&session->random, live);
    for (uint32_t i = 0; i < n; i++) {
        if (!session->nodes[i].gone && skip-- == 0) {
            return i;
        }
    }
    return RZ_ID_NONE;
}

/* Sends a fault of the network to all nodes: each daemon applies it to what it sends itself. */
static void order_network(struct rz_launch_session *session, const struct rz_fault *fault,
                          bool begin)
{
    static const enum rz_inject what[] = {[RZ_FAULT_CUT] = RZ_INJECT_CUT,
                                          [RZ_FAULT_DELAY] = RZ_INJECT_DELAY,
                                          [RZ_FAULT_LOSE] = RZ_INJECT_LOSE,
                                          [RZ_FAULT_HEAL] = RZ_INJECT_HEAL};
    uint8_t nodes[sizeof(fault->nodes)];
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, nodes, sizeof(nodes));
    for (uint32_t i = 0; i < fault->n_nodes; i++) { /* an attempt may have fewer than the job */
        if (fault->nodes[i] < session->options->layout.n_nodes) {
            rz_wire_put_u32(&w, fault->nodes[i]);
        }
    }
    struct rz_launch_message message = {.type = RZ_LAUNCH_INJECT,
                                        .inject = {.what = what[fault->deed],
                                                   .rank = RZ_ID_NONE,
                                                   .for_ns = fault->duration,
                                                   .nodes = nodes,
                                                   .nodes_length = (uint32_t)(w.at - w.start),
                                                   .amount = begin ? fault->amount : 0}};
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        if (!session->nodes[i].gone) {
            rz_node_send(&session->nodes[i], &message);
        }
    }
}

static void network_fault_is_over(evutil_socket_t fd, short what, void *arg)
{
    struct rz_session_fault *timed = arg;
    (void)fd, (void)what;
    if (!timed->session->ending) {
        order_network(timed->session, timed->fault, false);
    }
}

static void begin_network_fault(struct rz_launch_session *session, struct rz_session_fault *timed)
{
    const struct rz_fault *fault = timed->fault;
    order_network(session, fault, true);
    if (fault->duration == 0) {
        return;
    }
    timed->over = event_new(session->base, -1, 0, network_fault_is_over, timed);
    rz_need_memory(timed->over, "for a fault to be injected");
    rz_session_arm(timed->over, fault->duration);
}

/* The time of a kill. The daemon that kills itself says it, too; but rzrun may read first that the
 * others have agreed to continue without it, and refuse what it says. */
static void tell_kill(struct rz_launch_session *session, uint32_t node)
{
    const struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_INJECTED,
                                          .epoch = session->epoch,
                                          .rank = RZ_ID_NONE,
                                          .node = node,
                                          .at_ns = rz_clock_now(),
                                          .note = "kill node"};
    rz_settled_event(&session->settled, node, &event);
}

bool rz_session_kill_rank(struct rz_launch_session *session, uint32_t rank)
{
    const struct rz_rank *victim = &session->referee.outcome.ranks[rank];
    if (session->ending || victim->state != RZ_RANK_RUNNING) {
        return false;
    }
    order_fault(session, victim->node, RZ_INJECT_KILL_RANK, rank, 0);
    return true;
}

static void carry_out(struct rz_launch_session *session, struct rz_session_fault *timed)
{
    const struct rz_fault *fault = timed->fault;
    uint32_t victim = fault->target, n_nodes = session->options->layout.n_nodes;
    session->attempts->faults_done[timed - session->faults] = fault->when != RZ_FAULT_EVERY;
    if (fault->deed >= RZ_FAULT_CUT) {
        if (!session->ending) {
            begin_network_fault(session, timed);
        }
        return;
    }
    if (fault->random) {
        victim = fault->node ? draw_node(session) : draw_rank(session);
    }
    if (victim == RZ_ID_NONE || session->ending || (fault->node && victim >= n_nodes)) {
        return;
    }
    if (fault->node && fault->deed == RZ_FAULT_KILL) {
        tell_kill(session, victim);
    }
    if (fault->node) {
        order_fault(session, victim,
                    fault->deed == RZ_FAULT_KILL ? RZ_INJECT_KILL_NODE : RZ_INJECT_STOP_NODE,
                    RZ_ID_NONE, fault->duration);
    } else if (session->referee.outcome.ranks[victim].state == RZ_RANK_RUNNING) {
        order_fault(session, session->referee.outcome.ranks[victim].node,
                    fault->deed == RZ_FAULT_KILL ? RZ_INJECT_KILL_RANK : RZ_INJECT_STOP_RANK,
                    victim, fault->duration);
    }
}

static void time_has_come(evutil_socket_t fd, short what, void *arg)
{
    struct rz_session_fault *timed = arg;
    (void)fd, (void)what;
    carry_out(timed->session, timed);
}

void rz_session_arm_faults(struct rz_launch_session *session)
{
    if (session->faults_armed) {
        return;
    }
    session->faults_armed = true;
    for (uint32_t i = 0; i < session->options->n_faults; i++) {
        const struct rz_fault *fault = &session->options->faults[i];
        if (fault->when == RZ_FAULT_AT_ITERATION || session->attempts->faults_done[i]) {
            continue;
        }
        short persist = fault->when == RZ_FAULT_EVERY ? EV_PERSIST : 0;
        struct rz_session_fault *timed = &session->faults[i];
        *timed = (struct rz_session_fault){.session = session, .fault = fault};
        timed->timer = event_new(session->base, -1, persist, time_has_come, timed);
        rz_need_memory(timed->timer, "for a fault to be injected");
        rz_session_arm(timed->timer, fault->at);
    }
}

void rz_session_faults_at_iteration(struct rz_launch_session *session, uint64_t iteration)
{
    for (uint32_t i = 0; i < session->options->n_faults; i++) {
        const struct rz_fault *fault = &session->options->faults[i];
        if (fault->when != RZ_FAULT_AT_ITERATION || fault->iteration > iteration ||
            session->faults[i].fired || session->attempts->faults_done[i]) {
            continue;
        }
        session->faults[i].fired = true;
        session->faults[i].session = session;
        session->faults[i].fault = fault;
        carry_out(session, &session->faults[i]);
    }
}
