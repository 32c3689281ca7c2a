/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the messages in which a process reports about itself: HELLO, marks, ABORT, BYE, closed
 * lanes, and revocations. */
#include "daemon/service/link_service.h"

#include "base/no_memory.h"
#include "base/trace.h"
#include "daemon/process/share.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/socket.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct rz_link_service {
    struct rz_link_service_config config;
    uint32_t revocations_each;
};

/* ---- joining ---- */

const char *rz_link_hello_problem(const struct rz_child *p, const struct rz_link_hello *hello)
{
    uint8_t key[RZ_JOB_KEY_BYTES];
    const struct rz_daemon_job *job = &p->all->own->job;
    if (hello->version != RZ_LINK_VERSION) {
        return "the library speaks another version of the link protocol than rzd: they come from "
               "different releases";
    }
    if (p->joined) {
        return RZ_LINK_JOINED_ALREADY;
    }
    if (hello->job != job->id || hello->rank != p->rank || hello->incarnation != p->incarnation) {
        return "it claims to be another process than the one started here";
    }
    rz_job_process_key(job, p->rank, p->incarnation, key);
    if (hello->key_length != sizeof(key) || sodium_memcmp(hello->key, key, sizeof(key)) != 0) {
        return "it did not prove that it belongs to this job (RZ_JOB_KEY)";
    }
    return NULL;
}

static bool on_hello(void *arg, struct rz_child *p, const struct rz_link_message *told, int *fd)
{
    struct rz_link_service *service = arg;
    const struct rz_link_service_config *config = &service->config;
    const struct rz_own_node *own = config->own;
    const struct rz_link_hello *hello = &told->hello;
    (void)fd;
    rz_kill_here(RZ_KILL_DAEMON_HELLO);
    const char *why = rz_link_hello_problem(p, hello);
    uint8_t ring_key[RZ_JOB_KEY_BYTES], net_key[RZ_JOB_KEY_BYTES];
    const struct rz_address *node = &own->job.peers[own->job.node].address;
    int ring_fd = -1;
    if (!why && rz_arbiter_join(config->arbiter, p, ring_key, &ring_fd) != RZ_OK) {
        why = "its node has no socket left for its heartbeats (--detector flat)";
    }
    if (why || rz_child_join(p, (pid_t)hello->pid, &why) != RZ_OK) {
        rz_link_router_refuse(p, why);
        if (ring_fd >= 0) {
            close(ring_fd);
        }
        return true;
    }
    rz_job_net_key(&own->job, net_key);
    int fds[] = {rz_board_writer_fd(config->board),
                 p->share.inbox_fd,
                 p->share.bell_fd,
                 rz_child_life_watch_fd(config->life),
                 p->share.waits_fd,
                 -1,
                 -1};
    unsigned n_fds = sizeof(fds) / sizeof(*fds) - 2;
    if (p->share.trace_ring > 0) {
        fds[n_fds++] = own->trace->fd;
    }
    if (ring_fd >= 0) {
        fds[n_fds++] = ring_fd;
    }
    struct rz_link_message message = {
        .type = RZ_LINK_WELCOME,
        .welcome = {.version = RZ_LINK_VERSION,
                    .n_ranks = own->job.n_ranks,
                    .n_slots = own->job.n_slots,
                    .n_nodes = own->job.n_nodes,
                    .node = own->job.node,
                    .epoch = own->membership.epoch,
                    .lane = p->share.lane,
                    .lanes_max = rz_share_lanes_max(own->job.n_slots),
                    .watch_slot = p->share.slot,
                    .job = own->job.id,
                    .job_token = own->job.token,
                    .restarted = rz_membership_replaces(&own->membership, p->rank, p->incarnation),
                    .hb_timeout_ns = own->job.hb_timeout_ns,
                    .node_ip = node->ip,
                    .node_ip_length = sizeof(node->ip),
                    .net_key = net_key,
                    .net_key_length = sizeof(net_key),
                    .ring_key = ring_key,
                    .ring_key_length = ring_fd >= 0 ? sizeof(ring_key) : 0,
                    .trace_ring = p->share.trace_ring}};
    rz_link_router_send_with(p, &message, fds, n_fds);
    rz_kill_here(RZ_KILL_DAEMON_WELCOME);
    if (p->rank >= own->job.n_ranks &&
        rz_spawns_cohort(config->spawns, p->rank, p->incarnation, &message)) {
        rz_link_router_send(p, &message);
    }
    if (ring_fd >= 0) {
        close(ring_fd);
    }
    sodium_memzero(ring_key, sizeof(ring_key));
    sodium_memzero(net_key, sizeof(net_key));
    rz_child_tell_joined(p);
    rz_endpoints_joined(config->endpoints, p);
    return true;
}

/* ---- the other messages of a process that has joined; false: it has broken the protocol ---- */

static bool on_mark(void *arg, struct rz_child *p, const struct rz_link_message *told, int *fd)
{
    (void)arg, (void)fd;
    struct rz_launch_message message = {.type = RZ_LAUNCH_MARK,
                                        .mark = {.rank = p->rank,
                                                 .iteration = told->mark.iteration,
                                                 .epoch = p->all->own->membership.epoch,
                                                 .at_ns = rz_clock_now()}};
    p->marked = true;
    p->iteration = told->mark.iteration;
    rz_report_send(&p->all->own->report, &message);
    return true;
}

/* The pairs of a message in allocated memory. NULL: they are malformed, or name no slots of the
 * job. */
static struct rz_link_process *pairs_of(const struct rz_child *p, const uint8_t *bytes,
                                        uint32_t length, uint32_t *n)
{
    *n = length / RZ_LINK_PAIR_BYTES;
    struct rz_link_process *pairs = calloc(*n + 1, sizeof(*pairs));
    rz_need_memory(pairs, "for a list of processes");
    rz_link_get_pairs(bytes, length, pairs, *n);
    bool good = length % RZ_LINK_PAIR_BYTES == 0;
    for (uint32_t i = 0; good && i < *n; i++) {
        good = pairs[i].slot < p->all->own->job.n_slots && pairs[i].incarnation > 0;
    }
    if (good) {
        return pairs;
    }
    free(pairs);
    return NULL;
}

static bool on_abort(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    struct rz_link_service *service = arg;
    const struct rz_own_node *own = service->config.own;
    const struct rz_link_abort *told = &message->abort;
    (void)fd;
    RZ_TRACE(ABORT_TOLD, p->rank, told->code, told->processes_length / RZ_LINK_PAIR_BYTES);
    if (told->processes_length == 0) {
        rz_child_leave(p);
        rz_report_aborted(&own->report, p->rank, told->code, told->reason);
        return true;
    }
    char by[256];
    uint32_t n, code = told->code; /* copies: the next message overwrites this one's memory */
    struct rz_link_process *pairs = pairs_of(p, told->processes, told->processes_length, &n);
    snprintf(by, sizeof(by), "%s %u: %s", p->rank < own->job.n_ranks ? "rank" : "process", p->rank,
             told->reason);
    for (uint32_t i = 0; pairs && i < n; i++) {
        rz_spawns_end(service->config.spawns, pairs[i].slot, pairs[i].incarnation, code, by);
    }
    free(pairs);
    return pairs != NULL;
}

static bool on_bye(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    const struct rz_link_service *service = arg;
    const struct rz_own_node *own = service->config.own;
    (void)message, (void)fd;
    if (p->rank < own->job.n_ranks && own->membership.phase != RZ_PHASE_LEFT &&
        !own->membership.ending) {
        return false; /* others may wait for it: no rank leaves before all have agreed to */
    }
    rz_kill_here(RZ_KILL_DAEMON_BYE);
    rz_groups_process_left(service->config.groups, p);
    rz_child_leave(p);
    return true;
}

static bool on_lane_closed(void *arg, struct rz_child *p, const struct rz_link_message *message,
                           int *fd)
{
    const struct rz_link_lane_closed *told = &message->lane_closed;
    (void)arg, (void)fd;
    return rz_child_closed_lane(p, told->lane, told->rank, told->incarnation);
}

static bool on_revoke(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    const struct rz_link_service *service = arg;
    (void)fd;
    if (rz_revocations_known(service->config.revocations, message->revoke.revocation)) {
        return true;
    }
    if (p->revocations >= service->revocations_each) {
        rz_child_kill(p, "it has revoked more communicators than daemons remember of one process");
        return true;
    }
    p->revocations++;
    rz_revocations_add(service->config.revocations, message->revoke.revocation);
    return true;
}

static bool on_revoked_ask(void *arg, struct rz_child *p, const struct rz_link_message *message,
                           int *fd)
{
    const struct rz_link_service *service = arg;
    const struct rz_link_message known = {
        .type = RZ_LINK_REVOKED, .revoked = {.revocation = message->revoked_ask.revocation}};
    (void)fd;
    if (rz_revocations_known(service->config.revocations, known.revoked.revocation)) {
        rz_link_router_send(p, &known);
    }
    return true;
}

/* The loop looks at its timers whenever it wakes, the one of the lease among them. */
static bool on_nudge(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    (void)arg, (void)p, (void)message, (void)fd;
    return true;
}

/* ---- open and close ---- */

/* The variable makes it less, for tests. */
static uint32_t link_revocations_each(void)
{
    const char *text = getenv("RZ_REVOCATIONS_EACH");
    unsigned long each = text ? strtoul(text, NULL, 10) : 0;
    return each > 0 && each < RZ_REVOCATIONS_EACH ? (uint32_t)each : RZ_REVOCATIONS_EACH;
}

rz_status_t rz_link_service_open(struct rz_link_service **result,
                                 const struct rz_link_service_config *config)
{
    static const struct {
        enum rz_link_type type;
        rz_link_handler_fn handler;
    } handled[] = {{RZ_LINK_HELLO, on_hello},
                   {RZ_LINK_MARK, on_mark},
                   {RZ_LINK_ABORT, on_abort},
                   {RZ_LINK_BYE, on_bye},
                   {RZ_LINK_LANE_CLOSED, on_lane_closed},
                   {RZ_LINK_REVOKE, on_revoke},
                   {RZ_LINK_REVOKED_ASK, on_revoked_ask},
                   {RZ_LINK_NUDGE, on_nudge}};
    struct rz_link_service *service = calloc(1, sizeof(*service));
    if (!service) {
        return RZ_ERR_NO_MEMORY;
    }
    service->config = *config;
    service->revocations_each = link_revocations_each();
    for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++) {
        rz_link_router_handle(config->router, handled[i].type, handled[i].handler, service);
    }
    *result = service;
    return RZ_OK;
}

void rz_link_service_close(struct rz_link_service *service)
{
    free(service);
}
