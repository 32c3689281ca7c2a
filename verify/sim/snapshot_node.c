/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of a program that sends, works and stops, around the snapshot that it belongs to. */
#include "sim/snapshot_node.h"

#include "base/assert.h"
#include "base/random.h"
#include "proto/emit.h"
#include "sim/mutants.h"

#include <string.h>

RZ_SIM_MUTANT(snapshot);

static struct rz_snapshot *core_of(const struct rz_snapshot_node *node)
{
    return (struct rz_snapshot *)((char *)(uintptr_t)node + sizeof(*node));
}

const struct rz_snapshot *rz_snapshot_node_core(const struct rz_snapshot_node *node)
{
    return core_of(node);
}

size_t rz_snapshot_node_size(const struct rz_snapshot_config *config)
{
    return sizeof(struct rz_snapshot_node) + RZ_SIM_OF(snapshot, size, config);
}

void rz_snapshot_node_init(struct rz_snapshot_node *node, const struct rz_snapshot_config *config,
                           rz_id self, rz_time now, uint64_t seed)
{
    _Static_assert(sizeof(*node) % 8 == 0, "the snapshot behind it is aligned");
    rz_assert(config->n_members <= RZ_SNAPSHOT_NODES_MAX);
    memset(node, 0, sizeof(*node));
    node->n = config->n_members;
    node->view = config->view;
    node->self = self;
    RZ_SIM_OF(snapshot, init, core_of(node), config, self, now, seed);
}

/* ---- the program ---- */

static void send_data(struct rz_snapshot_node *node, rz_id to, uint64_t hops,
                      struct rz_actions *out)
{
    uint64_t number = 0;
    while (node->now.sent[to] >> number & 1) {
        number++;
        rz_assert(number < 64);
    }
    node->now.sent[to] |= UINT64_C(1) << number;
    node->to[node->sent % 2] = to;
    struct rz_action *action = rz_emit(out, RZ_ACTION_SEND);
    action->to = &node->to[node->sent++ % 2];
    action->n_to = 1;
    action->message = (struct rz_message){.protocol = RZ_PROTOCOL_SNAPSHOT,
                                          .type = RZ_SNAPSHOT_DATA,
                                          .view = node->view,
                                          .from = node->self,
                                          .origin = node->self,
                                          .word = {number, hops}};
}

/* What follows from a message: one back, and one to a third member. More are sent than were taken
 * in: else a wave could not have the right sums by chance. */
static void react(struct rz_snapshot_node *node, rz_id from, uint64_t hops, struct rz_actions *out)
{
    rz_id to = (rz_id)(rz_mix(node->sent, (uint64_t)node->self << 32 | from) % node->n);
    send_data(node, from, hops - 1, out);
    if (hops > 1) {
        send_data(node, to == node->self ? from : to, hops - 2, out);
    }
}

static void take_data(struct rz_snapshot_node *node, const struct rz_message *message,
                      struct rz_actions *out)
{
    uint64_t bit = UINT64_C(1) << message->word[0], hops = message->word[1];
    rz_assert(!(node->now.delivered[message->from] & bit));
    node->now.delivered[message->from] |= bit;
    node->delivered++;
    if (hops % 2 == 1) {
        node->working++;
        struct rz_action *notice = rz_emit(out, RZ_ACTION_NOTIFY);
        notice->what = RZ_SNAPSHOT_NODE_WORKS;
        notice->arg[0] = message->from;
        notice->arg[1] = hops;
    } else if (hops > 0) {
        react(node, message->from, hops, out);
    }
}

/* ---- the host ---- */

static void step_core(struct rz_snapshot_node *node, const struct rz_event *event,
                      struct rz_actions *out)
{
    rz_assert(RZ_SIM_OF(snapshot, step, core_of(node), event, out) == RZ_DONE);
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->v[i].kind == RZ_ACTION_NOTIFY) {
            node->asked |= out->v[i].what == RZ_SNAPSHOT_ASKED;
            node->stopped &= out->v[i].what != RZ_SNAPSHOT_ENDED;
        }
    }
}

static void call_core(struct rz_snapshot_node *node, enum rz_snapshot_call call,
                      const uint64_t arg[4], struct rz_actions *out)
{
    struct rz_event event = {.kind = RZ_EVENT_CALL, .call = call};
    memcpy(event.arg, arg, sizeof(event.arg));
    step_core(node, &event, out);
}

static bool is_broken(const struct rz_snapshot_node *node)
{
    return rz_snapshot_phase(core_of(node)) == RZ_SNAPSHOT_BROKEN;
}

static void call_local(struct rz_snapshot_node *node, uint64_t reason, struct rz_actions *out)
{
    bool late = rz_snapshot_wave(core_of(node)) > 1;
    const uint64_t arg[4] = {node->sent, node->delivered, node->working > 0, late ? reason : 0};
    node->asked = node->local_due = 0;
    node->told_sent = node->sent;
    node->told_delivered = node->delivered;
    node->told_busy = node->working > 0;
    call_core(node, RZ_SNAPSHOT_LOCAL, arg, out);
}

static void save(struct rz_snapshot_node *node, const uint64_t arg[4], struct rz_actions *out)
{
    node->image_of = 0;
    if (arg[1] == 0) {
        node->image_of = (uint32_t)arg[0];
        node->image = node->now;
    }
    call_core(node, RZ_SNAPSHOT_SAVED, (const uint64_t[4]){arg[1]}, out);
    if (node->image_of > 0) {
        rz_assert(out->count < out->max);
        memmove(out->v + 1, out->v, out->count++ * sizeof(*out->v));
        out->v[0] = (struct rz_action){
            .kind = RZ_ACTION_NOTIFY, .what = RZ_SNAPSHOT_NODE_HAS_SAVED, .arg = {arg[0]}};
    }
}

static void on_call(struct rz_snapshot_node *node, const struct rz_event *event,
                    struct rz_actions *out)
{
    const uint64_t *arg = event->arg;
    switch ((enum rz_snapshot_node_call)event->call) {
    case RZ_SNAPSHOT_NODE_SEND:
        if (node->stopped) {
            rz_assert(node->n_owed < RZ_SNAPSHOT_SENDS_MAX);
            node->owed[node->n_owed++] =
                (struct rz_snapshot_send){(uint32_t)arg[0], (uint32_t)arg[1]};
        } else {
            send_data(node, (rz_id)arg[0], arg[1], out);
        }
        break;
    case RZ_SNAPSHOT_NODE_START:
        node->stopped = 1;
        call_core(node, RZ_SNAPSHOT_START,
                  (const uint64_t[4]){rz_snapshot_attempt(core_of(node)), arg[0]}, out);
        break;
    case RZ_SNAPSHOT_NODE_LOCAL:
        call_local(node, arg[0], out);
        break;
    case RZ_SNAPSHOT_NODE_WORKED:
        node->working--;
        react(node, (rz_id)arg[0], arg[1], out);
        break;
    case RZ_SNAPSHOT_NODE_SAVE:
        if (!is_broken(node)) {
            save(node, arg, out);
        }
        break;
    }
}

/* Whether the snapshot lacks something that it asked for, or must be told. */
static void look_at_numbers(struct rz_snapshot_node *node, struct rz_actions *out)
{
    bool told = node->told_sent == node->sent && node->told_delivered == node->delivered &&
                node->told_busy == (node->working > 0);
    if (rz_snapshot_phase(core_of(node)) != RZ_SNAPSHOT_WAVES || node->local_due ||
        (told && !node->asked)) {
        return;
    }
    node->local_due = 1;
    rz_emit(out, RZ_ACTION_NOTIFY)->what = RZ_SNAPSHOT_NODE_LOCAL_DUE;
}

enum rz_more rz_snapshot_node_step(struct rz_snapshot_node *node, const struct rz_event *event,
                                   struct rz_actions *out)
{
    if (event->kind == RZ_EVENT_CALL) {
        on_call(node, event, out);
    } else if (event->kind == RZ_EVENT_RECEIVE && event->message->type == RZ_SNAPSHOT_DATA) {
        take_data(node, event->message, out);
    } else if (event->kind == RZ_EVENT_CONTINUE) {
        struct rz_snapshot_send send = node->owed[--node->n_owed];
        node->owed[node->n_owed] = (struct rz_snapshot_send){0};
        send_data(node, send.to, send.hops, out);
    } else {
        step_core(node, event, out);
    }
    look_at_numbers(node, out);
    return node->n_owed > 0 && !node->stopped ? RZ_MORE : RZ_DONE;
}

rz_time rz_snapshot_node_deadline(const struct rz_snapshot_node *node)
{
    return RZ_SIM_OF(snapshot, deadline, core_of(node));
}

static uint64_t hash_messages(uint64_t hash, const struct rz_snapshot_messages *messages,
                              uint32_t n)
{
    for (rz_id id = 0; id < n; id++) {
        hash = rz_mix(rz_mix(hash, messages->sent[id]), messages->delivered[id]);
    }
    return hash;
}

uint64_t rz_snapshot_node_hash(const struct rz_snapshot_node *node)
{
    uint64_t hash = rz_mix(RZ_SIM_OF(snapshot, hash, core_of(node)), node->working);
    hash = rz_mix(hash, node->stopped | node->asked << 1 | node->local_due << 2 |
                            node->told_busy << 3 | (uint64_t)node->image_of << 4 |
                            (uint64_t)node->n_owed << 32);
    for (uint32_t i = 0; i < node->n_owed; i++) {
        hash = rz_mix(hash, (uint64_t)node->owed[i].hops << 32 | node->owed[i].to);
    }
    hash = rz_mix(rz_mix(hash, node->told_sent), node->told_delivered);
    hash = hash_messages(hash, &node->now, node->n);
    return node->image_of > 0 ? hash_messages(hash, &node->image, node->n) : hash;
}

void rz_snapshot_node_grow(struct rz_snapshot_node *node, size_t bytes)
{
    RZ_SIM_OF(snapshot, grow, core_of(node), bytes);
}
