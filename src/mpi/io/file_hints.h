/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints of files, with the names that ROMIO gives them, and rz_commit. All members of a file use
 * those of rank 0, so the struct has no pointers and travels as bytes. docs/files.md lists them.
 */
#ifndef RZ_MPI_FILE_HINTS_H
#define RZ_MPI_FILE_HINTS_H

#include "mpi/impl.h"

enum rz_file_switch { RZ_FILE_AUTOMATIC, RZ_FILE_ENABLE, RZ_FILE_DISABLE };

struct rz_file_hints {
    int64_t cb_nodes;       /* aggregators; 0: one on each node */
    int64_t cb_buffer_size; /* bytes that an aggregator holds at once */
    int64_t ind_rd_buffer_size, ind_wr_buffer_size;
    int64_t striping_unit; /* file domains begin at multiples of it; 0: the file system's block */
    int64_t striping_factor;
    int64_t file_perm;                            /* -1: 0666 without the umask */
    int32_t cb_read, cb_write, ds_read, ds_write; /* enum rz_file_switch */
    int32_t commit;
    char access_style[128];
};

/* The defaults. */
void rz_file_hints_init(struct rz_file_hints *hints);

/* Takes the known hints of info, which may be NULL. Values that make no sense are ignored, but for
 * rz_commit: MPI_ERR_INFO_VALUE. opening: takes also those that only MPI_File_open takes. */
int rz_file_hints_take(struct rz_file_hints *hints, struct rz_info *info, bool opening);

/* A new info object that tells all of them. MPI_ERR_NO_MEM. */
int rz_file_hints_tell(const struct rz_file_hints *hints, struct rz_info **info);

#endif
