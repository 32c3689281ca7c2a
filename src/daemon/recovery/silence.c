/* What follows when a node is silent: whether it is that node, or we, who are cut off. */
#include "daemon/state/loop.h"
#include "daemon/recovery/recovery_private.h"
#include "port/clock.h"
#include "port/run_delay.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* So many are asked at most whether they hear us. */
#define ASKED_MAX 64

/* They have so many timeouts to say something, and what our own lateness adds. */
#define ANSWER_TIMEOUTS 3

/*
 * A daemon that hears of a silent node, by its own detector or as news, asks all others whether
 * they are there: where those that answer are too few for a quorum it is this node that is cut off,
 * and stops. Else a side without quorum would have to report the members of the other side one
 * after the other before it knew; and if only the observer asked, the members of that side would
 * stop one after the other, each when it misses the one before it.
 */
struct rz_roll_call {
    struct rz_recovery *recovery;
    struct event *timer;
    rz_time asked_at, until; /* until 0: none is under way */
    uint8_t *vote; /* [n_nodes] enum rz_recover_vote: SILENT: asked, or reported; GONE: not asked */
    struct rz_run_look run[]; /* [n_nodes] of the daemons of this machine, when they were asked */
};

static uint32_t ask_others(struct rz_recovery *recovery, struct rz_roll_call *call)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    uint8_t *vote = call->vote;
    const struct rz_overlay_message ping = {.type = RZ_OVERLAY_PING};
    uint32_t asked = 0;
    for (rz_id node = 0; node < job->n_nodes; node += 1 + job->n_nodes / ASKED_MAX) {
        if (node == job->node || rz_membership_node_has_failed(&recovery->own->membership, node) ||
            vote[node] != RZ_VOTE_GONE)
            continue;
        rz_overlay_send(recovery->config.overlay, node, &ping);
        vote[node] = RZ_VOTE_SILENT;
        call->run[node] = rz_run_delay_look(job->peers[node].pid);
        asked++;
    }
    return asked;
}

static void arm(struct rz_roll_call *call)
{
    const struct rz_recovery *recovery = call->recovery;
    rz_time wait = ANSWER_TIMEOUTS * recovery->own->job.hb_timeout_ns +
                   rz_own_lateness_patience(&recovery->lateness);
    call->until = rz_clock_now() + wait;
    rz_loop_arm_every(call->timer, wait);
}

/* Whether there may still be answers enough: those on this machine that have had no processor since
 * they were asked cannot have heard it. Not for ever. */
static bool may_still_answer(const struct rz_roll_call *call)
{
    const struct rz_daemon_job *job = &call->recovery->own->job;
    uint8_t *vote = malloc(job->n_nodes);
    if (!vote || rz_clock_now() - call->asked_at > RZ_LATENESS_MAX) {
        free(vote);
        return false;
    }
    for (rz_id node = 0; node < job->n_nodes; node++) {
        struct rz_run_look now = {0};
        if (call->vote[node] == RZ_VOTE_SILENT)
            now = rz_run_delay_look(job->peers[node].pid);
        bool starved = rz_run_delay_lasts(&call->run[node], &now);
        vote[node] = starved ? (uint8_t)RZ_VOTE_LIVE : call->vote[node];
    }
    bool may = rz_recover_has_quorum(vote, job->n_nodes, RZ_ID_NONE);
    free(vote);
    return may;
}

static void count(evutil_socket_t fd, short what, void *arg)
{
    struct rz_roll_call *call = arg;
    struct rz_recovery *recovery = call->recovery;
    const struct rz_daemon_job *job = &recovery->own->job;
    (void)fd, (void)what;
    if (rz_clock_now() > call->until + job->hb_timeout_ns) {
        arm(call); /* we slept, and could not hear */
        return;
    }
    bool quorum = rz_recover_has_quorum(call->vote, job->n_nodes, RZ_ID_NONE);
    if (!quorum && may_still_answer(call)) {
        arm(call);
        return;
    }
    event_del(call->timer);
    call->until = 0;
    if (!recovery->own->membership.ending && !quorum)
        recovery->config.hooks.stop(recovery->config.hooks.arg, RZ_ERR_NO_QUORUM,
                                    "this node hears too few others for a quorum");
}

void rz_recovery_silence_told(struct rz_recovery *recovery, rz_id reported)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    struct rz_roll_call *call = recovery->roll_call;
    if (recovery->own->membership.ending)
        return;
    if (!call) {
        call = recovery->roll_call =
            calloc(1, sizeof *call + job->n_nodes * (sizeof *call->run + sizeof *call->vote));
        rz_assert(call != NULL);
        call->vote = (uint8_t *)(call->run + job->n_nodes);
        call->recovery = recovery;
        if (rz_loop_timer(recovery->own->base, &call->timer, count, call) != RZ_OK)
            rz_assert(!"memory for a timer");
    }
    if (call->until != 0)
        return; /* the reported is silent in that one, too */
    memset(call->vote, RZ_VOTE_GONE, job->n_nodes);
    call->vote[job->node] = RZ_VOTE_LIVE;
    call->vote[reported] = RZ_VOTE_SILENT;
    memset(call->run, 0, job->n_nodes * sizeof *call->run);
    call->run[reported] = rz_run_delay_look(job->peers[reported].pid);
    call->asked_at = rz_clock_now();
    if (ask_others(recovery, call) > 0) /* of two that are left each may be right */
        arm(call);
}

static void answer(struct rz_recovery *recovery, rz_id node, enum rz_recover_vote vote)
{
    struct rz_roll_call *call = recovery->roll_call;
    if (call && call->until != 0 && call->vote[node] == RZ_VOTE_SILENT)
        call->vote[node] = (uint8_t)vote;
}

void rz_recovery_heard(void *recovery, rz_id node)
{
    answer(recovery, node, RZ_VOTE_LIVE);
}

void rz_recovery_gone(struct rz_recovery *recovery, rz_id node)
{
    answer(recovery, node, RZ_VOTE_GONE);
}

void rz_recovery_roll_call_close(struct rz_recovery *recovery)
{
    if (!recovery->roll_call)
        return;
    rz_loop_free(recovery->roll_call->timer);
    free(recovery->roll_call);
}

void rz_recovery_node_silent(struct rz_recovery *recovery, rz_id node, const char *how)
{
    if (recovery->own->membership.ending ||
        rz_membership_node_has_failed(&recovery->own->membership, node))
        return; /* another has seen it first, and the news were faster */
    rz_recovery_record(recovery, RZ_EVENT_RECORD_FAILURE_SEEN, recovery->epoch, RZ_ID_NONE, node, 0,
                       0, how);
    rz_recovery_observe(recovery, rz_recover_pack_daemon(node, false));
}

/* Where it does not bind us one other node is left at most: it will not hear us any more, and
 * stops, for it has no quorum. */
void rz_recovery_fenced(struct rz_recovery *recovery)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    if (rz_recover_fence_binds(recovery->recover.embedded.state)) {
        recovery->config.hooks.stop(recovery->config.hooks.arg, RZ_ERR_FENCED,
                                    rz_recovery_stop_words(RZ_ERR_FENCED));
        return;
    }
    for (rz_id node = 0; node < job->n_nodes; node++)
        if (node != job->node)
            rz_recovery_node_silent(recovery, node, "it holds this node for failed");
}
