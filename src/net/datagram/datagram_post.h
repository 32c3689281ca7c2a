/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of protocol cores between the processes of a job, by authenticated datagrams on one
 * socket: split where one datagram does not hold them, dropped where they are not authentic. For
 * the threads of the library that embed cores (mpi/flat, mpi/tester); one thread per post.
 */
#ifndef RZ_NET_DATAGRAM_POST_H
#define RZ_NET_DATAGRAM_POST_H

#include "net/datagram/datagram.h"
#include "port/socket.h"

#include <rhizome/protocol.h>

/* Number of items that fit into one datagram. */
#define RZ_POST_ITEMS_MAX 160u

struct rz_post {
    int fd;                         /* a bound UDP socket, owned by the caller */
    struct rz_datagrams *datagrams; /* owned by the caller; NULL: nothing is received */
    /* The address of a member; false: it is not known, and messages to it are lost. */
    bool (*address)(const void *arg, rz_id member, struct rz_address *address);
    const void *arg;
};

/* Sends a core's message to member `to`, in as many datagrams as needed; returns their number. Each
 * may be lost. */
uint32_t rz_post_send(struct rz_post *post, rz_id to, const struct rz_message *message,
                      const uint64_t *items);

/* The next authentic message that was received, with its items in items[RZ_POST_ITEMS_MAX]; false:
 * none. */
bool rz_post_receive(struct rz_post *post, struct rz_message *message, uint64_t *items);

#endif
