/* What follows when a node is silent: whether it is that node, or we, who are cut off. */
#include "daemon/store_private.h"
#include "port/clock.h"

/* So many are asked at most whether they hear us. */
#define ASKED_MAX 64

/* Asks others whether they hear us: all, or of very many an even choice. */
static void ask_others(struct rz_recovery *recovery)
{
    const struct rz_daemon_job *job = &recovery->daemon->job;
    const struct rz_overlay_message ping = {.type = RZ_OVERLAY_PING};
    for (rz_id node = 0; node < job->n_nodes; node += 1 + job->n_nodes / ASKED_MAX)
        if (node != job->node && !rz_recovery_node_dead(recovery, node))
            rz_overlay_send(recovery->daemon->overlay, node, &ping);
}

static uint32_t living(const struct rz_recovery *recovery)
{
    uint32_t n = 0;
    for (rz_id node = 0; node < recovery->daemon->job.n_nodes; node++)
        n += !rz_recovery_node_dead(recovery, node);
    return n;
}

/*
 * Whether it is we who are cut off: we asked others when we accused one of silence, and nobody has
 * said anything for a timeout. Who goes on then accuses all others one after the other; where they
 * hear us, and only we are deaf, they believe it. Of two that are left each may be right.
 */
static bool alone(struct rz_recovery *recovery)
{
    uint64_t heard = rz_overlay_heard(recovery->daemon->overlay);
    rz_time now = rz_clock_now();
    if (recovery->accused_at == 0 || heard != recovery->heard) {
        recovery->accused_at = now;
        recovery->heard = heard;
        return false;
    }
    return now - recovery->accused_at >= recovery->daemon->job.hb_timeout_ns &&
           living(recovery) > 2;
}

void rz_recovery_node_silent(struct rz_recovery *recovery, rz_id node, const char *how)
{
    if (recovery->ending || rz_recovery_node_dead(recovery, node))
        return; /* another has seen it first, and the news were faster */
    if (alone(recovery)) {
        recovery->hooks->stop(recovery->daemon, RZ_ERR_NO_QUORUM, "this node hears no other one");
        return;
    }
    rz_recovery_record(recovery, RZ_EVENT_RECORD_DEATH_SEEN, recovery->epoch, RZ_ID_NONE, node, 0,
                       0, how);
    rz_recovery_observe(recovery, rz_recover_pack_daemon(node, false));
    ask_others(recovery);
}
