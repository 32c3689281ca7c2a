/* SPDX-License-Identifier: BSD-3-Clause */
/* Views of files. */
#include "mpi/io/view.h"

/* ---- What a filetype must be ---- */

/* Where the data of a layout begin and end, and where the last of its elements begins. */
struct span {
    MPI_Count first, last, end;
    bool any, falls, overlaps;
};

/* `next` follows in the type map, all of it moved by `by`. */
static void span_add(struct span *span, const struct span *next, MPI_Count by)
{
    if (!next->any) {
        return;
    }
    if (!span->any) {
        span->first = next->first + by;
        span->end = next->end + by;
    } else {
        span->falls |= next->first + by < span->last;
        span->overlaps |= next->first + by < span->end;
        span->end = next->end + by > span->end ? next->end + by : span->end;
    }
    span->falls |= next->falls;
    span->overlaps |= next->overlaps;
    span->last = next->last + by;
    span->any = true;
}

/* All repetitions are alike: the second says what the others are. */
static void span_repeat(struct span *span, const struct span *one, MPI_Count by, MPI_Count stride,
                        MPI_Count repeat)
{
    span_add(span, one, by);
    if (repeat > 1) {
        span_add(span, one, by + stride);
    }
    if (repeat > 2) {
        span_add(span, one, by + (repeat - 1) * stride);
    }
}

static struct span span_of(const struct rz_layout *layout)
{
    struct span all = {0};
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        struct span row = {.any = true, .end = piece->bytes};
        if (!piece->child) {
            row.last = piece->bytes - piece->basic->bytes;
        }
        struct span one = piece->child ? span_of(piece->child) : row;
        span_repeat(&all, &one, piece->offset, piece->stride, piece->repeat);
    }
    return all;
}

/* One tile is judged: where its repetitions lie matters to an access that reaches a second one. */
static int check_filetype(const struct rz_datatype *stored, bool writes, struct rz_view *view)
{
    struct span span = span_of(stored->layout);
    if (span.any && (span.first < 0 || span.falls)) {
        return rzm_error(MPI_ERR_ARG, "filetype has %s",
                         span.falls ? "displacements that do not grow" : "negative displacements");
    }
    if (writes && span.overlaps) {
        return rzm_error(MPI_ERR_ARG, "filetype has parts that overlap, in a file that may be "
                                      "written");
    }
    view->overlaps = span.overlaps;
    view->tiles_mix = span.any && span.first + stored->extent < span.end;
    return MPI_SUCCESS;
}

static int check_types(const struct rz_datatype *etype, const struct rz_datatype *filetype)
{
    const struct rz_datatype *const types[] = {etype, filetype};
    for (int i = 0; i < 2; i++) {
        const struct rz_object *object = &types[i]->object;
        if (object->predefined == 0 && !(object->flags & RZ_DATATYPE_COMMITTED)) {
            return rzm_error(MPI_ERR_TYPE, "%s was not committed (MPI_Type_commit)",
                             i == 0 ? "etype" : "filetype");
        }
    }
    if (etype->size <= 0) {
        return rzm_error(MPI_ERR_ARG, "etype has no data");
    }
    if (filetype->size % etype->size != 0) {
        return rzm_error(MPI_ERR_ARG, "filetype has %lld bytes, no multiple of the %lld of etype",
                         (long long)filetype->size, (long long)etype->size);
    }
    return MPI_SUCCESS;
}

/* ---- Making ---- */

int rz_view_make(struct rz_view *view, MPI_Offset disp, struct rz_datatype *etype,
                 struct rz_datatype *filetype, const struct rz_datarep *datarep, bool writes)
{
    struct rz_view made = {.disp = disp, .etype = etype, .filetype = filetype, .datarep = datarep};
    struct rz_datatype *unit;
    int error = check_types(etype, filetype);
    if (error == MPI_SUCCESS) {
        error = rz_datarep_type(datarep, etype, &unit);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    made.unit = unit->size;
    rz_datatype_release(unit);
    error = rz_datarep_type(datarep, filetype, &made.stored);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = check_filetype(made.stored, writes, &made);
    if (error != MPI_SUCCESS) {
        rz_datatype_release(made.stored);
        return error;
    }
    made.is_row = made.stored->contiguous;
    rz_datatype_retain(etype);
    rz_datatype_retain(filetype);
    *view = made;
    return MPI_SUCCESS;
}

void rz_view_copy(struct rz_view *view, const struct rz_view *from)
{
    *view = *from;
    rz_datatype_retain(view->etype);
    rz_datatype_retain(view->filetype);
    rz_datatype_retain(view->stored);
}

void rz_view_release(struct rz_view *view)
{
    rz_datatype_release(view->etype);
    rz_datatype_release(view->filetype);
    rz_datatype_release(view->stored);
}

/* ---- Places ---- */

void rz_view_walk(const struct rz_view *view, MPI_Count place, struct rz_walk *walk)
{
    rz_walk_begin(walk, view->stored, view->disp);
    rz_walk_seek(walk, place);
}

MPI_Offset rz_view_offset(const struct rz_view *view, MPI_Count place)
{
    struct rz_walk walk;
    MPI_Count offset;
    if (view->stored->size == 0) {
        return view->disp;
    }
    rz_view_walk(view, place, &walk);
    rz_walk_next(&walk, 1, &offset);
    rz_walk_end(&walk);
    return offset;
}

bool rz_view_grows(const struct rz_view *view, MPI_Count place, MPI_Count bytes)
{
    MPI_Count size = view->stored->size;
    return !view->overlaps && (!view->tiles_mix || place / size == (place + bytes - 1) / size);
}

void rz_view_span(const struct rz_view *view, MPI_Count place, MPI_Count bytes, MPI_Offset *begin,
                  MPI_Offset *end)
{
    const struct rz_datatype *stored = view->stored;
    if (rz_view_grows(view, place, bytes)) {
        *begin = rz_view_offset(view, place);
        *end = rz_view_offset(view, place + bytes - 1) + 1;
        return;
    }
    MPI_Offset first = place / stored->size * stored->extent;
    MPI_Offset last = (place + bytes - 1) / stored->size * stored->extent;
    *begin = view->disp + stored->true_lb + (first < last ? first : last);
    *end = view->disp + stored->true_lb + (first < last ? last : first) + stored->true_extent;
}

MPI_Count rz_view_search(const struct rz_view *view, MPI_Count low, MPI_Count high,
                         MPI_Offset offset)
{
    while (low < high) {
        MPI_Count middle = low + (high - low) / 2;
        if (rz_view_offset(view, middle) < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

MPI_Count rz_view_place(const struct rz_view *view, MPI_Offset offset)
{
    const struct rz_datatype *stored = view->stored;
    MPI_Offset from_first = offset - view->disp - stored->true_lb;
    MPI_Count tile = 0, place, end;
    if (stored->size == 0 || from_first <= 0) {
        return 0;
    }
    if (view->is_row) {
        return from_first;
    }
    if (from_first >= stored->true_extent) { /* the first tile whose end is not before the offset */
        if (stored->extent <= 0) {
            return -1;
        }
        tile = (from_first - stored->true_extent) / stored->extent + 1;
    }
    if (__builtin_mul_overflow(tile, stored->size, &place) ||
        __builtin_add_overflow(place, stored->size, &end)) {
        return -1;
    }
    return rz_view_search(view, place, end, offset);
}
