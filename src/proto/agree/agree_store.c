/* SPDX-License-Identifier: BSD-3-Clause */
/* Decided operations: reported to the host in order, forwarded, kept for late requests, and
 * forgotten when no member can request them. */
#include "proto/agree/agree_private.h"

#include <string.h>

static void add_destination(const struct rz_agree *agree, rz_id *to, uint32_t *n_to, rz_id id)
{
    for (uint32_t i = 0; i < *n_to; i++) {
        if (to[i] == id) {
            return;
        }
    }
    rz_assert(*n_to < agree->peers_max);
    to[(*n_to)++] = id;
}

/* The destinations of a decision: the children, the members that asked, and the gathered ones (rule
 * F2: an orphan's UP may have arrived before this member knew that the orphan is its child). */
static uint32_t destinations(struct rz_agree *agree, const struct rz_agree_op *op, rz_id giver)
{
    struct rz_agree_tree_view tree = rz_agree_op_tree(agree, op);
    struct rz_agree_walk walk = {.member = agree->self};
    const struct rz_agree_peer *peers = rz_agree_op_peers(agree, op);
    rz_id *to = rz_agree_op_to(agree, op);
    uint32_t served = RZ_AGREE_ASKER, n_to = 0;
    if (!rz_agree_mutated(agree, RZ_AGREE_NO_SERVE_GATHERED)) {
        served |= RZ_AGREE_GATHERED;
    }
    for (rz_id child; (child = rz_agree_tree_next_child(&tree, &walk)) != RZ_ID_NONE;) {
        if (child != giver) {
            add_destination(agree, to, &n_to, child);
        }
    }
    for (uint32_t i = 0; i < op->n_peers; i++) {
        if ((peers[i].roles & served) && peers[i].id != giver &&
            !rz_agree_knows_failed(agree, peers[i].id)) {
            add_destination(agree, to, &n_to, peers[i].id);
        }
    }
    return n_to;
}

/* The value of op is the decision, from giver (the own id at the root). From now on its failed
 * members are known failed here. */
void rz_agree_complete(struct rz_agree *agree, struct rz_agree_op *op, rz_id giver,
                       struct rz_actions *out)
{
    op->status = RZ_AGREE_COMPLETED;
    op->giver = giver;
    struct rz_agree_parts parts = rz_agree_parts_of_op(agree, op);
    for (uint32_t i = 0; i < parts.n_failed; i++) {
        rz_agree_learn_failure(agree, (rz_id)parts.failed[i]);
    }
    if (agree->stopped) {
        return;
    }
    uint32_t n_to = destinations(agree, op, giver);
    if (n_to > 0) {
        rz_agree_send(agree, op, RZ_AGREE_DOWN, rz_agree_op_to(agree, op), n_to, out);
    }
}

void rz_agree_answer(struct rz_agree *agree, const struct rz_agree_op *op, rz_id asker,
                     struct rz_actions *out)
{
    agree->late = asker;
    rz_agree_send(agree, op, RZ_AGREE_DOWN, &agree->late, 1, out);
}

static void add_agreed(struct rz_agree *agree, rz_id id, uint64_t seq)
{
    rz_id *agreed = rz_agree_agreed_list(agree);
    uint64_t *agreed_at = rz_agree_agreed_at(agree);
    uint32_t at = rz_agree_ids_lower_bound(agreed, agree->n_agreed, id);
    if (at < agree->n_agreed && agreed[at] == id) {
        return;
    }
    rz_assert(agree->n_agreed < agree->ids_max);
    memmove(agreed + at + 1, agreed + at, (agree->n_agreed - at) * sizeof(*agreed));
    memmove(agreed_at + at + 1, agreed_at + at, (agree->n_agreed - at) * sizeof(*agreed_at));
    agreed[at] = id;
    agreed_at[at] = seq;
    agree->n_agreed++;
}

/* Forgets what every contributor to operation seq had decided before: no living member can ask for
 * it any more. Every value that a correct member made keeps these bounds; checking them protects
 * the ring of slots from any other value. */
static void collect(struct rz_agree *agree, uint64_t seq, uint64_t settled)
{
    uint64_t window = agree->config.in_flight_max;
    uint64_t least = seq > window ? seq - window : 0;
    if (rz_agree_mutated(agree, RZ_AGREE_COLLECT_EARLY)) {
        settled = seq - 1;
    }
    if (settled < least) {
        settled = least;
    }
    if (settled >= seq) {
        settled = seq - 1;
    }
    while (agree->collected < settled) {
        rz_agree_op_slot(agree, ++agree->collected)->status = RZ_AGREE_FREE;
    }
}

bool rz_agree_decision_ready(const struct rz_agree *agree)
{
    const struct rz_agree_op *op = rz_agree_op_find(agree, agree->decided + 1);
    return op && op->status == RZ_AGREE_COMPLETED;
}

void rz_agree_decision_tell(struct rz_agree *agree, struct rz_actions *out)
{
    const struct rz_agree_op *op = rz_agree_op_find(agree, ++agree->decided);
    struct rz_agree_parts parts = rz_agree_parts_of_op(agree, op);
    for (uint32_t i = 0; i < parts.n_failed; i++) {
        add_agreed(agree, (rz_id)parts.failed[i], op->seq);
    }
    collect(agree, op->seq, parts.words[RZ_AGREE_SETTLED]);
    rz_assert(out->count < out->max);
    out->v[out->count++] = (struct rz_action){
        .kind = RZ_ACTION_NOTIFY,
        .what = RZ_AGREE_DECIDED,
        .arg = {op->seq, parts.words[RZ_AGREE_AND], parts.words[RZ_AGREE_MIN],
                parts.words[RZ_AGREE_MAX]},
        .items = parts.items,
        .n_items = parts.n_items,
    };
}

const rz_id *rz_agree_failed(const struct rz_agree *agree, uint32_t *n)
{
    *n = agree->n_agreed;
    return rz_agree_agreed_list(agree);
}
