/* SPDX-License-Identifier: BSD-3-Clause */
/* The traces of the job's processes, and what --verbose says: a line for each event of the job;
 * given twice, the traces too, as they come. */
#include "launch/session.h"

#include "base/assert.h"
#include "port/clock.h"

#define SHOW_EVERY_MS 100

static void show(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    rz_traces_show(&session->traces, stderr, session->attempts->begun);
}

void rz_session_trace_open(struct rz_launch_session *session)
{
    const struct rz_rzrun_options *options = session->options;
    const struct timeval every = {.tv_usec = SHOW_EVERY_MS * 1000};
    rz_traces_open(&session->traces, options->layout.n_nodes, options->n_ranks, &options->levels);
    for (uint32_t i = 0; i < options->layout.n_nodes; i++) {
        session->nodes[i].trace_fd = session->traces.fds[i];
        if (options->trace && session->traces.fds[i] < 0) {
            fprintf(stderr, "rzrun: --trace: there is no memory for the trace of node %u\n", i);
        }
    }
    if (options->verbosity > 1) {
        session->show_traces = event_new(session->base, -1, EV_PERSIST, show, session);
        rz_assert(session->show_traces != NULL);
        event_add(session->show_traces, &every);
    }
}

void rz_session_trace_end(struct rz_launch_session *session)
{
    if (session->show_traces) {
        rz_traces_show(&session->traces, stderr, session->attempts->begun);
    }
    if (session->attempts->trace.out.file) {
        rz_trace_file_add(&session->attempts->trace, &session->traces, session->job);
    }
}

void rz_session_trace_close(struct rz_launch_session *session)
{
    if (session->show_traces) {
        event_free(session->show_traces);
    }
    rz_traces_close(&session->traces);
}
