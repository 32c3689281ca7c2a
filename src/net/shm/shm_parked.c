/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offers without a slot, found by their ids: any number of them, received in any order. A digital
 * search tree (Coffman and Eve, 1970; Knuth, volume 3, section 6.3) whose nodes are the operations:
 * at each level one bit of the id, the lowest first, says on which side it is. Ids are given in
 * turn, so that their low bits differ soonest. Nothing is allocated, and no path is longer than an
 * id has bits.
 */
#include "net/shm/shm_state.h"

#include "base/assert.h"

static struct rz_net_op **parked_child(struct rz_net_op *op, bool right)
{
    return right ? &shm_op(op)->right : &shm_op(op)->next;
}

/* Where the operation with this id is, or would be added. */
static struct rz_net_op **parked_place(struct rz_net_op **root, uint64_t id)
{
    struct rz_net_op **place = root;
    for (uint64_t bits = id; *place && shm_op(*place)->id != id; bits >>= 1) {
        place = parked_child(*place, bits & 1);
    }
    return place;
}

void shm_parked_add(struct rz_net_op **root, struct rz_net_op *op)
{
    struct rz_net_op **place = parked_place(root, shm_op(op)->id);
    rz_assert(!*place);
    shm_op(op)->next = shm_op(op)->right = NULL;
    *place = op;
}

struct rz_net_op *shm_parked_find(struct rz_net_op *root, uint64_t id)
{
    return *parked_place(&root, id);
}

struct rz_net_op *shm_parked_take(struct rz_net_op **root, uint64_t id)
{
    struct rz_net_op **place = parked_place(root, id);
    struct rz_net_op *op = *place;
    if (!op) {
        return NULL;
    }
    /* Any leaf below may stand in its place: the bits of its id on the way there are the same. */
    struct rz_net_op **leaf_place = place;
    while (shm_op(*leaf_place)->next || shm_op(*leaf_place)->right) {
        leaf_place = parked_child(*leaf_place, !shm_op(*leaf_place)->next);
    }
    struct rz_net_op *leaf = *leaf_place;
    *leaf_place = NULL;
    if (leaf != op) {
        shm_op(leaf)->next = shm_op(op)->next;
        shm_op(leaf)->right = shm_op(op)->right;
        *place = leaf;
    }
    return op;
}
