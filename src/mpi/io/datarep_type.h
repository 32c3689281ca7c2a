/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A datatype made like another one, of basic types with other sizes: by its recipe.
 */
#ifndef RZ_MPI_DATAREP_TYPE_H
#define RZ_MPI_DATAREP_TYPE_H

#include "mpi/type/datatype.h"

/* Sets *bytes to the size, which is the extent, of a predefined type. MPI_SUCCESS or an error. */
typedef int (*rz_basic_bytes_t)(const void *arg, struct rz_datatype *basic, MPI_Count *bytes);

/* *newtype gets a reference for the caller. MPI_ERR_NO_MEM, MPI_ERR_COUNT, or an error of `bytes`.
 */
int rz_datarep_type_like(struct rz_datatype *datatype, rz_basic_bytes_t bytes, const void *arg,
                         struct rz_datatype **newtype);

#endif
