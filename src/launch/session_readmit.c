/* SPDX-License-Identifier: BSD-3-Clause */
/* --readmit: lost hosts are asked every few seconds, by agents that start `rzd --version`. When one
 * answers, the newest checkpoint is written to files, and the job begins again on all hosts. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "port/clock.h"
#include "remote/agent.h"
#include "remote/tree.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ASK_EVERY_S 5
/* A host that does not answer within this time is asked again. */
#define ANSWER_WITHIN (10 * RZ_SECOND)
#define READMIT_AGENTS_END_MS 500

static void readmit_agent_said(void *arg, uint32_t node, const char *line)
{
    static const char answer[] = "rzd (Rhizome) " RZ_VERSION;
    struct rz_launch_session *session = arg;
    if (node < session->options->layout.n_nodes) {
        session->readmit.answered[node] |= strcmp(line, answer) == 0;
    }
}

static void readmit_agent_ended(void *arg, uint32_t node, int status)
{
    struct rz_launch_session *session = arg;
    if (node < session->options->layout.n_nodes && status == 0 && session->readmit.answered[node]) {
        rz_session_save_for(session, session->options->layout.nodes[node].host);
    }
}

static bool may_restart(const struct rz_launch_session *session)
{
    uint32_t most = session->options->restarts_max;
    return session->started && !session->ending && !session->save.signal && !session->save.host &&
           (most == 0 || session->attempts->n < most);
}

/* The first ones that were lost: each has an agent of its own. */
static uint32_t lost_hosts(struct rz_launch_session *session,
                           struct rz_remote_host hosts[RZ_TREE_FAN_OUT])
{
    const struct rz_launch_layout *layout = &session->options->layout;
    uint32_t n = 0;
    for (uint32_t i = 0; i < layout->n_nodes && n < RZ_TREE_FAN_OUT; i++) {
        const struct rz_node *node = &session->nodes[i];
        if (node->remote && (node->lost || node->gone)) {
            hosts[n++] = (struct rz_remote_host){.node = i, .name = layout->nodes[i].host};
            session->readmit.answered[i] = false;
        }
    }
    return n;
}

static void ask_agents(struct rz_launch_session *session, const struct rz_remote_host *hosts,
                       uint32_t n)
{
    static char command[1200];
    const struct rz_rzrun_options *options = session->options;
    snprintf(command, sizeof(command), "exec '%s' --version",
             options->remote_daemon ? options->remote_daemon : session->daemon);
    const struct rz_agents_config config = {
        .base = session->base,
        .words = (const char *const *)options->agent.texts,
        .command = command,
        .begin = {.release = "", /* rzd --version reads nothing, and learns no key */
                  .key = (const uint8_t *)"",
                  .agent = (const uint8_t *)"",
                  .rzrun = "",
                  .interface = "",
                  .port_range = "",
                  .command = ""},
        .arg = session,
        .said = readmit_agent_said,
        .ended = readmit_agent_ended};
    rz_agents_open(&session->readmit.asking, &config);
    session->readmit.asked_at = rz_clock_now();
    rz_agents_start(session->readmit.asking, hosts, n);
}

static void look_for_answers(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    struct rz_session_readmit *readmit = &session->readmit;
    struct rz_remote_host hosts[RZ_TREE_FAN_OUT];
    (void)fd, (void)what;
    if (readmit->asking && rz_agents_running(readmit->asking) > 0) {
        if (rz_clock_now() > readmit->asked_at + ANSWER_WITHIN) {
            rz_agents_signal(readmit->asking, SIGTERM);
        }
        return;
    }
    if (readmit->asking) {
        rz_agents_close(readmit->asking, 0);
        readmit->asking = NULL;
    }
    uint32_t n = may_restart(session) ? lost_hosts(session, hosts) : 0;
    if (n > 0) {
        ask_agents(session, hosts, n);
    }
}

void rz_session_readmit_open(struct rz_launch_session *session)
{
    if (!session->options->readmit || session->options->n_remote == 0) {
        return;
    }
    session->readmit.timer = event_new(session->base, -1, EV_PERSIST, look_for_answers, session);
    rz_need_memory(session->readmit.timer, "to ask lost hosts");
    event_add(session->readmit.timer, &(struct timeval){.tv_sec = ASK_EVERY_S});
}

void rz_session_readmit_close(struct rz_launch_session *session)
{
    if (session->readmit.asking) {
        rz_agents_signal(session->readmit.asking, SIGTERM);
        rz_agents_close(session->readmit.asking, READMIT_AGENTS_END_MS);
    }
    if (session->readmit.timer) {
        event_free(session->readmit.timer);
    }
}
