/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One access of a process: data of its memory, and the places in its view where they belong. Both
 * are rows of the same bytes; the memory is taken in order, from the first byte to the last.
 */
#ifndef RZ_MPI_ACCESS_H
#define RZ_MPI_ACCESS_H

#include "mpi/io/file_object.h"

/* The data of a call, as the program passed them. */
struct rz_access_data {
    const void *buffer;
    MPI_Count count;
    struct rz_datatype *datatype;
};

struct rz_access {
    struct rz_file *file;
    bool writes;
    struct rz_view view; /* as it was when the call began */
    MPI_Count place;     /* the first byte in the view */
    MPI_Count bytes;     /* how many, in the form of the file */
    void *buffer;        /* of the program */
    MPI_Count count;
    struct rz_datatype *datatype;
    char *row;             /* where the data lie as one row, converted if need be, or NULL; */
    char *stored;          /* the memory of converted data, owned, or NULL */
    struct rz_walk memory; /* of other data: how far they were taken */
};

/* Begins an access at a place given in etypes. Its address must not change. MPI_ERR_ARG (no whole
 * number of etypes, or places of 2^63 bytes and more, or data in a view that has none),
 * MPI_ERR_NO_MEM, MPI_ERR_CONVERSION: nothing was begun. */
int rz_access_begin(struct rz_access *access, struct rz_file *file, bool writes, MPI_Count place,
                    const struct rz_access_data *data);

/* Moves an access of which nothing was done to another place. An error: its bytes are 0 then. */
int rz_access_move(struct rz_access *access, MPI_Count place);

/* In atomic mode: waits until no other process accesses the same part of the file, and keeps it
 * until rz_file_unlock. Otherwise nothing. Of a thread that does not hold the engine. */
int rz_file_lock(const struct rz_access *access);

/* The same of a call, which must not wait there, for others would wait for the engine. *busy: there
 * is no lock, and no error; try again when rz_file_may_lock says so, at least each time that the
 * engine looks (rz_engine_looks). */
int rz_file_try_lock(const struct rz_access *access, bool *busy);
bool rz_file_may_lock(const struct rz_access *access);
void rz_file_unlock(const struct rz_access *access);

/* How many etypes the program asked for. */
MPI_Count rz_access_units(const struct rz_access *access);

/* Copies the next bytes of memory to packed, or from packed. Only without a row. */
void rz_access_get(struct rz_access *access, char *packed, MPI_Count bytes);
void rz_access_put(struct rz_access *access, const char *packed, MPI_Count bytes);

/* The first `done` bytes were read or written: converts them for the program, sets the bytes of
 * the status (may be NULL), and ends the access. MPI_ERR_CONVERSION. */
int rz_access_end(struct rz_access *access, MPI_Count done, MPI_Status *status);

/* Whether all bytes are one piece of the file, from *offset on. */
bool rz_access_is_row(const struct rz_access *access, MPI_Offset *offset);

/* The first offset in the file, and that behind the last byte. bytes > 0. */
void rz_access_span(const struct rz_access *access, MPI_Offset *begin, MPI_Offset *end);

#endif
