/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives, blocking, non-blocking and persistent, with datatypes at random at each rank. What
 * must come out is computed by each from the seeds of what the others put in. */
#include "random_collective.h"

#include <stdlib.h>
#include <string.h>

bool enter_collective(struct collective *c, struct player *player, struct dice *dice,
                      const struct slot *slot, uint32_t most)
{
    *c = (struct collective){.way = (enum way)below(dice, 3), .n = slot->n, .me = slot->me};
    c->root = (int)below(dice, (uint32_t)slot->n);
    c->leaf = below(dice, LEAVES);
    c->elements = size_at_random(dice) % most;
    c->seed = mix(player->seed, (uint64_t)player->op << 20);
    c->in_place = chance(dice, 25);
    c->own.state = roll(dice) + (uint64_t)slot->me;
    c->starts = c->in_place ? 1 : between(dice, 1, 3);
    if (slot->me >= 0) {
        c->pending = begin(player);
    }
    return slot->me >= 0;
}

void start_collective(struct collective *c)
{
    struct pending *pending = c->pending;
    pending->persistent = true;
    for (uint32_t i = 1; i < c->starts; i++) {
        for (int k = 0; k < 2; k++) {
            if (pending->side[k]) {
                side_scrub(pending->side[k], (unsigned char)i);
            }
        }
        MPI_Start(&pending->request);
        MPI_Wait(&pending->request, MPI_STATUS_IGNORE);
        for (int k = 0; k < 2; k++) {
            if (pending->side[k]) {
                side_restore(pending->side[k]);
            }
        }
    }
    MPI_Start(&pending->request);
}

uint64_t seed_of(const struct collective *c, int rank)
{
    return mix(c->seed, (uint64_t)rank + 1);
}

/* One buffer for `blocks` blocks of `elements`, each of whole units. */
struct side *collective_side(struct collective *c, int blocks, uint64_t elements)
{
    struct side *side = side_new();
    side_make(side, &c->own, c->leaf, elements * (uint64_t)blocks, elements);
    return side;
}

int units_of(const struct side *side, uint64_t elements)
{
    return (int)(elements / side->leaves);
}

void play_barrier(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    if (enter_collective(&c, player, dice, slot, 2)) {
        PLAY(&c, Barrier, barrier, slot->comm);
    }
}

void play_bcast(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    if (!enter_collective(&c, player, dice, slot, 200001)) {
        return;
    }
    struct side *side = c.pending->side[0] = collective_side(&c, 1, c.elements);
    side_expect(side, 0, c.elements, c.seed, 0);
    if (c.me == c.root) {
        side_send(side);
    }
    PLAY(&c, Bcast, bcast, side->at, units_of(side, c.elements), side->type, c.root, slot->comm);
}

/* Counts and displacements of blocks in any order with gaps, in units: of all ranks the same. */
struct blocks {
    int *count, *where, all;
};

static struct blocks draw_blocks(struct collective *c, struct dice *dice, bool same)
{
    struct blocks b = {.count = malloc(2 * (size_t)c->n * sizeof(int))};
    int *order = malloc((size_t)c->n * sizeof(int));
    b.where = b.count + c->n;
    for (int i = 0; i < c->n; i++) {
        order[i] = i;
        b.count[i] = same ? (int)c->elements : (int)below(dice, (uint32_t)c->elements + 1);
    }
    for (int i = c->n - 1; i > 0 && !same; i--) {
        int j = (int)below(dice, (uint32_t)i + 1), was = order[i];
        order[i] = order[j], order[j] = was;
    }
    for (int i = 0; i < c->n; i++) {
        b.where[order[i]] = b.all;
        b.all += b.count[order[i]] + (same ? 0 : (int)below(dice, 3));
    }
    free(order);
    c->pending->more = b.count;
    return b;
}

/* Plain, so that each count is one of units. */
struct side *plain_side(const struct collective *c, int elements)
{
    struct side *side = side_new();
    struct dice plain = {1};
    side_make(side, &plain, c->leaf, (uint64_t)elements, 0);
    return side;
}

void play_gather(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool v = chance(dice, 50);
    if (!enter_collective(&c, player, dice, slot, 3000)) {
        return;
    }
    struct blocks b = {0};
    if (v) {
        b = draw_blocks(&c, dice, false);
    }
    uint64_t mine = v ? (uint64_t)b.count[c.me] : c.elements;
    struct side *put = NULL, *get = NULL;
    bool root = c.me == c.root, placed = root && c.in_place;
    if (root) {
        get = c.pending->side[1] = v ? plain_side(&c, b.all) : collective_side(&c, c.n, c.elements);
        uint64_t own = v ? (uint64_t)b.where[c.me] : (uint64_t)c.me * c.elements;
        if (placed) {
            side_expect(get, own, mine, seed_of(&c, c.me), 0);
            side_send(get);
        }
        for (int i = 0; i < c.n; i++) {
            side_expect(get, v ? (uint64_t)b.where[i] : (uint64_t)i * c.elements,
                        v ? (uint64_t)b.count[i] : c.elements, seed_of(&c, i), 0);
        }
    }
    if (!placed) {
        put = c.pending->side[0] = collective_side(&c, 1, mine);
        side_expect(put, 0, mine, seed_of(&c, c.me), 0);
        side_send(put);
    }
    const void *from = placed ? MPI_IN_PLACE : put->at;
    int n_from = placed ? 0 : units_of(put, mine);
    MPI_Datatype from_type = placed ? MPI_DATATYPE_NULL : put->type;
    if (placed) {
        from_type = MPI_BYTE;
    }
    if (v) {
        PLAY(&c, Gatherv, gatherv, from, n_from, from_type, root ? get->at : NULL, b.count, b.where,
             root ? get->type : MPI_BYTE, c.root, slot->comm);
    } else {
        PLAY(&c, Gather, gather, from, n_from, from_type, root ? get->at : NULL,
             root ? units_of(get, c.elements) : 0, root ? get->type : MPI_BYTE, c.root, slot->comm);
    }
}

void play_scatter(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool v = chance(dice, 50);
    if (!enter_collective(&c, player, dice, slot, 3000)) {
        return;
    }
    struct blocks b = {0};
    if (v) {
        b = draw_blocks(&c, dice, false);
    }
    uint64_t mine = v ? (uint64_t)b.count[c.me] : c.elements;
    bool root = c.me == c.root, placed = root && c.in_place;
    struct side *put = NULL, *get = NULL;
    if (root) {
        put = c.pending->side[0] = v ? plain_side(&c, b.all) : collective_side(&c, c.n, c.elements);
        for (int i = 0; i < c.n; i++) {
            side_expect(put, v ? (uint64_t)b.where[i] : (uint64_t)i * c.elements,
                        v ? (uint64_t)b.count[i] : c.elements, seed_of(&c, i), 0);
        }
        side_send(put);
    }
    if (!placed) {
        get = c.pending->side[1] = collective_side(&c, 1, mine);
        side_expect(get, 0, mine, seed_of(&c, c.me), 0);
    }
    void *to = placed ? MPI_IN_PLACE : get->at;
    int n_to = placed ? 0 : units_of(get, mine);
    MPI_Datatype to_type = placed ? MPI_BYTE : get->type;
    if (v) {
        PLAY(&c, Scatterv, scatterv, root ? put->at : NULL, b.count, b.where,
             root ? put->type : MPI_BYTE, to, n_to, to_type, c.root, slot->comm);
    } else {
        PLAY(&c, Scatter, scatter, root ? put->at : NULL, root ? units_of(put, c.elements) : 0,
             root ? put->type : MPI_BYTE, to, n_to, to_type, c.root, slot->comm);
    }
}

void play_allgather(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool v = chance(dice, 50);
    if (!enter_collective(&c, player, dice, slot, 3000)) {
        return;
    }
    struct blocks b = {0};
    if (v) {
        b = draw_blocks(&c, dice, false);
    }
    uint64_t mine = v ? (uint64_t)b.count[c.me] : c.elements;
    struct side *put = NULL;
    struct side *get = c.pending->side[1] =
        v ? plain_side(&c, b.all) : collective_side(&c, c.n, c.elements);
    if (c.in_place) {
        side_expect(get, v ? (uint64_t)b.where[c.me] : (uint64_t)c.me * c.elements, mine,
                    seed_of(&c, c.me), 0);
        side_send(get);
    } else {
        put = c.pending->side[0] = collective_side(&c, 1, mine);
        side_expect(put, 0, mine, seed_of(&c, c.me), 0);
        side_send(put);
    }
    for (int i = 0; i < c.n; i++) {
        side_expect(get, v ? (uint64_t)b.where[i] : (uint64_t)i * c.elements,
                    v ? (uint64_t)b.count[i] : c.elements, seed_of(&c, i), 0);
    }
    const void *from = c.in_place ? MPI_IN_PLACE : put->at;
    int n_from = c.in_place ? 0 : units_of(put, mine);
    MPI_Datatype from_type = c.in_place ? MPI_BYTE : put->type;
    if (v) {
        PLAY(&c, Allgatherv, allgatherv, from, n_from, from_type, get->at, b.count, b.where,
             get->type, slot->comm);
    } else {
        PLAY(&c, Allgather, allgather, from, n_from, from_type, get->at, units_of(get, c.elements),
             get->type, slot->comm);
    }
}

uint64_t seed_between(const struct collective *c, int from, int to)
{
    return mix(seed_of(c, from), (uint64_t)to + 1);
}

/* In place, the block for a rank is replaced by the one from it. */
void play_alltoall(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    if (!enter_collective(&c, player, dice, slot, 1000)) {
        return;
    }
    struct side *put = NULL, *get = c.pending->side[1] = collective_side(&c, c.n, c.elements);
    if (c.in_place) {
        for (int i = 0; i < c.n; i++) {
            side_expect(get, (uint64_t)i * c.elements, c.elements, seed_between(&c, c.me, i), 0);
        }
        side_send(get);
    } else {
        put = c.pending->side[0] = collective_side(&c, c.n, c.elements);
        for (int i = 0; i < c.n; i++) {
            side_expect(put, (uint64_t)i * c.elements, c.elements, seed_between(&c, c.me, i), 0);
        }
        side_send(put);
    }
    for (int i = 0; i < c.n; i++) {
        side_expect(get, (uint64_t)i * c.elements, c.elements, seed_between(&c, i, c.me), 0);
    }
    PLAY(&c, Alltoall, alltoall, c.in_place ? MPI_IN_PLACE : put->at,
         c.in_place ? 0 : units_of(put, c.elements), c.in_place ? MPI_BYTE : put->type, get->at,
         units_of(get, c.elements), get->type, slot->comm);
}

/* A count for each pair; with MPI_Alltoallw displacements in bytes. */
void play_alltoallw(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool w = chance(dice, 50);
    if (!enter_collective(&c, player, dice, slot, 700)) {
        return;
    }
    size_t n = (size_t)c.n;
    int *list = c.pending->more = malloc(n * (4 * sizeof(int) + sizeof(MPI_Datatype)) + 16);
    int *count[2] = {list, list + n}, *where[2] = {list + 2 * n, list + 3 * n}, all[2] = {0, 0};
    MPI_Datatype *types = (MPI_Datatype *)(((uintptr_t)(list + 4 * n) + 7) & ~(uintptr_t)7);
    for (int i = 0; i < c.n; i++) {
        const uint64_t most = c.elements + 1;
        count[0][i] = (int)(seed_between(&c, c.me, i) % most);
        count[1][i] = (int)(seed_between(&c, i, c.me) % most);
        for (int k = 0; k < 2; k++) {
            where[k][i] = all[k];
            all[k] += count[k][i] + i % 2;
        }
        types[i] = leaf_type(c.leaf);
    }
    struct side *put = c.pending->side[0] = plain_side(&c, all[0]);
    struct side *get = c.pending->side[1] = plain_side(&c, all[1]);
    for (int i = 0; i < c.n; i++) {
        side_expect(put, (uint64_t)where[0][i], (uint64_t)count[0][i], seed_between(&c, c.me, i),
                    0);
        side_expect(get, (uint64_t)where[1][i], (uint64_t)count[1][i], seed_between(&c, i, c.me),
                    0);
        if (w) {
            where[0][i] *= (int)put->leaf_bytes;
            where[1][i] *= (int)get->leaf_bytes;
        }
    }
    side_send(put);
    if (w) {
        PLAY(&c, Alltoallw, alltoallw, put->at, count[0], where[0], types, get->at, count[1],
             where[1], types, slot->comm);
    } else {
        PLAY(&c, Alltoallv, alltoallv, put->at, count[0], where[0], put->type, get->at, count[1],
             where[1], get->type, slot->comm);
    }
}
