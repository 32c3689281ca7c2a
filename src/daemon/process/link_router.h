/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of the node's processes (wire/link_messages.h): which module handles which message.
 * Modules register when they are opened; this one receives, checks that a message may come now, and
 * sends.
 */
#ifndef RZ_DAEMON_LINK_ROUTER_H
#define RZ_DAEMON_LINK_ROUTER_H

#include "daemon/process/child.h"

struct rz_link_router;

/* Why a second HELLO of a rank is refused. */
#define RZ_LINK_JOINED_ALREADY                                                                     \
    "a process of this rank has already joined; one program per rank can use MPI"

/*
 * A handler. Pointers in message are valid until the next message is received, which may happen
 * during the call if the handler ends another process. *fd: the descriptor that came with the
 * message, or -1; a handler that takes it over sets it to -1. False: the process has broken the
 * protocol.
 */
typedef bool (*rz_link_handler_fn)(void *arg, struct rz_child *process,
                                   const struct rz_link_message *message, int *fd);

rz_status_t rz_link_router_open(struct rz_link_router **router, struct rz_children *children);
void rz_link_router_close(struct rz_link_router *router); /* NULL: nothing */

/* One handler per type. Only HELLO's is called for a process that has not joined. */
void rz_link_router_handle(struct rz_link_router *router, enum rz_link_type type,
                           rz_link_handler_fn handler, void *arg);

/* Registers the function that is called when a process has closed its link. */
void rz_link_router_on_closed(struct rz_link_router *router,
                              void (*closed)(struct rz_child *process));

/* Of a job whose processes speak another protocol over their links: what they send goes to raw, as
 * it comes. */
void rz_link_router_on_raw(struct rz_link_router *router,
                           void (*raw)(void *arg, const struct rz_child *process, const void *bytes,
                                       size_t n),
                           void *arg);

/* Watches the link of a new process; takes over fd. */
rz_status_t rz_link_router_attach(struct rz_link_router *router, struct rz_child *process, int fd);

/* Puts fd, which it takes over, in place of the link of a process that has not joined. `hello`:
 * what came over fd. RZ_ERR_REFUSED: the process has meanwhile said HELLO over its link. */
rz_status_t rz_link_router_replace(struct rz_child *process, int fd, const void *hello, size_t n);

/* Handles everything that the process has sent so far; it may have failed. */
void rz_link_router_drain(struct rz_child *process);

/* Sends a message to a process that has joined; one that does not read is killed. */
void rz_link_router_send(struct rz_child *process, const struct rz_link_message *message);
/* Sends with descriptors, which stay the caller's. */
void rz_link_router_send_with(struct rz_child *process, const struct rz_link_message *message,
                              const int *fds, unsigned n_fds);

/* Sends bytes to a process that speaks another protocol; one that does not read is killed. */
void rz_link_router_send_raw(struct rz_child *process, const void *bytes, size_t n);

/*
 * Sends to the local, live process of rank in its current incarnation; fd is -1, or a descriptor
 * that is passed along and stays the caller's. RZ_ERR_CLOSED: there is no such process here, or it
 * has not said HELLO, or it has ended.
 */
rz_status_t rz_link_router_send_to(const struct rz_children *children, uint32_t rank,
                                   const struct rz_link_message *message, int fd);

/* Sends REFUSED, and reports a line to the user; of a process that sends without end a few lines
 * only. */
void rz_link_router_refuse(struct rz_child *process, const char *reason);

/* The process has ended: reports how often it was refused, if not all of it was said. */
void rz_link_router_tell_refusals(const struct rz_child *process);

#endif
