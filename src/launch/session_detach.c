/* SPDX-License-Identifier: BSD-3-Clause */
/* Detaches the job: rzrun ends, and the job continues. It takes two steps, so that no job continues
 * with an unknown number: each node says that it can continue, the number is printed, each node is
 * released. Until then the loss of rzrun ends the job. */
#include "launch/session.h"

#include "outcome/exit_codes.h"
#include "port/kill_point.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rz_session_detach(struct rz_launch_session *session)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_DETACH};
    if (session->detaching || session->ending) {
        return;
    }
    session->detaching = true;
    rz_session_send_all(session, &message);
}

void rz_session_detach_if_all_run(struct rz_launch_session *session)
{
    const struct rz_outcome *outcome = &session->referee.outcome;
    for (uint32_t i = 0; i < outcome->n_ranks; i++) {
        if (outcome->ranks[i].state == RZ_RANK_WAITED_FOR) {
            return;
        }
    }
    if (session->options->detach) {
        rz_session_detach(session);
    }
}

static bool tell_number(struct rz_launch_session *session)
{
    errno = 0;
    rz_kill_here(RZ_KILL_LAUNCH_CAN_DETACH);
    if (printf("%016" PRIx64 "\n", session->job) > 0 && fflush(stdout) == 0) {
        return session->numbered = true;
    }
    rz_outcome_decide(&session->referee.outcome, RZ_EXIT_OUTPUT,
                      "the job was ended: its number cannot be written: %s", strerror(errno));
    rz_launch_session_end(session, 0);
    return false;
}

/* Whether there is a node, and all nodes that are left have reached this step. */
static bool all(const struct rz_launch_session *session, unsigned step)
{
    bool any = false;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        const struct rz_node *node = &session->nodes[i];
        if (node->detached < step && !node->gone) {
            return false;
        }
        any |= node->detached >= step;
    }
    return any;
}

static void let_all_go(struct rz_launch_session *session)
{
    const struct rz_launch_message go = {.type = RZ_LAUNCH_LET_GO};
    rz_kill_here(RZ_KILL_LAUNCH_NUMBER);
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        rz_node_send(&session->nodes[i], &go);
        rz_kill_here(RZ_KILL_LAUNCH_LET_GO);
    }
}

void rz_session_look_at_detached(struct rz_launch_session *session)
{
    if (session->ending || !session->detaching) {
        return;
    }
    if (!session->numbered && all(session, RZ_NODE_CAN_DETACH) && tell_number(session)) {
        let_all_go(session);
    }
    session->detached = session->numbered && all(session, RZ_NODE_DETACHED);
    if (session->detached) {
        event_base_loopbreak(session->base);
    }
}
