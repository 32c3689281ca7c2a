/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of an aggregator: a part of the file in memory, and which of its bytes belong to the
 * access. Gaps are not written: between them another process may write at the same time.
 */
#ifndef RZ_MPI_FILE_WINDOW_H
#define RZ_MPI_FILE_WINDOW_H

#include "mpi/io/file_object.h"

/* A piece of the file, as members tell aggregators of it. */
struct rz_file_piece {
    int64_t offset, bytes;
};

struct rz_file_window {
    struct rz_file *file;
    MPI_Offset begin, end; /* at present */
    MPI_Count bytes_max;
    char *bytes;      /* [bytes_max] */
    uint64_t *marked; /* a bit for each byte */
};

/* False: no memory. rz_file_window_free accepts a struct of zeros. */
bool rz_file_window_make(struct rz_file_window *window, struct rz_file *file, MPI_Count bytes_max);
void rz_file_window_free(struct rz_file_window *window);

/* Moves it to another part of the file; nothing is marked. */
void rz_file_window_move(struct rz_file_window *window, MPI_Offset begin, MPI_Offset end);

/* Marks a piece, which lies inside, and copies its data in (NULL: none yet). */
void rz_file_window_mark(struct rz_file_window *window, const struct rz_file_piece *piece,
                         const char *data);

/* Writes what is marked. rz_file_window_read: reads it, and perhaps what lies between;
 * *end_of_file: the smallest offset that was found to be behind the end; unchanged if none was.
 * From there on `bytes` holds nothing of the file. */
int rz_file_window_write(struct rz_file_window *window);
int rz_file_window_read(struct rz_file_window *window, MPI_Offset *end_of_file);

#endif
