/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files. Each has a hidden communicator of its own, so that its collective calls mix with no
 * other operation, and so that they end by the rules of all collectives when a process fails. The
 * hidden communicator also stands for the file in requests: an error of such a request is raised
 * on the file.
 */
#ifndef RZ_MPI_FILE_OBJECT_H
#define RZ_MPI_FILE_OBJECT_H

#include "mpi/comm/comm.h"
#include "mpi/io/file_hints.h"
#include "mpi/io/file_system.h"
#include "mpi/io/view.h"

struct rz_file_op;

struct rz_file {
    struct rz_object object;
    struct rz_comm *comm; /* hidden; NULL: closed */
    char *name;           /* as the program gave it, */
    char *path;           /* and the file that is open: another one until a commit */
    int amode;
    const struct rz_file_system *system;
    rz_stored_t stored;
    int64_t block; /* file domains begin at its multiples */
    struct rz_view view;
    MPI_Count position; /* the individual pointer: a place in the view, in etypes */
    bool atomic;
    bool write_failed; /* here: a commit is refused */
    struct rz_file_hints hints;
    struct rz_errhandler *errhandler;
    int *aggregators; /* ranks (two_phase.c), chosen for this value of cb_nodes; NULL: not yet */
    int n_aggregators;
    int64_t aggregators_hint;
    struct rz_file_op *ops;   /* collective calls that have not ended, in order */
    struct rz_request *split; /* of a split collective call that was begun, */
    int split_kind;           /* and which one (enum rz_split) */
    const void *split_buffer;
    struct {                 /* the shared pointer (shared_pointer.h) */
        uint32_t node;       /* whose daemon keeps it */
        uint64_t generation; /* how often it was set anew by a view */
        MPI_Count initial;   /* where it begins in this generation */
        MPI_Count own;       /* where it is, if this process is the only member */
    } shared;
    struct rz_file *next, *prev; /* open files */
};

extern const struct rz_hooks rz_file_hooks;

/* Whether a file is open, or a call is about to open one. */
bool rz_file_is_open(void);

/* Such a call begins, or is over: then the file is in the list, or there is none. */
void rz_file_opening(bool begins);

/* A new open file with these parts, which it takes over, and the error handler of MPI_FILE_NULL.
 * NULL: no memory; then it takes over nothing. */
struct rz_file *rz_file_new(struct rz_comm *comm, const char *name, int amode);

/* Closes what is open in the file system; the object stays. */
int rz_file_close_stored(struct rz_file *file);

/* Closes the file here, without the others. The handle is stale when the last reference ends. */
int rz_file_close_here(struct rz_file *file);

/* Waits until the collective calls that were begun before have ended here, so that another one may
 * begin. MPI_SUCCESS or RZM_ROLLBACK. call: a literal, for reports. */
int rz_file_drain(struct rz_file *file, const char *call);

/*
 * A result that all members need: each passes its error, and all return MPI_SUCCESS if none has
 * one; otherwise the own one, or that of the lowest rank that has one, with its reason. No member
 * returns before all have entered.
 */
int rz_file_agree(struct rz_file *file, int error);

/* rank 0 has ended a step with `error`; all return it, with its reason. */
int rz_file_spread_error(struct rz_file *file, int error);

static inline bool rz_file_reads(const struct rz_file *file)
{
    return (file->amode & MPI_MODE_WRONLY) == 0;
}

static inline bool rz_file_writes(const struct rz_file *file)
{
    return (file->amode & MPI_MODE_RDONLY) == 0;
}

/* The same error for a call that needs to write, to seek, ... MPI_ERR_REVOKED: no data move any
 * more. */
int rz_file_need_write(const struct rz_file *file);
int rz_file_need_read(const struct rz_file *file);
int rz_file_need_seek(const struct rz_file *file);

/* Where a seek leads from the place `from` (MPI_File_seek, MPI_File_seek_shared); file_calls.c. */
int rz_file_seek_from(struct rz_file *file, MPI_Count from, MPI_Offset offset, int whence,
                      MPI_Count *place);

#endif
