/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations: how the data of memory look in a file. "native" and "internal" are those
 * of this machine; "external32" is that of section 14.5.2; others are the program's.
 *
 * In another representation a datatype has another size. Its form in the file is a datatype made
 * like it, but of basic types with the sizes of the file. Displacements in bytes stay what they
 * are (section 14.5.1: such types are not portable).
 */
#ifndef RZ_MPI_DATAREP_H
#define RZ_MPI_DATAREP_H

#include "mpi/type/datatype.h"

struct rz_datarep;

/* That of this machine. */
extern const struct rz_datarep *const rz_datarep_native;

/* NULL: there is none of that name. They are never freed. */
const struct rz_datarep *rz_datarep_find(const char *name);
const char *rz_datarep_name(const struct rz_datarep *datarep);

/* Whether data of this type are the same in memory and in the file. */
bool rz_datarep_is_plain(const struct rz_datarep *datarep, const struct rz_datatype *datatype);

/* The form of datatype in the file, with a reference for the caller. MPI_ERR_NO_MEM, an error of
 * the program's function. */
int rz_datarep_type(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                    struct rz_datatype **in_file);

/* Convert count elements between memory and `stored`, which holds them in the form of the file,
 * one behind the other. MPI_ERR_CONVERSION. */
int rz_datarep_write(const struct rz_datarep *datarep, struct rz_datatype *datatype,
                     MPI_Count count, const void *memory, void *stored);
int rz_datarep_read(const struct rz_datarep *datarep, struct rz_datatype *datatype, MPI_Count count,
                    const void *stored, void *memory);

#endif
