/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of gossip objects in synchronous cycles, for comparison with a scale model. */
#include "twin.h"

#include "base/assert.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define CYCLE 1000
#define TIMEOUT 500
#define LATENCY 100
#define ACTIONS RZ_ACTIONS_MIN
#define ITEMS_MAX 16 /* four failed with three items each, and some */

struct packet {
    rz_id to;
    struct rz_message message;
    uint64_t items[ITEMS_MAX];
};

struct box {
    struct packet *packets;
    uint32_t count, max;
};

struct twin {
    uint32_t n;
    rz_time now, began; /* began: the running cycle */
    struct rz_gossip **members;
    struct box out, in;
    struct rz_action actions[ACTIONS];
    uint64_t messages, leaving; /* leaving: PINGs of the cycle not done yet */
};

static void post(struct twin *twin, const struct rz_action *action)
{
    struct box *box = &twin->out;
    if (box->count == box->max) {
        box->max = box->max ? 2 * box->max : 64;
        box->packets = realloc(box->packets, box->max * sizeof(*box->packets));
        rz_assert(box->packets);
    }
    rz_assert(action->n_to == 1 && action->message.n_items <= ITEMS_MAX);
    struct packet *packet = &box->packets[box->count++];
    packet->to = action->to[0];
    packet->message = action->message;
    if (action->message.n_items > 0) {
        memcpy(packet->items, action->items, action->message.n_items * sizeof(uint64_t));
    }
    twin->leaving++;
}

static void step(struct twin *twin, rz_id p, struct rz_event event)
{
    struct rz_actions out = {.v = twin->actions, .max = ACTIONS};
    enum rz_more more;
    do {
        out.count = 0;
        more = rz_gossip_step(twin->members[p], &event, &out);
        for (uint32_t i = 0; i < out.count; i++) {
            if (out.v[i].kind == RZ_ACTION_SEND) {
                post(twin, &out.v[i]);
            }
        }
        if (more == RZ_NEED) {
            twin->members[p] = realloc(twin->members[p], out.need);
            rz_assert(twin->members[p]);
            rz_gossip_grow(twin->members[p], out.need);
        } else {
            event.kind = RZ_EVENT_CONTINUE;
        }
    } while (more != RZ_DONE);
}

/* All that is due by now, in order of members. */
static void tick(struct twin *twin)
{
    for (rz_id p = 0; p < twin->n; p++) {
        if (twin->members[p] && rz_gossip_deadline(twin->members[p]) <= twin->now) {
            step(twin, p, (struct rz_event){.kind = RZ_EVENT_TICK, .now = twin->now});
        }
    }
}

static void deliver(struct twin *twin)
{
    twin->now += LATENCY;
    struct box arriving = twin->out;
    twin->out = twin->in;
    twin->out.count = 0;
    twin->in = arriving;
    for (uint32_t i = 0; i < arriving.count; i++) {
        const struct packet *packet = &arriving.packets[i];
        if (twin->members[packet->to]) {
            step(twin, packet->to,
                 (struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                   .now = twin->now,
                                   .message = &packet->message,
                                   .items = packet->items});
        }
    }
}

struct twin *twin_create(enum rz_gossip_kind kind, const struct rz_scale_config *config,
                         uint32_t mutations)
{
    struct rz_gossip_config gossip = {.n_members = (uint32_t)config->n_members,
                                      .view = 1,
                                      .kind = kind,
                                      .cycle = CYCLE,
                                      .timeout = TIMEOUT,
                                      .cycles_max = config->cycles_max,
                                      .initial = config->initial,
                                      .window = config->window,
                                      .tolerance_ppm = config->tolerance_ppm,
                                      .before_only = kind == RZ_GOSSIP_SUM,
                                      .report = true,
                                      .mutations = mutations};
    struct twin *twin = calloc(1, sizeof(*twin));
    rz_assert(twin);
    twin->n = gossip.n_members;
    twin->members = calloc(twin->n, sizeof(struct rz_gossip *));
    rz_assert(twin->members);
    for (rz_id p = 0; p < twin->n; p++) {
        twin->members[p] = malloc(rz_gossip_size(&gossip));
        rz_assert(twin->members[p]);
        rz_gossip_init(twin->members[p], &gossip, p, 0, rz_mix(rz_mix(config->seed, 1), p));
    }
    for (uint32_t i = 0; i < config->n_failed; i++) {
        free(twin->members[config->failed[i]]);
        twin->members[config->failed[i]] = NULL;
    }
    for (rz_id p = 0; p < twin->n; p++) {
        if (twin->members[p]) {
            step(twin, p, (struct rz_event){.kind = RZ_EVENT_CALL, .call = RZ_GOSSIP_BEGIN});
        }
    }
    return twin;
}

void twin_destroy(struct twin *twin)
{
    for (rz_id p = 0; p < twin->n; p++) {
        free(twin->members[p]);
    }
    free(twin->members);
    free(twin->out.packets);
    free(twin->in.packets);
    free(twin);
}

void twin_cycle(struct twin *twin)
{
    deliver(twin); /* PINGs */
    deliver(twin); /* REPLYs */
    twin->now = twin->began + TIMEOUT;
    tick(twin);
    twin->messages += twin->leaving;
    twin->leaving = 0;
    twin->now = twin->began = twin->began + CYCLE;
    tick(twin);
}

bool twin_awake(const struct twin *twin)
{
    for (rz_id p = 0; p < twin->n; p++) {
        if (twin->members[p] && rz_gossip_deadline(twin->members[p]) != RZ_TIME_NEVER) {
            return true;
        }
    }
    return false;
}

const struct rz_gossip *twin_member(const struct twin *twin, rz_id p)
{
    return twin->members[p];
}

uint64_t twin_messages(const struct twin *twin)
{
    return twin->messages;
}
