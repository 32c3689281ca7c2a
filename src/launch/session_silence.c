/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds each wait of rzrun. Silent daemons are asked for a sign of life, and the job is ended with
 * a message when all its daemons have been silent for too long. A start that makes no progress is
 * ended, too. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"
#include "port/process.h"
#include "port/processor.h"

#include <event2/event.h>
#include <stdio.h>

static const char *state_text(char state)
{
    switch (state) {
    case 'T':
        return "it is stopped (SIGSTOP, Ctrl-Z; SIGCONT continues it)";
    case 't':
        return "it is stopped by a debugger";
    case 'R':
        return "it waits for a processor";
    case 'D':
        return "it waits for a disk or a file server";
    default:
        return "it does not answer";
    }
}

/* A node on which the end of the job still depends. */
static bool is_watched(const struct rz_launch_session *session, const struct rz_node *node)
{
    return !node->gone && !node->lost && node->epoch >= session->epoch;
}

static void ask_whether_alive(struct rz_node *node)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_ALIVE};
    if (node->asked) {
        return;
    }
    node->asked = true;
    rz_node_send(node, &message);
}

/* The node whose silence counts as the silence of the job: where failures are detected all daemons
 * must be silent, else one is enough. NULL: there is no node to receive anything from. */
static struct rz_node *most_silent(struct rz_launch_session *session, rz_time passed)
{
    const struct rz_rzrun_options *options = session->options;
    struct rz_node *found = NULL, *lost = NULL;
    for (uint32_t i = 0; i < options->layout.n_nodes; i++) {
        struct rz_node *node = &session->nodes[i];
        if (node->gone) {
            continue;
        }
        char state = node->daemon_pid ? rz_process_state((pid_t)node->daemon_pid) : 0;
        rz_time silent = rz_silent_look(&node->silence, passed, state);
        if (silent > 0) {
            ask_whether_alive(node);
        }
        /* Counts only if there is no other node. */
        if (!is_watched(session, node)) {
            lost = !lost || silent < lost->silence.lasted ? node : lost;
        } else if (!found || (options->no_ft ? silent > found->silence.lasted
                                             : silent < found->silence.lasted)) {
            found = node;
        }
    }
    return found ? found : lost;
}

/* "node 1, process 123: it is stopped", or "node 1 (its host)". */
static const char *daemon_text(const struct rz_launch_session *session, const struct rz_node *node)
{
    static char text[160];
    if (node->remote) {
        snprintf(text, sizeof(text), "node %u (host %s)", node->index,
                 session->options->layout.nodes[node->index].host);
    } else {
        snprintf(text, sizeof(text), "node %u, process %u: %s", node->index, node->daemon_pid,
                 state_text(rz_process_state((pid_t)node->daemon_pid)));
    }
    return text;
}

static void give_up(struct rz_launch_session *session, const struct rz_node *node)
{
    rz_outcome_decide(&session->referee.outcome, RZ_EXIT_LOST,
                      "the job was ended: %s for %.3g s (--silence-timeout); the "
                      "daemon of %s",
                      session->options->no_ft ? "a daemon has said nothing"
                                              : "no daemon has said anything",
                      (double)node->silence.lasted / 1e9, daemon_text(session, node));
    rz_session_leave_loop(session);
}

static void look_at_silence(struct rz_launch_session *session, rz_time passed)
{
    const struct rz_rzrun_options *options = session->options;
    const struct rz_node *node = most_silent(session, passed);
    if (!node) {
        return;
    }
    rz_time silent = node->silence.lasted, bound = options->silence_timeout;
    if (silent >= bound) {
        give_up(session, node);
    } else if (silent < RZ_SILENT_WORTH_TELLING) {
        session->silence_told = false;
    } else if (!session->silence_told && node->remote) {
        session->silence_told = true;
        fprintf(stderr,
                "rzrun: the daemon of %s has said nothing for %.3g s; the job waits for it until "
                "%.3g s (--silence-timeout)\n",
                daemon_text(session, node), (double)silent / 1e9, (double)bound / 1e9);
    } else if (!session->silence_told) {
        session->silence_told = true;
        fprintf(stderr,
                "rzrun: the daemon of node %u, process %u, has said nothing for %.3g s: %s; the "
                "job waits for it until %.3g s (--silence-timeout)\n",
                node->index, node->daemon_pid, (double)silent / 1e9,
                state_text(rz_process_state((pid_t)node->daemon_pid)), (double)bound / 1e9);
    }
}

static void look_at_start(struct rz_launch_session *session, rz_time passed)
{
    const double bound_s = (double)session->options->start_timeout / 1e9;
    const char *missing = session->hosts ? rz_hosts_missing(session->hosts) : "";
    uint32_t n = session->options->layout.n_nodes;
    /* The daemon's process is not known before it reports. */
    char state = rz_processors_busy() ? 'R' : 0;
    if (rz_silent_look(&session->start, passed, state) < session->options->start_timeout) {
        return;
    }
    if (session->started) {
        rz_outcome_decide(
            &session->referee.outcome, RZ_EXIT_START,
            "not all processes have started, and none did within %.3g s (--start-timeout)",
            bound_s);
    } else if (session->preload.nodes) {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START,
                          "--preload: no host took any part of a file for %.3g s "
                          "(--start-timeout); %s",
                          bound_s, rz_session_preload_missing(session));
    } else {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START,
                          "%u of %u daemons have not reported, and none did within %.3g s "
                          "(--start-timeout)%s%s",
                          n - session->n_listening, n, bound_s, *missing ? "; " : "", missing);
        rz_session_leave_out(session);
    }
    rz_session_leave_loop(session);
}

static void look_for_silence(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    rz_time now = rz_clock_now(), passed = now - session->looked;
    (void)fd, (void)what;
    session->looked = now;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        rz_node_look_at_clock(&session->nodes[i]);
    }
    rz_story_look(&session->story, now);
    if (session->ending) {
        return; /* the end has its own bound */
    }
    if (!session->started || session->options->detach) {
        look_at_start(session, passed);
    }
    if (session->started) {
        look_at_silence(session, passed);
    }
}

void rz_session_silence_open(struct rz_launch_session *session)
{
    const struct timeval every = {.tv_sec = RZ_SILENT_LOOK / RZ_SECOND};
    session->looked = rz_clock_now();
    session->look = event_new(session->base, -1, EV_PERSIST, look_for_silence, session);
    rz_need_memory(session->look, "to look for silent nodes");
    event_add(session->look, &every);
}

void rz_session_heard(struct rz_launch_session *session, struct rz_node *node,
                      const struct rz_launch_message *message)
{
    node->silence.heard = true;
    if (message->type == RZ_LAUNCH_ALIVE) {
        node->asked = false;
    } else if (message->type == RZ_LAUNCH_LISTENING || message->type == RZ_LAUNCH_STARTED ||
               message->type == RZ_LAUNCH_FILES_TAKEN || message->type == RZ_LAUNCH_CAN_DETACH ||
               message->type == RZ_LAUNCH_DETACHED) {
        session->start.heard = true;
    }
}
