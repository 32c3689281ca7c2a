/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes: building one from blocks, its bounds, retaining and releasing, inquiries, packing.
 */
#include "mpi/type/datatype.h"

#include "mpi/type/attribute.h"
#include "mpi/type/datatype_layout.h"
#include "mpi/type/number.h"

#include <stdlib.h>

/* ---- Building ---- */

/* Wide enough for every sum below, so that one check at the end finds values that do not fit
 * MPI_Count. */
typedef __int128 wide;

struct bounds {
    wide low, high;
    bool any;
};

static void bounds_add(struct bounds *bounds, wide low, wide high)
{
    bounds->low = !bounds->any || low < bounds->low ? low : bounds->low;
    bounds->high = !bounds->any || high > bounds->high ? high : bounds->high;
    bounds->any = true;
}

struct facts {
    wide size, elements;
    struct bounds data, marks; /* of the data; of the explicit bounds of resized types */
    uint8_t alignment;
    bool too_large;
};

static bool fits(wide value)
{
    return value <= INT64_MAX && value >= INT64_MIN;
}

/* The lowest and highest positions of n copies, step apart. */
static void reach(MPI_Count n, MPI_Count step, wide *low, wide *high)
{
    wide last = (wide)(n - 1) * step;
    *low += last < 0 ? last : 0;
    *high += last > 0 ? last : 0;
}

static void facts_add(struct facts *facts, const struct rz_block *block)
{
    const struct rz_datatype *type = block->type;
    if (block->length == 0 || block->repeat == 0) {
        return;
    }
    wide copies = (wide)block->length * block->repeat;
    wide low = block->displacement, high = block->displacement;
    reach(block->length, type->extent, &low, &high);
    reach(block->repeat, block->stride, &low, &high);
    facts->too_large |= !fits(copies) || !fits(low) || !fits(high);
    if (facts->too_large) {
        return;
    }
    facts->size += copies * type->size;
    facts->elements += copies * type->elements;
    facts->too_large |= !fits(facts->size);
    if (type->size > 0) {
        bounds_add(&facts->data, low + type->true_lb, high + type->true_lb + type->true_extent);
    }
    if (type->marked) {
        bounds_add(&facts->marks, low + type->lb, high + type->lb + type->extent);
    }
    if (type->alignment > facts->alignment) {
        facts->alignment = type->alignment;
    }
}

/* Sets all fields of the type except its layout. */
static bool facts_give(const struct facts *facts, struct rz_datatype *type)
{
    const struct bounds *data = &facts->data, *marks = &facts->marks;
    wide true_extent = data->high - data->low;
    wide padding = (facts->alignment - true_extent % facts->alignment) % facts->alignment;
    wide lb = marks->any ? marks->low : data->low;
    wide extent = marks->any ? marks->high - marks->low : true_extent + padding;
    if (facts->too_large || !fits(data->low) || !fits(true_extent) || !fits(lb) || !fits(extent)) {
        return false;
    }
    type->size = (MPI_Count)facts->size;
    type->elements = (MPI_Count)facts->elements;
    type->true_lb = (MPI_Count)data->low;
    type->true_extent = (MPI_Count)true_extent;
    type->lb = (MPI_Count)lb;
    type->extent = (MPI_Count)extent;
    type->marked = marks->any;
    type->alignment = facts->alignment;
    return true;
}

/* Memory of freed types, linked by `layout`: a stale handle reads a freed object, no foreign
 * memory. */
static struct rz_datatype *free_first;

static struct rz_datatype *type_alloc(void)
{
    struct rz_datatype *type = free_first;
    if (type) {
        free_first = (struct rz_datatype *)(void *)type->layout;
        *type = (struct rz_datatype){0};
    } else {
        type = calloc(1, sizeof(*type));
    }
    return type;
}

static void type_free(struct rz_datatype *type)
{
    type->layout = (struct rz_layout *)(void *)free_first;
    free_first = type;
}

/* Also called after the extent was changed. */
static void type_find_row(struct rz_datatype *type)
{
    type->contiguous = type->size == 0 || (type->layout->is_row && type->extent == type->size);
}

int rz_datatype_build(const struct rz_block *blocks, size_t n, struct rz_datatype **newtype)
{
    struct facts facts = {.alignment = 1};
    for (size_t i = 0; i < n; i++) {
        facts_add(&facts, &blocks[i]);
    }
    struct rz_datatype *type = type_alloc();
    if (!type) {
        return MPI_ERR_NO_MEM;
    }
    if (!facts_give(&facts, type)) {
        type_free(type);
        return rzm_error(MPI_ERR_COUNT, "the datatype would be larger than 2^63 bytes");
    }
    type->layout = rz_layout_new(blocks, n);
    if (!type->layout) {
        type_free(type);
        return MPI_ERR_NO_MEM;
    }
    type_find_row(type);
    rz_object_init(&type->object, RZ_OBJECT_DATATYPE, 0);
    *newtype = type;
    return MPI_SUCCESS;
}

int rz_datatype_clone(const struct rz_datatype *type, struct rz_datatype **newtype)
{
    struct rz_datatype *made = type_alloc();
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    *made = *type;
    rz_object_init(&made->object, RZ_OBJECT_DATATYPE, 0);
    made->object.flags = type->object.flags & (RZ_DATATYPE_COMMITTED | RZ_DATATYPE_HUGE);
    made->number = 0;
    made->name = NULL;
    made->attributes = NULL;
    rz_layout_retain(made->layout);
    if (made->recipe) {
        made->recipe->references++;
    }
    *newtype = made;
    return MPI_SUCCESS;
}

void rz_datatype_resize(struct rz_datatype *type, MPI_Count lb, MPI_Count extent)
{
    type->lb = lb;
    type->extent = extent;
    type->marked = true;
    type_find_row(type);
}

/* ---- Retaining and releasing ---- */

bool rz_datatype_fits(const struct rz_datatype *datatype, MPI_Count count)
{
    MPI_Count bytes;
    return !__builtin_mul_overflow(datatype->size, count, &bytes) &&
           !__builtin_mul_overflow(datatype->extent, count, &bytes);
}

int rzm_type_commit(struct rz_datatype *datatype)
{
    bool huge = datatype->size > INT32_MAX || llabs(datatype->extent) > INT32_MAX;
    datatype->object.flags |= RZ_DATATYPE_COMMITTED | (huge ? RZ_DATATYPE_HUGE : 0);
    return MPI_SUCCESS;
}

void rz_datatype_end(struct rz_datatype *datatype)
{
    rz_layout_release(datatype->layout);
    if (datatype->recipe) {
        rz_recipe_release(datatype->recipe);
    }
    rz_attributes_forget(&datatype->attributes);
    free(datatype->name);
    type_free(datatype);
}

/* Frees the recipe and returns the recipe of its last part, which is to be released next: a loop,
 * since types may be nested deeper than the stack is. */
static struct rz_recipe *recipe_end(struct rz_recipe *recipe)
{
    struct rz_recipe *inner = NULL;
    for (MPI_Count i = 0; i < recipe->n_types; i++) {
        struct rz_datatype *type = recipe->types[i];
        if (rz_datatype_is_permanent(type)) {
            continue;
        }
        if (i == recipe->n_types - 1 && type->object.references == 1) {
            inner = type->recipe;
            type->recipe = NULL;
        }
        rz_datatype_release(type);
    }
    free(recipe);
    return inner;
}

void rz_recipe_release(struct rz_recipe *recipe)
{
    while (recipe && --recipe->references == 0) {
        recipe = recipe_end(recipe);
    }
}

int rzm_type_free(struct rz_datatype *datatype)
{
    if (rz_datatype_is_permanent(datatype)) {
        return rzm_error(MPI_ERR_TYPE, "datatype is predefined and cannot be freed");
    }
    int error = rz_attributes_delete(&datatype->object, &datatype->attributes);
    if (error == MPI_SUCCESS) {
        rz_datatype_release(datatype);
    }
    return error;
}

/* ---- Inquiries ---- */

int rzm_type_size(struct rz_datatype *datatype, MPI_Count *size)
{
    *size = datatype->size;
    return MPI_SUCCESS;
}

int rzm_type_get_extent(struct rz_datatype *datatype, MPI_Count *lb, MPI_Count *extent)
{
    *lb = datatype->lb;
    *extent = datatype->extent;
    return MPI_SUCCESS;
}

int rzm_type_get_true_extent(struct rz_datatype *datatype, MPI_Count *true_lb,
                             MPI_Count *true_extent)
{
    *true_lb = datatype->true_lb;
    *true_extent = datatype->true_extent;
    return MPI_SUCCESS;
}

int rzm_type_get_name(struct rz_datatype *datatype, char *type_name, int *resultlen)
{
    rz_object_name_get(datatype ? rz_datatype_name(datatype) : "MPI_DATATYPE_NULL", type_name,
                       resultlen);
    return MPI_SUCCESS;
}

int rzm_type_set_name(struct rz_datatype *datatype, const char *type_name)
{
    size_t length = strnlen(type_name, MPI_MAX_OBJECT_NAME - 1);
    char *name = malloc(length + 1);
    if (!name) {
        return MPI_ERR_NO_MEM;
    }
    memcpy(name, type_name, length);
    name[length] = '\0';
    free(datatype->name);
    datatype->name = name;
    return MPI_SUCCESS;
}

int rzm_get_elements(const MPI_Status *status, struct rz_datatype *datatype, MPI_Count *count)
{
    MPI_Count bytes = rz_status_bytes(status);
    if (datatype->size == 0) {
        *count = 0;
        return MPI_SUCCESS;
    }
    MPI_Count left = bytes % datatype->size;
    MPI_Count elements = bytes / datatype->size * datatype->elements;
    *count = rz_layout_elements(datatype->layout, &left, &elements) ? elements : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int rzm_status_set_elements(MPI_Status *status, struct rz_datatype *datatype, MPI_Count count)
{
    MPI_Count bytes = 0;
    if (datatype->size > 0) {
        MPI_Count whole = count / datatype->elements;
        if (__builtin_mul_overflow(whole, datatype->size, &bytes) ||
            __builtin_add_overflow(
                bytes, rz_layout_bytes(datatype->layout, count % datatype->elements), &bytes)) {
            return rzm_error(MPI_ERR_COUNT, "that many elements do not fit 63 bits of bytes");
        }
    } else if (count > 0) {
        return rzm_error(MPI_ERR_ARG, "count is %lld, but datatype has no elements",
                         (long long)count);
    }
    rz_status_set_bytes(status, bytes);
    return MPI_SUCCESS;
}

/* ---- Packing ---- */

static void copy_packed(const struct rz_datatype *datatype, MPI_Count count, char *user,
                        char *packed, MPI_Count bytes, bool packing)
{
    const struct rz_layout *layout = datatype->layout;
    if (bytes == 0) {
        return;
    }
    if (datatype->contiguous || (count == 1 && layout->is_row)) {
        char *row = user + datatype->true_lb;
        memcpy(packing ? packed : row, packing ? row : packed, (size_t)bytes);
        return;
    }
    /* Elements of one row each, such as the column of a matrix, are copied as one piece. */
    if (layout->is_row) {
        struct rz_piece piece = {.offset = layout->row_offset,
                                 .repeat = count,
                                 .stride = datatype->extent,
                                 .bytes = datatype->size};
        struct rz_layout column = {.n = 1, .pieces = &piece};
        rz_layout_copy(&column, user, &packed, &bytes, packing);
        return;
    }
    for (MPI_Count i = 0; i < count && bytes > 0; i++) {
        rz_layout_copy(layout, user + i * datatype->extent, &packed, &bytes, packing);
    }
}

void rz_datatype_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user,
                      void *packed)
{
    copy_packed(datatype, count, (char *)(uintptr_t)user, packed,
                rz_datatype_bytes(datatype, count), true);
}

void rz_datatype_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *packed,
                        MPI_Count bytes, void *user)
{
    rz_assert(bytes <= rz_datatype_bytes(datatype, count));
    copy_packed(datatype, count, user, (char *)(uintptr_t)packed, bytes, false);
}

int rz_datatype_copy(const struct rz_datatype *from_type, MPI_Count from_count, const void *from,
                     const struct rz_datatype *to_type, MPI_Count to_count, void *to)
{
    MPI_Count bytes = rz_datatype_bytes(from_type, from_count);
    MPI_Count room = rz_datatype_bytes(to_type, to_count);
    int error = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    bytes = bytes > room ? room : bytes;
    if (bytes == 0) {
        return error;
    }
    if (from_type->contiguous) {
        rz_datatype_unpack(to_type, to_count, rz_datatype_row(from_type, from), bytes, to);
    } else if (to_type->contiguous) {
        copy_packed(from_type, from_count, (char *)(uintptr_t)from, rz_datatype_row(to_type, to),
                    bytes, true);
    } else {
        char *packed = malloc((size_t)bytes);
        if (!packed) {
            return MPI_ERR_NO_MEM;
        }
        copy_packed(from_type, from_count, (char *)(uintptr_t)from, packed, bytes, true);
        rz_datatype_unpack(to_type, to_count, packed, bytes, to);
        free(packed);
    }
    return error;
}

int rzm_pack(const void *inbuf, MPI_Count incount, struct rz_datatype *datatype, void *outbuf,
             MPI_Count outsize, MPI_Count *position, struct rz_comm *comm)
{
    (void)comm;
    MPI_Count bytes = rz_datatype_bytes(datatype, incount);
    if (*position < 0 || *position > outsize || bytes > outsize - *position) {
        return rzm_error(MPI_ERR_TRUNCATE, "%lld bytes do not fit behind position %lld of %lld",
                         (long long)bytes, (long long)*position, (long long)outsize);
    }
    if (bytes > 0) {
        rz_datatype_pack(datatype, incount, inbuf, (char *)outbuf + *position);
    }
    *position += bytes;
    return MPI_SUCCESS;
}

int rzm_unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
               MPI_Count outcount, struct rz_datatype *datatype, struct rz_comm *comm)
{
    (void)comm;
    MPI_Count bytes = rz_datatype_bytes(datatype, outcount);
    if (*position < 0 || *position > insize || bytes > insize - *position) {
        return rzm_error(MPI_ERR_TRUNCATE, "no %lld bytes lie behind position %lld of %lld",
                         (long long)bytes, (long long)*position, (long long)insize);
    }
    if (bytes > 0) {
        rz_datatype_unpack(datatype, outcount, (const char *)inbuf + *position, bytes, outbuf);
    }
    *position += bytes;
    return MPI_SUCCESS;
}

int rzm_pack_size(MPI_Count incount, struct rz_datatype *datatype, struct rz_comm *comm,
                  MPI_Count *size)
{
    (void)comm;
    if (__builtin_mul_overflow(datatype->size, incount, size)) {
        return rzm_error(MPI_ERR_COUNT, "that much data does not fit 63 bits");
    }
    return MPI_SUCCESS;
}
