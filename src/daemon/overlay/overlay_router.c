/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes what the overlay has received and calls the handler that is registered for the type, or
 * for the protocol core and its view. */
#include "daemon/overlay/overlay_router.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "wire/protocol_encoding.h"

#include <stdlib.h>

enum { PROTOCOLS_MAX = 8, HEARD_MAX = 4 };

struct rz_overlay_router {
    struct {
        rz_overlay_handler_fn call;
        void *arg;
    } handler[RZ_OVERLAY_TYPE_COUNT];
    struct {
        uint32_t core, view;
        rz_overlay_protocol_fn call;
        void *arg;
    } protocol[PROTOCOLS_MAX];
    struct {
        rz_overlay_heard_fn call;
        void *arg;
    } heard[HEARD_MAX];
    struct {
        rz_overlay_protocol_fn call;
        void *arg;
    } datagram;
    uint32_t n_protocols, n_heard;
    uint64_t *items; /* the items of the message being decoded */
    uint32_t items_max;
};

static void protocol_message(void *arg, rz_id from, const struct rz_overlay_message *wrapped)
{
    struct rz_overlay_router *router = arg;
    struct rz_message message;
    size_t n = wrapped->protocol.message_length;
    uint32_t items_max = (uint32_t)(n / sizeof(uint64_t));
    if (items_max > router->items_max) {
        router->items = realloc(router->items, items_max * sizeof(uint64_t));
        rz_need_memory(router->items, "for a message of another daemon");
        router->items_max = items_max;
    }
    if (rz_protocol_message_decode(&message, router->items, items_max, wrapped->protocol.message,
                                   n) != RZ_OK ||
        message.from != from) {
        return;
    }
    for (uint32_t i = 0; i < router->n_protocols; i++) {
        if (router->protocol[i].core == message.protocol &&
            (router->protocol[i].view == message.view ||
             router->protocol[i].view == RZ_OVERLAY_ANY_VIEW)) {
            router->protocol[i].call(router->protocol[i].arg, &message, router->items);
            return;
        }
    }
}

rz_status_t rz_overlay_router_open(struct rz_overlay_router **result)
{
    struct rz_overlay_router *router = calloc(1, sizeof(*router));
    if (!router) {
        return RZ_ERR_NO_MEMORY;
    }
    rz_overlay_router_handle(router, RZ_OVERLAY_PROTOCOL, protocol_message, router);
    *result = router;
    return RZ_OK;
}

void rz_overlay_router_close(struct rz_overlay_router *router)
{
    if (!router) {
        return;
    }
    free(router->items);
    free(router);
}

void rz_overlay_router_handle(struct rz_overlay_router *router, enum rz_overlay_type type,
                              rz_overlay_handler_fn handler, void *arg)
{
    rz_assert(!router->handler[type].call);
    router->handler[type].call = handler;
    router->handler[type].arg = arg;
}

void rz_overlay_router_protocol(struct rz_overlay_router *router, uint32_t core, uint32_t view,
                                rz_overlay_protocol_fn handler, void *arg)
{
    rz_assert(router->n_protocols < PROTOCOLS_MAX);
    router->protocol[router->n_protocols].core = core;
    router->protocol[router->n_protocols].view = view;
    router->protocol[router->n_protocols].call = handler;
    router->protocol[router->n_protocols++].arg = arg;
}

void rz_overlay_router_datagrams(struct rz_overlay_router *router, rz_overlay_protocol_fn handler,
                                 void *arg)
{
    router->datagram.call = handler;
    router->datagram.arg = arg;
}

void rz_overlay_router_heard(struct rz_overlay_router *router, rz_overlay_heard_fn heard, void *arg)
{
    rz_assert(router->n_heard < HEARD_MAX);
    router->heard[router->n_heard].call = heard;
    router->heard[router->n_heard++].arg = arg;
}

static void heard_of(const struct rz_overlay_router *router, rz_id from)
{
    for (uint32_t i = 0; i < router->n_heard; i++) {
        router->heard[i].call(router->heard[i].arg, from);
    }
}

void rz_overlay_router_message(struct rz_overlay_router *router, rz_id from,
                               const struct rz_overlay_message *message)
{
    heard_of(router, from);
    if (router->handler[message->type].call) {
        router->handler[message->type].call(router->handler[message->type].arg, from, message);
    }
}

void rz_overlay_router_datagram(struct rz_overlay_router *router, const struct rz_message *message,
                                const uint64_t *items)
{
    heard_of(router, message->from);
    if (router->datagram.call) {
        router->datagram.call(router->datagram.arg, message, items);
    }
}
