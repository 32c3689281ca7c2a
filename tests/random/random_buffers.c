/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes at random, nested, with a type map that is computed here, and buffers of them. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3, LEAVES_MOST = 300, BLOCKS = 8 };

/* A datatype: where its basic elements are, from the address that MPI is given. */
struct shape {
    MPI_Datatype type;
    uint32_t n;
    long *place, low, high; /* low, high: its lower and upper bound */
};

MPI_Datatype leaf_type(uint32_t leaf)
{
    const MPI_Datatype types[LEAVES] = {
        MPI_BYTE, MPI_SHORT, MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_UINT64_T, MPI_C_DOUBLE_COMPLEX};
    return types[leaf];
}

static const uint32_t leaf_sizes[LEAVES] = {1, 2, 4, 4, 8, 8, 16};

static void *need(size_t bytes)
{
    void *at = malloc(bytes + 1);
    if (!at) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        abort();
    }
    return at;
}

static struct shape basic(MPI_Datatype leaf, uint32_t leaf_bytes)
{
    struct shape shape = {.type = leaf, .n = 1, .place = need(sizeof(long)), .high = leaf_bytes};
    shape.place[0] = 0;
    return shape;
}

/* `shape` becomes a type of `n` copies of itself at these places. */
static void put_copies(struct shape *shape, MPI_Datatype type, bool first, const long *at,
                       uint32_t n)
{
    struct shape whole = {
        .type = type, .n = n * shape->n, .low = at[0] + shape->low, .high = at[0] + shape->high};
    whole.place = need(whole.n * sizeof(long));
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < shape->n; k++) {
            whole.place[i * shape->n + k] = at[i] + shape->place[k];
        }
        whole.low = at[i] + shape->low < whole.low ? at[i] + shape->low : whole.low;
        whole.high = at[i] + shape->high > whole.high ? at[i] + shape->high : whole.high;
    }
    if (!first) {
        MPI_Type_free(&shape->type);
    }
    free(shape->place);
    *shape = whole;
}

static long extent_of(const struct shape *shape)
{
    return shape->high - shape->low;
}

/* Blocks in places apart from one another, in any order. */
static uint32_t draw_blocks(struct dice *dice, int length[BLOCKS], int where[BLOCKS], bool same)
{
    uint32_t n = between(dice, 1, BLOCKS);
    int next = (int)below(dice, 3);
    for (uint32_t i = 0; i < n; i++) {
        length[i] = same && i > 0 ? length[0] : (int)below(dice, 4) + (same ? 1 : 0);
        where[i] = next;
        next += length[i] + (int)below(dice, 3);
    }
    if (n == 1 && length[0] == 0) {
        length[0] = 1;
    }
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = below(dice, i + 1);
        int l = length[i], w = where[i];
        length[i] = length[j], where[i] = where[j];
        length[j] = l, where[j] = w;
    }
    return n;
}

/* The lengths of all blocks; their places, in units of `unit` bytes, each `extent` bytes long. */
static uint32_t places_of(const int *length, const int *where, uint32_t n, long unit, long extent,
                          long *at)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (int k = 0; k < length[i]; k++) {
            at[all++] = where[i] * unit + k * extent;
        }
    }
    return all;
}

static void make_indexed(struct shape *shape, struct dice *dice, bool first)
{
    int length[BLOCKS], where[BLOCKS];
    MPI_Aint bytes[BLOCKS];
    long at[BLOCKS * 4], extent = extent_of(shape);
    uint32_t way = below(dice, 4), n = draw_blocks(dice, length, where, way % 2 == 1);
    uint32_t all = places_of(length, where, n, extent, extent, at);
    MPI_Datatype type;
    if (all == 0) {
        length[0] = 1, all = places_of(length, where, n, extent, extent, at);
    }
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = (MPI_Aint)where[i] * extent;
    }
    switch (way) {
    case 0:
        MPI_Type_indexed((int)n, length, where, shape->type, &type);
        break;
    case 1:
        MPI_Type_create_indexed_block((int)n, length[0], where, shape->type, &type);
        break;
    case 2:
        MPI_Type_create_hindexed((int)n, length, bytes, shape->type, &type);
        break;
    default:
        MPI_Type_create_hindexed_block((int)n, length[0], bytes, shape->type, &type);
        break;
    }
    put_copies(shape, type, first, at, all);
}

static void make_vector(struct shape *shape, struct dice *dice, bool first)
{
    int n = (int)between(dice, 1, 6), length = (int)between(dice, 1, 4);
    int stride = length + (int)below(dice, 3);
    long at[24], extent = extent_of(shape), bytes = stride * extent;
    bool in_bytes = chance(dice, 50), back = chance(dice, 20);
    MPI_Datatype type;
    bytes += in_bytes ? 16L * below(dice, 3) : 0; /* the extent is a multiple of the alignment */
    bytes = back ? -bytes : bytes;
    for (int i = 0; i < n * length; i++) {
        at[i] = i / length * bytes + i % length * extent;
    }
    if (in_bytes) {
        MPI_Type_create_hvector(n, length, bytes, shape->type, &type);
    } else {
        MPI_Type_vector(n, length, back ? -stride : stride, shape->type, &type);
    }
    put_copies(shape, type, first, at, (uint32_t)(n * length));
}

static void make_contiguous(struct shape *shape, struct dice *dice, bool first)
{
    int n = (int)between(dice, 1, 8);
    long at[8];
    MPI_Datatype type;
    for (int i = 0; i < n; i++) {
        at[i] = i * extent_of(shape);
    }
    MPI_Type_contiguous(n, shape->type, &type);
    put_copies(shape, type, first, at, (uint32_t)n);
}

static void make_subarray(struct shape *shape, struct dice *dice, bool first)
{
    int dims = (int)between(dice, 1, 3), whole[3], part[3], start[3], step[3], all = 1, size = 1;
    bool c = chance(dice, 50);
    long at[64], extent = extent_of(shape);
    MPI_Datatype type;
    for (int d = 0; d < dims; d++) {
        part[d] = (int)between(dice, 1, dims == 1 ? 8 : dims == 2 ? 5 : 3);
        start[d] = (int)below(dice, 3);
        whole[d] = start[d] + part[d] + (int)below(dice, 3);
        all *= part[d];
    }
    for (int i = 0; i < dims; i++) { /* the fastest dimension first */
        int d = c ? dims - 1 - i : i;
        step[d] = size;
        size *= whole[d];
    }
    for (int k = 0; k < all; k++) {
        int rest = k;
        at[k] = 0;
        for (int i = 0; i < dims; i++) {
            int d = c ? dims - 1 - i : i;
            at[k] += (long)(start[d] + rest % part[d]) * step[d] * extent;
            rest /= part[d];
        }
    }
    MPI_Type_create_subarray(dims, whole, part, start, c ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                             shape->type, &type);
    put_copies(shape, type, first, at, (uint32_t)all);
    shape->low = 0; /* its bounds are those of the whole array */
    shape->high = size * extent;
}

static void resize(struct shape *shape, struct dice *dice, bool first)
{
    long low = shape->low - (long)below(dice, 9), high = shape->high + (long)below(dice, 17);
    MPI_Datatype type;
    MPI_Type_create_resized(shape->type, low, high - low, &type);
    if (!first) {
        MPI_Type_free(&shape->type);
    }
    shape->type = type;
    shape->low = low;
    shape->high = high;
}

/* Its bounds may be rounded by the alignment of its parts, so they are set. */
static void make_struct(struct shape *shape, struct dice *dice, bool first)
{
    int length[BLOCKS], where[BLOCKS];
    MPI_Aint bytes[BLOCKS];
    MPI_Datatype types[BLOCKS], type, fixed;
    long at[BLOCKS * 4], extent = extent_of(shape);
    uint32_t n = draw_blocks(dice, length, where, false);
    uint32_t all = places_of(length, where, n, extent, extent, at);
    if (all == 0) {
        length[0] = 1, all = places_of(length, where, n, extent, extent, at);
    }
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] = (MPI_Aint)where[i] * extent;
        types[i] = shape->type;
    }
    MPI_Type_create_struct((int)n, length, bytes, types, &type);
    put_copies(shape, type, first, at, all);
    MPI_Type_create_resized(type, shape->low, shape->high - shape->low, &fixed);
    MPI_Type_free(&type);
    shape->type = fixed;
}

static void duplicate(struct shape *shape, struct dice *dice, bool first)
{
    MPI_Datatype type;
    (void)dice;
    MPI_Type_dup(shape->type, &type);
    if (!first) {
        MPI_Type_free(&shape->type);
    }
    shape->type = type;
}

static struct shape draw_shape(struct dice *dice, uint32_t leaf, uint64_t block)
{
    static void (*const make[])(struct shape *, struct dice *, bool) = {
        make_contiguous, make_vector, make_indexed, make_struct, make_subarray, resize, duplicate};
    struct shape shape = basic(leaf_type(leaf), leaf_sizes[leaf]);
    bool first = true;
    for (uint32_t depth = below(dice, DEPTH + 1); depth > 0; depth--) {
        make[below(dice, 7)](&shape, dice, first);
        first = false;
        if (shape.n > LEAVES_MOST) {
            break;
        }
    }
    if (block == 0 || block % shape.n != 0) {
        if (!first) {
            MPI_Type_free(&shape.type);
        }
        free(shape.place);
        shape = basic(leaf_type(leaf), leaf_sizes[leaf]);
        first = true;
    }
    if (!first) {
        MPI_Type_commit(&shape.type);
    }
    return shape;
}

static unsigned char pattern(size_t byte)
{
    return (unsigned char)(0xa5 ^ byte * 31);
}

void side_make(struct side *side, struct dice *dice, uint32_t leaf, uint64_t elements,
               uint64_t block)
{
    struct shape shape = draw_shape(dice, leaf, block);
    long low = 0, high = 0;
    *side = (struct side){.type = shape.type,
                          .made = shape.type != leaf_type(leaf),
                          .place = shape.place,
                          .extent = extent_of(&shape),
                          .leaves = shape.n,
                          .leaf_bytes = leaf_sizes[leaf]};
    side->units = (uint32_t)((elements + shape.n - 1) / shape.n);
    for (uint32_t k = 0; k < shape.n; k++) {
        long last = side->units > 0 ? (long)(side->units - 1) * side->extent : 0;
        low = shape.place[k] < low ? shape.place[k] : low;
        high = shape.place[k] + last + side->leaf_bytes > high
                   ? shape.place[k] + last + (long)side->leaf_bytes
                   : high;
    }
    long room = (-low + 15) / 16 * 16;
    side->bytes = (size_t)(room + high) + 16;
    side->block = need(side->bytes);
    side->want = need(side->bytes);
    for (size_t i = 0; i < side->bytes; i++) {
        side->block[i] = side->want[i] = pattern(i);
    }
    side->low = -room;
    side->at = side->block + room;
}

static unsigned char *wanted_at(struct side *side, uint64_t element)
{
    uint64_t unit = element / side->leaves;
    return side->want - side->low + (long)unit * side->extent + side->place[element % side->leaves];
}

void side_expect_bytes(struct side *side, uint64_t element, const void *value)
{
    memcpy(wanted_at(side, element), value, side->leaf_bytes);
}

void side_expect(struct side *side, uint64_t from, uint64_t n, uint64_t seed, uint64_t first)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t value[2] = {mix(seed, first + i), first + i};
        side_expect_bytes(side, from + i, value);
    }
}

void side_send(struct side *side)
{
    side->sent = true;
    memcpy(side->block, side->want, side->bytes);
}

void side_scrub(struct side *side, unsigned char byte)
{
    if (side->sent) {
        memset(side->block, byte, side->bytes);
    }
}

void side_restore(struct side *side)
{
    for (size_t i = 0; i < side->bytes; i++) {
        side->block[i] = side->sent ? side->want[i] : pattern(i);
    }
}

const char *side_end(struct side *side, char *text, size_t max)
{
    const char *what = NULL;
    if (memcmp(side->block, side->want, side->bytes) != 0) {
        size_t i = 0, differ = 0;
        while (side->block[i] == side->want[i]) {
            i++;
        }
        for (size_t k = i; k < side->bytes; k++) {
            differ += side->block[k] != side->want[k];
        }
        snprintf(text, max,
                 "byte %ld is %02x for %02x, %zu differ of %zu; %u units of %u, extent %ld",
                 (long)i + side->low, side->block[i], side->want[i], differ, side->bytes,
                 side->units, side->leaves, side->extent);
        what = text;
    }
    if (side->made) {
        MPI_Type_free(&side->type);
    }
    free(side->place);
    free(side->block);
    free(side->want);
    return what;
}
