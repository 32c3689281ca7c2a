/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of a session: daemons of other hosts, those that do not answer, the addresses at which
 * all reach each other. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "launch/family.h"
#include "outcome/exit_codes.h"
#include "port/kill_point.h"

#include <stdlib.h>

/* ---- daemons that listen ---- */

/* An address that is none stays as it was; the others will not reach the node. */
static void take_addresses(struct rz_node *node, const struct rz_launch_listening *told)
{
    if (rz_address_take(&node->address, told->ip, told->ip_length, 0)) {
        node->tcp_port = told->tcp_port;
        node->udp_port = told->udp_port;
    }
    if (rz_address_take(&node->other_address, told->other_ip, told->other_ip_length, 0)) {
        node->other_tcp_port = told->other_tcp_port;
        node->other_udp_port = told->other_udp_port;
    }
}

/* All daemons listen: in which family they reach each other. False: *why. */
static bool settle_family(struct rz_launch_session *session, const char **why)
{
    const struct rz_launch_layout *layout = &session->options->layout;
    struct rz_family_host *hosts = calloc(layout->n_nodes, sizeof(*hosts));
    rz_need_memory(hosts, "for the addresses of nodes");
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        const struct rz_node *node = &session->nodes[i];
        hosts[i] = (struct rz_family_host){.name = layout->nodes[i].host,
                                           .address = node->address,
                                           .other = node->other_address,
                                           .both = node->other_tcp_port > 0};
    }
    bool good = rz_family_settle(hosts, layout->n_nodes, why);
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        struct rz_node *node = &session->nodes[i];
        if (!rz_address_same_family(&node->address, &hosts[i].address)) {
            node->address = node->other_address;
            node->tcp_port = node->other_tcp_port;
            node->udp_port = node->other_udp_port;
        }
    }
    free(hosts);
    return good;
}

void rz_session_listening(struct rz_launch_session *session, struct rz_node *node,
                          const struct rz_launch_listening *told)
{
    const char *why;
    if (node->listening || session->ending) {
        return;
    }
    if (told->version != RZ_LAUNCH_VERSION) {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START,
                          "node %u runs rzd of protocol version %u, this rzrun uses %d; install "
                          "one version everywhere",
                          node->index, told->version, RZ_LAUNCH_VERSION);
        rz_launch_session_end(session, 0);
        return;
    }
    node->listening = true;
    rz_kill_here(RZ_KILL_LAUNCH_LISTENING);
    take_addresses(node, told);
    node->daemon_pid = node->remote ? 0 : told->pid;
    rz_story_node(&session->story, node->index, &node->address, (uint32_t)node->keeper,
                  node->daemon_pid);
    if (++session->n_listening < session->options->layout.n_nodes) {
        return;
    }
    if (settle_family(session, &why)) {
        rz_session_preload(session);
    } else {
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START, "%s", why);
        rz_launch_session_end(session, 0);
    }
}

/* ---- other hosts ---- */

void rz_session_leave_out(struct rz_launch_session *session)
{
    struct rz_attempts *attempts = session->attempts;
    struct rz_rzrun_options without;
    if (attempts->n == 0 || !session->hosts) {
        return; /* the first start needs all hosts */
    }
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        if (rz_hosts_lacks(session->hosts, i)) {
            rz_left_out_add(&attempts->left_out, session->options->layout.nodes[i].host);
            attempts->without = true;
        }
    }
    if (attempts->without) {
        attempts->without = rz_left_out_settle(&attempts->left_out, attempts->job, &without);
    }
    if (attempts->without) {
        rz_layout_clear(&without.layout);
    }
}

/* The start has failed on other hosts. */
static void hosts_failed(void *arg, const char *why)
{
    struct rz_launch_session *session = arg;
    rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START, "%s", why);
    rz_session_leave_out(session);
    rz_launch_session_end(session, 0);
    if (rz_session_all_gone(session)) {
        rz_session_leave_loop(session);
    }
}

void rz_session_start_hosts(struct rz_launch_session *session)
{
    const char *why;
    const struct rz_hosts_config config = {.options = session->options,
                                           .base = session->base,
                                           .job = session->job,
                                           .key = session->key,
                                           .daemon = session->daemon,
                                           .nodes = session->nodes,
                                           .arg = session,
                                           .failed = hosts_failed};
    if (rz_hosts_open(&session->hosts, &config, &why) != RZ_OK) {
        for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
            session->nodes[i].gone |= session->nodes[i].remote;
        }
        hosts_failed(session, why);
    }
}
