/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations: their list, conversion, and the types of files. A type in a file is made by
 * the recipe of the type in memory: the same constructors are called with other basic types.
 */
#include "mpi/io/datarep.h"

#include "mpi/engine/waiting.h"
#include "mpi/type/datatype_layout.h"
#include "mpi/type/type_external.h"

#include <stdio.h>
#include <stdlib.h>

enum datarep_kind { DATAREP_NATIVE, DATAREP_EXTERNAL32, DATAREP_OF_PROGRAM };

struct rz_datarep {
    char name[MPI_MAX_DATAREP_STRING];
    enum datarep_kind kind;
    bool large; /* which pair of functions */
    union {
        MPI_Datarep_conversion_function *narrow;
        MPI_Datarep_conversion_function_c *wide;
    } read, write; /* NULL: as native */
    MPI_Datarep_extent_function *extent;
    void *extra;
    struct rz_datarep *next;
};

static struct rz_datarep internal = {.name = "internal", .kind = DATAREP_NATIVE};
static struct rz_datarep external32 = {
    .name = "external32", .kind = DATAREP_EXTERNAL32, .next = &internal};
static struct rz_datarep native = {.name = "native", .kind = DATAREP_NATIVE, .next = &external32};
const struct rz_datarep *const rz_datarep_native = &native;
static struct rz_datarep *first = &native;

const struct rz_datarep *rz_datarep_find(const char *name)
{
    const struct rz_datarep *datarep = first;
    while (datarep && strcmp(datarep->name, name) != 0) {
        datarep = datarep->next;
    }
    return datarep;
}

const char *rz_datarep_name(const struct rz_datarep *datarep)
{
    return datarep->name;
}

/* ---- The program's ---- */

static int add(const char *name, const struct rz_datarep *like)
{
    size_t length = strlen(name);
    if (length == 0 || length >= MPI_MAX_DATAREP_STRING) {
        return rzm_error(MPI_ERR_ARG, "datarep has %zu characters, not 1 to %d", length,
                         MPI_MAX_DATAREP_STRING - 1);
    }
    if (rz_datarep_find(name)) {
        return rzm_error(MPI_ERR_DUP_DATAREP, "datarep \"%s\" is defined already", name);
    }
    if (!like->extent) {
        return rzm_error(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer");
    }
    struct rz_datarep *made = malloc(sizeof(*made));
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    *made = *like;
    made->kind = DATAREP_OF_PROGRAM;
    memcpy(made->name, name, length + 1);
    made->next = first;
    first = made;
    return MPI_SUCCESS;
}

int rzm_register_datarep(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
                         MPI_Datarep_conversion_function *write_conversion_fn,
                         MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    return add(datarep, &(struct rz_datarep){.read.narrow = read_conversion_fn,
                                             .write.narrow = write_conversion_fn,
                                             .extent = dtype_file_extent_fn,
                                             .extra = extra_state});
}

int rzm_register_datarep_c(const char *datarep,
                           MPI_Datarep_conversion_function_c *read_conversion_fn,
                           MPI_Datarep_conversion_function_c *write_conversion_fn,
                           MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
    return add(datarep, &(struct rz_datarep){.large = true,
                                             .read.wide = read_conversion_fn,
                                             .write.wide = write_conversion_fn,
                                             .extent = dtype_file_extent_fn,
                                             .extra = extra_state});
}

/* ---- Types in files ---- */

static bool layout_is_plain(const struct rz_layout *layout)
{
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        return false; /* whatever the sizes: the slow way is right, too */
    }
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        bool plain = piece->child ? layout_is_plain(piece->child)
                                  : piece->basic->bytes == 1 && piece->basic->external == 1;
        if (!plain) {
            return false;
        }
    }
    return true;
}

bool rz_datarep_is_plain(const struct rz_datarep *datarep, const struct rz_datatype *datatype)
{
    return datarep->kind == DATAREP_NATIVE ||
           (datarep->kind == DATAREP_EXTERNAL32 && layout_is_plain(datatype->layout));
}

/* Bytes of one basic type in the file: its size, which is its extent. */
static int basic_bytes(const struct rz_datarep *datarep, struct rz_datatype *basic,
                       MPI_Count *bytes)
{
    if (datarep->kind == DATAREP_EXTERNAL32) {
        *bytes = rz_external_size(basic);
        return MPI_SUCCESS;
    }
    MPI_Aint extent = 0;
    rz_engine_unlock_for_user();
    int error = datarep->extent(rz_datatype_handle(basic), &extent, datarep->extra);
    rz_engine_lock_after_user();
    if (error == MPI_SUCCESS && extent <= 0) {
        return rzm_error(MPI_ERR_CONVERSION, "an extent in \"%s\" is %lld", datarep->name,
                         (long long)extent);
    }
    *bytes = extent;
    return error;
}

/* The arguments of a constructor, taken one after the other in the order of section 5.1.13. */
struct contents {
    const int *integers;
    const int64_t *wide;
    bool large;
};

static MPI_Count take_count(struct contents *contents)
{
    return contents->large ? *contents->wide++ : *contents->integers++;
}

static struct rz_counts take_counts(struct contents *contents, MPI_Count n)
{
    struct rz_counts counts = {0};
    if (contents->large) {
        counts.wide = contents->wide;
        contents->wide += n;
    } else {
        counts.narrow = contents->integers;
        contents->integers += n;
    }
    return counts;
}

static struct rz_counts take_addresses(struct contents *contents, MPI_Count n)
{
    struct rz_counts addresses = {.wide = contents->wide};
    contents->wide += n;
    return addresses;
}

static const int *take_integers(struct contents *contents, MPI_Count n)
{
    const int *integers = contents->integers;
    contents->integers += n;
    return integers;
}

/* The basic types themselves: rows of bytes. */
static int make_basic(const struct rz_datarep *datarep, struct rz_datatype *basic,
                      struct rz_datatype **newtype)
{
    MPI_Count bytes = 0;
    if (basic->size == 0) {
        rz_datatype_retain(basic);
        *newtype = basic;
        return MPI_SUCCESS;
    }
    int error = basic_bytes(datarep, basic, &bytes);
    struct rz_block block = {.length = bytes, .repeat = 1, .type = rz_datatype_of(MPI_BYTE)};
    return error != MPI_SUCCESS ? error : rz_datatype_build(&block, 1, newtype);
}

static int make_indexed(int combiner, struct contents *contents, struct rz_datatype *old,
                        struct rz_datatype **newtype)
{
    bool large = contents->large;
    MPI_Count n = take_count(contents);
    struct rz_counts lengths, places;
    MPI_Count length;
    switch (combiner) {
    case MPI_COMBINER_INDEXED:
        lengths = take_counts(contents, n);
        places = take_counts(contents, n);
        return rzm_type_indexed(n, lengths, places, old, newtype, large);
    case MPI_COMBINER_HINDEXED:
        lengths = take_counts(contents, n);
        places = take_addresses(contents, n);
        return rzm_type_create_hindexed(n, lengths, places, old, newtype, large);
    case MPI_COMBINER_INDEXED_BLOCK:
        length = take_count(contents);
        places = take_counts(contents, n);
        return rzm_type_create_indexed_block(n, length, places, old, newtype, large);
    default:
        length = take_count(contents);
        places = take_addresses(contents, n);
        return rzm_type_create_hindexed_block(n, length, places, old, newtype, large);
    }
}

static int make_array(int combiner, struct contents *contents, struct rz_datatype *old,
                      struct rz_datatype **newtype)
{
    bool large = contents->large;
    if (combiner == MPI_COMBINER_SUBARRAY) {
        int n = *take_integers(contents, 1);
        struct rz_counts sizes = take_counts(contents, n);
        struct rz_counts parts = take_counts(contents, n);
        struct rz_counts starts = take_counts(contents, n);
        int order = *take_integers(contents, 1);
        return rzm_type_create_subarray(n, sizes, parts, starts, order, old, newtype, large);
    }
    int size = *take_integers(contents, 1), rank = *take_integers(contents, 1);
    int n = *take_integers(contents, 1);
    struct rz_counts sizes = take_counts(contents, n);
    const int *distributions = take_integers(contents, n);
    const int *arguments = take_integers(contents, n);
    const int *grid = take_integers(contents, n);
    int order = *take_integers(contents, 1);
    return rzm_type_create_darray(size, rank, n, sizes, distributions, arguments, grid, order, old,
                                  newtype, large);
}

static int make_of_one(int combiner, struct contents *contents, struct rz_datatype *old,
                       struct rz_datatype **newtype)
{
    bool large = contents->large;
    MPI_Count n, length, stride;
    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return rzm_type_contiguous(take_count(contents), old, newtype, large);
    case MPI_COMBINER_VECTOR:
        n = take_count(contents);
        length = take_count(contents);
        stride = take_count(contents);
        return rzm_type_vector(n, length, stride, old, newtype, large);
    case MPI_COMBINER_HVECTOR:
        n = take_count(contents);
        length = take_count(contents);
        stride = *take_addresses(contents, 1).wide;
        return rzm_type_create_hvector(n, length, stride, old, newtype, large);
    case MPI_COMBINER_RESIZED:
        n = *take_addresses(contents, 1).wide;
        length = *take_addresses(contents, 1).wide;
        return rzm_type_create_resized(old, n, length, newtype, large);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        return make_array(combiner, contents, old, newtype);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_indexed(combiner, contents, old, newtype);
    default:
        rz_datatype_retain(old); /* MPI_COMBINER_DUP */
        *newtype = old;
        return MPI_SUCCESS;
    }
}

static int type_like(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                     struct rz_datatype **newtype);

static int make_struct(const struct rz_datarep *datarep, const struct rz_recipe *recipe,
                       struct contents *contents, struct rz_datatype **newtype)
{
    MPI_Count n = take_count(contents), made = 0;
    struct rz_counts lengths = take_counts(contents, n);
    struct rz_counts places = take_addresses(contents, n);
    MPI_Datatype *handles = malloc((size_t)(n > 0 ? n : 1) * sizeof(MPI_Datatype));
    int error = handles ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (; error == MPI_SUCCESS && made < n; made += error == MPI_SUCCESS) {
        struct rz_datatype *part;
        error = type_like(datarep, recipe->types[made], &part);
        if (error == MPI_SUCCESS) {
            handles[made] = rz_datatype_handle(part);
        }
    }
    if (error == MPI_SUCCESS) {
        error = rzm_type_create_struct(n, lengths, places, handles, newtype, contents->large);
    }
    while (made-- > 0) {
        rz_datatype_release(rz_datatype_of(handles[made]));
    }
    free(handles);
    return error;
}

/* *newtype gets a reference for the caller. MPI_ERR_NO_MEM, MPI_ERR_COUNT, or an error of the
 * program's function for extents. */
static int type_like(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                     struct rz_datatype **newtype)
{
    const struct rz_recipe *recipe = datatype->recipe;
    bool basic = !recipe || recipe->n_types == 0; /* predefined, or by MPI_Type_create_f90_real */
    if (basic) {
        return make_basic(datarep, datatype, newtype);
    }
    struct contents contents = {recipe->integers, recipe->wide, recipe->large};
    if (recipe->combiner == MPI_COMBINER_STRUCT) {
        return make_struct(datarep, recipe, &contents, newtype);
    }
    struct rz_datatype *old;
    int error = type_like(datarep, recipe->types[0], &old);
    if (error == MPI_SUCCESS) {
        error = make_of_one(recipe->combiner, &contents, old, newtype);
        rz_datatype_release(old);
    }
    return error;
}

int rz_datarep_type(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                    struct rz_datatype **in_file)
{
    if (rz_datarep_is_plain(datarep, datatype)) {
        rz_datatype_retain(datatype);
        *in_file = datatype;
        return MPI_SUCCESS;
    }
    return type_like(datarep, datatype, in_file);
}

/* ---- Conversion ---- */

static int convert_by_program(const struct rz_datarep *datarep, bool reads,
                              struct rz_datatype *datatype, MPI_Count count, void *memory,
                              void *stored)
{
    bool there = datarep->large ? (reads ? datarep->read.wide : datarep->write.wide) != NULL
                                : (reads ? datarep->read.narrow : datarep->write.narrow) != NULL;
    if (!there) {
        MPI_Count bytes = rz_datatype_bytes(datatype, count);
        if (reads) {
            rz_datatype_unpack(datatype, count, stored, bytes, memory);
        } else {
            rz_datatype_pack(datatype, count, memory, stored);
        }
        return MPI_SUCCESS;
    }
    if (!datarep->large && count > INT_MAX) {
        return rzm_error(MPI_ERR_CONVERSION,
                         "count is %lld, too large for the functions of \"%s\" "
                         "(MPI_Register_datarep_c)",
                         (long long)count, datarep->name);
    }
    MPI_Datatype handle = rz_datatype_handle(datatype);
    rz_engine_unlock_for_user();
    int error = datarep->large ? (reads ? datarep->read.wide : datarep->write.wide)(
                                     memory, handle, count, stored, 0, datarep->extra)
                               : (reads ? datarep->read.narrow : datarep->write.narrow)(
                                     memory, handle, (int)count, stored, 0, datarep->extra);
    rz_engine_lock_after_user();
    return error == MPI_SUCCESS
               ? error
               : rzm_error(MPI_ERR_CONVERSION, "the conversion function of \"%s\" returned %d",
                           datarep->name, error);
}

int rz_datarep_write(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                     MPI_Count count, const void *memory, void *stored)
{
    return datarep->kind == DATAREP_EXTERNAL32
               ? rz_external_pack(datatype, count, memory, stored)
               : convert_by_program(datarep, false, datatype, count, (void *)(uintptr_t)memory,
                                    stored);
}

int rz_datarep_read(const struct rz_datarep *datarep, struct rz_datatype *datatype, MPI_Count count,
                    const void *stored, void *memory)
{
    return datarep->kind == DATAREP_EXTERNAL32
               ? rz_external_unpack(datatype, count, stored, memory)
               : convert_by_program(datarep, true, datatype, count, memory,
                                    (void *)(uintptr_t)stored);
}
