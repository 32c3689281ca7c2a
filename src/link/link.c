/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link after joining: sends and receives messages, calls their handlers, checks the stop word,
 * and runs the helper thread that checks the lease.
 */
#include "link/link_state.h"

#include "base/assert.h"
#include "base/trace.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/memory.h"
#include "port/process.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So often a process that waits for an answer looks whether its daemon is still there. */
#define LOOK_MS 100

rz_status_t rz_link_join(struct rz_link **out)
{
    struct rz_link *link = calloc(1, sizeof(*link));
    if (!link) {
        return RZ_ERR_NO_MEMORY;
    }
    link->info.fd = link->info.inbox_fd = link->info.doorbell_fd = link->info.ring_fd = -1;
    link->watch_fd = -1;
    rz_status_t status = rz_link_join_elsewhere(link);
    if (status == RZ_OK) {
        const char *fd = getenv("RZ_LINK_FD");
        status = fd ? rz_link_join_daemon(link, fd) : rz_link_join_alone(link);
    }
    if (status != RZ_OK) {
        rz_link_close(link, false);
        return status;
    }
    *out = link;
    return RZ_OK;
}

rz_status_t rz_link_hold(struct rz_link *link)
{
    if (link->watch_fd < 0) {
        return RZ_OK; /* a job of this process alone, or of another launcher */
    }
    rz_status_t status = rz_watch_hold_beating(&link->held, link->watch_fd, link->watch_slot,
                                               rz_link_beat_period(link), rz_link_beat, link);
    close(link->watch_fd);
    link->watch_fd = -1;
    return status;
}

rz_status_t rz_link_open(struct rz_link **link)
{
    rz_status_t status = rz_link_join(link);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_link_hold(*link);
    if (status != RZ_OK) {
        fprintf(stderr, "rhizome: cannot join the job: %s\n", rz_status_text(status));
        rz_link_close(*link, false);
    }
    return status;
}

/* ---- A link in place of another one ---- */

struct rz_link_handover {
    struct rz_link_info info;
    const struct rz_board *board;
    size_t board_bytes;
    struct rz_lease lease;
    pid_t daemon;
    struct rz_guardians guardians;
    int watch_fd;
    uint32_t watch_slot;
    struct rz_trace_ring *trace_ring;
};
_Static_assert(sizeof(struct rz_link_handover) <= RZ_LINK_HANDOVER_BYTES, "it has its place");

void rz_link_hand_over(const struct rz_link *link, void *handover)
{
    rz_assert(!link->held && !link->info.cohort.processes);
    *(struct rz_link_handover *)handover =
        (struct rz_link_handover){.info = link->info,
                                  .board = link->board,
                                  .board_bytes = link->board_bytes,
                                  .lease = link->lease,
                                  .daemon = link->daemon,
                                  .guardians = link->guardians,
                                  .watch_fd = link->watch_fd,
                                  .watch_slot = link->watch_slot,
                                  .trace_ring = link->trace_ring};
}

rz_status_t rz_link_take_over(struct rz_link *link, const void *handover)
{
    const struct rz_link_handover *fresh = handover;
    const struct rz_link_info *info = &fresh->info, *before = &link->info;
    /* Calls that wait refer to these places. */
    if (info->self.rank != before->self.rank || info->n_ranks != before->n_ranks ||
        fresh->board != link->board || info->waits != before->waits ||
        info->doorbell != before->doorbell || info->n_slots != before->n_slots) {
        return RZ_ERR_INVALID;
    }
    link->info = *info;
    link->board_bytes = fresh->board_bytes;
    link->lease = fresh->lease;
    link->daemon = fresh->daemon;
    link->guardians = fresh->guardians;
    link->watch_fd = fresh->watch_fd;
    link->watch_slot = fresh->watch_slot;
    link->held = NULL; /* the thread that held it has ended with its process */
    link->trace_ring = fresh->trace_ring;
    link->dispatching = false;
    if (!fresh->trace_ring || !rz_trace_begin(fresh->trace_ring, rz_clock_now)) {
        rz_trace_end();
    }
    return RZ_OK;
}

void rz_link_descriptors(const struct rz_link *link, void (*visit)(void *arg, int fd), void *arg)
{
    const int fds[] = {link->info.fd, link->info.inbox_fd, link->info.doorbell_fd,
                       link->info.ring_fd, link->watch_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (fds[i] >= 0) {
            visit(arg, fds[i]);
        }
    }
}

void rz_link_renumber(struct rz_link *link, int (*move)(int fd))
{
    int *const fds[] = {&link->info.fd, &link->info.inbox_fd, &link->info.doorbell_fd,
                        &link->info.ring_fd, &link->watch_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        int moved = *fds[i] >= 0 ? move(*fds[i]) : -1;
        *fds[i] = moved >= 0 ? moved : *fds[i];
    }
}

int rz_link_thread(const struct rz_link *link)
{
    return link->held ? rz_watch_thread(link->held) : 0;
}

void rz_link_close(struct rz_link *link, bool bye)
{
    rz_assert(!link->dispatching);
    if (bye && !link->info.alone) {
        RZ_TRACE(LEFT, 0, 0, 0);
        struct rz_link_message message = {.type = RZ_LINK_BYE};
        rz_link_send(link, &message, -1); /* a daemon that has ended does not need the message */
        rz_link_tell_guardians(link);
    }
    if (link->held) {
        rz_watch_release(link->held);
    }
    if (link->watch_fd >= 0) {
        close(link->watch_fd);
    }
    rz_memory_unmap((void *)link->board, link->board_bytes);
    rz_memory_unmap(link->info.doorbell, sizeof(*link->info.doorbell));
    rz_memory_unmap(link->info.waits, rz_waits_bytes(link->info.n_slots));
    if (link->info.inbox_fd >= 0) {
        close(link->info.inbox_fd);
    }
    if (link->info.doorbell_fd >= 0) {
        close(link->info.doorbell_fd);
    }
    if (link->info.ring_fd >= 0) {
        close(link->info.ring_fd);
    }
    if (link->info.fd >= 0) {
        close(link->info.fd);
    }
    rz_trace_end();
    explicit_bzero(link->info.ring_key, sizeof(link->info.ring_key));
    free(link->info.cohort.processes);
    free(link->info.cohort.parent);
    free(link);
}

const struct rz_link_info *rz_link_info(const struct rz_link *link)
{
    return &link->info;
}

void rz_link_handle(struct rz_link *link, enum rz_link_type type, rz_link_handler_t handler,
                    void *arg)
{
    rz_assert((unsigned)type < RZ_LINK_TYPE_COUNT);
    link->handler[type].call = handler;
    link->handler[type].arg = arg;
}

bool rz_link_overdue(const struct rz_link *link, rz_time begun)
{
    rz_time waited = rz_clock_now() - begun;
    return waited >= RZ_LINK_STARVED_NS ||
           (waited >= RZ_LINK_ANSWER_NS && !rz_lease_can_wait(rz_process_state(link->daemon)));
}

/* Sends n bytes, whose encoding has failed if n is 0. checks: the same link, if its stop word is to
 * be looked at. */
static rz_status_t link_put(const struct rz_link *link, const void *bytes, size_t n, int fd,
                            struct rz_link *checks)
{
    rz_status_t status = n > 0 ? RZ_IN_PROGRESS : RZ_ERR_INVALID;
    rz_time begun = rz_clock_now();
    while (status == RZ_IN_PROGRESS) {
        status = rz_channel_send(link->info.fd, bytes, n, &fd, fd >= 0 ? 1 : 0);
        if (status != RZ_IN_PROGRESS) {
            break;
        }
        /* The daemon always reads; if it does not, its stop word or the time limit ends this
         * loop. */
        struct pollfd polled = {.fd = link->info.fd, .events = POLLOUT};
        poll(&polled, 1, 10);
        rz_status_t fenced = checks && checks->board ? rz_link_check(checks) : RZ_OK;
        if (fenced != RZ_OK) {
            status = fenced;
        } else if (rz_link_overdue(link, begun)) {
            status = RZ_ERR_TIMEOUT;
        }
    }
    return status;
}

rz_status_t rz_link_send(struct rz_link *link, const struct rz_link_message *message, int fd)
{
    if (link->info.alone) {
        return RZ_ERR_UNSUPPORTED;
    }
    RZ_TRACE(TOLD_DAEMON, message->type, 0, 0);
    size_t n = rz_link_encode(message, link->out, sizeof(link->out));
    return link_put(link, link->out, n, fd, link);
}

rz_status_t rz_link_send_through(const struct rz_link *link, const struct rz_link_message *message,
                                 int fd, void *room, size_t bytes)
{
    if (link->info.alone) {
        return RZ_ERR_UNSUPPORTED;
    }
    return link_put(link, room, rz_link_encode(message, room, bytes), fd, NULL);
}

static void link_dispatch(struct rz_link *link, const struct rz_link_message *message, int *fds,
                          unsigned n_fds)
{
    rz_link_handler_t call = link->handler[message->type].call;
    if (call) {
        link->dispatching = true;
        call(link->handler[message->type].arg, message, fds, n_fds);
        link->dispatching = false;
    } else {
        while (n_fds > 0) {
            close(fds[--n_fds]);
        }
    }
}

rz_status_t rz_link_progress(struct rz_link *link)
{
    rz_assert(!link->dispatching); /* handlers read from the buffer of the message being read */
    if (link->info.alone) {
        return RZ_OK;
    }
    for (;;) {
        size_t n;
        int fds[RZ_CHANNEL_FDS_MAX];
        unsigned n_fds = 0;
        struct rz_link_message message;
        rz_status_t status =
            rz_channel_receive(link->info.fd, link->buffer, sizeof(link->buffer), &n, fds, &n_fds);
        if (status == RZ_IN_PROGRESS) {
            return RZ_OK;
        }
        if (status != RZ_OK) {
            return status;
        }
        status = rz_link_decode(&message, link->buffer, n);
        if (status != RZ_OK) {
            while (n_fds > 0) {
                close(fds[--n_fds]);
            }
            return status;
        }
        RZ_TRACE(HEARD_DAEMON, message.type, 0, 0);
        link_dispatch(link, &message, fds, n_fds);
    }
}

rz_status_t rz_link_await(struct rz_link *link, const bool *answered)
{
    rz_status_t status = RZ_OK;
    while (status == RZ_OK && !*answered) {
        rz_descriptor_await(&link->info.fd, 1, LOOK_MS);
        if (link->info.waits) {
            rz_waits_alive(link->info.waits);
        }
        status = rz_link_check(link);
        status = status == RZ_OK ? rz_link_progress(link) : status;
    }
    return status;
}

rz_status_t rz_link_check(struct rz_link *link)
{
    if (link->info.alone) {
        return RZ_OK;
    }
    if (atomic_load_explicit(&link->board->stop, memory_order_acquire) != 0) {
        return RZ_ERR_FENCED;
    }
    return atomic_load_explicit(&link->board->lease_renewed_ns, memory_order_acquire) != 0
               ? RZ_OK
               : RZ_ERR_FENCED;
}

_Noreturn void rz_link_end_by(const struct rz_link *link, const char *words)
{
    fprintf(stderr, "rhizome: rank %u ends: %s\n", link->info.self.rank, words);
    _exit(EXIT_FAILURE);
}

static void nudge(const struct rz_link *link)
{
    const struct rz_link_message message = {.type = RZ_LINK_NUDGE};
    unsigned char bytes[64];
    size_t n = rz_link_encode(&message, bytes, sizeof(bytes));
    rz_channel_send(link->info.fd, bytes, n, NULL, 0); /* one that reads nothing is not woken */
}

/* Checks the daemon's own state before its silence counts: on a loaded machine it may wait long for
 * a processor, as this process may. */
static void doubt(struct rz_link *link)
{
    char state = rz_process_state(link->daemon), words[160];
    if (rz_lease_can_wait(state) ||
        atomic_load_explicit(&link->board->lease_renewed_ns, memory_order_acquire) !=
            link->lease.renewed) {
        return;
    }
    if (rz_lease_nudges(&link->lease, state)) {
        nudge(link);
        return;
    }
    snprintf(words, sizeof(words),
             "its lease has run out: the daemon of its node %s (silent for %.1f s)",
             rz_lease_words(state), (double)link->lease.silent / RZ_SECOND);
    rz_link_end_by(link, words);
}

/* At the end of the job processes have time to end by themselves; the daemon enforces the limit. */
void rz_link_beat(void *arg)
{
    struct rz_link *link = arg;
    uint64_t stop = atomic_load_explicit(&link->board->stop, memory_order_acquire);
    rz_link_look_at_guardians(link, stop);
    if (stop == RZ_ERR_JOB_ENDED) {
        return;
    }
    if (stop != 0) {
        rz_link_end_by(link, rz_status_text((rz_status_t)stop));
    }
    switch (rz_lease_look(&link->lease, link->board, rz_clock_now())) {
    case RZ_LEASE_HELD:
        break;
    case RZ_LEASE_DOUBTED:
        doubt(link);
        break;
    case RZ_LEASE_WITHDRAWN:
        rz_link_end_by(link, "the daemon of its node has withdrawn its lease");
    }
}
