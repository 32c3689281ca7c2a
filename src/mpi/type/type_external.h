/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data in external32, the standard's machine-independent form: big-endian, with the sizes of
 * section 14.5.2.
 */
#ifndef RZ_MPI_TYPE_EXTERNAL_H
#define RZ_MPI_TYPE_EXTERNAL_H

#include "mpi/type/datatype.h"

/* Bytes of one element in external32. */
MPI_Count rz_external_size(const struct rz_datatype *datatype);

/*
 * Converts between count elements at user and count * rz_external_size bytes at external.
 * MPI_ERR_CONVERSION when a value does not fit (a long of more than 4 bytes, a wide character of
 * more than 2).
 */
int rz_external_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user,
                     void *external);
int rz_external_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *external,
                       void *user);

#endif
