/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes events, steps the two objects one at a time, passes their notices to job_host.c, and
 * outputs its work. */
#include "sim/job_node.h"

#include "base/assert.h"
#include "base/random.h"
#include "sim/mutants.h"

#include <string.h>

RZ_SIM_MUTANT(recover);
RZ_SIM_MUTANT(commit);

static struct rz_recover *recover_of(const struct rz_job_node *node)
{
    return (struct rz_recover *)((char *)(uintptr_t)node + node->recover_at);
}

static struct rz_commit *commit_of(const struct rz_job_node *node)
{
    return (struct rz_commit *)((char *)(uintptr_t)node + node->commit_at);
}

const struct rz_recover *rz_job_recover(const struct rz_job_node *node)
{
    return recover_of(node);
}

const struct rz_commit *rz_job_commit(const struct rz_job_node *node)
{
    return commit_of(node);
}

static size_t align8(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

size_t rz_job_size(const struct rz_job_config *config)
{
    return align8(sizeof(struct rz_job_node)) + align8(RZ_SIM_OF(recover, size, &config->recover)) +
           align8(RZ_SIM_OF(commit, size, &config->commit));
}

void rz_job_init(struct rz_job_node *node, const struct rz_job_config *config, rz_id self,
                 rz_time now, uint64_t seed)
{
    memset(node, 0, sizeof(*node));
    node->n_daemons = config->recover.n_daemons;
    node->n_ranks = config->recover.n_ranks;
    rz_assert(node->n_daemons <= RZ_JOB_DAEMONS_MAX && node->n_ranks <= RZ_JOB_RANKS_MAX);
    node->n_slots = config->recover.n_slots ? config->recover.n_slots : node->n_ranks;
    rz_assert(node->n_slots <= RZ_JOB_SLOTS_MAX);
    node->positions = config->positions;
    node->askers = config->askers;
    node->repairing = config->repairing;
    node->all_begin = config->recover.all_begin;
    node->mutations = config->mutations;
    node->scheme = config->commit.scheme;
    node->view = config->recover.view;
    node->self = self;
    node->recover_at = align8(sizeof(*node));
    node->recover_bytes = align8(RZ_SIM_OF(recover, size, &config->recover));
    node->commit_at = node->recover_at + node->recover_bytes;
    node->commit_bytes = align8(RZ_SIM_OF(commit, size, &config->commit));
    RZ_SIM_OF(recover, init, recover_of(node), &config->recover, self, now, rz_mix(seed, 1));
    RZ_SIM_OF(commit, init, commit_of(node), &config->commit, self, now, rz_mix(seed, 2));
}

/* ---- the queue of work ---- */

static struct rz_job_work *queue_end(struct rz_job_node *node)
{
    rz_assert(node->queue_count < RZ_JOB_QUEUE_MAX);
    uint32_t at = (node->queue_first + node->queue_count++) % RZ_JOB_QUEUE_MAX;
    memset(&node->queue[at], 0, sizeof(node->queue[at]));
    return &node->queue[at];
}

void rz_job_queue(struct rz_job_node *node, enum rz_job_work_kind kind, uint32_t what,
                  uint64_t arg0, uint64_t arg1, uint64_t arg2)
{
    *queue_end(node) = (struct rz_job_work){kind, what, {arg0, arg1, arg2}};
}

void rz_job_queue_copied(struct rz_job_node *node, uint32_t epoch, uint64_t generation,
                         uint32_t rank, rz_id keeper)
{
    *queue_end(node) = (struct rz_job_work){
        RZ_JOB_CALL_COMMIT, RZ_COMMIT_COPIED, {epoch, generation, rank, keeper}};
}

void rz_job_queue_message(struct rz_job_node *node, enum rz_job_message type, rz_id to,
                          uint32_t rank, uint32_t epoch, const struct rz_job_piece *piece)
{
    *queue_end(node) =
        (struct rz_job_work){RZ_JOB_SEND,
                             type,
                             {to, (uint64_t)epoch << 32 | rank,
                              (uint64_t)piece->written << 32 | piece->position, piece->generation}};
}

static void queue_pop(struct rz_job_node *node)
{
    node->queue_first = (node->queue_first + 1) % RZ_JOB_QUEUE_MAX;
    node->queue_count--;
}

/* ---- steps of the objects ---- */

/* Passes the notices to the host, and outputs them as notices of the node, for traces. */
static void take_actions(struct rz_job_node *node, uint32_t which, struct rz_actions *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        struct rz_action *action = &out->v[i];
        if (action->kind == RZ_ACTION_SEND) {
            rz_assert(action->message.protocol ==
                      (which == RZ_JOB_RECOVER ? RZ_PROTOCOL_RECOVER : RZ_PROTOCOL_COMMIT));
            rz_assert(action->message.flags == 0);
            action->message.protocol = RZ_PROTOCOL_COMMIT;
            action->message.flags = (uint16_t)which;
            continue;
        }
        if (which == RZ_JOB_RECOVER) {
            rz_job_on_recover(node, action);
        } else {
            rz_job_on_commit(node, action);
        }
        action->what += which;
    }
}

static enum rz_more step_object(struct rz_job_node *node, uint32_t which,
                                const struct rz_event *event, struct rz_actions *out)
{
    enum rz_more more = which == RZ_JOB_RECOVER
                            ? RZ_SIM_OF(recover, step, recover_of(node), event, out)
                            : RZ_SIM_OF(commit, step, commit_of(node), event, out);
    if (more == RZ_NEED) {
        node->growing = which;
        out->need = which == RZ_JOB_RECOVER
                        ? node->recover_at + align8(out->need) + node->commit_bytes
                        : node->commit_at + align8(out->need);
        return RZ_NEED;
    }
    if (which == RZ_JOB_RECOVER) {
        node->recover_more = more == RZ_MORE;
    } else {
        node->commit_more = more == RZ_MORE;
    }
    take_actions(node, which, out);
    return RZ_MORE;
}

void rz_job_grow(struct rz_job_node *node, size_t bytes)
{
    if (node->growing == RZ_JOB_RECOVER) {
        size_t recover_bytes = bytes - node->commit_bytes - node->recover_at;
        char *commit = (char *)commit_of(node);
        node->commit_at = node->recover_at + recover_bytes;
        memmove(commit_of(node), commit, node->commit_bytes);
        node->recover_bytes = recover_bytes;
        RZ_SIM_OF(recover, grow, recover_of(node), recover_bytes);
    } else {
        node->commit_bytes = bytes - node->commit_at;
        RZ_SIM_OF(commit, grow, commit_of(node), node->commit_bytes);
    }
}

static enum rz_more call_epoch(struct rz_job_node *node, const struct rz_event *call,
                               struct rz_actions *out)
{
    uint64_t items[RZ_JOB_RANKS_MAX + RZ_JOB_DAEMONS_MAX];
    struct rz_event event = *call;
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        items[event.n_items++] = rz_recover_daemon_of(recover_of(node), rank);
    }
    for (rz_id d = 0; d < node->n_daemons; d++) {
        if (rz_recover_daemon_agreed_failed(recover_of(node), d)) {
            items[event.n_items++] = d;
        }
    }
    event.items = items;
    return step_object(node, RZ_JOB_COMMIT, &event, out);
}

/* One item of work; messages and notices of the node itself are output in order. */
static enum rz_more work(struct rz_job_node *node, rz_time now, struct rz_actions *out)
{
    struct rz_job_work next = node->queue[node->queue_first];
    struct rz_event event = {.kind = RZ_EVENT_CALL, .now = now, .call = next.what};
    memcpy(event.arg, next.arg, sizeof(event.arg));
    enum rz_more more = RZ_MORE;
    rz_id failed = (rz_id)next.arg[0];
    switch ((enum rz_job_work_kind)next.kind) {
    case RZ_JOB_CALL_RECOVER:
        event.items = next.arg; /* of RZ_RECOVER_WANT and _DAMAGED */
        event.n_items = next.what == RZ_RECOVER_WANT || next.what == RZ_RECOVER_DAMAGED;
        more = step_object(node, RZ_JOB_RECOVER, &event, out);
        break;
    case RZ_JOB_CALL_COMMIT:
        if (next.what == RZ_JOB_FAILURE) {
            event =
                (struct rz_event){.kind = RZ_EVENT_FAILURE, .now = now, .ids = &failed, .n_ids = 1};
        }
        more = event.kind == RZ_EVENT_CALL && next.what == RZ_COMMIT_EPOCH
                   ? call_epoch(node, &event, out)
                   : step_object(node, RZ_JOB_COMMIT, &event, out);
        break;
    case RZ_JOB_NOTIFY:
        out->v[out->count++] = (struct rz_action){.kind = RZ_ACTION_NOTIFY,
                                                  .what = next.what,
                                                  .arg = {next.arg[0], next.arg[1], next.arg[2]}};
        break;
    case RZ_JOB_SEND:
        node->to = (rz_id)next.arg[0];
        out->v[out->count++] = (struct rz_action){.kind = RZ_ACTION_SEND,
                                                  .to = &node->to,
                                                  .n_to = 1,
                                                  .message = {.protocol = RZ_PROTOCOL_COMMIT,
                                                              .type = (uint8_t)next.what,
                                                              .flags = RZ_JOB_HOST,
                                                              .view = node->view,
                                                              .from = node->self,
                                                              .origin = node->self,
                                                              .seq = next.arg[1],
                                                              .word = {next.arg[2], next.arg[3]}}};
        break;
    }
    if (more != RZ_NEED) {
        queue_pop(node);
    }
    return more;
}

static enum rz_more go_on(struct rz_job_node *node, uint32_t which, rz_time now,
                          struct rz_actions *out)
{
    struct rz_event event = {.kind = RZ_EVENT_CONTINUE, .now = now};
    return step_object(node, which, &event, out);
}

/* The host carries out a notice of recover before recover continues; calls of recover wait until it
 * has no more work. */
static enum rz_more carry_on(struct rz_job_node *node, rz_time now, struct rz_actions *out)
{
    if (node->commit_more) {
        return go_on(node, RZ_JOB_COMMIT, now, out);
    }
    bool call_recover =
        node->queue_count > 0 && node->queue[node->queue_first].kind == RZ_JOB_CALL_RECOVER;
    if (node->recover_more && (node->queue_count == 0 || call_recover)) {
        return go_on(node, RZ_JOB_RECOVER, now, out);
    }
    if (node->queue_count > 0) {
        return work(node, now, out);
    }
    rz_job_review(node);
    return node->queue_count > 0 ? RZ_MORE : RZ_DONE;
}

static enum rz_more receive(struct rz_job_node *node, const struct rz_event *event,
                            struct rz_actions *out)
{
    struct rz_message message = *event->message;
    struct rz_event inner = *event;
    inner.message = &message;
    /* The host records the failed processes, too: their messages are not admitted any more. */
    if (rz_recover_daemon_failed(recover_of(node), message.from)) {
        return RZ_DONE;
    }
    message.flags = 0;
    if (event->message->flags == RZ_JOB_HOST) {
        rz_job_on_message(node, &message);
        return RZ_MORE;
    }
    message.protocol =
        event->message->flags == RZ_JOB_RECOVER ? RZ_PROTOCOL_RECOVER : RZ_PROTOCOL_COMMIT;
    return step_object(node, event->message->flags, &inner, out);
}

enum rz_more rz_job_step(struct rz_job_node *node, const struct rz_event *event,
                         struct rz_actions *out)
{
    if (event->kind == RZ_EVENT_RECEIVE) {
        return receive(node, event, out);
    }
    if (event->kind == RZ_EVENT_FAILURE) {
        enum rz_more more = step_object(node, RZ_JOB_RECOVER, event, out);
        for (uint32_t i = 0; i < event->n_ids && more != RZ_NEED; i++) {
            rz_job_queue(node, RZ_JOB_CALL_COMMIT, RZ_JOB_FAILURE, event->ids[i], 0, 0);
        }
        return more;
    }
    if (event->kind == RZ_EVENT_CALL) {
        rz_job_on_call(node, event);
        return RZ_MORE;
    }
    return carry_on(node, event->now, out);
}

rz_time rz_job_deadline(const struct rz_job_node *node)
{
    (void)node;
    return RZ_TIME_NEVER;
}

static uint64_t hash_piece(uint64_t h, const struct rz_job_piece *piece)
{
    return rz_mix(rz_mix(h, (uint64_t)piece->written << 32 | piece->position), piece->generation);
}

static uint64_t hash_pieces(uint64_t h, const struct rz_job_node *node, uint32_t rank)
{
    const struct rz_job_parked *parked = &node->parked[rank];
    h = rz_mix(h, node->tried[rank]);
    for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
        h = hash_piece(h, &node->place[rank][i]);
    }
    h = hash_piece(rz_mix(h, (uint64_t)parked->epoch << 32 | parked->from), &parked->piece);
    if (node->scheme != RZ_COMMIT_GROUPS) {
        return h;
    }
    for (uint32_t i = 0; i < RZ_JOB_PLACES; i++) {
        h = hash_piece(rz_mix(h, node->share[rank][i].layout), &node->share[rank][i].piece);
    }
    const struct rz_job_rebuild *rebuild = &node->rebuild[rank];
    h = rz_mix(rz_mix(h, rebuild->answered), (uint64_t)rebuild->asked_epoch << 32 | rebuild->asker);
    return hash_piece(h, &rebuild->asked);
}

uint64_t rz_job_hash(const struct rz_job_node *node)
{
    uint64_t h = rz_mix((uint64_t)node->stopped << 32 | node->self,
                        (uint64_t)node->protected_epoch << 32 | node->said_reached);
    h = rz_mix(h, (uint64_t)node->damaged_epoch << 32 | node->damaged << 1 | node->said_repairing);
    h = rz_mix(rz_mix(h, (uint64_t)node->round << 32 | node->said_round),
               (uint64_t)node->answered << 32 | node->serial);
    for (uint32_t i = 0; i < node->n_held; i++) {
        h = rz_mix(h, node->held[i]);
    }
    for (uint32_t slot = 0; slot < node->n_slots; slot++) {
        const struct rz_job_process *p = &node->process[slot];
        h = rz_mix(h, (uint64_t)p->state << 48 | (uint64_t)p->reinit << 32 | p->incarnation);
        h = rz_mix(h, (uint64_t)p->epoch << 32 | p->reached);
        h = rz_mix(h, (uint64_t)p->position << 32 | p->restored);
        h = rz_mix(h, p->generation);
        h = rz_mix(h, (uint64_t)node->asking[slot] << 32 | node->asked[slot]);
        h = rz_mix(h, node->ended[slot]);
    }
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        h = hash_pieces(h, node, rank);
    }
    return rz_mix(rz_mix(h, RZ_SIM_OF(recover, hash, recover_of(node))),
                  RZ_SIM_OF(commit, hash, commit_of(node)));
}
