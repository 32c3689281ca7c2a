/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which module handles which message of another daemon. Modules register when they are opened. The
 * overlay's callbacks call this module; a message without a handler is dropped.
 */
#ifndef RZ_DAEMON_OVERLAY_ROUTER_H
#define RZ_DAEMON_OVERLAY_ROUTER_H

#include "base/status.h"
#include "wire/overlay_messages.h"

#include <rhizome/protocol.h>

struct rz_overlay_router;

/* A handler; the pointers are valid during the call. */
typedef void (*rz_overlay_handler_fn)(void *arg, rz_id from,
                                      const struct rz_overlay_message *message);
typedef void (*rz_overlay_protocol_fn)(void *arg, const struct rz_message *message,
                                       const uint64_t *items);
typedef void (*rz_overlay_heard_fn)(void *arg, rz_id from);

rz_status_t rz_overlay_router_open(struct rz_overlay_router **router);
void rz_overlay_router_close(struct rz_overlay_router *router); /* NULL: nothing */

/* One handler per type. */
void rz_overlay_router_handle(struct rz_overlay_router *router, enum rz_overlay_type type,
                              rz_overlay_handler_fn handler, void *arg);

/* For a core that itself checks the view of its messages. */
#define RZ_OVERLAY_ANY_VIEW UINT32_MAX

/* Registers for messages of a protocol core over connections, by the core's number and view. The
 * first handler that matches gets the message. */
void rz_overlay_router_protocol(struct rz_overlay_router *router, uint32_t core, uint32_t view,
                                rz_overlay_protocol_fn handler, void *arg);

/* Registers for the datagrams of all cores. */
void rz_overlay_router_datagrams(struct rz_overlay_router *router, rz_overlay_protocol_fn handler,
                                 void *arg);

/* heard is called before each handler: something arrived from that node, so it is alive. */
void rz_overlay_router_heard(struct rz_overlay_router *router, rz_overlay_heard_fn heard,
                             void *arg);

/* To be called with what the overlay has received. */
void rz_overlay_router_message(struct rz_overlay_router *router, rz_id from,
                               const struct rz_overlay_message *message);
void rz_overlay_router_datagram(struct rz_overlay_router *router, const struct rz_message *message,
                                const uint64_t *items);

#endif
