/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of the flat block, and its growth. */
#include "proto/agree/agree_private.h"

#include <string.h>

/* Enough for an operation without failures in a binary tree: a group of a million members has a
 * million such blocks. */
#define IDS_INITIAL 2
#define PEERS_INITIAL 6

struct layout {
    size_t failed, agreed, agreed_at, ops;   /* from the start of the block */
    size_t peers, base, to, value, op_bytes; /* from the start of an operation */
    size_t total;
};

static struct layout layout_of(uint32_t ids_max, uint32_t peers_max, uint32_t items_max,
                               uint32_t n_slots)
{
    struct layout l;
    size_t ids = ids_max * sizeof(rz_id);
    l.failed = sizeof(struct rz_agree);
    l.agreed = l.failed + ids;
    l.agreed_at = l.agreed + ids;
    l.ops = l.agreed_at + ids_max * sizeof(uint64_t);
    l.peers = sizeof(struct rz_agree_op);
    l.base = l.peers + peers_max * sizeof(struct rz_agree_peer);
    l.to = l.base + ids;
    l.value = l.to + peers_max * sizeof(rz_id);
    l.op_bytes = l.value + ((size_t)RZ_AGREE_VALUE_WORDS + ids_max + items_max) * sizeof(uint64_t);
    l.total = l.ops + n_slots * l.op_bytes;
    return l;
}

static struct layout layout_now(const struct rz_agree *agree)
{
    return layout_of(agree->ids_max, agree->peers_max, agree->items_max, agree->n_slots);
}

static void *bytes_at(const void *start, size_t offset)
{
    return (char *)(uintptr_t)start + offset;
}

rz_id *rz_agree_failed_list(const struct rz_agree *agree)
{
    return bytes_at(agree, layout_now(agree).failed);
}

rz_id *rz_agree_agreed_list(const struct rz_agree *agree)
{
    return bytes_at(agree, layout_now(agree).agreed);
}

uint64_t *rz_agree_agreed_at(const struct rz_agree *agree)
{
    return bytes_at(agree, layout_now(agree).agreed_at);
}

struct rz_agree_op *rz_agree_op_slot(const struct rz_agree *agree, uint64_t seq)
{
    struct layout l = layout_now(agree);
    return bytes_at(agree, l.ops + (seq % agree->n_slots) * l.op_bytes);
}

struct rz_agree_peer *rz_agree_op_peers(const struct rz_agree *agree, const struct rz_agree_op *op)
{
    return bytes_at(op, layout_now(agree).peers);
}

rz_id *rz_agree_op_base(const struct rz_agree *agree, const struct rz_agree_op *op)
{
    return bytes_at(op, layout_now(agree).base);
}

rz_id *rz_agree_op_to(const struct rz_agree *agree, const struct rz_agree_op *op)
{
    return bytes_at(op, layout_now(agree).to);
}

uint64_t *rz_agree_op_value(const struct rz_agree *agree, const struct rz_agree_op *op)
{
    return bytes_at(op, layout_now(agree).value);
}

size_t rz_agree_size(const struct rz_agree_config *config)
{
    return layout_of(IDS_INITIAL, PEERS_INITIAL, config->items_max, 3 * config->in_flight_max)
        .total;
}

void rz_agree_init(struct rz_agree *agree, const struct rz_agree_config *config, rz_id self,
                   rz_time now, uint64_t seed)
{
    (void)now;
    (void)seed;
    rz_assert(self < config->n_members && config->in_flight_max >= 1);
    rz_assert(config->tree < RZ_AGREE_TREE_COUNT);
    memset(agree, 0, rz_agree_size(config));
    agree->config = *config;
    agree->self = self;
    agree->late = RZ_ID_NONE;
    agree->n_slots = 3 * config->in_flight_max;
    agree->ids_max = agree->ids_want = IDS_INITIAL;
    agree->peers_max = agree->peers_want = PEERS_INITIAL;
    agree->items_max = agree->items_want = config->items_max;
    agree->review_next = 1;
}

/* Each piece moves to a higher address, so the last goes first. */
void rz_agree_grow(struct rz_agree *agree, size_t bytes)
{
    struct layout old = layout_now(agree);
    struct layout new =
        layout_of(agree->ids_want, agree->peers_want, agree->items_want, agree->n_slots);
    rz_assert(agree->ids_want >= agree->ids_max && agree->peers_want >= agree->peers_max);
    rz_assert(agree->items_want >= agree->items_max);
    rz_assert(bytes >= new.total);
    for (uint32_t slot = agree->n_slots; slot-- > 0;) {
        char *from = bytes_at(agree, old.ops + slot * old.op_bytes);
        char *to = bytes_at(agree, new.ops + slot *new.op_bytes);
        memmove(to + new.value, from + old.value, old.op_bytes - old.value);
        memmove(to + new.to, from + old.to, old.value - old.to);
        memmove(to + new.base, from + old.base, old.to - old.base);
        memmove(to, from, old.base);
    }
    memmove(bytes_at(agree, new.agreed_at), bytes_at(agree, old.agreed_at),
            old.ops - old.agreed_at);
    memmove(bytes_at(agree, new.agreed), bytes_at(agree, old.agreed), old.agreed_at - old.agreed);
    agree->ids_max = agree->ids_want;
    agree->peers_max = agree->peers_want;
    agree->items_max = agree->items_want;
}

/* What the lists must hold after an event that reports n_more failures, if all failures that open
 * operations carry become known as well. */
struct required {
    uint64_t ids, peers, items;
};

/* The most children that this member can have with so many failed members: a failed one passes its
 * children on. */
static uint64_t children_max(const struct rz_agree *agree, uint64_t n_failed)
{
    struct rz_agree_tree_view tree = {.n_members = agree->config.n_members,
                                      .kind = agree->config.tree,
                                      .per_node = agree->config.per_node};
    if (n_failed == 0) {
        return rz_agree_shape_degree(&tree, agree->self);
    }
    uint64_t most = rz_agree_shape_degree_max(tree.kind, tree.per_node) * (n_failed + 1);
    return most < tree.n_members ? most : tree.n_members;
}

/* Each destination of a decision is a child or already a peer of the operation, except for one new
 * sender. */
static struct required required_by(const struct rz_agree *agree, uint32_t n_more)
{
    uint64_t n_peers = 0, n_failed = (uint64_t)agree->n_failed + n_more;
    for (uint32_t slot = 0; slot < agree->n_slots; slot++) {
        const struct rz_agree_op *op = rz_agree_op_slot(agree, slot);
        if (op->status == RZ_AGREE_FREE) {
            continue;
        }
        if (op->n_peers > n_peers) {
            n_peers = op->n_peers;
        }
        if (op->status != RZ_AGREE_COMPLETED) {
            n_failed += op->n_failed;
        }
    }
    return (struct required){.ids = n_failed, .peers = n_peers + 1 + children_max(agree, n_failed)};
}

static uint64_t items_required(const struct rz_agree *agree, uint64_t seq, uint32_t n_more)
{
    const struct rz_agree_op *op = rz_agree_op_find(agree, seq);
    return (uint64_t)n_more + (op ? op->n_items : 0);
}

static uint32_t grown(uint32_t max, uint64_t required)
{
    uint64_t doubled = 2 * (uint64_t)max;
    uint64_t want = required > doubled ? required : doubled;
    want += want % 2;
    rz_assert(want <= UINT32_MAX / sizeof(uint64_t));
    return required <= max ? max : (uint32_t)want;
}

bool rz_agree_fits(struct rz_agree *agree, const struct rz_event *event, struct rz_actions *out)
{
    struct required required = {0};
    if (event->kind == RZ_EVENT_RECEIVE) {
        const struct rz_message *message = event->message;
        bool has_value = message->type != RZ_AGREE_REQUEST;
        uint32_t n_failed = has_value ? (uint32_t)message->word[0] : 0;
        required = required_by(agree, n_failed);
        if (has_value) {
            required.items = items_required(agree, message->seq,
                                            message->n_items - RZ_AGREE_VALUE_WORDS - n_failed);
        }
    } else if (event->kind == RZ_EVENT_FAILURE) {
        required = required_by(agree, event->n_ids);
    } else if (event->kind == RZ_EVENT_CALL) {
        required = required_by(agree, 0);
        required.items = items_required(agree, agree->proposed + 1, event->n_items);
    }
    if (required.ids <= agree->ids_max && required.peers <= agree->peers_max &&
        required.items <= agree->items_max) {
        return true;
    }
    agree->ids_want = grown(agree->ids_max, required.ids);
    agree->peers_want = grown(agree->peers_max, required.peers);
    agree->items_want = grown(agree->items_max, required.items);
    out->need =
        layout_of(agree->ids_want, agree->peers_want, agree->items_want, agree->n_slots).total;
    return false;
}
