/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives, blocking, non-blocking and persistent, with datatypes at random at each rank. What
 * must come out is computed by each from the seeds of what the others put in. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum way { BLOCKING, STARTED, PERSISTENT };

/* Calls name, or Iname, or name_init and MPI_Start. */
#if MPI_VERSION >= 4
#define PLAY(way, pending, name, small, ...)                                                       \
    do {                                                                                           \
        if ((way) == BLOCKING) {                                                                   \
            MPI_##name(__VA_ARGS__);                                                               \
        } else if ((way) == STARTED) {                                                             \
            MPI_I##small(__VA_ARGS__, &(pending)->request);                                        \
        } else {                                                                                   \
            MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &(pending)->request);                    \
            (pending)->persistent = true;                                                          \
            MPI_Start(&(pending)->request);                                                        \
        }                                                                                          \
    } while (0)
#else
#define PLAY(way, pending, name, small, ...)                                                       \
    do {                                                                                           \
        if ((way) == BLOCKING) {                                                                   \
            MPI_##name(__VA_ARGS__);                                                               \
        } else {                                                                                   \
            MPI_I##small(__VA_ARGS__, &(pending)->request);                                        \
        }                                                                                          \
    } while (0)
#endif

struct collective {
    enum way way;
    int n, me, root;
    uint32_t leaf;
    uint64_t elements, seed;
    bool in_place;
    struct dice own; /* each rank's datatypes */
    struct pending *pending;
};

static bool enter(struct collective *c, struct player *player, struct dice *dice,
                  const struct slot *slot, uint32_t most)
{
    *c = (struct collective){.way = (enum way)below(dice, 3), .n = slot->n, .me = slot->me};
    c->root = (int)below(dice, (uint32_t)slot->n);
    c->leaf = below(dice, LEAVES);
    c->elements = size_at_random(dice) % most;
    c->seed = mix(player->seed, (uint64_t)player->op << 20);
    c->in_place = chance(dice, 25);
    c->own.state = roll(dice) + (uint64_t)slot->me;
    if (slot->me >= 0) {
        c->pending = begin(player);
    }
    return slot->me >= 0;
}

static uint64_t seed_of(const struct collective *c, int rank)
{
    return mix(c->seed, (uint64_t)rank + 1);
}

/* One buffer for `blocks` blocks of `elements`, each of whole units. */
static struct side *make(struct collective *c, int blocks, uint64_t elements)
{
    struct side *side = side_new();
    side_make(side, &c->own, c->leaf, elements * (uint64_t)blocks, elements);
    return side;
}

static int units(const struct side *side, uint64_t elements)
{
    return (int)(elements / side->leaves);
}

void play_barrier(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    if (enter(&c, player, dice, slot, 2)) {
        PLAY(c.way, c.pending, Barrier, barrier, slot->comm);
    }
}

void play_bcast(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    if (!enter(&c, player, dice, slot, 200001)) {
        return;
    }
    struct side *side = c.pending->side[0] = make(&c, 1, c.elements);
    side_expect(side, 0, c.elements, c.seed, 0);
    if (c.me == c.root) {
        side_send(side);
    }
    PLAY(c.way, c.pending, Bcast, bcast, side->at, units(side, c.elements), side->type, c.root,
         slot->comm);
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
static struct side *make_plain(const struct collective *c, int elements)
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
    if (!enter(&c, player, dice, slot, 3000)) {
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
        get = c.pending->side[1] = v ? make_plain(&c, b.all) : make(&c, c.n, c.elements);
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
        put = c.pending->side[0] = make(&c, 1, mine);
        side_expect(put, 0, mine, seed_of(&c, c.me), 0);
        side_send(put);
    }
    const void *from = placed ? MPI_IN_PLACE : put->at;
    int n_from = placed ? 0 : units(put, mine);
    MPI_Datatype from_type = placed ? MPI_DATATYPE_NULL : put->type;
    if (placed) {
        from_type = MPI_BYTE;
    }
    if (v) {
        PLAY(c.way, c.pending, Gatherv, gatherv, from, n_from, from_type, root ? get->at : NULL,
             b.count, b.where, root ? get->type : MPI_BYTE, c.root, slot->comm);
    } else {
        PLAY(c.way, c.pending, Gather, gather, from, n_from, from_type, root ? get->at : NULL,
             root ? units(get, c.elements) : 0, root ? get->type : MPI_BYTE, c.root, slot->comm);
    }
}

void play_scatter(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool v = chance(dice, 50);
    if (!enter(&c, player, dice, slot, 3000)) {
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
        put = c.pending->side[0] = v ? make_plain(&c, b.all) : make(&c, c.n, c.elements);
        for (int i = 0; i < c.n; i++) {
            side_expect(put, v ? (uint64_t)b.where[i] : (uint64_t)i * c.elements,
                        v ? (uint64_t)b.count[i] : c.elements, seed_of(&c, i), 0);
        }
        side_send(put);
    }
    if (!placed) {
        get = c.pending->side[1] = make(&c, 1, mine);
        side_expect(get, 0, mine, seed_of(&c, c.me), 0);
    }
    void *to = placed ? MPI_IN_PLACE : get->at;
    int n_to = placed ? 0 : units(get, mine);
    MPI_Datatype to_type = placed ? MPI_BYTE : get->type;
    if (v) {
        PLAY(c.way, c.pending, Scatterv, scatterv, root ? put->at : NULL, b.count, b.where,
             root ? put->type : MPI_BYTE, to, n_to, to_type, c.root, slot->comm);
    } else {
        PLAY(c.way, c.pending, Scatter, scatter, root ? put->at : NULL,
             root ? units(put, c.elements) : 0, root ? put->type : MPI_BYTE, to, n_to, to_type,
             c.root, slot->comm);
    }
}

void play_allgather(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool v = chance(dice, 50);
    if (!enter(&c, player, dice, slot, 3000)) {
        return;
    }
    struct blocks b = {0};
    if (v) {
        b = draw_blocks(&c, dice, false);
    }
    uint64_t mine = v ? (uint64_t)b.count[c.me] : c.elements;
    struct side *put = NULL;
    struct side *get = c.pending->side[1] = v ? make_plain(&c, b.all) : make(&c, c.n, c.elements);
    if (c.in_place) {
        side_expect(get, v ? (uint64_t)b.where[c.me] : (uint64_t)c.me * c.elements, mine,
                    seed_of(&c, c.me), 0);
        side_send(get);
    } else {
        put = c.pending->side[0] = make(&c, 1, mine);
        side_expect(put, 0, mine, seed_of(&c, c.me), 0);
        side_send(put);
    }
    for (int i = 0; i < c.n; i++) {
        side_expect(get, v ? (uint64_t)b.where[i] : (uint64_t)i * c.elements,
                    v ? (uint64_t)b.count[i] : c.elements, seed_of(&c, i), 0);
    }
    const void *from = c.in_place ? MPI_IN_PLACE : put->at;
    int n_from = c.in_place ? 0 : units(put, mine);
    MPI_Datatype from_type = c.in_place ? MPI_BYTE : put->type;
    if (v) {
        PLAY(c.way, c.pending, Allgatherv, allgatherv, from, n_from, from_type, get->at, b.count,
             b.where, get->type, slot->comm);
    } else {
        PLAY(c.way, c.pending, Allgather, allgather, from, n_from, from_type, get->at,
             units(get, c.elements), get->type, slot->comm);
    }
}

static uint64_t seed_between(const struct collective *c, int from, int to)
{
    return mix(seed_of(c, from), (uint64_t)to + 1);
}

/* In place, the block for a rank is replaced by the one from it. */
void play_alltoall(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    if (!enter(&c, player, dice, slot, 1000)) {
        return;
    }
    struct side *put = NULL, *get = c.pending->side[1] = make(&c, c.n, c.elements);
    if (c.in_place) {
        for (int i = 0; i < c.n; i++) {
            side_expect(get, (uint64_t)i * c.elements, c.elements, seed_between(&c, c.me, i), 0);
        }
        side_send(get);
    } else {
        put = c.pending->side[0] = make(&c, c.n, c.elements);
        for (int i = 0; i < c.n; i++) {
            side_expect(put, (uint64_t)i * c.elements, c.elements, seed_between(&c, c.me, i), 0);
        }
        side_send(put);
    }
    for (int i = 0; i < c.n; i++) {
        side_expect(get, (uint64_t)i * c.elements, c.elements, seed_between(&c, i, c.me), 0);
    }
    PLAY(c.way, c.pending, Alltoall, alltoall, c.in_place ? MPI_IN_PLACE : put->at,
         c.in_place ? 0 : units(put, c.elements), c.in_place ? MPI_BYTE : put->type, get->at,
         units(get, c.elements), get->type, slot->comm);
}

/* A count for each pair; with MPI_Alltoallw displacements in bytes. */
void play_alltoallw(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool w = chance(dice, 50);
    if (!enter(&c, player, dice, slot, 700)) {
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
    struct side *put = c.pending->side[0] = make_plain(&c, all[0]);
    struct side *get = c.pending->side[1] = make_plain(&c, all[1]);
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
        PLAY(c.way, c.pending, Alltoallw, alltoallw, put->at, count[0], where[0], types, get->at,
             count[1], where[1], types, slot->comm);
    } else {
        PLAY(c.way, c.pending, Alltoallv, alltoallv, put->at, count[0], where[0], put->type,
             get->at, count[1], where[1], get->type, slot->comm);
    }
}

/* ---- Reductions of unsigned numbers, which wrap around ---- */

/* x -> a * x + b: the order of these matters. */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const uint32_t *left = in;
    uint32_t *right = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        uint32_t a = left[2 * i] * right[2 * i];
        uint32_t b = left[2 * i] * right[2 * i + 1] + left[2 * i + 1];
        right[2 * i] = a, right[2 * i + 1] = b;
    }
}

enum { OPERATIONS = 8, COMPOSE = 7 };
static MPI_Op op_at(uint32_t which)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR};
    return ops[which];
}

/* All of it is kept until the reduction is over. */
struct reduction {
    struct collective c;
    uint32_t which, width; /* numbers of 32 bits in an element */
    uint32_t *in, *out, *want;
    size_t words;
    MPI_Op op;
    MPI_Datatype type;
    bool made;
};

static void apply(const struct reduction *r, const uint32_t *left, uint32_t *right, size_t elements)
{
    if (r->which == COMPOSE) {
        int n = (int)elements;
        compose((void *)(uintptr_t)left, right, &n, NULL);
        return;
    }
    for (size_t i = 0; i < elements; i++) {
        uint32_t a = left[i], b = right[i];
        const uint32_t results[] = {a + b, a * b, a > b ? a : b, a < b ? a : b,
                                    a & b, a | b, a ^ b};
        right[i] = results[r->which];
    }
}

static uint32_t *numbers_of(const struct reduction *r, int rank)
{
    uint32_t *numbers = malloc(r->words * 4 + 4);
    for (size_t i = 0; i < r->words; i++) {
        numbers[i] = (uint32_t)mix(seed_of(&r->c, rank), i);
    }
    return numbers;
}

static void free_reduction(struct pending *pending, const MPI_Status *status)
{
    struct reduction *r = pending->more;
    (void)status;
    if (r->made) {
        MPI_Op_free(&r->op);
        MPI_Type_free(&r->type);
    }
    free(r->in);
    free(r->out);
    free(r->want);
}

/* The reduction of the ranks from `first` to `last`, in this order. */
static uint32_t *reduced(const struct reduction *r, int first, int last)
{
    uint32_t *all = numbers_of(r, last);
    for (int rank = last - 1; rank >= first; rank--) {
        uint32_t *one = numbers_of(r, rank);
        apply(r, one, all, r->words / r->width);
        free(one);
    }
    return all;
}

static bool enter_reduction(struct reduction **result, struct player *player, struct dice *dice,
                            struct slot *slot, uint32_t most, bool blocks)
{
    struct collective c;
    uint32_t which = below(dice, OPERATIONS);
    if (!enter(&c, player, dice, slot, most)) {
        return false;
    }
    struct reduction *r = *result = calloc(1, sizeof(*r));
    r->c = c;
    r->which = which;
    r->width = r->which == COMPOSE ? 2 : 1;
    r->words = c.elements * r->width * (blocks ? (size_t)c.n : 1);
    r->made = r->which == COMPOSE;
    if (r->made) {
        MPI_Op_create(compose, 0, &r->op);
        MPI_Type_contiguous(2, MPI_UINT32_T, &r->type);
        MPI_Type_commit(&r->type);
    } else {
        r->op = op_at(r->which);
        r->type = MPI_UINT32_T;
    }
    c.pending->more = r;
    c.pending->over = free_reduction;
    return true;
}

/* The buffers: in place, `out` has the numbers; bytes behind the result are not to change. */
static void buffers(struct reduction *r, size_t result_words, uint32_t *want)
{
    uint32_t *numbers = numbers_of(r, r->c.me);
    size_t words = result_words > r->words ? result_words : r->words;
    r->out = malloc(words * 4 + 4);
    r->want = malloc(words * 4 + 4);
    memset(r->out, 0x5a, words * 4 + 4);
    if (r->c.in_place) {
        memcpy(r->out, numbers, r->words * 4);
    }
    memcpy(r->want, r->out, words * 4 + 4);
    if (want) {
        memcpy(r->want, want, result_words * 4);
    }
    r->in = numbers;
    r->c.pending->word[0] = r->out;
    r->c.pending->word[1] = r->want;
    /* In place, what is behind a shorter result is undefined. */
    r->c.pending->n_words = (uint32_t)(r->c.in_place ? result_words : words + 1);
}

void play_reduce(struct player *player, struct dice *dice, struct slot *slot)
{
    struct reduction *r;
    bool all = chance(dice, 50);
    if (!enter_reduction(&r, player, dice, slot, 20000, false)) {
        return;
    }
    struct collective *c = &r->c;
    bool gets = all || c->me == c->root;
    uint32_t *want = gets ? reduced(r, 0, c->n - 1) : NULL;
    if (!all) {
        c->in_place &= c->me == c->root;
    }
    buffers(r, gets ? r->words : 0, want);
    free(want);
    const void *in = c->in_place ? MPI_IN_PLACE : (const void *)r->in;
    int n = (int)c->elements;
    if (all) {
        PLAY(c->way, c->pending, Allreduce, allreduce, in, r->out, n, r->type, r->op, slot->comm);
    } else {
        PLAY(c->way, c->pending, Reduce, reduce, in, r->out, n, r->type, r->op, c->root,
             slot->comm);
    }
}

void play_scan(struct player *player, struct dice *dice, struct slot *slot)
{
    struct reduction *r;
    bool exclusive = chance(dice, 50);
    if (!enter_reduction(&r, player, dice, slot, 5000, false)) {
        return;
    }
    struct collective *c = &r->c;
    int last = exclusive ? c->me - 1 : c->me;
    uint32_t *want = last >= 0 ? reduced(r, 0, last) : NULL;
    buffers(r, r->words, want);
    free(want);
    if (!want) {
        c->pending->n_words = 0; /* undefined at the first rank */
    }
    const void *in = c->in_place ? MPI_IN_PLACE : (const void *)r->in;
    int n = (int)c->elements;
    if (exclusive) {
        PLAY(c->way, c->pending, Exscan, exscan, in, r->out, n, r->type, r->op, slot->comm);
    } else {
        PLAY(c->way, c->pending, Scan, scan, in, r->out, n, r->type, r->op, slot->comm);
    }
}

void play_reduce_scatter(struct player *player, struct dice *dice, struct slot *slot)
{
    struct reduction *r;
    bool same = chance(dice, 50);
    if (!enter_reduction(&r, player, dice, slot, 1000, true)) {
        return;
    }
    struct collective *c = &r->c;
    uint32_t *want = reduced(r, 0, c->n - 1);
    int *counts = malloc((size_t)c->n * sizeof(int)), each = (int)c->elements, mine = each;
    size_t first = (size_t)c->me * c->elements;
    if (!same) { /* one block less here, one more there */
        first = 0;
        for (int i = 0; i < c->n; i++) {
            int moved = each / 2;
            counts[i] = i % 2 == 0 && i + 1 < c->n ? each + moved
                        : i % 2 == 1               ? each - moved
                                                   : each;
            first += i < c->me ? (size_t)counts[i] : 0;
        }
        mine = counts[c->me];
    }
    buffers(r, (size_t)mine * r->width, want + first * r->width);
    free(want);
    const void *in = c->in_place ? MPI_IN_PLACE : (const void *)r->in;
    if (same) {
        PLAY(c->way, c->pending, Reduce_scatter_block, reduce_scatter_block, in, r->out, each,
             r->type, r->op, slot->comm);
        free(counts);
    } else {
        PLAY(c->way, c->pending, Reduce_scatter, reduce_scatter, in, r->out, counts, r->type, r->op,
             slot->comm);
        c->pending->list = counts;
    }
}

/* ---- Neighbours in a grid ---- */

int grid_neighbour(const struct slot *slot, int d, int by)
{
    int coordinates[3], rank = slot->me, result = 0;
    for (int i = slot->dims - 1; i >= 0; i--) {
        coordinates[i] = rank % slot->dim[i];
        rank /= slot->dim[i];
    }
    coordinates[d] += by;
    if (coordinates[d] < 0 || coordinates[d] >= slot->dim[d]) {
        if (!slot->periodic[d]) {
            return MPI_PROC_NULL;
        }
        coordinates[d] = (coordinates[d] % slot->dim[d] + slot->dim[d]) % slot->dim[d];
    }
    for (int i = 0; i < slot->dims; i++) {
        result = result * slot->dim[i] + coordinates[i];
    }
    return result;
}

/* What comes from below was sent upwards: number k to the neighbour k arrives as number k ^ 1. */
void play_neighbours(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    bool all = chance(dice, 50);
    if (slot->dims == 0) {
        play_barrier(player, dice, slot);
        return;
    }
    if (!enter(&c, player, dice, slot, 2000)) {
        return;
    }
    int n = 2 * slot->dims;
    struct side *put = c.pending->side[0] = make(&c, all ? n : 1, c.elements);
    struct side *get = c.pending->side[1] = make(&c, n, c.elements);
    for (int i = 0; i < n; i++) {
        int from = grid_neighbour(slot, i / 2, i % 2 == 0 ? -1 : 1);
        if (all) {
            side_expect(put, (uint64_t)i * c.elements, c.elements,
                        mix(seed_of(&c, c.me), (uint64_t)i), 0);
        } else {
            side_expect(put, 0, c.elements, seed_of(&c, c.me), 0);
        }
        if (from != MPI_PROC_NULL) {
            side_expect(get, (uint64_t)i * c.elements, c.elements,
                        all ? mix(seed_of(&c, from), (uint64_t)(i ^ 1)) : seed_of(&c, from), 0);
        }
    }
    side_send(put);
    if (all) {
        PLAY(c.way, c.pending, Neighbor_alltoall, neighbor_alltoall, put->at,
             units(put, c.elements), put->type, get->at, units(get, c.elements), get->type,
             slot->comm);
    } else {
        PLAY(c.way, c.pending, Neighbor_allgather, neighbor_allgather, put->at,
             units(put, c.elements), put->type, get->at, units(get, c.elements), get->type,
             slot->comm);
    }
}
