#include "daemon/arbiter.h"

#include "daemon/board_writer.h"
#include "daemon/child.h"
#include "daemon/job.h"
#include "daemon/loop.h"
#include "port/clock.h"
#include "port/socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rz_arbiter {
    struct rz_daemon *daemon;
    struct event *timer;
    rz_time looked_at;
    rz_time *asked; /* [n_nodes]: when a daemon was asked that has said nothing since; 0: none */
};

/* ---- where processes are reached */

static void post_port(struct rz_daemon *daemon, rz_id node, uint32_t rank, uint32_t incarnation,
                      uint16_t port)
{
    struct rz_address address;
    if (rz_address_parse(daemon->job.peers[node].address, &address) != RZ_OK)
        return;
    rz_board_writer_ring(daemon->board, rank, rz_board_ring_word(incarnation, address.ip, port));
}

/* Everybody may come to watch anybody, so all nodes hear of each process: fit for comparisons, not
 * for thousands of nodes. */
static void tell_port(struct rz_daemon *daemon, const struct rz_child *p, uint16_t port)
{
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_RING_PORT,
        .ring_port = {.rank = p->rank, .incarnation = p->incarnation, .port = port}};
    post_port(daemon, daemon->job.node, p->rank, p->incarnation, port);
    for (rz_id node = 0; node < daemon->job.n_nodes; node++)
        if (node != daemon->job.node && !rz_recovery_node_failed(daemon->recovery, node))
            rz_overlay_send(daemon->overlay, node, &message);
}

rz_status_t rz_arbiter_join(struct rz_child *p, uint8_t key[RZ_JOB_KEY_BYTES], int *fd)
{
    struct rz_daemon *daemon = p->daemon;
    struct rz_address address;
    *fd = -1;
    if (!daemon->arbiter)
        return RZ_OK;
    rz_status_t status = rz_address_parse(daemon->job.peers[daemon->job.node].address, &address);
    address.port = 0;
    if (status == RZ_OK)
        status = rz_socket_datagram(&address, fd);
    if (status != RZ_OK)
        return status;
    rz_job_ring_key(&daemon->job, key);
    tell_port(daemon, p, address.port);
    return RZ_OK;
}

/* ---- what the processes find */

/* Here in this epoch, running, and not on its way out. */
static struct rz_child *member(struct rz_daemon *daemon, uint32_t epoch, uint32_t rank,
                               uint32_t incarnation)
{
    struct rz_child *p = epoch == daemon->epoch ? rz_child_of(daemon, rank) : NULL;
    return p && p->incarnation == incarnation && p->state == RZ_CHILD_JOINED ? p : NULL;
}

static void end_silent(struct rz_daemon *daemon, uint32_t epoch, uint32_t rank,
                       uint32_t incarnation)
{
    struct rz_child *p = member(daemon, epoch, rank, incarnation);
    if (p && !daemon->ending)
        rz_child_failed(p, "silence", rz_clock_now());
}

void rz_arbiter_reported(struct rz_daemon *daemon, uint32_t epoch, uint32_t rank,
                         uint32_t incarnation)
{
    struct rz_arbiter *arbiter = daemon->arbiter;
    if (!arbiter || epoch != daemon->epoch || daemon->failed[rank] >= incarnation)
        return;
    rz_id node = daemon->places[rank].node;
    if (node == daemon->job.node) {
        end_silent(daemon, epoch, rank, incarnation);
        return;
    }
    if (rz_recovery_node_failed(daemon->recovery, node))
        return;
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_SILENT,
        .silent = {.epoch = epoch, .rank = rank, .incarnation = incarnation}};
    rz_overlay_send(daemon->overlay, node, &message);
    if (arbiter->asked[node] == 0)
        arbiter->asked[node] = rz_clock_now();
}

void rz_arbiter_node_lives(struct rz_daemon *daemon, rz_id node)
{
    if (daemon->arbiter)
        daemon->arbiter->asked[node] = 0;
}

/* While we slept ourselves nobody could answer us. */
static void look(evutil_socket_t fd, short what, void *arg)
{
    struct rz_arbiter *arbiter = arg;
    struct rz_daemon *daemon = arbiter->daemon;
    rz_time now = rz_clock_now(), late = now - arbiter->looked_at;
    bool slept = late > 2 * daemon->job.hb_period_ns;
    (void)fd, (void)what;
    arbiter->looked_at = now;
    for (rz_id node = 0; node < daemon->job.n_nodes; node++) {
        if (arbiter->asked[node] == 0)
            continue;
        if (slept)
            arbiter->asked[node] += late;
        if (now - arbiter->asked[node] < daemon->job.hb_timeout_ns || arbiter->asked[node] > now)
            continue;
        arbiter->asked[node] = 0;
        rz_recovery_node_silent(daemon->recovery, node, "silence when asked");
    }
}

/* ---- messages */

void rz_arbiter_message(struct rz_daemon *daemon, rz_id from,
                        const struct rz_overlay_message *message)
{
    if (!daemon->arbiter)
        return;
    if (message->type == RZ_OVERLAY_RING_PORT) {
        const struct rz_overlay_ring_port *told = &message->ring_port;
        if (told->rank < daemon->job.n_ranks && told->port <= UINT16_MAX)
            post_port(daemon, from, told->rank, told->incarnation, (uint16_t)told->port);
    } else if (message->silent.rank < daemon->job.n_ranks) {
        rz_overlay_send(daemon->overlay, from,
                        &(struct rz_overlay_message){.type = RZ_OVERLAY_PONG});
        end_silent(daemon, message->silent.epoch, message->silent.rank,
                   message->silent.incarnation);
    }
}

void rz_arbiter_heard(struct rz_daemon *daemon, uint32_t by, const struct rz_link_heard *heard)
{
    if (!daemon->arbiter)
        return;
    rz_daemon_record(daemon, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_FLAT_NEWS,
                                                       .epoch = heard->epoch,
                                                       .rank = heard->rank,
                                                       .node = RZ_ID_NONE,
                                                       .incarnation = heard->incarnation,
                                                       .value = by,
                                                       .at_ns = heard->at_ns,
                                                       .note = ""});
}

/* ---- life */

rz_status_t rz_arbiter_open(struct rz_arbiter **result, struct rz_daemon *daemon)
{
    if (daemon->job.detector != RZ_DETECTOR_FLAT || daemon->job.flags & RZ_JOB_NO_FT)
        return RZ_OK;
    struct rz_arbiter *arbiter = calloc(1, sizeof *arbiter);
    if (!arbiter)
        return RZ_ERR_NO_MEMORY;
    arbiter->daemon = daemon;
    arbiter->looked_at = rz_clock_now();
    arbiter->asked = calloc(daemon->job.n_nodes, sizeof *arbiter->asked);
    rz_status_t status = arbiter->asked ? RZ_OK : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK)
        status = rz_loop_timer(daemon->base, &arbiter->timer, look, arbiter);
    if (status != RZ_OK) {
        rz_arbiter_close(arbiter);
        return status;
    }
    rz_loop_arm_every(arbiter->timer, daemon->job.hb_period_ns);
    *result = arbiter;
    return RZ_OK;
}

void rz_arbiter_close(struct rz_arbiter *arbiter)
{
    if (!arbiter)
        return;
    rz_loop_free(arbiter->timer);
    free(arbiter->asked);
    free(arbiter);
}
