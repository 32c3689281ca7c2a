/* SPDX-License-Identifier: BSD-3-Clause */
/* Type maps built by the definitions of the standard, and random datatypes with their maps. */
#include "type_model.h"

#include <stdlib.h>

#include "base/assert.h"

enum { ENTRIES_MAX = 4000 };

void model_free(struct model *model)
{
    free(model->entries);
    *model = (struct model){0};
}

static void add_entry(struct model *model, struct model_entry entry)
{
    if (model->n == model->max) {
        model->max = model->max == 0 ? 16 : 2 * model->max;
        model->entries = realloc(model->entries, (size_t)model->max * sizeof(entry));
        rz_assert(model->entries != NULL);
    }
    model->entries[model->n++] = entry;
}

static void add_marks(struct model *model, MPI_Count lb, MPI_Count ub)
{
    model->lb_mark = !model->marked || lb < model->lb_mark ? lb : model->lb_mark;
    model->ub_mark = !model->marked || ub > model->ub_mark ? ub : model->ub_mark;
    model->marked = true;
}

void model_append(struct model *model, const struct model *part, MPI_Count at)
{
    for (int i = 0; i < part->n; i++) {
        struct model_entry entry = part->entries[i];
        entry.at += at;
        add_entry(model, entry);
    }
    if (part->marked) {
        add_marks(model, part->lb_mark + at, part->ub_mark + at);
    }
}

MPI_Count model_size(const struct model *model)
{
    MPI_Count size = 0;
    for (int i = 0; i < model->n; i++) {
        size += model->entries[i].bytes;
    }
    return size;
}

MPI_Count model_true_lb(const struct model *model)
{
    MPI_Count low = model->n > 0 ? model->entries[0].at : 0;
    for (int i = 0; i < model->n; i++) {
        low = model->entries[i].at < low ? model->entries[i].at : low;
    }
    return low;
}

MPI_Count model_true_extent(const struct model *model)
{
    MPI_Count high = model_true_lb(model);
    for (int i = 0; i < model->n; i++) {
        MPI_Count end = model->entries[i].at + model->entries[i].bytes;
        high = end > high ? end : high;
    }
    return high - model_true_lb(model);
}

MPI_Count model_lb(const struct model *model)
{
    return model->marked ? model->lb_mark : model_true_lb(model);
}

MPI_Count model_extent(const struct model *model)
{
    if (model->marked) {
        return model->ub_mark - model->lb_mark;
    }
    MPI_Count extent = model_true_extent(model), alignment = 1;
    for (int i = 0; i < model->n; i++) {
        alignment =
            model->entries[i].alignment > alignment ? model->entries[i].alignment : alignment;
    }
    return (extent + alignment - 1) / alignment * alignment;
}

/* ---- Random types ---- */

static struct rz_datatype *leaf(struct rz_random *random, struct model *model)
{
    static const struct {
        unsigned handle;
        int n;
        struct model_entry entries[2];
    } leaves[] = {
        {0x243, 1, {{0, 1, 1}}},           /* MPI_CHAR */
        {0x208, 1, {{0, 2, 2}}},           /* MPI_SHORT */
        {0x209, 1, {{0, 4, 4}}},           /* MPI_INT */
        {0x214, 1, {{0, 8, 8}}},           /* MPI_DOUBLE */
        {0x229, 2, {{0, 8, 8}, {8, 4, 4}}} /* MPI_DOUBLE_INT */
    };
    int i = draw(random, 5);
    for (int k = 0; k < leaves[i].n; k++) {
        add_entry(model, leaves[i].entries[k]);
    }
    return rz_datatype_predefined(leaves[i].handle);
}

/* blocks of old: lengths and displacements in bytes as model_append wants them */
static void append_blocks(struct model *model, const struct model *old, MPI_Count at, int length)
{
    for (int k = 0; k < length; k++) {
        model_append(model, old, at + k * model_extent(old));
    }
}

static struct rz_datatype *done(int error, struct rz_datatype **type)
{
    rz_assert(error == MPI_SUCCESS);
    return *type;
}

static struct rz_datatype *draw_regular(struct rz_random *random, struct rz_datatype *old,
                                        const struct model *part, struct model *model)
{
    struct rz_datatype *type = NULL;
    int count = draw(random, 4), length = draw(random, 4), stride = draw(random, 9) - 3;
    int kind = draw(random, 3);
    MPI_Count step = kind == 1 ? stride * model_extent(part) : stride * 5;
    if (kind == 0) {
        append_blocks(model, part, 0, count);
        return done(rzm_type_contiguous(count, old, &type, false), &type);
    }
    for (int i = 0; i < count; i++) {
        append_blocks(model, part, i * step, length);
    }
    return kind == 1 ? done(rzm_type_vector(count, length, stride, old, &type, false), &type)
                     : done(rzm_type_create_hvector(count, length, step, old, &type, false), &type);
}

static struct rz_datatype *draw_listed(struct rz_random *random, struct rz_datatype *old,
                                       const struct model *part, struct model *model)
{
    struct rz_datatype *type = NULL;
    int count = draw(random, 5), kind = draw(random, 4), length = draw(random, 3);
    int lengths[5], narrow[5];
    int64_t wide[5];
    for (int i = 0; i < count; i++) {
        lengths[i] = kind < 2 ? draw(random, 3) : length;
        narrow[i] = draw(random, 12) - 4;
        wide[i] = kind % 2 == 0 ? narrow[i] : narrow[i] * 3;
        MPI_Count at = kind % 2 == 0 ? narrow[i] * model_extent(part) : wide[i];
        append_blocks(model, part, at, lengths[i]);
    }
    struct rz_counts l = {.narrow = lengths}, n = {.narrow = narrow}, w = {.wide = wide};
    switch (kind) {
    case 0:
        return done(rzm_type_indexed(count, l, n, old, &type, false), &type);
    case 1:
        return done(rzm_type_create_hindexed(count, l, w, old, &type, false), &type);
    case 2:
        return done(rzm_type_create_indexed_block(count, length, n, old, &type, false), &type);
    default:
        return done(rzm_type_create_hindexed_block(count, length, w, old, &type, false), &type);
    }
}

static struct rz_datatype *draw_struct(struct rz_random *random, int depth, struct model *model)
{
    struct rz_datatype *type = NULL, *parts[3];
    MPI_Datatype handles[3];
    int count = draw(random, 4), lengths[3];
    int64_t places[3];
    for (int i = 0; i < count; i++) {
        struct model part = {0};
        parts[i] = type_draw(random, depth - 1, &part);
        handles[i] = rz_datatype_handle(parts[i]);
        lengths[i] = draw(random, 3);
        places[i] = draw(random, 200) - 40;
        append_blocks(model, &part, places[i], lengths[i]);
        model_free(&part);
    }
    struct rz_counts l = {.narrow = lengths}, w = {.wide = places};
    done(rzm_type_create_struct(count, l, w, handles, &type, false), &type);
    for (int i = 0; i < count; i++) {
        if (!rz_object_is_predefined(parts[i])) {
            rz_datatype_release(parts[i]);
        }
    }
    return type;
}

/* Of a matrix of 2 or 3 dimensions; the last one of C is the first one of Fortran. */
static struct rz_datatype *draw_subarray(struct rz_random *random, struct rz_datatype *old,
                                         const struct model *part, struct model *model)
{
    struct rz_datatype *type = NULL;
    int dims = 1 + draw(random, 3), sizes[3] = {1, 1, 1}, subs[3] = {1, 1, 1}, starts[3] = {0};
    int order = draw(random, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Count extent = model_extent(part), all = extent;
    for (int i = 0; i < dims; i++) {
        sizes[i] = 1 + draw(random, 4);
        subs[i] = 1 + draw(random, sizes[i]);
        starts[i] = draw(random, sizes[i] - subs[i] + 1);
        all *= sizes[i];
    }
    int first = order == MPI_ORDER_C ? 0 : dims - 1, step = order == MPI_ORDER_C ? 1 : -1;
    int cells = subs[0] * subs[1] * subs[2];
    for (int cell = 0; cell < cells; cell++) {
        MPI_Count at = 0;
        int rest = cells, k = cell;
        for (int i = 0, d = first; i < dims; i++, d += step) {
            rest /= subs[d];
            at = at * sizes[d] + starts[d] + k / rest;
            k %= rest;
        }
        model_append(model, part, at * extent);
    }
    model->marked = false;
    add_marks(model, 0, all);
    struct rz_counts n = {.narrow = sizes}, s = {.narrow = subs}, b = {.narrow = starts};
    return done(rzm_type_create_subarray(dims, n, s, b, order, old, &type, false), &type);
}

struct rz_datatype *type_draw(struct rz_random *random, int depth, struct model *model)
{
    if (depth == 0) {
        return leaf(random, model);
    }
    if (draw(random, 4) == 0) {
        return draw_struct(random, depth, model);
    }
    struct model part = {0};
    struct rz_datatype *old = type_draw(random, depth - 1, &part), *type = NULL;
    int kind = part.n > ENTRIES_MAX / 64 ? 4 + draw(random, 2) : draw(random, 6);
    switch (kind) {
    case 0:
    case 1:
        type = draw_regular(random, old, &part, model);
        break;
    case 2:
        type = draw_listed(random, old, &part, model);
        break;
    case 3:
        type = draw_subarray(random, old, &part, model);
        break;
    case 4:
        model_append(model, &part, 0);
        done(rzm_type_dup(old, &type), &type);
        break;
    default: {
        MPI_Count lb = draw(random, 40) - 20, extent = draw(random, 120) - 20;
        model_append(model, &part, 0);
        model->marked = false;
        add_marks(model, lb, lb + extent);
        done(rzm_type_create_resized(old, lb, extent, &type, false), &type);
    }
    }
    model_free(&part);
    if (!rz_object_is_predefined(old)) {
        rz_datatype_release(old);
    }
    return type;
}
