/* SPDX-License-Identifier: BSD-3-Clause */
/* Data representations: their list, and conversion. */
#include "mpi/io/datarep.h"

#include "mpi/engine/waiting.h"
#include "mpi/io/datarep_type.h"
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

/* Bytes of one basic type in the file. */
static int basic_bytes(const void *arg, struct rz_datatype *basic, MPI_Count *bytes)
{
    const struct rz_datarep *datarep = arg;
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

int rz_datarep_type(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                    struct rz_datatype **in_file)
{
    if (rz_datarep_is_plain(datarep, datatype)) {
        rz_datatype_retain(datatype);
        *in_file = datatype;
        return MPI_SUCCESS;
    }
    return rz_datarep_type_like(datatype, basic_bytes, datarep, in_file);
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
