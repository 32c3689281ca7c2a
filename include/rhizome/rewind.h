/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Snapshots of programs that do nothing about failures (rzrun --rewind, docs/unmodified.md). No
 * program needs these calls; they help one that knows when a snapshot is cheap, or what it need not
 * contain. Without --rewind they do nothing. Link with libmpi_abi.
 */
#ifndef RHIZOME_REWIND_H
#define RHIZOME_REWIND_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Asks for a snapshot of all ranks now, apart from those that come by time. Returns at once; each
 * rank stops at its next call of MPI. One rank's call is enough.
 *
 * @return MPI_SUCCESS, or the class of an error after the error handler of MPI_COMM_SELF has run.
 */
int RZ_Rewind_now(void);

/**
 * The whole pages of memory in [address, address + bytes) are left out of the images of this
 * process from now on: what can be computed again. In a process that is restored they are zero.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG: address is NULL; MPI_ERR_NO_MEM: too many ranges.
 */
int RZ_Rewind_exclude(void *address, size_t bytes);

/**
 * Forbids snapshots of any rank until as many calls of RZ_Rewind_allow: while this rank has effects
 * that cannot be repeated.
 *
 * @return MPI_SUCCESS.
 */
int RZ_Rewind_forbid(void);

/**
 * Ends the newest RZ_Rewind_forbid.
 *
 * @return MPI_SUCCESS.
 */
int RZ_Rewind_allow(void);

#ifdef __cplusplus
}
#endif

#endif
