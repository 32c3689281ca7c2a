/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the gateway and exchanges messages with it. What it serves is known here by three things:
 * which processes have connected, whether they asked to be told of failures, and what their
 * environment gets. */
#include "daemon/service/gateway_link_private.h"

#include "base/no_memory.h"
#include "daemon/state/loop.h"
#include "daemon/state/scratch.h"
#include "outcome/exit_codes.h"
#include "port/channel.h"
#include "port/child_process.h"
#include "port/descriptor.h"
#include "port/process.h"
#include "port/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The gateway's end of the stream. */
#define GATEWAY_FD 3
/* What is queued for a gateway that does not read: it hangs. */
#define GATEWAY_QUEUE_MAX ((size_t)256 << 20)
/* So much of one process is on its way to the gateway before no more of it is read. */
#define UNSERVED_MAX ((size_t)64 << 10)

/* ---- the end of the gateway ---- */

static void close_stream(struct rz_gateway_link *link)
{
    rz_loop_free(link->readable);
    rz_loop_free(link->writable);
    link->readable = link->writable = NULL;
    if (link->stream) {
        rz_frames_close(link->stream);
        link->stream = NULL;
    }
}

/* To the gateway of one node, or of all others (RZ_ID_NONE): both kinds stay in order. A message
 * without data says that there is no gateway here any more. */
static void send_overlay(const struct rz_gateway_link *link, uint32_t to,
                         const struct rz_overlay_gateway *content)
{
    const struct rz_own_node *own = link->own;
    const struct rz_overlay_message message = {.type = RZ_OVERLAY_GATEWAY, .gateway = *content};
    bool all = to == RZ_ID_NONE;
    for (rz_id node = all ? 0 : to; node < (all ? own->job.n_nodes : to + 1); node++) {
        if (node != own->job.node && !rz_membership_node_has_failed(&own->membership, node)) {
            rz_overlay_send(link->config.overlay, node, &message);
        }
    }
}

/* The node's processes are not served any more. what: a predicate. */
static void gateway_failed(struct rz_gateway_link *link, const char *what)
{
    const struct rz_own_node *own = link->own;
    char why[640];
    bool up = rz_gateway_is_ready(link, 0);
    if (!link->stream) {
        return;
    }
    close_stream(link);
    if (own->membership.ending) {
        return;
    }
    snprintf(why, sizeof(why), "the gateway of node %u (--mpi) %s", own->job.node, what);
    send_overlay(link, RZ_ID_NONE, &(struct rz_overlay_gateway){.data = NULL});
    if (!up) {
        struct rz_launch_message message = {.type = RZ_LAUNCH_FINISH,
                                            .finish = {.code = RZ_EXIT_START, .reason = why}};
        rz_report_send(&own->report, &message);
        return;
    }
    for (struct rz_child *p = link->config.children->first; p; p = p->next) {
        rz_child_kill(p, why);
    }
    rz_spawns_look_at_server(link->config.spawns);
}

/* ---- to the gateway ---- */

void rz_gateway_link_send(struct rz_gateway_link *link, const struct rz_gateway_message *message)
{
    if (!link->stream) {
        return;
    }
    size_t n = rz_gateway_encode(message, link->frame, sizeof(link->frame));
    if (n == 0 || rz_frames_queued(link->stream) > GATEWAY_QUEUE_MAX) {
        gateway_failed(link, "does not read");
    } else if (rz_frames_send(link->stream, link->frame, n) != RZ_OK) {
        gateway_failed(link, "has failed");
    } else if (rz_frames_want_write(link->stream)) {
        event_add(link->writable, NULL);
    }
}

static void put_numbers(struct rz_wire_writer *w, const struct rz_daemon_job *job, bool programs)
{
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        rz_wire_put_u32(w, programs ? rz_job_appnum(job, rank) : job->placement[rank]);
    }
}

static rz_status_t send_job(struct rz_gateway_link *link)
{
    const struct rz_daemon_job *job = &link->own->job;
    if (rz_scratch_make(job->scratch) != RZ_OK) { /* the keeper removes it */
        rz_report_log(&link->own->report, 0, "cannot make %s for programs of other MPIs: %s",
                      job->scratch, strerror(errno));
        return RZ_ERR_SYSTEM;
    }
    uint8_t secret[RZ_JOB_KEY_BYTES];
    uint32_t bytes = 4 * job->n_ranks;
    rz_job_gateway_secret(job, secret);
    uint8_t *placement = malloc(bytes), *programs = malloc(bytes);
    struct rz_wire_writer w;
    if (!placement || !programs) {
        free(placement);
        free(programs);
        return RZ_ERR_NO_MEMORY;
    }
    rz_wire_writer_init(&w, placement, bytes);
    put_numbers(&w, job, false);
    rz_wire_writer_init(&w, programs, bytes);
    put_numbers(&w, job, true);
    rz_gateway_link_send(
        link, &(struct rz_gateway_message){
                  .type = RZ_GATEWAY_JOB,
                  .job = {.version = RZ_GATEWAY_VERSION,
                          .protocol = job->flags & RZ_JOB_PMI1 ? RZ_GATEWAY_PMI1 : RZ_GATEWAY_PMIX,
                          .job = job->id,
                          .node = job->node,
                          .n_nodes = job->n_nodes,
                          .n_ranks = job->n_ranks,
                          .n_slots = job->n_slots,
                          .verbosity = job->verbosity,
                          .tolerant = (job->flags & RZ_JOB_TOLERANT) != 0,
                          .oversubscribed = (job->flags & RZ_JOB_OVERSUBSCRIBED) != 0,
                          .secret = secret,
                          .secret_length = sizeof(secret),
                          .folder = job->scratch,
                          .placement = placement,
                          .placement_length = bytes,
                          .programs = programs,
                          .programs_length = bytes}});
    free(placement);
    free(programs);
    return RZ_OK;
}

void rz_gateway_link_started(struct rz_gateway_link *link, const struct rz_child *p)
{
    if (link) {
        rz_gateway_link_send(
            link, &(struct rz_gateway_message){.type = RZ_GATEWAY_PROCESS_STARTED,
                                               .process_started = {.rank = p->rank,
                                                                   .incarnation = p->incarnation,
                                                                   .pid = (uint32_t)p->pid}});
    }
}

static void send_ended(struct rz_gateway_link *link, uint32_t rank, uint32_t incarnation,
                       bool failure)
{
    rz_gateway_link_send(
        link, &(struct rz_gateway_message){
                  .type = RZ_GATEWAY_PROCESS_ENDED,
                  .process_ended = {.rank = rank, .incarnation = incarnation, .failed = failure}});
}

void rz_gateway_link_ended(struct rz_gateway_link *link, const struct rz_child *p)
{
    if (link) {
        send_ended(link, p->rank, p->incarnation, false);
    }
}

/* ---- failures ---- */

static bool serves_any(const struct rz_gateway_link *link)
{
    for (const struct rz_child *p = link->config.children->first; p; p = p->next) {
        if (p->service == RZ_CHILD_CONNECTED && p->state != RZ_CHILD_FAILED) {
            return true;
        }
    }
    return false;
}

static void report_of(const struct rz_gateway_link *link, enum rz_event_record kind, uint32_t slot,
                      uint32_t incarnation, uint64_t value)
{
    const struct rz_own_node *own = link->own;
    rz_report_event(&own->report, &(struct rz_launch_event){.kind = kind,
                                                            .epoch = own->membership.epoch,
                                                            .rank = slot,
                                                            .node = own->job.node,
                                                            .incarnation = incarnation,
                                                            .value = value,
                                                            .note = ""});
}

/* Whether the service here counts on a process of this node that has never connected: its library
 * cannot leave it out of what the others of this node do together. */
static bool never_connected(const struct rz_gateway_link *link, uint32_t slot, uint32_t incarnation)
{
    uint32_t world;
    rz_spawns_world(link->config.spawns, slot, &world);
    return link->own->membership.slots[slot].node == link->own->job.node &&
           link->connected[slot] < incarnation && rz_gateway_is_ready(link, world);
}

/* The processes here learn of the failure of a process, or cannot be told. */
static void tell_of(const struct rz_gateway_link *link, uint32_t slot, uint32_t incarnation)
{
    if (never_connected(link, slot, incarnation)) {
        report_of(link, RZ_EVENT_RECORD_INTOLERANT, slot, incarnation, RZ_INTOLERANT_START);
    } else if (serves_any(link) && link->tolerant) {
        report_of(link, RZ_EVENT_RECORD_ACKNOWLEDGED, slot, incarnation, RZ_ID_NONE);
    } else if (serves_any(link)) {
        report_of(link, RZ_EVENT_RECORD_INTOLERANT, slot, incarnation, RZ_INTOLERANT_PROGRAM);
    }
}

void rz_gateway_link_failed(struct rz_gateway_link *link, uint32_t slot, uint32_t incarnation)
{
    send_ended(link, slot, incarnation, true);
    tell_of(link, slot, incarnation);
}

void rz_gateway_link_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    struct rz_gateway_link *link = arg;
    if (end == RZ_END_ORDER) {
        return;
    }
    rz_gateway_link_drain(link); /* whether the processes have asked to be told */
    rz_gateway_link_failed(link, slot, incarnation);
}

static bool has_run(const struct rz_gateway_link *link, uint32_t slot)
{
    return link->own->membership.slots[slot].incarnation > 0;
}

void rz_gateway_link_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_gateway_link *link = arg;
    const struct rz_own_node *own = link->own;
    (void)proof;
    if (!first || own->membership.ending) {
        return;
    }
    rz_gateway_link_drain(link);
    rz_gateway_link_send(link, &(struct rz_gateway_message){.type = RZ_GATEWAY_NODE_FAILED,
                                                            .node_failed = {.node = node}});
    for (uint32_t slot = 0; slot < own->job.n_slots; slot++) {
        if (own->membership.slots[slot].node == node && has_run(link, slot)) {
            tell_of(link, slot, own->membership.slots[slot].incarnation);
        }
    }
}

/* ---- from the gateway; false: its message is malformed ---- */

static bool on_peer(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_peer *m = &told->peer;
    send_overlay(link, m->node,
                 &(struct rz_overlay_gateway){
                     .more = m->more, .data = m->data, .data_length = m->data_length});
    return true;
}

/* The process here that a message is about, or NULL. incarnation 0: the gateway has not read yet
 * that it has started. */
static struct rz_child *client_of(const struct rz_gateway_link *link, uint32_t rank,
                                  uint32_t incarnation)
{
    struct rz_child *p = rz_child_of(link->config.children, rank);
    return p && (p->incarnation == incarnation || incarnation == 0) ? p : NULL;
}

static void client_connected(const struct rz_gateway_link *link, struct rz_child *p)
{
    const struct rz_own_node *own = link->own;
    bool again = p->service != RZ_CHILD_UNSERVED;
    p->service = RZ_CHILD_CONNECTED;
    link->connected[p->rank] = p->incarnation;
    if (again) {
        return;
    }
    rz_child_tell_joined(p);
    for (uint32_t slot = 0; slot < own->job.n_slots; slot++) { /* earlier failures */
        if (has_run(link, slot) && rz_membership_has_failed(&own->membership, slot)) {
            tell_of(link, slot, own->membership.slots[slot].incarnation);
        }
    }
}

static bool on_client(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_client *m = &told->client;
    struct rz_child *p = client_of(link, m->rank, m->incarnation);
    if (m->state == RZ_CLIENT_CONNECTED && p) {
        client_connected(link, p);
    } else if (m->state == RZ_CLIENT_FINALIZED && p) {
        p->service = RZ_CHILD_FINALIZED;
    }
    rz_children_recount(link->config.children);
    return m->state < RZ_CLIENT_STATE_COUNT;
}

static bool on_tolerant(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    (void)told;
    link->tolerant = true;
    return true;
}

static bool on_gateway_abort(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_abort *m = &told->abort;
    struct rz_child *p = client_of(link, m->rank, m->incarnation);
    if (m->processes_length == 0) {
        if (p) {
            p->service = RZ_CHILD_FINALIZED; /* its end is no failure */
        }
        rz_report_aborted(&link->own->report, m->rank, m->code, m->reason);
        return true;
    }
    char by[512];
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, m->processes, m->processes_length);
    snprintf(by, sizeof(by), "rank %u: %s", m->rank, m->reason);
    uint32_t code = m->code;
    for (uint32_t n = m->processes_length / 8; n > 0; n--) {
        uint32_t slot = rz_wire_get_u32(&r), incarnation = rz_wire_get_u32(&r);
        if (slot < link->own->job.n_slots && incarnation == 0) {
            incarnation = link->own->membership.slots[slot].incarnation;
        }
        rz_spawns_end(link->config.spawns, slot, incarnation, code, by);
    }
    return true;
}

static bool on_lines(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_lines *m = &told->lines;
    struct rz_child *p = client_of(link, m->rank, m->incarnation);
    if (p) {
        rz_link_router_send_raw(p, m->data, m->data_length);
    }
    return true;
}

/* What a process says is read on when its gateway has read most of it: a process that asks more
 * than is answered waits alone. */
static bool on_taken(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_taken *m = &told->taken;
    struct rz_child *p = client_of(link, m->rank, m->incarnation);
    if (p) {
        bool held = p->unserved > UNSERVED_MAX;
        p->unserved -= m->bytes < p->unserved ? m->bytes : p->unserved;
        if (held && p->unserved <= UNSERVED_MAX && p->link.fd >= 0) {
            event_add(p->link.readable, NULL);
        }
    }
    return true;
}

static bool on_log(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    rz_report_log(&link->own->report, told->log.level, "%s", told->log.line);
    return true;
}

static bool on_gives_up(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    char what[600];
    snprintf(what, sizeof(what), "cannot serve programs: %s", told->gives_up.reason);
    gateway_failed(link, what);
    return true;
}

static bool on_message(struct rz_gateway_link *link, const void *bytes, size_t n)
{
    static bool (*const handlers[RZ_GATEWAY_TYPE_COUNT])(struct rz_gateway_link *,
                                                         const struct rz_gateway_message *) = {
        [RZ_GATEWAY_READY] = rz_gateway_on_ready,
        [RZ_GATEWAY_PEER] = on_peer,
        [RZ_GATEWAY_CLIENT] = on_client,
        [RZ_GATEWAY_TOLERANT] = on_tolerant,
        [RZ_GATEWAY_SPAWN] = rz_gateway_on_spawn,
        [RZ_GATEWAY_ABORT] = on_gateway_abort,
        [RZ_GATEWAY_LINES] = on_lines,
        [RZ_GATEWAY_TAKEN] = on_taken,
        [RZ_GATEWAY_LOG] = on_log,
        [RZ_GATEWAY_GIVES_UP] = on_gives_up};
    struct rz_gateway_message message;
    return rz_gateway_decode(&message, bytes, n) == RZ_OK && handlers[message.type] &&
           handlers[message.type](link, &message);
}

void rz_gateway_link_drain(struct rz_gateway_link *link)
{
    const void *bytes;
    size_t n;
    rz_status_t status = RZ_OK;
    if (!link || !link->stream || link->draining) {
        return; /* a handler may determine whether a process failed */
    }
    link->draining = true;
    for (bool more = true; more;) {
        status = rz_frames_read(link->stream);
        more = false;
        while (link->stream && rz_frames_next(link->stream, &bytes, &n)) {
            more = true;
            if (!on_message(link, bytes, n)) {
                gateway_failed(link, "sent a malformed message");
            }
        }
        more = more && link->stream && (status == RZ_OK || status == RZ_IN_PROGRESS);
    }
    link->draining = false;
    if (link->stream && status != RZ_OK && status != RZ_IN_PROGRESS) {
        gateway_failed(link, "has failed");
    }
}

static void stream_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    rz_gateway_link_drain(arg);
}

static void stream_writable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_gateway_link *link = arg;
    (void)fd, (void)what;
    rz_frames_flush(link->stream);
    if (rz_frames_want_write(link->stream)) {
        event_add(link->writable, NULL);
    }
}

/* ---- from other nodes, and from processes that speak over their links ---- */

static void on_overlay(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_overlay_gateway *m = &message->gateway;
    if (m->data_length == 0) {
        rz_gateway_link_send(arg, &(struct rz_gateway_message){
                                      .type = RZ_GATEWAY_NODE_FAILED,
                                      .node_failed = {.node = from, .gateway_alone = true}});
        return;
    }
    rz_gateway_link_send(arg,
                         &(struct rz_gateway_message){.type = RZ_GATEWAY_PEER,
                                                      .peer = {.node = from,
                                                               .more = m->more,
                                                               .data = m->data,
                                                               .data_length = m->data_length}});
}

static void on_raw(void *arg, const struct rz_child *p, const void *bytes, size_t n)
{
    struct rz_child *from = client_of(arg, p->rank, p->incarnation);
    if (from) {
        from->unserved += n;
        if (from->unserved > UNSERVED_MAX && from->link.fd >= 0) {
            event_del(from->link.readable);
        }
    }
    rz_gateway_link_send(arg, &(struct rz_gateway_message){.type = RZ_GATEWAY_LINES,
                                                           .lines = {.rank = p->rank,
                                                                     .incarnation = p->incarnation,
                                                                     .data = bytes,
                                                                     .data_length = (uint32_t)n}});
}

/* ---- open and close ---- */

/* Beside rzd. */
static bool program_path(char *path, size_t bytes)
{
    static const char name[] = "rzgateway";
    if (!rz_process_path(path, bytes - sizeof(name)) || !strrchr(path, '/')) {
        return false;
    }
    strcpy(strrchr(path, '/') + 1, name);
    return true;
}

/* What libpmix prints is lost in a detached job, whose terminal is not its own. */
_Noreturn static void run_gateway(const struct rz_gateway_link *link, const char *path, int stream,
                                  int nothing, pid_t parent)
{
    int error = link->own->job.flags & RZ_JOB_DETACHED ? nothing : STDERR_FILENO;
    char fd[16];
    char *const arguments[] = {(char *)path, fd, NULL};
    const int source[] = {nothing, error, error, stream};
    snprintf(fd, sizeof(fd), "%d", GATEWAY_FD);
    if (rz_process_fail_with_parent(parent, SIGKILL) == RZ_OK &&
        rz_child_process_place_descriptors(source, sizeof(source) / sizeof(*source))) {
        rz_child_process_plain_signals();
        execv(path, arguments);
    }
    _exit(127);
}

static rz_status_t start_gateway(struct rz_gateway_link *link)
{
    char path[4096] = "rzgateway";
    int ends[2], nothing;
    pid_t parent = getpid();
    if (!program_path(path, sizeof(path)) || access(path, X_OK) != 0) {
        rz_report_log(&link->own->report, 0,
                      "%s, which serves programs of other MPIs, cannot be executed: it belongs "
                      "beside rzd",
                      path);
        return RZ_ERR_SYSTEM;
    }
    if (rz_descriptor_nothing(&nothing) != RZ_OK) {
        return RZ_ERR_SYSTEM;
    }
    if (rz_descriptor_stream_pair(ends) != RZ_OK) {
        close(nothing);
        return RZ_ERR_SYSTEM;
    }
    pid_t pid = rz_child_process_fork();
    if (pid == 0) {
        run_gateway(link, path, ends[1], nothing, parent);
    }
    close(ends[1]);
    close(nothing);
    if (pid < 0 || rz_descriptor_no_wait(ends[0]) != RZ_OK ||
        rz_frames_open(&link->stream, ends[0], RZ_GATEWAY_FRAME_MAX) != RZ_OK) {
        close(ends[0]);
        return RZ_ERR_SYSTEM;
    }
    struct event_base *base = link->own->base;
    rz_status_t status =
        rz_loop_watch(base, &link->readable, ends[0], EV_READ | EV_PERSIST, stream_readable, link);
    if (status == RZ_OK) {
        status = rz_loop_watch(base, &link->writable, ends[0], EV_WRITE, stream_writable, link);
    }
    return status == RZ_OK ? send_job(link) : status;
}

rz_status_t rz_gateway_link_open(struct rz_gateway_link **result,
                                 const struct rz_gateway_link_config *config)
{
    if (!(config->own->job.flags & (RZ_JOB_PMIX | RZ_JOB_PMI1))) {
        return RZ_OK;
    }
    struct rz_gateway_link *link = calloc(1, sizeof(*link));
    if (!link) {
        return RZ_ERR_NO_MEMORY;
    }
    link->config = *config;
    link->own = config->own;
    link->tolerant = config->own->job.flags & RZ_JOB_TOLERANT;
    link->connected = calloc(link->own->job.n_slots, sizeof(*link->connected));
    rz_status_t status = link->connected ? start_gateway(link) : RZ_ERR_NO_MEMORY;
    if (status != RZ_OK) {
        rz_gateway_link_close(link);
        return status;
    }
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_GATEWAY, on_overlay, link);
    if (config->own->job.flags & RZ_JOB_PMI1) {
        rz_link_router_on_raw(config->router, on_raw, link);
    }
    rz_gateway_serve_spawns(link);
    config->children->held = true;
    *result = link;
    return RZ_OK;
}

void rz_gateway_link_close(struct rz_gateway_link *link)
{
    if (!link) {
        return;
    }
    close_stream(link); /* the gateway ends itself */
    rz_gateway_given_close(link);
    free(link->connected);
    free(link);
}
