/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small files that this process reads and changes, as a program does that keeps a number in one.
 * What is in them at a snapshot lies in the memory of the process, so the image has it, and a job
 * that continues from files (--restart) restores it without the daemons that had the marks
 * (closed_files.h). One thread at a time.
 */
#ifndef RZ_MPI_STATE_FILES_H
#define RZ_MPI_STATE_FILES_H

#include <stdint.h>

/* The process changes this file, and has read it. One beyond RZ_STATE_FILES_MAX is not kept. */
#define RZ_STATE_FILES_MAX 256
void rz_state_files_note(const char *path);

/* Before the process is saved: what is in them. */
void rz_state_files_keep(void);

/* In the restored process: writes that back where the file has something else. round: as that of
 * rz_file_mark_restore, whose rules hold for several processes. */
void rz_state_files_restore(uint64_t round);

#endif
