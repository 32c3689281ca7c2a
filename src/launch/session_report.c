/* SPDX-License-Identifier: BSD-3-Clause */
/* What --report-html needs of a session: it passes messages on to the report, and asks the daemons
 * again and again which calls wait. A daemon that has not answered is not asked again, so that a
 * slow one gets no queue of requests. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "port/clock.h"

static void arm_sampler(struct rz_launch_session *session)
{
    rz_session_arm(session->sampler, rz_html_report_every(session->attempts->report));
}

static void take_samples(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    bool traffic = rz_html_report_traffic_due(session->attempts->report, rz_clock_now());
    const struct rz_launch_message message = {.type = RZ_LAUNCH_DUMP_WAITING,
                                              .dump_waiting = {.traffic = traffic}};
    (void)fd, (void)what;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        struct rz_node *node = &session->nodes[i];
        if (session->started && !session->ending && !node->gone && !node->sampled &&
            node->n_asked_waits == 0) {
            node->sampled = true;
            rz_node_send(node, &message);
        }
    }
    session->sampled_at = rz_clock_now();
    arm_sampler(session);
}

void rz_session_report_open(struct rz_launch_session *session)
{
    struct rz_html_report *report = session->attempts->report;
    const struct rz_launch_layout *layout = &session->options->layout;
    if (!report) {
        return;
    }
    rz_html_report_attempt(report, session->job, rz_clock_now());
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        rz_html_report_node(report, i, session->options->named ? layout->nodes[i].host : "");
    }
    session->sampler = evtimer_new(session->base, take_samples, session);
    rz_need_memory(session->sampler, "for the report of a job");
    arm_sampler(session);
}

void rz_session_report_message(struct rz_launch_session *session,
                               const struct rz_launch_message *message)
{
    struct rz_html_report *report = session->attempts->report;
    if (!report) {
        return;
    }
    if (message->type == RZ_LAUNCH_EXITED) {
        rz_html_report_exited(report, &message->exited, rz_clock_now());
    } else if (message->type == RZ_LAUNCH_MARK) {
        rz_html_report_mark(report, &message->mark);
    } else if (message->type == RZ_LAUNCH_TRAFFIC) {
        rz_html_report_traffic(report, &message->traffic);
    }
}

void rz_session_report_waiting(struct rz_launch_session *session, const struct rz_node *node,
                               const struct rz_launch_waiting *told)
{
    if (session->attempts->report && node->sampled) {
        rz_html_report_waiting(session->attempts->report, told, session->sampled_at);
    }
}

void rz_session_report_end(struct rz_launch_session *session, int status, const char *cause)
{
    if (session->attempts->report) {
        rz_html_report_attempt_over(session->attempts->report, status, cause,
                                    rz_cases_documents(session->cases), rz_clock_now());
    }
}

void rz_session_report_close(struct rz_launch_session *session)
{
    if (session->sampler) {
        event_free(session->sampler);
    }
}
