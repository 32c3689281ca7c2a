/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_File_open, _close and _delete. Rank 0 opens first, and makes the file if it is to be made;
 * the others open when they know that it is there.
 *
 * With the hint rz_commit the members write another file in the same folder, and rank 0 gives it
 * the name when all have written and synced: the file is the old or the new one, whichever
 * processes fail. All members hold the other file; what failed processes have left is removed when
 * it is opened or deleted next.
 */
#include "base/no_memory.h"
#include "mpi/create/comm_creation.h"
#include "mpi/io/file_request.h"
#include "mpi/io/shared_pointer.h"
#include "port/kill_point.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCESS_MODES (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY)
#define ALL_MODES                                                                                  \
    (ACCESS_MODES | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE |                   \
     MPI_MODE_UNIQUE_OPEN | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND)

static int check_amode(int amode)
{
    int access = amode & ACCESS_MODES;
    if ((amode & ~ALL_MODES) != 0) {
        return rzm_error(MPI_ERR_AMODE, "amode is %#x, with unknown bits", (unsigned)amode);
    }
    if (access == 0 || (access & (access - 1)) != 0) {
        return rzm_error(MPI_ERR_AMODE, "amode must have exactly one of MPI_MODE_RDONLY, "
                                        "MPI_MODE_RDWR and MPI_MODE_WRONLY");
    }
    if ((amode & MPI_MODE_RDONLY) && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))) {
        return rzm_error(MPI_ERR_AMODE,
                         "amode has MPI_MODE_RDONLY and MPI_MODE_CREATE or MPI_MODE_EXCL");
    }
    if ((amode & MPI_MODE_RDWR) && (amode & MPI_MODE_SEQUENTIAL)) {
        return rzm_error(MPI_ERR_AMODE, "amode has MPI_MODE_RDWR and MPI_MODE_SEQUENTIAL");
    }
    return MPI_SUCCESS;
}

static int check_name(const char *filename)
{
    return filename[0] != '\0' ? MPI_SUCCESS : rzm_error(MPI_ERR_BAD_FILE, "filename is empty");
}

/* ---- What the members know of each other's arguments ---- */

struct wish {
    int32_t error, amode;
    uint32_t node;
    struct rz_file_hints hints;
};

static int check_wishes(const struct wish *all, int size, int own)
{
    for (int i = 0; own == MPI_SUCCESS && i < size; i++) {
        if (all[i].error != MPI_SUCCESS) {
            return rzm_error(all[i].error, "the arguments at rank %d are wrong", i);
        }
    }
    for (int i = 1; own == MPI_SUCCESS && i < size; i++) {
        if (all[i].amode != all[0].amode) {
            return rzm_error(MPI_ERR_NOT_SAME, "amode is %#x at rank 0 and %#x at rank %d",
                             (unsigned)all[0].amode, (unsigned)all[i].amode, i);
        }
    }
    return own;
}

/* All members learn the arguments of all: *hints are those of rank 0. Makes the hidden
 * communicator. */
static int meet(struct rz_comm *comm, struct wish *mine, struct rz_comm **hidden)
{
    int size = rz_comm_size(comm), own = mine->error;
    uint64_t operation;
    struct wish *all = malloc((size_t)size * sizeof(*all));
    rz_need_memory(all, "to open a file");
    int error = rz_comm_create_begin(comm, "MPI_File_open", &operation);
    if (error == MPI_SUCCESS) {
        rz_file_opening(true);
        error = rz_comm_exchange(comm, operation, mine, sizeof(*mine), all);
        rz_file_opening(false); /* the caller does not wait until the file is in the list */
        rz_comm_create_end(comm);
    }
    error = error != MPI_SUCCESS ? error : check_wishes(all, size, own);
    if (error == MPI_SUCCESS) {
        mine->hints = all[0].hints;
        mine->node = all[0].node;
        error = rz_comm_derive(comm, comm->group, operation, 0, hidden);
        rz_need_memory(error != MPI_ERR_NO_MEM, "to open a file");
    }
    free(all);
    return error;
}

/* ---- A file that appears at once ---- */

#define ASIDE ".rz-commit."

static bool is_aside(const struct rz_file *file)
{
    return file->hints.commit && rz_file_writes(file);
}

static int name_aside(struct rz_file *file)
{
    size_t room = strlen(file->name) + sizeof(ASIDE) + 17;
    char *path = malloc(room);
    if (!path) {
        return MPI_ERR_NO_MEM;
    }
    snprintf(path, room, "%s" ASIDE "%016" PRIx64, file->name, file->comm->context);
    free(file->path);
    file->path = path;
    return MPI_SUCCESS;
}

static void sweep_aside(const struct rz_file_system *system, const char *name)
{
    size_t room = strlen(name) + sizeof(ASIDE);
    char *prefix = malloc(room);
    if (prefix) {
        snprintf(prefix, room, "%s" ASIDE, name);
        system->sweep(prefix);
        free(prefix);
    }
}

static int copy_contents(const struct rz_file_system *system, rz_stored_t from, rz_stored_t to)
{
    enum { STEP = 1 << 20 };
    char *bytes = malloc(STEP);
    int64_t offset = 0;
    size_t done = 1;
    int cause = bytes ? 0 : -1;
    while (cause == 0 && done > 0) {
        size_t written;
        cause = system->read(from, bytes, STEP, offset, &done);
        if (cause == 0 && done > 0) {
            cause = system->write(to, bytes, done, offset, &written);
        }
        offset += (int64_t)done;
    }
    free(bytes);
    return cause;
}

static unsigned mode_of_new(const struct rz_file *file)
{
    return file->hints.file_perm >= 0 ? (unsigned)file->hints.file_perm & 0777 : 0666;
}

/* Rank 0 makes the other file, with the contents of the one that is there. */
static int make_aside(struct rz_file *file)
{
    const struct rz_file_system *system = file->system;
    rz_stored_t old;
    unsigned mode = mode_of_new(file);
    sweep_aside(system, file->name);
    int cause = system->open(file->name, RZ_DATA_FILE_READ, 0, &old);
    bool there = cause == 0;
    int error = MPI_SUCCESS;
    if (there && (file->amode & MPI_MODE_EXCL)) {
        error = rzm_error(MPI_ERR_FILE_EXISTS, "\"%.120s\" exists", file->name);
    } else if (!there) {
        error = rz_file_system_error(cause, "open", file->name);
        error =
            error == MPI_ERR_NO_SUCH_FILE && (file->amode & MPI_MODE_CREATE) ? MPI_SUCCESS : error;
    }
    if (error == MPI_SUCCESS && there) {
        system->mode(old, &mode);
    }
    unsigned how =
        RZ_DATA_FILE_READ | RZ_DATA_FILE_WRITE | RZ_DATA_FILE_CREATE | RZ_DATA_FILE_EXCLUSIVE;
    if (error == MPI_SUCCESS) {
        error = rz_file_system_error(system->open(file->path, how, mode | 0600, &file->stored),
                                     "make", file->path);
    }
    if (error == MPI_SUCCESS) {
        system->hold(file->stored);
    }
    if (error == MPI_SUCCESS && there) {
        system->set_mode(file->stored, mode);
        cause = copy_contents(system, old, file->stored);
        error = cause < 0 ? MPI_ERR_NO_MEM : rz_file_system_error(cause, "copy", file->name);
        if (error != MPI_SUCCESS) {
            system->remove(file->path);
        }
    }
    if (there) {
        system->close(old);
    }
    return error;
}

/* ---- Opening ---- */

/* root: makes the file, too. An access for writing alone reads, too, where the file permits it,
 * since aggregators may have to fill gaps. */
static int open_here(struct rz_file *file, bool root)
{
    unsigned how = RZ_DATA_FILE_READ;
    if (is_aside(file) && root) {
        return make_aside(file);
    }
    if (rz_file_writes(file)) {
        how = RZ_DATA_FILE_WRITE | (file->amode & MPI_MODE_RDWR ? RZ_DATA_FILE_READ : 0U);
    }
    if (root) {
        how |= file->amode & MPI_MODE_CREATE ? RZ_DATA_FILE_CREATE : 0U;
        how |= file->amode & MPI_MODE_EXCL ? RZ_DATA_FILE_EXCLUSIVE : 0U;
    }
    int error = rz_file_system_error(
        file->system->open(file->path, how, mode_of_new(file), &file->stored), "open", file->name);
    if (error == MPI_SUCCESS && is_aside(file)) {
        file->system->hold(file->stored);
    }
    return error;
}

static int open_together(struct rz_file *file)
{
    bool root = rz_comm_rank(file->comm) == 0;
    int error = is_aside(file) ? name_aside(file) : MPI_SUCCESS;
    rz_need_memory(error == MPI_SUCCESS, "to open a file");
    if (root) {
        error = open_here(file, true);
        rz_kill_here(RZ_KILL_DATA_FILE_OPENED);
    }
    error = rz_file_spread_error(file, error);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!root) {
        error = open_here(file, false);
    }
    int64_t bytes = 0;
    if (error == MPI_SUCCESS) {
        error =
            rz_file_system_error(file->system->size(file->stored, &bytes), "look at", file->name);
    }
    if (error == MPI_SUCCESS &&
        (file->system->block(file->stored, &file->block) != 0 || file->block <= 0)) {
        file->block = 4096;
    }
    error = rz_file_agree(file, error);
    if (error != MPI_SUCCESS || !(file->amode & MPI_MODE_APPEND)) {
        return error;
    }
    error = rzm_bcast(&bytes, 1, rz_datatype_of(MPI_INT64_T), 0, file->comm);
    file->position = bytes;
    rz_shared_pointer_begin(file, bytes);
    return error;
}

/* Open here, but not at all members: what was made is taken back. */
static void undo(struct rz_file *file)
{
    bool made = rz_comm_rank(file->comm) == 0 && file->stored >= 0 &&
                (file->amode & MPI_MODE_CREATE) && (file->amode & MPI_MODE_EXCL);
    if (made || is_aside(file)) { /* aside: rank 0 may have failed; the name is of this opening */
        file->system->remove(file->path);
    }
    rz_file_close_here(file);
}

int rzm_file_open(struct rz_comm *comm, const char *filename, int amode, struct rz_info *info,
                  struct rz_file **fh)
{
    struct wish mine = {.amode = amode, .node = rz_engine.info->node};
    struct rz_comm *hidden = NULL;
    if (comm->object.flags & RZ_COMM_INTER) {
        return rzm_error(MPI_ERR_COMM, "comm is an inter-communicator");
    }
    rz_file_hints_init(&mine.hints);
    mine.error = check_amode(amode);
    mine.error = mine.error != MPI_SUCCESS ? mine.error : check_name(filename);
    if (mine.error == MPI_SUCCESS) {
        mine.error = rz_file_hints_take(&mine.hints, info, true);
    }
    int error = meet(comm, &mine, &hidden);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_file *file = rz_file_new(hidden, filename, amode);
    rz_need_memory(file, "to open a file");
    file->hints = mine.hints;
    file->shared.node = mine.node;
    error = open_together(file);
    if (error == RZM_ROLLBACK) {
        return error; /* the roll-back closes it */
    }
    if (error != MPI_SUCCESS) {
        int class = error;
        undo(file);
        return class;
    }
    *fh = file;
    return MPI_SUCCESS;
}

/* ---- Closing ---- */

/* All have written: rank 0 gives the file its name. After an error, or a failure, it keeps the old
 * contents. */
static int commit(struct rz_file *file)
{
    int error = rz_file_system_error(file->system->sync(file->stored), "sync", file->name);
    if (file->write_failed) {
        error = rzm_error(MPI_ERR_IO, "a write to \"%.120s\" has failed: it is not committed",
                          file->name);
    }
    error = rz_file_agree(file, error);
    if (error == RZM_ROLLBACK) {
        return error;
    }
    bool root = rz_comm_rank(file->comm) == 0;
    if (error != MPI_SUCCESS) {
        file->system->remove(file->path);
        return error;
    }
    if (root) {
        rz_kill_here(RZ_KILL_DATA_FILE_COMMIT);
        error = rz_file_system_error(file->system->rename(file->path, file->name), "commit",
                                     file->name);
        rz_kill_here(RZ_KILL_DATA_FILE_COMMITTED);
    }
    error = rz_file_spread_error(file, error);
    if (error != MPI_SUCCESS && error != RZM_ROLLBACK) {
        file->system->remove(
            file->path); /* rank 0 may have failed; if it renames still, it learns */
    }
    return error;
}

/* What members do to close together. With a revoked file each closes for itself; some may have
 * closed it before they knew. */
static int close_together(struct rz_file *file)
{
    if (is_aside(file)) {
        return commit(file);
    }
    int error = rz_file_agree(file, MPI_SUCCESS);
    return error == MPI_ERR_REVOKED ? MPI_SUCCESS : error;
}

/* MPI_MODE_DELETE_ON_CLOSE: rank 0 deletes when all have closed, and all return after that. After a
 * failure each survivor does. */
static int delete_closed(struct rz_file *file, int error)
{
    int failed = rz_file_agree(file, MPI_SUCCESS), removed = MPI_SUCCESS;
    if (failed == RZM_ROLLBACK) {
        return failed;
    }
    if (failed != MPI_SUCCESS) { /* rank 0 may have failed */
        file->system->remove(file->name);
        failed = failed == MPI_ERR_REVOKED ? MPI_SUCCESS : failed;
        return error != MPI_SUCCESS ? error : failed;
    }
    if (rz_comm_rank(file->comm) == 0) {
        removed = rz_file_system_error(file->system->remove(file->name), "delete", file->name);
    }
    failed = rz_file_spread_error(file, removed);
    return error != MPI_SUCCESS ? error : failed;
}

int rzm_file_close(struct rz_file *fh)
{
    if (fh->split) {
        return rzm_error(MPI_ERR_OTHER, "a split collective call on \"%.120s\" has not ended",
                         fh->name);
    }
    int error = rz_file_drain(fh, "MPI_File_close");
    rz_file_requests_settle(fh);
    if (error == MPI_SUCCESS) {
        error = close_together(fh);
    }
    if (error == RZM_ROLLBACK) {
        return error;
    }
    if (error == MPI_SUCCESS && !fh->comm->revoked) { /* otherwise others may still use it */
        rz_shared_pointer_end(fh);
    }
    int failed = rz_file_close_stored(fh);
    error = error != MPI_SUCCESS ? error : failed;
    if (fh->amode & MPI_MODE_DELETE_ON_CLOSE) {
        error = delete_closed(fh, error);
    }
    if (error != RZM_ROLLBACK) {
        rz_file_close_here(fh);
    }
    return error;
}

int rzm_file_delete(const char *filename, struct rz_info *info)
{
    (void)info;
    int error = check_name(filename);
    if (error != MPI_SUCCESS) {
        return error;
    }
    const struct rz_file_system *system = rz_file_system_of(filename);
    sweep_aside(system, filename);
    return rz_file_system_error(system->remove(filename), "delete", filename);
}
