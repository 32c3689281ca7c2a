/* SPDX-License-Identifier: BSD-3-Clause */
/* The process sets of the standard, which are those of the predefined communicators. */
#ifndef RZ_MPI_PROCESS_SET_H
#define RZ_MPI_PROCESS_SET_H

enum { RZ_PROCESS_SETS = 2 };

/* Their names, by number. */
extern const char *const rz_process_sets[RZ_PROCESS_SETS];

/* The predefined communicator whose processes that process set has (0x101 WORLD, 0x102 SELF), 0:
 * none. Upper and lower case are the same. */
unsigned rz_process_set_comm(const char *name);

#endif
