/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process sets that the standard defines: those of the predefined communicators.
 */
#ifndef RZ_MPI_PROCESS_SET_H
#define RZ_MPI_PROCESS_SET_H

enum { RZ_PROCESS_SETS = 2 };

/* Their names, by number. */
extern const char *const rz_process_sets[RZ_PROCESS_SETS];

/* The predefined communicator with the processes of that process set (0x101 WORLD, 0x102 SELF); 0:
 * none. Names are not case-sensitive. */
unsigned rz_process_set_comm(const char *name);

#endif
