/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks along layouts. */
#include "mpi/io/walk.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

void rz_walk_begin(struct rz_walk *walk, const struct rz_datatype *datatype, MPI_Count origin)
{
    rz_assert(datatype->size > 0);
    walk->layout = datatype->layout;
    walk->size = datatype->size;
    walk->extent = datatype->extent;
    walk->origin = origin;
    walk->is_row = datatype->contiguous;
    walk->depth_max = RZ_WALK_LEVELS;
    walk->levels = walk->few;
    if (walk->is_row) {
        walk->row_begin = origin + datatype->true_lb;
        walk->position = 0;
    } else {
        rz_walk_seek(walk, 0);
    }
}

void rz_walk_end(struct rz_walk *walk)
{
    if (walk->levels != walk->few) {
        free(walk->levels);
    }
    walk->levels = walk->few;
}

static struct rz_walk_level *top(struct rz_walk *walk)
{
    return &walk->levels[walk->depth - 1];
}

static void push(struct rz_walk *walk, const struct rz_layout *layout, MPI_Count base)
{
    if (walk->depth == walk->depth_max) {
        size_t more = 2 * (size_t)walk->depth_max;
        struct rz_walk_level *levels = malloc(more * sizeof(*levels));
        rz_need_memory(levels, "to follow a datatype in a file operation");
        memcpy(levels, walk->levels, (size_t)walk->depth * sizeof(*levels));
        rz_walk_end(walk);
        walk->levels = levels;
        walk->depth_max = (int)more;
    }
    walk->levels[walk->depth++] = (struct rz_walk_level){.layout = layout, .base = base};
}

/* A row: bytes, or a layout whose data are one row. */
static bool is_row(const struct rz_piece *piece)
{
    return !piece->child || piece->child->is_row;
}

static MPI_Count begin_of(const struct rz_walk_level *level, const struct rz_piece *piece)
{
    return level->base + piece->offset + level->repetition * piece->stride;
}

static void enter_row(struct rz_walk *walk, const struct rz_piece *piece, MPI_Count in_row)
{
    walk->row_begin = begin_of(top(walk), piece) + (piece->child ? piece->child->row_offset : 0);
    walk->row_bytes = piece->bytes;
    walk->in_row = in_row;
}

void rz_walk_seek(struct rz_walk *walk, MPI_Count position)
{
    walk->position = position;
    if (walk->is_row) {
        return;
    }
    MPI_Count rest = position % walk->size;
    walk->element = position / walk->size;
    walk->depth = 0;
    push(walk, walk->layout, walk->origin + walk->element * walk->extent);
    for (;;) {
        struct rz_walk_level *level = top(walk);
        const struct rz_piece *piece = &level->layout->pieces[0];
        while (rest >= piece->bytes * piece->repeat) {
            rest -= piece->bytes * piece->repeat;
            piece++;
        }
        level->piece = (size_t)(piece - level->layout->pieces);
        level->repetition = rest / piece->bytes;
        rest %= piece->bytes;
        if (is_row(piece)) {
            enter_row(walk, piece, rest);
            return;
        }
        push(walk, piece->child, begin_of(level, piece));
    }
}

/* Goes to the next row. */
static void step(struct rz_walk *walk)
{
    for (;;) {
        struct rz_walk_level *level = top(walk);
        if (++level->repetition < level->layout->pieces[level->piece].repeat) {
            break;
        }
        level->repetition = 0;
        if (++level->piece < level->layout->n) {
            break;
        }
        if (walk->depth == 1) {
            level->piece = 0;
            walk->element++;
            level->base = walk->origin + walk->element * walk->extent;
            break;
        }
        walk->depth--;
    }
    const struct rz_piece *piece = &top(walk)->layout->pieces[top(walk)->piece];
    while (!is_row(piece)) {
        push(walk, piece->child, begin_of(top(walk), piece));
        piece = &top(walk)->layout->pieces[0];
    }
    enter_row(walk, piece, 0);
}

MPI_Count rz_walk_next(struct rz_walk *walk, MPI_Count bytes_max, MPI_Count *offset)
{
    rz_assert(bytes_max > 0);
    if (walk->is_row) {
        *offset = walk->row_begin + walk->position;
        walk->position += bytes_max;
        return bytes_max;
    }
    *offset = walk->row_begin + walk->in_row;
    MPI_Count bytes = 0;
    for (;;) {
        MPI_Count rest = walk->row_bytes - walk->in_row;
        if (rest > bytes_max - bytes) {
            walk->in_row += bytes_max - bytes;
            bytes = bytes_max;
            break;
        }
        bytes += rest;
        step(walk);
        if (bytes == bytes_max || walk->row_begin != *offset + bytes) {
            break;
        }
    }
    walk->position += bytes;
    return bytes;
}

void rz_walk_pack(struct rz_walk *walk, const char *memory, MPI_Count bytes, char *packed)
{
    while (bytes > 0) {
        MPI_Count offset;
        MPI_Count n = rz_walk_next(walk, bytes, &offset);
        memcpy(packed, memory + offset, (size_t)n);
        packed += n;
        bytes -= n;
    }
}

void rz_walk_unpack(struct rz_walk *walk, const char *packed, MPI_Count bytes, char *memory)
{
    while (bytes > 0) {
        MPI_Count offset;
        MPI_Count n = rz_walk_next(walk, bytes, &offset);
        memcpy(memory + offset, packed, (size_t)n);
        packed += n;
        bytes -= n;
    }
}
