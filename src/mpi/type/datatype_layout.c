/* SPDX-License-Identifier: BSD-3-Clause */
/* Making layouts from blocks, and copying along them. */
#include "mpi/type/datatype_layout.h"

#include <stdlib.h>

static struct rz_layout empty = {.is_row = true}; /* of all types without data */

void rz_layout_retain(struct rz_layout *layout)
{
    if (layout->references > 0) {
        layout->references++;
    }
}

void rz_layout_release(struct rz_layout *layout)
{
    if (layout->references == 0 || --layout->references > 0) {
        return;
    }
    for (size_t i = 0; i < layout->n; i++) {
        if (layout->pieces[i].child) {
            rz_layout_release(layout->pieces[i].child);
        }
    }
    free(layout);
}

/* ---- Making ---- */

static struct rz_layout *layout_alloc(size_t pieces_max)
{
    struct rz_layout *layout = malloc(sizeof(*layout) + pieces_max * sizeof(struct rz_piece));
    if (layout) {
        *layout = (struct rz_layout){.references = 1, .pieces = (struct rz_piece *)(layout + 1)};
    }
    return layout;
}

static bool piece_is_row(const struct rz_piece *piece)
{
    return !piece->child
               ? piece->repeat == 1
               : piece->child->is_row && (piece->repeat == 1 || piece->stride == piece->bytes);
}

static MPI_Count piece_row_offset(const struct rz_piece *piece)
{
    return piece->offset + (piece->child ? piece->child->row_offset : 0);
}

static void add_up(struct rz_layout *layout)
{
    layout->elements = layout->external = 0;
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        MPI_Count units = !piece->child ? piece->bytes / piece->basic->bytes : 0;
        layout->elements += piece->repeat * (piece->child ? piece->child->elements : units);
        layout->external += piece->repeat * (piece->child ? piece->child->external
                                                          : units * piece->basic->external);
    }
}

/* Called when its pieces are complete. */
static void layout_finish(struct rz_layout *layout)
{
    add_up(layout);
    layout->is_row = layout->n > 0;
    MPI_Count next = layout->n > 0 ? piece_row_offset(&layout->pieces[0]) : 0;
    layout->row_offset = next;
    for (size_t i = 0; i < layout->n && layout->is_row; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        layout->is_row = piece_is_row(piece) && piece_row_offset(piece) == next;
        next += piece->repeat * piece->bytes;
    }
}

/* Repeats the piece count times, step bytes apart. False: no memory. */
static bool piece_multiply(struct rz_piece *piece, MPI_Count count, MPI_Count step)
{
    /* one repetition more than there are, since only its end can exceed the range */
    MPI_Count span;
    if (count == 1) {
        return true;
    }
    if (piece->repeat == 1 && !piece->child && step == piece->bytes) {
        piece->bytes *= count;
    } else if (piece->repeat == 1) {
        piece->repeat = count;
        piece->stride = step;
    } else if (!__builtin_mul_overflow(piece->repeat, piece->stride, &span) && step == span) {
        piece->repeat *= count;
    } else {
        struct rz_layout *inner = layout_alloc(1);
        if (!inner) {
            return false;
        }
        inner->n = 1;
        inner->pieces[0] = *piece;
        layout_finish(inner);
        *piece = (struct rz_piece){
            .repeat = count, .stride = step, .bytes = piece->repeat * piece->bytes, .child = inner};
    }
    return true;
}

/* One block as one piece, which holds a reference to its child. */
static bool piece_of_block(const struct rz_block *block, struct rz_piece *piece)
{
    struct rz_layout *layout = block->type->layout;
    if (layout->n == 1) {
        *piece = layout->pieces[0];
    } else {
        *piece = (struct rz_piece){.repeat = 1, .bytes = block->type->size, .child = layout};
    }
    if (piece->child) {
        rz_layout_retain(piece->child);
    }
    if (!piece_multiply(piece, block->length, block->type->extent) ||
        !piece_multiply(piece, block->repeat, block->stride)) {
        if (piece->child) {
            rz_layout_release(piece->child);
        }
        return false;
    }
    piece->offset += block->displacement;
    return true;
}

/* Adds a piece; a row that continues the last one is merged with it. */
static void layout_append(struct rz_layout *layout, const struct rz_piece *piece)
{
    struct rz_piece *last = layout->n > 0 ? &layout->pieces[layout->n - 1] : NULL;
    if (last && !last->child && last->repeat == 1 && !piece->child && piece->repeat == 1 &&
        piece->basic == last->basic && piece->offset == last->offset + last->bytes) {
        last->bytes += piece->bytes;
    } else {
        layout->pieces[layout->n++] = *piece;
    }
}

struct rz_layout *rz_layout_new(const struct rz_block *blocks, size_t n)
{
    if (n == 1 && blocks[0].length == 1 && blocks[0].repeat == 1 && blocks[0].displacement == 0) {
        rz_layout_retain(blocks[0].type->layout);
        return blocks[0].type->layout;
    }
    struct rz_layout *layout = layout_alloc(n);
    if (!layout) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        struct rz_piece piece;
        if (blocks[i].type->size == 0 || blocks[i].length == 0 || blocks[i].repeat == 0) {
            continue;
        }
        if (!piece_of_block(&blocks[i], &piece)) {
            rz_layout_release(layout);
            return NULL;
        }
        layout_append(layout, &piece);
    }
    if (layout->n == 0) {
        rz_layout_release(layout);
        return &empty;
    }
    layout_finish(layout);
    return layout;
}

/* ---- Copying ---- */

/* `bytes` is a constant where this is expanded: memcpy of such a size compiles to one or two
 * instructions. */
#define MOVE_ROWS(bytes)                                                                           \
    for (MPI_Count i = 0; i < repeat; i++) {                                                       \
        memcpy(packing ? packed : user, packing ? user : packed, bytes);                           \
        user += stride;                                                                            \
        packed += (bytes);                                                                         \
    }

/* Copies between `repeat` rows, stride apart, and packed. */
static inline void move_rows(char *user, MPI_Count stride, MPI_Count repeat, size_t bytes,
                             char *packed, bool packing)
{
    switch (bytes) {
    case 1:
        MOVE_ROWS(1)
        break;
    case 2:
        MOVE_ROWS(2)
        break;
    case 4:
        MOVE_ROWS(4)
        break;
    case 8:
        MOVE_ROWS(8)
        break;
    case 12:
        MOVE_ROWS(12)
        break;
    case 16:
        MOVE_ROWS(16)
        break;
    case 24:
        MOVE_ROWS(24)
        break;
    case 32:
        MOVE_ROWS(32)
        break;
    default:
        MOVE_ROWS(bytes)
    }
}

static void copy_rows(const struct rz_piece *piece, char *user, char **packed, MPI_Count *left,
                      bool packing)
{
    size_t bytes = (size_t)piece->bytes;
    MPI_Count whole = *left / piece->bytes;
    MPI_Count repeat = whole < piece->repeat ? whole : piece->repeat;
    if (packing) {
        move_rows(user, piece->stride, repeat, bytes, *packed, true);
    } else {
        move_rows(user, piece->stride, repeat, bytes, *packed, false);
    }
    char *at = *packed + (size_t)repeat * bytes;
    *packed = at;
    *left -= repeat * piece->bytes;
    if (repeat<piece->repeat && * left> 0) { /* the last bytes end inside a row */
        size_t rest = (size_t)*left;
        char *row = user + repeat * piece->stride;
        memcpy(packing ? at : row, packing ? row : at, rest);
        *packed += rest;
        *left = 0;
    }
}

void rz_layout_copy(const struct rz_layout *layout, char *user, char **packed, MPI_Count *left,
                    bool packing)
{
    for (size_t i = 0; i<layout->n && * left> 0; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        char *at = user + piece->offset;
        if (!piece->child || piece->child->is_row) {
            at += piece->child ? piece->child->row_offset : 0;
            copy_rows(piece, at, packed, left, packing);
            continue;
        }
        for (MPI_Count k = 0; k<piece->repeat && * left> 0; k++) {
            rz_layout_copy(piece->child, at + k * piece->stride, packed, left, packing);
        }
    }
}

/* ---- Counting ---- */

bool rz_layout_elements(const struct rz_layout *layout, MPI_Count *left, MPI_Count *elements)
{
    for (size_t i = 0; i<layout->n && * left> 0; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        MPI_Count all = piece->bytes * piece->repeat;
        MPI_Count bytes = *left < all ? *left : all;
        if (!piece->child) {
            if (bytes % piece->basic->bytes != 0) {
                return false;
            }
            *elements += bytes / piece->basic->bytes;
            *left -= bytes;
            continue;
        }
        MPI_Count whole = bytes / piece->bytes, rest = bytes % piece->bytes;
        *elements += whole * piece->child->elements;
        *left -= bytes;
        if (rest > 0 && !rz_layout_elements(piece->child, &rest, elements)) {
            return false;
        }
    }
    return true;
}

MPI_Count rz_layout_bytes(const struct rz_layout *layout, MPI_Count elements)
{
    MPI_Count bytes = 0;
    for (size_t i = 0; i < layout->n && elements > 0; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        MPI_Count each = piece->child ? piece->child->elements : piece->bytes / piece->basic->bytes;
        MPI_Count whole = elements / each < piece->repeat ? elements / each : piece->repeat;
        bytes += whole * piece->bytes;
        elements -= whole * each;
        if (whole < piece->repeat && elements > 0) {
            bytes += piece->child ? rz_layout_bytes(piece->child, elements)
                                  : elements * piece->basic->bytes;
            elements = 0;
        }
    }
    return bytes;
}
