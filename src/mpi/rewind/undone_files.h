/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a job goes back to a snapshot, what was written to files after it is undone as far as it is
 * known (closed_files.h). The rest stays. A restored process that reads it computes with what it
 * has yet to write: a file is written to last in a time that was rolled back, from a snapshot to
 * the restoration, as long as no process writes to it again.
 *
 * Here are these times; the files with such content that this process has open: whether it reads
 * from one is known only when it does, and by a stream never; and which files had which names.
 * Times are of the clock by which files get theirs. One thread at a time.
 */
#ifndef RZ_MPI_UNDONE_FILES_H
#define RZ_MPI_UNDONE_FILES_H

#include "port/file_mark.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

static inline uint64_t rz_undone_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

/* A time that was rolled back, in nanoseconds of CLOCK_REALTIME. names: files that were renamed in
 * it have the names that they had last, since nobody has marks of that time (--restart). */
void rz_undone_add(uint64_t from_ns, uint64_t to_ns, bool names);

/* Whether the file has what was written to it in such a time. Where times are whole seconds also if
 * it was a part of a second before. */
bool rz_undone_has(const struct stat *st);

/* Whether such a time has it as the one at which a file was made. 0: unknown. */
bool rz_undone_made(uint64_t made_ns);

/* A file with such content that is open, and may be read; and one that is empty or gone now, or has
 * got these bytes, [from, to): when it has got all from its beginning on, it is a file like others.
 * One that had no place counts as long as its time says so. */
void rz_undone_open(const struct stat *st);
void rz_undone_emptied(const struct stat *st);
void rz_undone_written(const struct stat *st, uint64_t from, uint64_t to);
bool rz_undone_is_open(const struct stat *st);

extern atomic_bool rz_undone_any_open;

/* Which file has a name, by its inode and the time at which it was made: when it was used last, and
 * when the process was saved. Of names beyond RZ_UNDONE_NAMES_MAX nothing is known. */
#define RZ_UNDONE_NAMES_MAX 4096
void rz_undone_name(const char *path, uint64_t inode, uint64_t made_ns);
void rz_undone_look_at_names(void); /* before the process is saved */

/* The name is about to be given to another file: the same, if the one that has it is large. */
void rz_undone_replaced(const char *path);

/* Whether it was another file's then. */
bool rz_undone_was_of_another(const char *path, uint64_t inode, uint64_t made_ns);

/* Whether the inode of the file was changed in such a time: it may have got its name then. */
bool rz_undone_changed(const struct stat *st);

enum rz_undone_use {
    RZ_UNDONE_READ,
    RZ_UNDONE_OVERWRITTEN, /* or another one gets the name, or none: what it has may be lost */
    RZ_UNDONE_RENAMED,
};

/* Whether the program is about to use a file by a name that this file may not have had when the
 * process was saved. A large file is one, or was: a small one is restored under its name. It may
 * have got the name in such a time, in which its inode was changed. One that was written to then
 * may be overwritten, for it is when the program runs again; and what was made then. That is
 * renamed again, too, unless the old ones stayed where they were. */
bool rz_undone_wrong_file(const struct rz_file_mark *mark, const struct stat *st,
                          enum rz_undone_use use);

/* In the restored process, when all have restored: which names have lost their large files. Until a
 * file is seen there, the program must not find such a name missing. */
void rz_undone_look_for_missing(void);
bool rz_undone_is_missing(const char *path);
void rz_undone_found(const char *path);

extern atomic_bool rz_undone_any_missing;

/* A descriptor by which a stream of libc reads. Those that had no place all count. */
void rz_undone_stream(int fd, const struct stat *st);
bool rz_undone_is_stream(int fd, const struct stat *st);
void rz_undone_forget_streams(void); /* those that are closed */

#endif
