/* SPDX-License-Identifier: BSD-3-Clause */
/* The failure arbiter: distributes the ports of the processes' sockets, ends processes that were
 * found silent, and asks their daemons about those of other nodes. */
#include "daemon/service/arbiter.h"

#include "base/no_memory.h"
#include "daemon/state/loop.h"
#include "port/clock.h"
#include "port/socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rz_arbiter {
    struct rz_arbiter_config config;
    const struct rz_own_node *own; /* copied from config */
    struct event *timer;
    rz_time looked_at;
    rz_time *asked; /* [n_nodes]: when a daemon was asked that has sent nothing since; 0: none */
};

/* ---- addresses of processes ---- */

static void post_port(const struct rz_arbiter *arbiter, rz_id node, uint32_t rank,
                      uint32_t incarnation, uint16_t port)
{
    rz_board_writer_ring(arbiter->config.board, rank, rz_board_ring_word(incarnation, node, port));
}

/* Tells all nodes the port of a process, because any process may come to observe any other. This is
 * fit for comparisons, not for thousands of nodes. */
static void tell_port(const struct rz_arbiter *arbiter, const struct rz_child *p, uint16_t port)
{
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_RING_PORT,
        .ring_port = {.rank = p->rank, .incarnation = p->incarnation, .port = port}};
    post_port(arbiter, arbiter->own->job.node, p->rank, p->incarnation, port);
    for (rz_id node = 0; node < arbiter->own->job.n_nodes; node++) {
        if (node != arbiter->own->job.node &&
            !rz_membership_node_has_failed(&arbiter->own->membership, node)) {
            rz_overlay_send(arbiter->config.overlay, node, &message);
        }
    }
}

rz_status_t rz_arbiter_join(const struct rz_arbiter *arbiter, struct rz_child *p,
                            uint8_t key[RZ_JOB_KEY_BYTES], int *fd)
{
    *fd = -1;
    if (!arbiter) {
        return RZ_OK;
    }
    struct rz_address address = arbiter->own->job.peers[arbiter->own->job.node].address;
    rz_status_t status = rz_socket_datagram(&address, fd);
    if (status != RZ_OK) {
        return status;
    }
    rz_job_ring_key(&arbiter->own->job, key);
    tell_port(arbiter, p, address.port);
    return RZ_OK;
}

/* ---- findings of the processes ---- */

/* The process if it is here in this epoch, running, and not about to leave; else NULL. */
static struct rz_child *member(const struct rz_arbiter *arbiter, uint32_t epoch, uint32_t rank,
                               uint32_t incarnation)
{
    struct rz_child *p = epoch == arbiter->own->membership.epoch
                             ? rz_child_of(arbiter->config.children, rank)
                             : NULL;
    return p && p->incarnation == incarnation && p->state == RZ_CHILD_JOINED ? p : NULL;
}

static void end_silent(const struct rz_arbiter *arbiter, uint32_t epoch, uint32_t rank,
                       uint32_t incarnation)
{
    struct rz_child *p = member(arbiter, epoch, rank, incarnation);
    if (p && !arbiter->own->membership.ending) {
        rz_child_failed(p, "silence", rz_clock_now());
    }
}

static void reported(struct rz_arbiter *arbiter, uint32_t epoch, uint32_t rank,
                     uint32_t incarnation)
{
    const struct rz_own_node *own = arbiter->own;
    if (epoch != own->membership.epoch || own->membership.slots[rank].failed >= incarnation) {
        return;
    }
    rz_id node = own->membership.slots[rank].node;
    if (node == own->job.node) {
        end_silent(arbiter, epoch, rank, incarnation);
        return;
    }
    if (rz_membership_node_has_failed(&own->membership, node)) {
        return;
    }
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_SILENT,
        .silent = {.epoch = epoch, .rank = rank, .incarnation = incarnation}};
    rz_overlay_send(arbiter->config.overlay, node, &message);
    if (arbiter->asked[node] == 0) {
        arbiter->asked[node] = rz_clock_now();
    }
}

static void node_lives(void *arg, rz_id node)
{
    struct rz_arbiter *arbiter = arg;
    arbiter->asked[node] = 0;
}

/* Time in which this daemon slept does not count: it could not receive answers. */
static void look_for_answers(evutil_socket_t fd, short what, void *arg)
{
    struct rz_arbiter *arbiter = arg;
    rz_time now = rz_clock_now(), late = now - arbiter->looked_at;
    bool slept = late > 2 * arbiter->own->job.hb_period_ns;
    (void)fd, (void)what;
    arbiter->looked_at = now;
    for (rz_id node = 0; node < arbiter->own->job.n_nodes; node++) {
        if (arbiter->asked[node] == 0) {
            continue;
        }
        if (slept) {
            arbiter->asked[node] += late;
        }
        if (now - arbiter->asked[node] < arbiter->own->job.hb_timeout_ns ||
            arbiter->asked[node] > now) {
            continue;
        }
        arbiter->asked[node] = 0;
        rz_recovery_node_silent(arbiter->config.recovery, node, "silence when asked");
    }
}

/* ---- messages ---- */

static void on_ring_port(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_arbiter *arbiter = arg;
    const struct rz_overlay_ring_port *told = &message->ring_port;
    if (told->rank < arbiter->own->job.n_ranks && told->port <= UINT16_MAX) {
        post_port(arbiter, from, told->rank, told->incarnation, (uint16_t)told->port);
    }
}

static void on_silent_told(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_arbiter *arbiter = arg;
    const struct rz_overlay_silent *told = &message->silent;
    if (told->rank >= arbiter->own->job.n_ranks) {
        return;
    }
    rz_overlay_send(arbiter->config.overlay, from,
                    &(struct rz_overlay_message){.type = RZ_OVERLAY_PONG});
    end_silent(arbiter, told->epoch, told->rank, told->incarnation);
}

/* A process of this node has found another one silent. arg NULL: with another detector the report
 * is ignored. */
static bool on_silent(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    struct rz_arbiter *arbiter = arg;
    const struct rz_link_silent *told = &message->silent;
    (void)fd;
    if (told->rank >= p->all->own->job.n_ranks || told->rank == p->rank) {
        return false;
    }
    if (arbiter) {
        reported(arbiter, told->epoch, told->rank, told->incarnation);
    }
    return true;
}

/* A process has heard from others that a process is silent: for the record, once. */
static bool on_heard(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    const struct rz_link_heard *heard = &message->heard;
    const struct rz_own_node *own = p->all->own;
    (void)fd;
    if (heard->rank >= own->job.n_ranks) {
        return false;
    }
    if (arg && !p->heard) {
        p->heard = calloc(own->job.n_ranks, sizeof(*p->heard));
        rz_need_memory(p->heard, "for what a process has heard");
    }
    if (arg && heard->incarnation > p->heard[heard->rank] &&
        heard->incarnation <= own->membership.slots[heard->rank].incarnation) {
        p->heard[heard->rank] = heard->incarnation;
        rz_report_event(&own->report, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_FLAT_NEWS,
                                                                .epoch = heard->epoch,
                                                                .rank = heard->rank,
                                                                .node = RZ_ID_NONE,
                                                                .incarnation = heard->incarnation,
                                                                .value = p->rank,
                                                                .at_ns = heard->at_ns,
                                                                .note = ""});
    }
    return true;
}

/* ---- open and close ---- */

static void arbiter_register_handlers(struct rz_arbiter *arbiter,
                                      const struct rz_arbiter_config *config)
{
    rz_link_router_handle(config->router, RZ_LINK_SILENT, on_silent, arbiter);
    rz_link_router_handle(config->router, RZ_LINK_HEARD, on_heard, arbiter);
    if (!arbiter) {
        return;
    }
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_RING_PORT, on_ring_port, arbiter);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_SILENT, on_silent_told, arbiter);
    rz_overlay_router_heard(config->overlay_router, node_lives, arbiter);
}

rz_status_t rz_arbiter_open(struct rz_arbiter **result, const struct rz_arbiter_config *config)
{
    const struct rz_daemon_job *job = &config->own->job;
    if (job->detector != RZ_DETECTOR_FLAT || job->flags & RZ_JOB_NO_FT) {
        arbiter_register_handlers(NULL, config);
        return RZ_OK;
    }
    struct rz_arbiter *arbiter = calloc(1, sizeof(*arbiter));
    if (!arbiter) {
        return RZ_ERR_NO_MEMORY;
    }
    arbiter->config = *config;
    arbiter->own = config->own;
    arbiter->looked_at = rz_clock_now();
    arbiter->asked = calloc(job->n_nodes, sizeof(*arbiter->asked));
    rz_status_t status = arbiter->asked ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        status = rz_loop_timer(config->own->base, &arbiter->timer, look_for_answers, arbiter);
    }
    if (status != RZ_OK) {
        rz_arbiter_close(arbiter);
        return status;
    }
    rz_loop_arm_every(arbiter->timer, job->hb_period_ns);
    arbiter_register_handlers(arbiter, config);
    *result = arbiter;
    return RZ_OK;
}

void rz_arbiter_close(struct rz_arbiter *arbiter)
{
    if (!arbiter) {
        return;
    }
    rz_loop_free(arbiter->timer);
    free(arbiter->asked);
    free(arbiter);
}
