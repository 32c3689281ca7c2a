/* SPDX-License-Identifier: BSD-3-Clause */
/* The roll call after a node was found silent: it decides whether that node or this one is cut off;
 * and the fence around a node that was excluded for its silence. */
#include "daemon/state/loop.h"
#include "daemon/recovery/recovery_private.h"
#include "port/clock.h"
#include "port/process.h"
#include "port/run_delay.h"

#include "base/no_memory.h"
#include "base/trace.h"

#include <stdlib.h>
#include <string.h>

/* The number of timeouts that the other daemons have for their answers, beside this daemon's
 * lateness. */
#define ANSWER_TIMEOUTS 3

/* Daemons of this machine that get no processor are waited for until then. */
#define STARVED_MAX (4 * RZ_LATENESS_MAX)

/*
 * A roll call: recovery asks all other daemons whether they are there (proto/recover, "roll call").
 * If those that answer are too few for a quorum, this node is cut off, and stops.
 */
struct rz_roll_call {
    struct rz_recovery *recovery;
    struct event *timer;
    rz_time asked_at, until;
    struct {
        struct rz_run_look run; /* sample taken when it was asked, if it is on this machine */
        const char *how;        /* how it was last found silent */
    } node[];                   /* [n_nodes] */
};

static void arm_roll_call(struct rz_roll_call *call)
{
    const struct rz_recovery *recovery = call->recovery;
    rz_time wait = ANSWER_TIMEOUTS * recovery->own->job.hb_timeout_ns +
                   rz_own_lateness_patience(&recovery->lateness);
    call->until = rz_clock_now() + wait;
    rz_loop_arm_every(call->timer, wait);
}

/* How long a daemon has waited for a processor since it was asked; 0 for one of another machine. It
 * answers when it runs, and may have to run several times, for the connection is made first. */
static rz_time starved_for(const struct rz_roll_call *call, rz_id node)
{
    const struct rz_run_look *asked = &call->node[node].run;
    rz_time elapsed = rz_clock_now() - call->asked_at;
    struct rz_run_look now = rz_run_delay_look(call->recovery->own->job.peers[node].pid);
    bool looked_at = asked->ran > 0 && now.ran > 0 && elapsed < STARVED_MAX;
    return looked_at ? rz_run_delay_between(asked, &now, elapsed) : 0;
}

/* Whether there may still be enough answers: some daemons have not had the time to answer. */
static bool may_still_answer(const struct rz_roll_call *call)
{
    const struct rz_recovery *recovery = call->recovery;
    const struct rz_daemon_job *job = &recovery->own->job;
    rz_time elapsed = rz_clock_now() - call->asked_at,
            enough = ANSWER_TIMEOUTS * job->hb_timeout_ns;
    uint8_t *vote = malloc(job->n_nodes);
    if (!vote) {
        return false;
    }
    memcpy(vote, rz_recover_answers(recovery->recover.embedded.state), job->n_nodes);
    for (rz_id node = 0; node < job->n_nodes; node++) {
        if (vote[node] == RZ_VOTE_SILENT && elapsed - starved_for(call, node) < enough) {
            vote[node] = RZ_VOTE_LIVE;
        }
    }
    bool may = rz_recover_has_quorum(vote, job->n_nodes, RZ_ID_NONE);
    free(vote);
    return may;
}

static void look_at_roll_call(evutil_socket_t fd, short what, void *arg)
{
    struct rz_roll_call *call = arg;
    struct rz_recovery *recovery = call->recovery;
    const struct rz_recover *state = recovery->recover.embedded.state;
    (void)fd, (void)what;
    event_del(call->timer);
    if (recovery->own->membership.ending || !rz_recover_asking(state)) {
        return;
    }
    bool slept = rz_clock_now() > call->until + recovery->own->job.hb_timeout_ns;
    if (slept || may_still_answer(call)) { /* a daemon that has slept could not receive answers */
        arm_roll_call(call);
    } else {
        recovery->config.hooks.stop(recovery->config.hooks.arg, RZ_ERR_NO_QUORUM,
                                    "this node hears too few others for a quorum");
    }
}

static struct rz_roll_call *roll_call(struct rz_recovery *recovery)
{
    struct rz_roll_call *call = recovery->roll_call;
    if (call) {
        return call;
    }
    uint32_t n_nodes = recovery->own->job.n_nodes;
    call = recovery->roll_call = calloc(1, sizeof(*call) + n_nodes * sizeof(*call->node));
    rz_need_memory(call, "for a roll call");
    call->recovery = recovery;
    if (rz_loop_timer(recovery->own->base, &call->timer, look_at_roll_call, call) != RZ_OK) {
        rz_no_memory("for a roll call");
    }
    return call;
}

void rz_recovery_asking(struct rz_recovery *recovery)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    struct rz_roll_call *call = roll_call(recovery);
    if (!rz_recover_asking(recovery->recover.embedded.state)) {
        return; /* enough have answered meanwhile */
    }
    const uint8_t *vote = rz_recover_answers(recovery->recover.embedded.state);
    for (rz_id node = 0; node < job->n_nodes; node++) {
        call->node[node].run = vote[node] == RZ_VOTE_SILENT
                                   ? rz_run_delay_look(job->peers[node].pid)
                                   : (struct rz_run_look){0};
    }
    RZ_TRACE(ROLL_CALL, recovery->epoch, 0, 0);
    call->asked_at = rz_clock_now();
    arm_roll_call(call);
}

void rz_recovery_heard(void *arg, rz_id node)
{
    struct rz_recovery *recovery = arg;
    if (rz_recover_asking(recovery->recover.embedded.state)) {
        rz_core_call(&recovery->recover, RZ_RECOVER_HEARD, node, 0, 0);
    }
}

void rz_recovery_roll_call_close(struct rz_recovery *recovery)
{
    if (!recovery->roll_call) {
        return;
    }
    rz_loop_free(recovery->roll_call->timer);
    free(recovery->roll_call);
}

void rz_recovery_node_silent(struct rz_recovery *recovery, rz_id node, const char *how)
{
    if (recovery->own->membership.ending) {
        return;
    }
    /* SWIM has waited for a refutation, and its findings are final. */
    bool for_good = recovery->detector.embedded.protocol->number == RZ_PROTOCOL_SWIM;
    RZ_TRACE(NODE_SILENT, node, 0, 0);
    roll_call(recovery)->node[node].how = how;
    rz_core_call(&recovery->recover, RZ_RECOVER_SUSPECT, node, for_good, 0);
}

static void report(struct rz_recovery *recovery, rz_id node, const char *how)
{
    if (recovery->own->membership.ending ||
        rz_membership_node_has_failed(&recovery->own->membership, node)) {
        return; /* another daemon found it first, and its report is here already */
    }
    rz_recovery_found_failed(recovery, node, false, how);
}

/* A daemon that has mostly waited for a processor since it was asked is not reported: the ring
 * finds it silent again if it stays so. What SWIM finds it finds once. */
void rz_recovery_report(struct rz_recovery *recovery, rz_id node)
{
    const struct rz_roll_call *call = roll_call(recovery);
    bool for_good = recovery->detector.embedded.protocol->number == RZ_PROTOCOL_SWIM;
    if (for_good || starved_for(call, node) <= (rz_clock_now() - call->asked_at) / 2) {
        report(recovery, node, call->node[node].how);
    }
}

/* If the fence does not bind this node, at most one other node is left. That node no longer listens
 * to this one, and it will stop, because it has no quorum. */
void rz_recovery_fenced(struct rz_recovery *recovery)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    if (rz_recover_fence_binds(recovery->recover.embedded.state)) {
        recovery->config.hooks.stop(recovery->config.hooks.arg, RZ_ERR_FENCED,
                                    rz_recovery_stop_words(RZ_ERR_FENCED));
        return;
    }
    for (rz_id node = 0; node < job->n_nodes; node++) {
        if (node != job->node) {
            report(recovery, node, "it considers this node failed");
        }
    }
}

/*
 * ---- The fence ----
 *
 * The processes of a node that was excluded because it was silent may run on. In a job that rewinds
 * they would write to files that other processes restore: so they are ended first, or waited for.
 */

/* Timeouts after which a living node has ended its processes, whether it is stopped, slow, or cut
 * off: their lease has run out (state/board_writer.c), or it has found no quorum. */
#define FENCE_TIMEOUTS 4

void rz_recovery_fence(struct rz_recovery *recovery, rz_id node)
{
    struct rz_membership *membership = &recovery->own->membership;
    const struct rz_daemon_job *job = &recovery->own->job;
    if (!(job->flags & RZ_JOB_REWIND) || node == job->node ||
        membership->nodes[node] & (RZ_NODE_PROVED | RZ_NODE_FENCED)) {
        return;
    }
    membership->nodes[node] |= RZ_NODE_FENCED;
    if (job->peers[node].pid <= 0 || !rz_process_end_twin(job->peers[node].pid)) {
        membership->fenced_at = rz_clock_now() + FENCE_TIMEOUTS * job->hb_timeout_ns;
    }
}
