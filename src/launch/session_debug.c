/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the table of processes that debuggers read (mpir.h), and tells them when it is complete. */
#include "launch/session.h"

#include "launch/mpir.h"

/* A process that has joined has begun its program. Whether one that does not use MPI has is not
 * reported; it is taken to have after this time. */
#define DEBUG_BEGUN_NS RZ_SECOND

static void debug_tell(struct rz_launch_session *session)
{
    if (!session->debug.told) {
        session->debug.told = true;
        rz_mpir_tell_started();
    }
}

static void debug_all_begun(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    debug_tell(arg);
}

static const char *debug_program(const struct rz_rzrun_options *options, uint32_t rank)
{
    uint32_t part = 0;
    while (part + 1 < options->n_contexts && rank >= options->contexts[part].n_ranks) {
        rank -= options->contexts[part++].n_ranks;
    }
    return options->contexts[part].executable;
}

void rz_session_debug_begin(struct rz_launch_session *session)
{
    rz_mpir_begin(session->options->n_ranks);
    session->debug.timer = evtimer_new(session->base, debug_all_begun, session);
}

void rz_session_debug_started(struct rz_launch_session *session, const struct rz_node *node,
                              const struct rz_launch_started *told)
{
    const struct rz_rzrun_options *options = session->options;
    const char *host = node->remote ? options->layout.nodes[node->index].host : NULL;
    const char *program = told->rank < options->n_ranks ? debug_program(options, told->rank) : "";
    if (rz_mpir_started(told->rank, host, program, told->pid)) {
        rz_session_arm(session->debug.timer, DEBUG_BEGUN_NS);
    }
}

void rz_session_debug_joined(struct rz_launch_session *session, uint32_t rank, uint32_t incarnation)
{
    session->debug.joined += incarnation == 1 && rank < session->options->n_ranks;
    if (session->debug.joined == session->options->n_ranks) {
        debug_tell(session);
    }
}

void rz_session_debug_end(struct rz_launch_session *session)
{
    event_free(session->debug.timer);
    rz_mpir_end();
}
