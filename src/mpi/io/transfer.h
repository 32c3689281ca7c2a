/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing without the help of other processes. Memory and view are walked in step;
 * what is one row on both sides is one call of the file system. Reads of many small pieces read
 * what lies between them, too (data sieving). Writes never do: what lies between may belong to
 * another process.
 */
#ifndef RZ_MPI_TRANSFER_H
#define RZ_MPI_TRANSFER_H

#include "mpi/io/access.h"

/* *done: how many of the bytes were read (the others lie behind the end of the file), or written.
 * Errors of the file system; MPI_ERR_NO_MEM. */
int rz_transfer(struct rz_access *access, MPI_Count *done);

#endif
