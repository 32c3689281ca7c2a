#include "link/link_state.h"

#include "base/assert.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/memory.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

rz_status_t rz_link_open(struct rz_link **out)
{
    struct rz_link *link = calloc(1, sizeof *link);
    if (!link)
        return RZ_ERR_NO_MEMORY;
    link->info.fd = link->info.inbox_fd = link->info.doorbell_fd = -1;
    const char *fd = getenv("RZ_LINK_FD");
    rz_status_t status = fd ? rz_link_join_daemon(link, fd) : rz_link_join_alone(link);
    if (status != RZ_OK) {
        rz_link_close(link, false);
        return status;
    }
    link->checked_at = rz_clock_now();
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
    if (link->info.fd >= 0)
        close(link->info.fd);
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

rz_status_t rz_link_check(struct rz_link *link)
{
    const struct rz_board *board = link->board;
    if (link->info.alone)
        return RZ_OK;
    if (atomic_load_explicit(&board->stop, memory_order_acquire) != 0)
        return RZ_ERR_FENCED;
    rz_time now = rz_clock_now();
    uint64_t renewed = atomic_load_explicit(&board->lease_renewed_ns, memory_order_acquire);
    rz_time late = now - link->checked_at;
    link->checked_at = now;
    if (renewed == 0)
        return RZ_ERR_FENCED; /* withdrawn */
    if (now < renewed + board->lease_ns)
        return RZ_OK;
    /*
     * Expired. Perhaps the whole machine stood still, and we run before the daemon does: when we
     * come late ourselves, the daemon gets one more period, once per renewal (a process that calls
     * seldom is always late).
     */
    if (link->forgiven != renewed && late > board->hb_period_ns) {
        link->forgiven = renewed;
        link->forgiven_until = now + board->hb_period_ns;
    }
    return link->forgiven == renewed && now < link->forgiven_until ? RZ_OK : RZ_ERR_FENCED;
}
