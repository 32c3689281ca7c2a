/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of unsigned numbers, which wrap around. */
#include "random_collective.h"

#include <stdlib.h>
#include <string.h>

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
uint32_t *reduced(const struct reduction *r, int first, int last)
{
    uint32_t *all = numbers_of(r, last);
    for (int rank = last - 1; rank >= first; rank--) {
        uint32_t *one = numbers_of(r, rank);
        apply(r, one, all, r->words / r->width);
        free(one);
    }
    return all;
}

bool enter_reduction(struct reduction **result, struct player *player, struct dice *dice,
                     struct slot *slot, uint32_t most, bool blocks)
{
    struct collective c;
    uint32_t which = below(dice, OPERATIONS);
    if (!enter_collective(&c, player, dice, slot, most)) {
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
void reduction_buffers(struct reduction *r, size_t result_words, const uint32_t *want)
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
    reduction_buffers(r, gets ? r->words : 0, want);
    free(want);
    const void *in = c->in_place ? MPI_IN_PLACE : (const void *)r->in;
    int n = (int)c->elements;
    if (all) {
        PLAY(c, Allreduce, allreduce, in, r->out, n, r->type, r->op, slot->comm);
    } else {
        PLAY(c, Reduce, reduce, in, r->out, n, r->type, r->op, c->root, slot->comm);
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
    reduction_buffers(r, r->words, want);
    free(want);
    if (!want) {
        c->pending->n_words = 0; /* undefined at the first rank */
    }
    const void *in = c->in_place ? MPI_IN_PLACE : (const void *)r->in;
    int n = (int)c->elements;
    if (exclusive) {
        PLAY(c, Exscan, exscan, in, r->out, n, r->type, r->op, slot->comm);
    } else {
        PLAY(c, Scan, scan, in, r->out, n, r->type, r->op, slot->comm);
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
    reduction_buffers(r, (size_t)mine * r->width, want + first * r->width);
    free(want);
    const void *in = c->in_place ? MPI_IN_PLACE : (const void *)r->in;
    if (same) {
        PLAY(c, Reduce_scatter_block, reduce_scatter_block, in, r->out, each, r->type, r->op,
             slot->comm);
        free(counts);
    } else {
        PLAY(c, Reduce_scatter, reduce_scatter, in, r->out, counts, r->type, r->op, slot->comm);
        c->pending->list = counts;
    }
}
