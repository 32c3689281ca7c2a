/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the spool of a detached job to each attached rzrun, a bounded queue for each connection,
 * and the result at the end. */
#include "daemon/launcher/attached.h"

#include "base/assert.h"
#include "daemon/state/loop.h"
#include "port/channel.h"

#include <stdlib.h>
#include <unistd.h>

/* The largest number of bytes queued for one attached rzrun. The rest stays in the spool. */
#define QUEUE_MAX (256u << 10)
#define RESULT_BYTES_MAX 1024

struct attacher {
    struct rz_attached *all; /* NULL: the entry is free */
    struct rz_frames *frames;
    struct event *readable, *writable;
    struct rz_spool_place place;
    bool told; /* the result was sent to it */
    bool over; /* it has confirmed the result, or its connection ended: the entry can be freed */
};

struct rz_attached {
    struct rz_attached_host host;
    struct attacher attachers[RZ_ATTACHED_MAX];
    struct event *growing; /* one event for many frames put into the spool */
    uint8_t result[RESULT_BYTES_MAX];
    size_t result_bytes; /* 0: the job goes on */
    bool collected;
};

/* ---- sending ---- */

static rz_status_t send_to_attacher(struct attacher *one, const struct rz_launch_message *message)
{
    uint8_t frame[RESULT_BYTES_MAX];
    size_t n = rz_launch_encode(message, frame, sizeof(frame));
    rz_assert(n > 0);
    return rz_frames_send(one->frames, frame, n);
}

/* Queues as much as the connection takes now. The end of the connection is noticed when it is
 * read. */
static void pump(struct attacher *one)
{
    const void *frame;
    size_t n;
    uint64_t missed;
    rz_status_t status = RZ_OK;
    while (status == RZ_OK && rz_frames_queued(one->frames) < QUEUE_MAX &&
           rz_spool_next(one->all->host.spool, &one->place, &frame, &n, &missed)) {
        struct rz_launch_message message = {.type = RZ_LAUNCH_MISSED, .missed = {.bytes = missed}};
        if (missed > 0) {
            send_to_attacher(one, &message);
        }
        status = rz_frames_send(one->frames, frame, n);
    }
    if (status == RZ_OK && rz_frames_queued(one->frames) < QUEUE_MAX && !one->told &&
        one->all->result_bytes > 0) {
        one->told = true;
        rz_frames_send(one->frames, one->all->result, one->all->result_bytes);
    }
    if (rz_frames_want_write(one->frames)) {
        event_add(one->writable, NULL);
    }
}

static void attacher_writable(evutil_socket_t fd, short what, void *arg)
{
    struct attacher *one = arg;
    (void)fd, (void)what;
    if (rz_frames_flush(one->frames) != RZ_ERR_CLOSED) {
        pump(one);
    }
}

/* ---- connections ---- */

static void let_go_attacher(struct attacher *one)
{
    struct rz_attached *all = one->all;
    rz_loop_free(one->readable);
    rz_loop_free(one->writable);
    if (one->frames) {
        rz_frames_close(one->frames);
    }
    *one = (struct attacher){0};
    for (unsigned i = 0; i < RZ_ATTACHED_MAX; i++) {
        if (all->attachers[i].all) {
            return;
        }
    }
    if (all->collected) {
        all->host.collected(all->host.arg);
    }
}

static void obey_attacher(struct attacher *one, const void *bytes, size_t n)
{
    struct rz_launch_message message;
    struct rz_attached *all = one->all;
    if (rz_launch_decode(&message, bytes, n) != RZ_OK) {
        one->over = true;
    } else if (message.type == RZ_LAUNCH_FINISH) {
        all->host.finish(all->host.arg, &message);
    } else {
        one->over = true;
    }
    /* A result counts as fetched when the reader confirms it, not when it was written. */
    if (message.type == RZ_LAUNCH_SHUTDOWN && one->told) {
        all->collected = true;
    }
}

static void attacher_readable(evutil_socket_t fd, short what, void *arg)
{
    struct attacher *one = arg;
    const void *bytes;
    size_t n;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_read(one->frames);
    while (!one->over && rz_frames_next(one->frames, &bytes, &n)) {
        obey_attacher(one, bytes, n);
    }
    if (one->over || status != RZ_OK) {
        let_go_attacher(one);
    }
}

static void say_hello(struct attacher *one)
{
    const struct rz_daemon_job *job = &one->all->host.own->job;
    struct rz_launch_message message = {.type = RZ_LAUNCH_LISTENING,
                                        .listening = {.version = RZ_LAUNCH_VERSION,
                                                      .node = job->node,
                                                      .pid = (uint32_t)getpid(),
                                                      .ip = job->peers[job->node].address.ip,
                                                      .ip_length = RZ_IP_BYTES}};
    send_to_attacher(one, &message);
}

bool rz_attached_add(struct rz_attached *all, int fd)
{
    struct attacher *one = all->attachers;
    while (one < all->attachers + RZ_ATTACHED_MAX && one->all) {
        one++;
    }
    if (one == all->attachers + RZ_ATTACHED_MAX) {
        return false;
    }
    *one = (struct attacher){.all = all};
    if (rz_frames_open(&one->frames, fd, RZ_LAUNCH_FRAME_MAX) != RZ_OK) {
        close(fd);
        let_go_attacher(one);
        return true;
    }
    struct event_base *base = all->host.own->base;
    if (rz_loop_watch(base, &one->writable, fd, EV_WRITE, attacher_writable, one) != RZ_OK ||
        rz_loop_watch(base, &one->readable, fd, EV_READ | EV_PERSIST, attacher_readable, one) !=
            RZ_OK) {
        let_go_attacher(one);
        return true;
    }
    say_hello(one);
    pump(one);
    return true;
}

static void spool_has_grown(evutil_socket_t fd, short what, void *arg)
{
    struct rz_attached *all = arg;
    (void)fd, (void)what;
    for (unsigned i = 0; i < RZ_ATTACHED_MAX; i++) {
        if (all->attachers[i].all) {
            pump(&all->attachers[i]);
        }
    }
}

void rz_attached_look(struct rz_attached *all)
{
    rz_loop_soon(all->growing);
}

void rz_attached_conclude(struct rz_attached *all, const struct rz_launch_message *result)
{
    all->result_bytes = rz_launch_encode(result, all->result, sizeof(all->result));
    rz_assert(all->result_bytes > 0);
    rz_attached_look(all);
}

/* ---- open and close ---- */

rz_status_t rz_attached_open(struct rz_attached **attached, const struct rz_attached_host *host)
{
    struct rz_attached *all = calloc(1, sizeof(*all));
    if (!all) {
        return RZ_ERR_NO_MEMORY;
    }
    all->host = *host;
    rz_status_t status = rz_loop_timer(host->own->base, &all->growing, spool_has_grown, all);
    if (status != RZ_OK) {
        free(all);
        return status;
    }
    *attached = all;
    return RZ_OK;
}

void rz_attached_close(struct rz_attached *all)
{
    if (!all) {
        return;
    }
    all->collected = false;
    for (unsigned i = 0; i < RZ_ATTACHED_MAX; i++) {
        if (all->attachers[i].all) {
            let_go_attacher(&all->attachers[i]);
        }
    }
    rz_loop_free(all->growing);
    free(all);
}
