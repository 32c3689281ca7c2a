/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives the messages of the node's processes, checks that each may come in the state of its
 * process, and calls the handler that is registered for its type. */
#include "daemon/process/link_router.h"

#include "base/assert.h"
#include "base/trace.h"
#include "port/channel.h"
#include "port/descriptor.h"
#include "port/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The number of messages of one process per turn of the loop, so that no process makes others
 * wait. */
#define TURN_MESSAGES 32
/* At least as many messages as the socket buffer of a failed process can hold. */
#define DRAIN_MESSAGES 4096

struct rz_link_router {
    struct rz_children *children;
    void (*closed)(struct rz_child *process);
    void (*raw)(void *arg, const struct rz_child *process, const void *bytes, size_t n);
    void *raw_arg;
    struct {
        rz_link_handler_fn call;
        void *arg;
    } handler[RZ_LINK_TYPE_COUNT];
    /* A reserve: the descriptors of one message find room when nothing else does. -1: none. */
    int spare[RZ_CHANNEL_FDS_MAX];
    bool scarce; /* the user was told that descriptors are */
    uint8_t buffer[RZ_LINK_MESSAGE_MAX];
};

/* ---- sending ---- */

/* Modules bound what they send; a message that is too long nevertheless costs the process that
 * would get it, and no other process. */
static void not_sent(struct rz_child *p, enum rz_link_type type, rz_status_t why)
{
    char words[96];
    snprintf(words, sizeof(words), "%s for it does not fit into a message of %u bytes",
             rz_link_type_name(type), RZ_LINK_MESSAGE_MAX);
    rz_child_kill(p, why == RZ_ERR_TRUNCATE ? words : "it does not read its messages");
}

static rz_status_t send_to(struct rz_child *p, const struct rz_link_message *message,
                           const int *fds, unsigned n_fds)
{
    RZ_TRACE(PROCESS_TOLD, p->rank, message->type, 0);
    rz_status_t status = rz_link_peer_send(&p->link, message, fds, n_fds);
    if (status == RZ_OK) {
        rz_child_ring(p, RZ_DOORBELL_LINK);
    } else if (status != RZ_ERR_CLOSED) {
        not_sent(p, message->type, status);
    }
    return status;
}

void rz_link_router_send(struct rz_child *p, const struct rz_link_message *message)
{
    send_to(p, message, NULL, 0);
}

void rz_link_router_send_with(struct rz_child *p, const struct rz_link_message *message,
                              const int *fds, unsigned n_fds)
{
    send_to(p, message, fds, n_fds);
}

rz_status_t rz_link_router_send_to(const struct rz_children *children, uint32_t rank,
                                   const struct rz_link_message *message, int fd)
{
    struct rz_child *p = rz_child_of(children, rank);
    if (!p || p->state != RZ_CHILD_JOINED) {
        return RZ_ERR_CLOSED;
    }
    return send_to(p, message, &fd, fd >= 0 ? 1 : 0);
}

void rz_link_router_send_raw(struct rz_child *p, const void *bytes, size_t n)
{
    rz_status_t status = rz_link_peer_send_bytes(&p->link, bytes, n, NULL, 0);
    if (status != RZ_OK && status != RZ_ERR_CLOSED) {
        rz_child_kill(p, "it does not read its messages");
    }
}

/* So many refusals of a process are reported when they happen; the others are counted. */
#define REFUSALS_SAID 3

void rz_link_router_refuse(struct rz_child *p, const char *reason)
{
    const struct rz_link_message message = {.type = RZ_LINK_REFUSED, .refused = {.reason = reason}};
    if (p->refusals < REFUSALS_SAID) {
        rz_report_log(&p->all->own->report, 0, "rank %u is refused: %s", p->rank, reason);
    }
    p->refusals += p->refusals < UINT32_MAX;
    send_to(p, &message, NULL, 0);
}

void rz_link_router_tell_refusals(const struct rz_child *p)
{
    if (p->refusals > REFUSALS_SAID) {
        rz_report_log(&p->all->own->report, 0, "rank %u was refused %u times in all", p->rank,
                      p->refusals);
    }
}

/* ---- receiving ---- */

static bool dispatch(const struct rz_link_router *router, struct rz_child *p,
                     const struct rz_link_message *message, int *fd)
{
    rz_link_handler_fn call = router->handler[message->type].call;
    RZ_TRACE(PROCESS_SAID, p->rank, message->type, 0);
    return call && call(router->handler[message->type].arg, p, message, fd);
}

static void on_link_message(const struct rz_link_router *router, struct rz_child *p,
                            const void *bytes, size_t n, int *fd)
{
    struct rz_link_message message;
    bool ending = p->all->own->membership.ending;
    if (rz_link_decode(&message, bytes, n) != RZ_OK) {
        if (p->joined) {
            rz_child_kill(p, "malformed message on its link");
        } else {
            rz_link_router_refuse(p, "malformed message");
        }
    } else if (message.type == RZ_LINK_HELLO) {
        dispatch(router, p, &message, fd);
    } else if (!p->joined) {
        rz_link_router_refuse(p, "HELLO must come first");
    } else if (p->state == RZ_CHILD_JOINED && (!ending || message.type == RZ_LINK_BYE) &&
               !dispatch(router, p, &message, fd)) {
        rz_child_kill(p, "its message breaks the link protocol");
    }
}

static void spare_keep(struct rz_link_router *router)
{
    for (size_t i = 0; i < RZ_CHANNEL_FDS_MAX; i++) {
        if (router->spare[i] < 0 && rz_descriptor_nothing(&router->spare[i]) != RZ_OK) {
            router->spare[i] = -1;
            return;
        }
    }
}

static void spare_release(struct rz_link_router *router)
{
    for (size_t i = 0; i < RZ_CHANNEL_FDS_MAX; i++) {
        if (router->spare[i] >= 0) {
            rz_descriptor_close(router->spare[i]);
            router->spare[i] = -1;
        }
    }
}

/* The message is lost, so the job cannot go on; no process is to blame. */
static void no_descriptors(struct rz_link_router *router, const struct rz_child *p)
{
    const struct rz_own_node *own = router->children->own;
    char words[160];
    if (router->scarce || own->membership.ending) {
        return;
    }
    router->scarce = true;
    snprintf(words, sizeof(words), "its daemon, of node %u, cannot take what it sends: %s",
             own->job.node, rz_status_text(RZ_ERR_NO_DESCRIPTORS));
    rz_report_aborted(&own->report, p->rank, EXIT_FAILURE, words);
}

/* Receives one message. False: there is none now, or the link has ended. */
static bool receive(struct rz_child *p)
{
    struct rz_link_router *router = p->router;
    int fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds = 0;
    size_t n;
    if (p->link.fd < 0) {
        return false;
    }
    bool brings = rz_channel_brings_fds(p->link.fd);
    if (brings) {
        spare_release(router);
    }
    rz_status_t status =
        rz_channel_receive(p->link.fd, router->buffer, sizeof(router->buffer), &n, fds, &n_fds);
    if (brings) {
        spare_keep(router);
    }
    if (status == RZ_IN_PROGRESS) {
        return false;
    }
    if (status == RZ_ERR_NO_DESCRIPTORS) {
        no_descriptors(router, p);
        return true;
    }
    if (status == RZ_ERR_MALFORMED) {
        rz_child_kill(p, "oversized message on its link");
        return true;
    }
    if (status != RZ_OK) {
        rz_link_peer_close(&p->link);
        router->closed(p);
        return false;
    }
    int fd = n_fds > 0 ? fds[0] : -1;
    for (unsigned i = 1; i < n_fds; i++) {
        rz_prompt_close(fds[i]);
    }
    if (router->raw) {
        router->raw(router->raw_arg, p, router->buffer, n);
    } else {
        on_link_message(router, p, router->buffer, n, &fd);
    }
    if (fd >= 0) {
        rz_prompt_close(fd);
    }
    return true;
}

static void link_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child *p = arg;
    (void)fd, (void)what;
    for (int i = 0; i < TURN_MESSAGES && receive(p); i++) {
        ;
    }
}

static void link_sent(void *arg)
{
    rz_child_ring(arg, RZ_DOORBELL_LINK);
}

void rz_link_router_drain(struct rz_child *p)
{
    for (int i = 0; i < DRAIN_MESSAGES && receive(p); i++) {
        ;
    }
}

/* ---- open and close ---- */

rz_status_t rz_link_router_attach(struct rz_link_router *router, struct rz_child *p, int fd)
{
    p->router = router;
    return rz_link_peer_open(&p->link, router->children->own->base, fd, link_readable, link_sent,
                             p);
}

rz_status_t rz_link_router_replace(struct rz_child *p, int fd, const void *hello, size_t n)
{
    int none = -1;
    const struct rz_link_message late = {.type = RZ_LINK_REFUSED,
                                         .refused = {.reason = RZ_LINK_JOINED_ALREADY}};
    rz_link_router_drain(p);
    if (p->joined || p->given_up) {
        rz_prompt_close(fd);
        return RZ_ERR_REFUSED;
    }
    /* For another program of this rank that still has the inherited one. */
    rz_link_peer_send(&p->link, &late, NULL, 0);
    rz_link_peer_close(&p->link);
    rz_status_t status = rz_link_router_attach(p->router, p, fd);
    if (status == RZ_OK) {
        on_link_message(p->router, p, hello, n, &none);
    }
    return status;
}

void rz_link_router_handle(struct rz_link_router *router, enum rz_link_type type,
                           rz_link_handler_fn handler, void *arg)
{
    rz_assert(!router->handler[type].call);
    router->handler[type].call = handler;
    router->handler[type].arg = arg;
}

void rz_link_router_on_raw(struct rz_link_router *router,
                           void (*raw)(void *arg, const struct rz_child *process, const void *bytes,
                                       size_t n),
                           void *arg)
{
    router->raw = raw;
    router->raw_arg = arg;
}

void rz_link_router_on_closed(struct rz_link_router *router,
                              void (*closed)(struct rz_child *process))
{
    router->closed = closed;
}

rz_status_t rz_link_router_open(struct rz_link_router **result, struct rz_children *children)
{
    struct rz_link_router *router = calloc(1, sizeof(*router));
    if (!router) {
        return RZ_ERR_NO_MEMORY;
    }
    router->children = children;
    for (size_t i = 0; i < RZ_CHANNEL_FDS_MAX; i++) {
        router->spare[i] = -1;
    }
    spare_keep(router);
    *result = router;
    return RZ_OK;
}

void rz_link_router_close(struct rz_link_router *router)
{
    if (router) {
        spare_release(router);
    }
    free(router);
}
