/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving data along shapes, and shapes as bytes of a message. */
#include "mpi/type/datatype_shape.h"

#include "mpi/type/number.h"

#include <stdlib.h>

struct rz_shape rz_shape_of(const struct rz_datatype *type)
{
    return (struct rz_shape){.size = type->size,
                             .extent = type->extent,
                             .true_lb = type->true_lb,
                             .contiguous = type->contiguous,
                             .layout = type->contiguous ? NULL : type->layout};
}

/* ---- Rows ---- */

static bool layout_rows(const struct rz_layout *layout, uint64_t origin, rz_shape_row_t *row,
                        void *arg)
{
    if (layout->is_row) {
        MPI_Count bytes = 0;
        for (size_t i = 0; i < layout->n; i++) {
            bytes += layout->pieces[i].repeat * layout->pieces[i].bytes;
        }
        return layout->n == 0 || row(arg, origin + (uint64_t)layout->row_offset, bytes);
    }
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        uint64_t at = origin + (uint64_t)piece->offset;
        for (MPI_Count k = 0; k < piece->repeat; k++, at += (uint64_t)piece->stride) {
            if (piece->child ? !layout_rows(piece->child, at, row, arg)
                             : !row(arg, at, piece->bytes)) {
                return false;
            }
        }
    }
    return true;
}

bool rz_shape_rows(const struct rz_shape *shape, MPI_Count count, uint64_t origin,
                   rz_shape_row_t *row, void *arg)
{
    if (count == 0 || shape->size == 0) {
        return true;
    }
    if (shape->contiguous) {
        return row(arg, origin + (uint64_t)shape->true_lb, count * shape->size);
    }
    for (MPI_Count i = 0; i < count; i++, origin += (uint64_t)shape->extent) {
        if (!layout_rows(shape->layout, origin, row, arg)) {
            return false;
        }
    }
    return true;
}

struct packed_end {
    char *at;
};

static bool pack_row(void *arg, uint64_t at, MPI_Count bytes)
{
    struct packed_end *end = arg;
    memmove(end->at, (const void *)(uintptr_t)at, (size_t)bytes);
    end->at += bytes;
    return true;
}

static bool unpack_row(void *arg, uint64_t at, MPI_Count bytes)
{
    struct packed_end *end = arg;
    memmove((void *)(uintptr_t)at, end->at, (size_t)bytes);
    end->at += bytes;
    return true;
}

void rz_shape_pack(const struct rz_shape *shape, MPI_Count count, const void *origin, char *packed)
{
    struct packed_end end = {packed};
    rz_shape_rows(shape, count, (uintptr_t)origin, pack_row, &end);
}

void rz_shape_unpack(const struct rz_shape *shape, MPI_Count count, const char *packed,
                     void *origin)
{
    struct packed_end end = {(char *)(uintptr_t)packed};
    rz_shape_rows(shape, count, (uintptr_t)origin, unpack_row, &end);
}

bool rz_shape_reach(const struct rz_datatype *type, MPI_Count count, MPI_Count *first,
                    MPI_Count *last)
{
    MPI_Count span, low = type->true_lb, high;
    if (type->size == 0 || count == 0 || __builtin_mul_overflow(count - 1, type->extent, &span) ||
        __builtin_add_overflow(type->true_lb, type->true_extent, &high)) {
        return false;
    }
    if (__builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high)) {
        return false;
    }
    *first = low;
    *last = high - 1;
    return true;
}

/* ---- The predefined type below ---- */

const struct rz_datatype *rz_datatype_base(const struct rz_datatype *type)
{
    const struct rz_datatype *base = NULL;
    while (!rz_datatype_is_permanent(type)) {
        const struct rz_recipe *recipe = type->recipe;
        if (!recipe || recipe->n_types == 0) {
            return NULL;
        }
        const struct rz_datatype *last = recipe->types[recipe->n_types - 1];
        for (MPI_Count i = 0; i + 1 < recipe->n_types; i++) {
            const struct rz_datatype *part = recipe->types[i];
            if (part->layout == last->layout && part->size == last->size) {
                continue;
            }
            const struct rz_datatype *other = rz_datatype_base(part);
            if (!other || (base && rz_number_of(other) != rz_number_of(base))) {
                return NULL;
            }
            base = other;
        }
        type = last;
    }
    return !base || rz_number_of(base) == rz_number_of(type) ? type : NULL;
}

/* ---- As bytes ---- */

enum { PIECE_WORDS = 5, LAYOUT_WORDS = 3, SHAPE_WORDS = 4, DEPTH_MAX = 1000 };

static size_t layout_words(const struct rz_layout *layout)
{
    size_t words = LAYOUT_WORDS;
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_layout *child = layout->pieces[i].child;
        words += PIECE_WORDS + (child ? layout_words(child) : 0);
    }
    return words;
}

size_t rz_shape_bytes(const struct rz_shape *shape)
{
    size_t words = SHAPE_WORDS + (shape->contiguous ? 0 : layout_words(shape->layout));
    return words * sizeof(uint64_t);
}

static void layout_put(const struct rz_layout *layout, struct rz_wire_writer *writer)
{
    rz_wire_put_u64(writer, layout->n);
    rz_wire_put_u64(writer, layout->is_row);
    rz_wire_put_u64(writer, (uint64_t)layout->row_offset);
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        rz_wire_put_u64(writer, (uint64_t)piece->offset);
        rz_wire_put_u64(writer, (uint64_t)piece->repeat);
        rz_wire_put_u64(writer, (uint64_t)piece->stride);
        rz_wire_put_u64(writer, (uint64_t)piece->bytes);
        rz_wire_put_u64(writer, piece->child != NULL);
        if (piece->child) {
            layout_put(piece->child, writer);
        }
    }
}

void rz_shape_put(const struct rz_shape *shape, struct rz_wire_writer *writer)
{
    rz_wire_put_u64(writer, (uint64_t)shape->size);
    rz_wire_put_u64(writer, (uint64_t)shape->extent);
    rz_wire_put_u64(writer, (uint64_t)shape->true_lb);
    rz_wire_put_u64(writer, shape->contiguous);
    if (!shape->contiguous) {
        layout_put(shape->layout, writer);
    }
}

static size_t words_left(const struct rz_wire_reader *reader)
{
    return (size_t)(reader->end - reader->at) / sizeof(uint64_t);
}

static struct rz_layout *layout_get(struct rz_wire_reader *reader, int depth);

static bool piece_get(struct rz_piece *piece, struct rz_wire_reader *reader, int depth)
{
    piece->offset = (MPI_Count)rz_wire_get_u64(reader);
    piece->repeat = (MPI_Count)rz_wire_get_u64(reader);
    piece->stride = (MPI_Count)rz_wire_get_u64(reader);
    piece->bytes = (MPI_Count)rz_wire_get_u64(reader);
    bool has_child = rz_wire_get_u64(reader) != 0;
    if (reader->malformed || piece->repeat < 1 || piece->bytes < 1) {
        return false;
    }
    piece->child = has_child ? layout_get(reader, depth + 1) : NULL;
    return !has_child || piece->child;
}

/* n counts the pieces that are complete, so that a layout of which a part is missing can be
 * released. */
static struct rz_layout *layout_get(struct rz_wire_reader *reader, int depth)
{
    uint64_t n = rz_wire_get_u64(reader);
    if (reader->malformed || n > words_left(reader) / PIECE_WORDS || depth > DEPTH_MAX) {
        return NULL;
    }
    struct rz_layout *layout = calloc(1, sizeof(*layout) + (size_t)n * sizeof(struct rz_piece));
    if (!layout) {
        return NULL;
    }
    layout->references = 1;
    layout->pieces = (struct rz_piece *)(layout + 1);
    layout->is_row = rz_wire_get_u64(reader) != 0;
    layout->row_offset = (MPI_Count)rz_wire_get_u64(reader);
    while (layout->n < n && piece_get(&layout->pieces[layout->n], reader, depth)) {
        layout->n++;
    }
    if (layout->n < n) {
        rz_layout_release(layout);
        return NULL;
    }
    return layout;
}

void rz_shape_end(struct rz_shape *shape)
{
    if (shape->layout) {
        rz_layout_release(shape->layout);
        shape->layout = NULL;
    }
}

bool rz_shape_get(struct rz_shape *shape, struct rz_wire_reader *reader)
{
    shape->size = (MPI_Count)rz_wire_get_u64(reader);
    shape->extent = (MPI_Count)rz_wire_get_u64(reader);
    shape->true_lb = (MPI_Count)rz_wire_get_u64(reader);
    shape->contiguous = rz_wire_get_u64(reader) != 0;
    shape->layout = shape->contiguous ? NULL : layout_get(reader, 0);
    if (reader->malformed || shape->size < 0) {
        rz_shape_end(shape);
        return false;
    }
    return shape->contiguous || shape->layout;
}
