/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepts connections of processes that have lost their inherited link, awaits a HELLO from each,
 * and gives those that prove themselves to the router. */
#include "daemon/service/link_socket.h"

#include "daemon/service/link_service.h"
#include "daemon/state/loop.h"
#include "port/channel.h"
#include "port/local_socket.h"
#include "port/prompt.h"

#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

/* Connections that have not said HELLO. Others wait in the backlog until one of them ends. */
#define CALLERS_MAX 16
/* The longest time until HELLO: a process sends it as soon as it is connected. */
#define CALLER_BOUND (10 * RZ_SECOND)

struct caller {
    struct rz_link_socket *socket; /* NULL: the entry is free */
    int fd;
    struct event *readable, *bound;
};

struct rz_link_socket {
    struct rz_link_socket_config config;
    struct rz_loop_listener listener;
    struct caller callers[CALLERS_MAX];
    uint8_t buffer[RZ_LINK_MESSAGE_MAX];
};

static struct caller *caller_free_entry(struct rz_link_socket *at)
{
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        if (!at->callers[i].socket) {
            return &at->callers[i];
        }
    }
    return NULL;
}

static void caller_end(struct caller *caller)
{
    struct rz_link_socket *at = caller->socket;
    rz_loop_free(caller->readable);
    rz_loop_free(caller->bound);
    if (caller->fd >= 0) {
        rz_prompt_close(caller->fd);
    }
    *caller = (struct caller){.fd = -1};
    rz_loop_listen_again(&at->listener); /* there is room again */
}

static void caller_overdue(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    caller_end(arg);
}

static void caller_refuse(struct caller *caller, const char *why)
{
    uint8_t bytes[512];
    const struct rz_link_message message = {.type = RZ_LINK_REFUSED, .refused = {.reason = why}};
    size_t n = rz_link_encode(&message, bytes, sizeof(bytes));
    if (n > 0) {
        rz_channel_send(caller->fd, bytes, n, NULL, 0);
    }
    caller_end(caller);
}

/* HELLO has come, or what else the caller has said. */
static void caller_take(struct caller *caller, size_t n)
{
    struct rz_link_socket *at = caller->socket;
    struct rz_link_message message;
    if (rz_link_decode(&message, at->buffer, n) != RZ_OK || message.type != RZ_LINK_HELLO) {
        caller_refuse(caller, "HELLO must come first");
        return;
    }
    struct rz_child *p = rz_child_of(at->config.children, message.hello.rank);
    const char *why = p ? rz_link_hello_problem(p, &message.hello)
                        : "it claims to be another process than the one started here";
    if (why) {
        caller_refuse(caller, why);
        return;
    }
    int fd = caller->fd;
    caller->fd = -1;
    caller_end(caller);
    rz_link_router_replace(p, fd, at->buffer, n);
}

static void caller_readable(evutil_socket_t fd, short what, void *arg)
{
    struct caller *caller = arg;
    struct rz_link_socket *at = caller->socket;
    size_t n;
    (void)what;
    rz_status_t status = rz_channel_receive(fd, at->buffer, sizeof(at->buffer), &n, NULL, NULL);
    if (status == RZ_OK) {
        caller_take(caller, n);
    } else if (status != RZ_IN_PROGRESS) {
        caller_end(caller);
    }
}

static void caller_begin(struct caller *caller, struct rz_link_socket *at, int fd)
{
    struct event_base *base = at->config.own->base;
    *caller = (struct caller){.socket = at, .fd = fd};
    if (rz_loop_timer(base, &caller->bound, caller_overdue, caller) != RZ_OK ||
        rz_loop_watch(base, &caller->readable, fd, EV_READ | EV_PERSIST, caller_readable, caller) !=
            RZ_OK) {
        caller_end(caller);
        return;
    }
    rz_loop_arm_every(caller->bound, CALLER_BOUND);
}

static void socket_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_link_socket *at = arg;
    rz_status_t status = RZ_OK;
    struct caller *caller;
    int from;
    (void)what;
    while ((caller = caller_free_entry(at)) && (status = rz_local_accept(fd, &from)) == RZ_OK) {
        caller_begin(caller, at, from);
    }
    if (!caller) {
        rz_loop_listen_full(&at->listener);
    } else if (status != RZ_IN_PROGRESS) {
        rz_loop_listen_rest(&at->listener); /* no descriptor is left for it */
    }
}

rz_status_t rz_link_socket_open(struct rz_link_socket **result,
                                const struct rz_link_socket_config *config)
{
    struct rz_link_socket *at = calloc(1, sizeof(*at));
    uint64_t token;
    if (!at) {
        return RZ_ERR_NO_MEMORY;
    }
    at->config = *config;
    at->listener = RZ_LOOP_LISTENER_NONE;
    int fd;
    randombytes_buf(&token, sizeof(token));
    token |= token == 0;
    rz_status_t status = rz_link_socket_listen(token, config->own->job.node, &fd);
    if (status == RZ_OK) {
        status = rz_loop_listen(config->own->base, &at->listener, fd, socket_readable, at);
    }
    if (status != RZ_OK) {
        rz_link_socket_close(at);
        return status;
    }
    config->own->job.link_token = token;
    *result = at;
    return RZ_OK;
}

void rz_link_socket_close(struct rz_link_socket *at)
{
    if (!at) {
        return;
    }
    at->config.own->job.link_token = 0;
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        if (at->callers[i].socket) {
            caller_end(&at->callers[i]);
        }
    }
    rz_loop_listen_end(&at->listener);
    free(at);
}
