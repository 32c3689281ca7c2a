/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in flight, their peers, and the known failures. */
#include "proto/agree/agree_private.h"

#include <string.h>

struct rz_agree_op *rz_agree_op_find(const struct rz_agree *agree, uint64_t seq)
{
    struct rz_agree_op *op = rz_agree_op_slot(agree, seq);
    return op->status != RZ_AGREE_FREE && op->seq == seq ? op : NULL;
}

struct rz_agree_op *rz_agree_op_open(struct rz_agree *agree, uint64_t seq)
{
    struct rz_agree_op *op = rz_agree_op_slot(agree, seq);
    if (op->status != RZ_AGREE_FREE) {
        rz_assert(op->seq == seq);
        return op;
    }
    memset(op, 0, sizeof(*op));
    op->seq = seq;
    op->status = RZ_AGREE_NOT_CONTRIBUTED;
    op->parent = op->giver = RZ_ID_NONE;
    rz_agree_value_clear(agree, op);
    return op;
}

static uint32_t peer_lower_bound(const struct rz_agree_peer *peers, uint32_t n, rz_id id)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (peers[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void rz_agree_op_mark(struct rz_agree *agree, struct rz_agree_op *op, rz_id id, uint32_t role)
{
    struct rz_agree_peer *peers = rz_agree_op_peers(agree, op);
    uint32_t at = peer_lower_bound(peers, op->n_peers, id);
    if (at == op->n_peers || peers[at].id != id) {
        rz_assert(op->n_peers < agree->peers_max);
        memmove(peers + at + 1, peers + at, (op->n_peers - at) * sizeof(*peers));
        peers[at] = (struct rz_agree_peer){.id = id};
        op->n_peers++;
    }
    peers[at].roles |= role;
}

uint32_t rz_agree_op_roles(const struct rz_agree *agree, const struct rz_agree_op *op, rz_id id)
{
    const struct rz_agree_peer *peers = rz_agree_op_peers(agree, op);
    uint32_t at = peer_lower_bound(peers, op->n_peers, id);
    return at < op->n_peers && peers[at].id == id ? peers[at].roles : 0;
}

struct rz_agree_tree_view rz_agree_op_tree(const struct rz_agree *agree,
                                           const struct rz_agree_op *op)
{
    return (struct rz_agree_tree_view){
        .n_members = agree->config.n_members,
        .kind = agree->config.tree,
        .per_node = agree->config.per_node,
        .base = rz_agree_op_base(agree, op),
        .n_base = op->n_base,
        .failed = rz_agree_failed_list(agree),
        .n_failed = agree->n_failed,
    };
}

bool rz_agree_knows_failed(const struct rz_agree *agree, rz_id id)
{
    return rz_agree_ids_contain(rz_agree_failed_list(agree), agree->n_failed, id);
}

void rz_agree_learn_failure(struct rz_agree *agree, rz_id id)
{
    rz_assert(id < agree->config.n_members);
    rz_id *failed = rz_agree_failed_list(agree);
    uint32_t at = rz_agree_ids_lower_bound(failed, agree->n_failed, id);
    if (at < agree->n_failed && failed[at] == id) {
        return;
    }
    rz_assert(agree->n_failed < agree->ids_max);
    memmove(failed + at + 1, failed + at, (agree->n_failed - at) * sizeof(*failed));
    failed[at] = id;
    agree->n_failed++;
    if (id == agree->self) {
        agree->stopped = 1;
    }
}

void rz_agree_send(struct rz_agree *agree, const struct rz_agree_op *op, enum rz_agree_message type,
                   const rz_id *to, uint32_t n_to, struct rz_actions *out)
{
    bool has_value = type != RZ_AGREE_REQUEST;
    rz_assert(n_to > 0 && out->count < out->max);
    out->v[out->count++] = (struct rz_action){
        .kind = RZ_ACTION_SEND,
        .to = to,
        .n_to = n_to,
        .message = {.protocol = RZ_PROTOCOL_AGREE,
                    .type = (uint8_t)type,
                    .view = agree->config.view,
                    .from = agree->self,
                    .origin = agree->self,
                    .seq = op->seq,
                    .word = {has_value ? op->n_failed : 0},
                    .n_items = has_value ? RZ_AGREE_VALUE_WORDS + op->n_failed + op->n_items : 0},
        .items = has_value ? rz_agree_op_value(agree, op) : NULL,
    };
}
