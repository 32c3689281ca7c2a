/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends datagrams on a link at once or, if the socket is full, from a queue in order. */
#include "daemon/process/link_peer.h"

#include "base/assert.h"
#include "daemon/state/loop.h"
#include "port/channel.h"
#include "port/descriptor.h"
#include "port/prompt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rz_link_unsent {
    struct rz_link_unsent *next;
    int fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds;
    size_t bytes;
    uint8_t data[];
};

static void unsent_free(struct rz_link_unsent *unsent)
{
    while (unsent->n_fds > 0) {
        rz_prompt_close(unsent->fds[--unsent->n_fds]);
    }
    free(unsent);
}

static void drop_first_unsent(struct rz_link_peer *peer)
{
    struct rz_link_unsent *first = peer->first;
    peer->first = first->next;
    if (!peer->first) {
        peer->last = &peer->first;
    }
    peer->unsent_bytes -= first->bytes;
    unsent_free(first);
}

static void write_unsent(evutil_socket_t fd, short what, void *arg)
{
    struct rz_link_peer *peer = arg;
    (void)what;
    bool some = false;
    while (peer->first) {
        const struct rz_link_unsent *first = peer->first;
        rz_status_t status =
            rz_channel_send(fd, first->data, first->bytes, first->fds, first->n_fds);
        if (status == RZ_IN_PROGRESS) {
            event_add(peer->writable, NULL);
            break;
        }
        some = true;
        /* Sent, or it will never be read: then the reader notices the end of the link. */
        drop_first_unsent(peer);
    }
    if (some) {
        peer->sent(peer->arg);
    }
}

rz_status_t rz_link_peer_open(struct rz_link_peer *peer, struct event_base *base, int fd,
                              event_callback_fn readable, void (*sent)(void *arg), void *arg)
{
    *peer = (struct rz_link_peer){.fd = fd, .sent = sent, .arg = arg, .last = &peer->first};
    rz_status_t status = rz_loop_watch(base, &peer->writable, fd, EV_WRITE, write_unsent, peer);
    if (status == RZ_OK) {
        status = rz_loop_watch(base, &peer->readable, fd, EV_READ | EV_PERSIST, readable, arg);
    }
    if (status != RZ_OK) {
        rz_link_peer_close(peer);
    }
    return status;
}

void rz_link_peer_close(struct rz_link_peer *peer)
{
    if (peer->fd < 0) {
        return;
    }
    rz_loop_free(peer->readable);
    rz_loop_free(peer->writable);
    while (peer->first) {
        drop_first_unsent(peer);
    }
    rz_prompt_close(peer->fd);
    *peer = (struct rz_link_peer){.fd = -1, .last = &peer->first};
}

static rz_status_t queue(struct rz_link_peer *peer, const void *data, size_t bytes, const int *fds,
                         unsigned n_fds)
{
    if (peer->unsent_bytes + bytes > RZ_LINK_PEER_QUEUE_MAX) {
        return RZ_ERR_NO_MEMORY;
    }
    struct rz_link_unsent *unsent = malloc(sizeof(*unsent) + bytes);
    if (!unsent) {
        return RZ_ERR_NO_MEMORY;
    }
    *unsent = (struct rz_link_unsent){.bytes = bytes};
    memcpy(unsent->data, data, bytes);
    for (unsigned i = 0; i < n_fds; i++) {
        int copy;
        if (rz_descriptor_copy(fds[i], &copy) != RZ_OK) {
            unsent_free(unsent);
            return RZ_ERR_NO_MEMORY;
        }
        unsent->fds[unsent->n_fds++] = copy;
    }
    *peer->last = unsent;
    peer->last = &unsent->next;
    peer->unsent_bytes += bytes;
    event_add(peer->writable, NULL);
    return RZ_OK;
}

rz_status_t rz_link_peer_send(struct rz_link_peer *peer, const struct rz_link_message *message,
                              const int *fds, unsigned n_fds)
{
    /* static, because only one thread of the daemon sends */
    static uint8_t data[RZ_LINK_MESSAGE_MAX];
    size_t bytes = rz_link_encode(message, data, sizeof(data));
    rz_assert(n_fds <= RZ_CHANNEL_FDS_MAX);
    if (bytes == 0) {
        return RZ_ERR_TRUNCATE;
    }
    return rz_link_peer_send_bytes(peer, data, bytes, fds, n_fds);
}

rz_status_t rz_link_peer_send_bytes(struct rz_link_peer *peer, const void *data, size_t bytes,
                                    const int *fds, unsigned n_fds)
{
    if (peer->fd < 0) {
        return RZ_ERR_CLOSED;
    }
    if (peer->first) {
        return queue(peer, data, bytes, fds, n_fds); /* behind the queued ones, to keep the order */
    }
    rz_status_t status = rz_channel_send(peer->fd, data, bytes, fds, n_fds);
    return status == RZ_IN_PROGRESS ? queue(peer, data, bytes, fds, n_fds) : status;
}
