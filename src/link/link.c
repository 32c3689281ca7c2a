#include "link/link_state.h"

#include "base/assert.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/memory.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

rz_status_t rz_link_open(struct rz_link **out)
{
    struct rz_link *link = calloc(1, sizeof *link);
    if (!link)
        return RZ_ERR_NO_MEMORY;
    link->info.fd = link->info.inbox_fd = link->info.doorbell_fd = link->info.ring_fd = -1;
    const char *fd = getenv("RZ_LINK_FD");
    rz_status_t status = fd ? rz_link_join_daemon(link, fd) : rz_link_join_alone(link);
    if (status != RZ_OK) {
        rz_link_close(link, false);
        return status;
    }
    link->called.checked_at = rz_clock_now();
    *out = link;
    return RZ_OK;
}

void rz_link_close(struct rz_link *link, bool bye)
{
    rz_assert(!link->dispatching);
    if (bye && !link->info.alone) {
        struct rz_link_message message = {.type = RZ_LINK_BYE};
        rz_link_send(link, &message, -1); /* a daemon that is gone will not miss it */
    }
    if (link->held)
        rz_watch_release(link->held);
    rz_memory_unmap((void *)link->board, link->board_bytes);
    rz_memory_unmap(link->info.doorbell, sizeof *link->info.doorbell);
    rz_memory_unmap(link->info.waits, sizeof *link->info.waits);
    if (link->info.inbox_fd >= 0)
        close(link->info.inbox_fd);
    if (link->info.doorbell_fd >= 0)
        close(link->info.doorbell_fd);
    if (link->info.ring_fd >= 0)
        close(link->info.ring_fd);
    if (link->info.fd >= 0)
        close(link->info.fd);
    explicit_bzero(link->info.ring_key, sizeof link->info.ring_key);
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

rz_status_t rz_link_send(struct rz_link *link, const struct rz_link_message *message, int fd)
{
    if (link->info.alone)
        return RZ_ERR_UNSUPPORTED;
    size_t n = rz_link_encode(message, link->out, sizeof link->out);
    rz_status_t status = n > 0 ? RZ_IN_PROGRESS : RZ_ERR_INVALID;
    rz_time deadline = rz_clock_now() + RZ_LINK_ANSWER_NS;
    while (status == RZ_IN_PROGRESS) {
        status = rz_channel_send(link->info.fd, link->out, n, &fd, fd >= 0 ? 1 : 0);
        if (status != RZ_IN_PROGRESS)
            break;
        /* The daemon always reads; when it does not, the lease or the deadline ends this. */
        struct pollfd polled = {.fd = link->info.fd, .events = POLLOUT};
        poll(&polled, 1, 10);
        rz_status_t fenced = link->board ? rz_link_check(link) : RZ_OK;
        if (fenced != RZ_OK)
            status = fenced;
        else if (rz_clock_now() >= deadline)
            status = RZ_ERR_TIMEOUT;
    }
    return status;
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
        while (n_fds > 0)
            close(fds[--n_fds]);
    }
}

rz_status_t rz_link_progress(struct rz_link *link)
{
    rz_assert(!link->dispatching); /* handlers read from the buffer of the message being read */
    if (link->info.alone)
        return RZ_OK;
    for (;;) {
        size_t n;
        int fds[RZ_CHANNEL_FDS_MAX];
        unsigned n_fds = 0;
        struct rz_link_message message;
        rz_status_t status =
            rz_channel_receive(link->info.fd, link->buffer, sizeof link->buffer, &n, fds, &n_fds);
        if (status == RZ_IN_PROGRESS)
            return RZ_OK;
        if (status != RZ_OK)
            return status;
        status = rz_link_decode(&message, link->buffer, n);
        if (status != RZ_OK) {
            while (n_fds > 0)
                close(fds[--n_fds]);
            return status;
        }
        link_dispatch(link, &message, fds, n_fds);
    }
}

/* Whether the daemon has been silent for longer than its lease, or has withdrawn it. */
static bool lease_is_over(const struct rz_board *board, struct rz_lease_view *view)
{
    rz_time now = rz_clock_now();
    uint64_t renewed = atomic_load_explicit(&board->lease_renewed_ns, memory_order_acquire);
    rz_time late = now - view->checked_at;
    view->checked_at = now;
    if (renewed == 0)
        return true; /* withdrawn */
    if (now < renewed + board->lease_ns)
        return false;
    /*
     * Expired. Perhaps the whole machine stood still, and we run before the daemon does: when we
     * come late ourselves, the daemon gets a third of the lease more, once per renewal (a process
     * that calls seldom is always late).
     */
    if (view->forgiven != renewed && late > board->lease_ns / 2) {
        view->forgiven = renewed;
        view->forgiven_until = now + board->lease_ns / 3;
    }
    return view->forgiven != renewed || now >= view->forgiven_until;
}

rz_status_t rz_link_check(struct rz_link *link)
{
    if (link->info.alone)
        return RZ_OK;
    if (atomic_load_explicit(&link->board->stop, memory_order_acquire) != 0)
        return RZ_ERR_FENCED;
    return lease_is_over(link->board, &link->called) ? RZ_ERR_FENCED : RZ_OK;
}

rz_time rz_link_beat_period(const struct rz_board *board)
{
    return board->lease_ns >= RZ_BOARD_LEASE_FOREVER ? 0 : board->lease_ns / 3;
}

/* At the end of the job processes have time to end by themselves; the daemon sees to it. */
void rz_link_beat(void *arg)
{
    struct rz_link *link = arg;
    uint64_t stop = atomic_load_explicit(&link->board->stop, memory_order_acquire);
    if (stop == RZ_ERR_JOB_ENDED || (stop == 0 && !lease_is_over(link->board, &link->beating)))
        return;
    fprintf(stderr, "rhizome: rank %u ends: %s\n", link->info.self.rank,
            stop != 0 ? rz_status_text((rz_status_t)stop)
                      : "the daemon of its node has been silent for too long");
    _exit(EXIT_FAILURE);
}
