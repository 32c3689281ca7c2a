/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's end of one process's link: datagrams out, queued while the socket is full, up to a
 * bound; datagrams in, a few at a time. A process that does not read, or sends too much, costs the
 * daemon memory up to the bound and nothing else.
 */
#ifndef RZ_DAEMON_LINK_PEER_H
#define RZ_DAEMON_LINK_PEER_H

#include "base/status.h"
#include "wire/link_messages.h"

#include <event2/event.h>

/* The largest number of bytes queued for a process that does not read, beside its socket's
 * buffer. */
#define RZ_LINK_PEER_QUEUE_MAX (4u << 20)

struct rz_link_unsent;
struct rz_link_peer {
    int fd; /* -1: closed */
    struct event *readable, *writable;
    void (*sent)(void *arg);
    void *arg;
    struct rz_link_unsent *first, **last;
    size_t unsent_bytes;
};

/* Takes over fd (non-blocking). readable is called whenever there is something to receive, sent
 * when something queued was sent. */
rz_status_t rz_link_peer_open(struct rz_link_peer *peer, struct event_base *base, int fd,
                              event_callback_fn readable, void (*sent)(void *arg), void *arg);
void rz_link_peer_close(struct rz_link_peer *peer);

/*
 * Sends or queues; fds stay the caller's. RZ_ERR_CLOSED: the process does not read any more.
 * RZ_ERR_NO_MEMORY: more than RZ_LINK_PEER_QUEUE_MAX is queued. RZ_ERR_TRUNCATE: the message is
 * longer than RZ_LINK_MESSAGE_MAX. In both cases the caller kills the process.
 */
rz_status_t rz_link_peer_send(struct rz_link_peer *peer, const struct rz_link_message *message,
                              const int *fds, unsigned n_fds);
/* The same for bytes of another protocol. */
rz_status_t rz_link_peer_send_bytes(struct rz_link_peer *peer, const void *bytes, size_t n,
                                    const int *fds, unsigned n_fds);

#endif
