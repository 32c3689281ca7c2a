/* SPDX-License-Identifier: BSD-3-Clause */
/* Two overlays of one job in one event loop, and the events that each has reported. */
#ifndef TEST_OVERLAY_SIDES_H
#define TEST_OVERLAY_SIDES_H

#include "../../patience.h"
#include "daemon/overlay/overlay.h"
#include "port/clock.h"

#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 2 };
#define JOB UINT64_C(4711)
static const uint8_t key[RZ_JOB_KEY_BYTES] = "the key of a job under test ...";

struct side {
    struct rz_overlay *overlay;
    unsigned messages, heartbeats, broken, lost;
    uint32_t last_rank; /* of GET_EP_ADDRESS */
    bool in_order;
};

static struct event_base *base;
static struct side side[NODES];
static struct rz_overlay_peer peers[NODES];

static void on_message(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct side *s = arg;
    (void)from;
    s->messages++;
    if (message->type == RZ_OVERLAY_GET_EP_ADDRESS) {
        s->in_order = s->in_order && message->get_ep_address.rank == s->last_rank + 1;
        s->last_rank = message->get_ep_address.rank;
    }
}

static void on_heartbeat(void *arg, const struct rz_message *message, const uint64_t *items)
{
    struct side *s = arg;
    (void)message, (void)items;
    s->heartbeats++;
}

static void on_broken(void *arg, rz_id peer)
{
    struct side *s = arg;
    (void)peer;
    s->broken++;
}

static void on_lost(void *arg, rz_id peer)
{
    struct side *s = arg;
    (void)peer;
    s->lost++;
}

static void on_writable(void *arg, rz_id peer)
{
    (void)arg, (void)peer;
}

/* The configuration of side i, unless a test changes it. */
static struct rz_overlay_config side_config(unsigned i)
{
    return (struct rz_overlay_config){.job = JOB,
                                      .key = key,
                                      .n_nodes = NODES,
                                      .self = i,
                                      .peers = peers,
                                      .arg = &side[i],
                                      .message = on_message,
                                      .heartbeat = on_heartbeat,
                                      .broken = on_broken,
                                      .lost = on_lost,
                                      .writable = on_writable};
}

static struct rz_address sides_at = {.ip = RZ_ADDRESS_LOOPBACK};

static void open_side(unsigned i)
{
    assert_int_equal(rz_overlay_open(&side[i].overlay, base, &sides_at), RZ_OK);
    peers[i] = rz_overlay_own(side[i].overlay);
    side[i].in_order = true;
}

static void close_side(unsigned i)
{
    if (side[i].overlay) {
        rz_overlay_close(side[i].overlay);
    }
    side[i].overlay = NULL;
}

static void open_sides(void)
{
    memset(side, 0, sizeof(side));
    base = event_base_new();
    assert_non_null(base);
    assert_int_equal(event_base_priority_init(base, 2), 0);
    for (unsigned i = 0; i < NODES; i++) {
        open_side(i);
    }
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NODES; i++) {
        close_side(i);
    }
    event_base_free(base);
    return 0;
}

/* Runs the loop until condition holds; a generous bound against hangs. */
#define RUN_UNTIL(condition)                                                                       \
    do {                                                                                           \
        rz_time bound_ = rz_clock_now() + TEST_HANG_S * RZ_SECOND;                                 \
        while (!(condition) && rz_clock_now() < bound_) {                                          \
            event_base_loop(base, EVLOOP_NONBLOCK);                                                \
            poll(NULL, 0, 1);                                                                      \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

#endif
