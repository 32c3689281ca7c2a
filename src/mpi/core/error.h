/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error classes and codes, and their strings. The reason that a call notes for one error is in
 * reason.c.
 */
#ifndef RZ_MPI_ERROR_H
#define RZ_MPI_ERROR_H

/* The largest code in use, the value of the attribute MPI_LASTUSEDCODE: grows with
 * MPI_Add_error_class and _code. */
extern int rz_error_last_used;

#endif
