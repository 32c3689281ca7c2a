/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface by which parallel debuggers find the processes of a job: "The MPIR Process
 * Acquisition Interface", version 1.1 (MPI Forum). The tool starts rzrun or attaches to it, and
 * reads its memory by the names of these variables (docs/debugging.md).
 */
#ifndef RZ_LAUNCH_MPIR_H
#define RZ_LAUNCH_MPIR_H

#include <rhizome/types.h>

#include <stddef.h>

/* A job, or another attempt of it, begins: the table is empty. */
void rz_mpir_begin(uint32_t n_ranks);
void rz_mpir_end(void);

/* A process runs: the first, or a replacement. host NULL: this machine. True: now, and for the
 * first time, each rank has one. */
bool rz_mpir_started(uint32_t rank, const char *host, const char *executable, uint32_t pid);

/* Tells the tool that all processes are there; returns when it lets rzrun go on. */
void rz_mpir_tell_started(void);

/* The job is over before its end. */
void rz_mpir_tell_aborting(const char *why);

/* A tool has said so, before rzrun began: ranks wait for it in MPI_Init. */
bool rz_mpir_is_debugged(void);

#endif
