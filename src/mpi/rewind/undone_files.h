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

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

static inline uint64_t rz_undone_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

/* A time that was rolled back, in nanoseconds of CLOCK_REALTIME. */
void rz_undone_add(uint64_t from_ns, uint64_t to_ns);

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

/* Which file has a name, by its inode and the time at which it was made: when it was read last, and
 * when the process was saved. Of names beyond RZ_UNDONE_NAMES_MAX nothing is known. */
#define RZ_UNDONE_NAMES_MAX 256
void rz_undone_name(const char *path, uint64_t inode, uint64_t made_ns);
void rz_undone_look_at_names(void); /* before the process is saved */

/* Whether it was another file's then; and whether this one may have got its name in such a time, in
 * which its inode was changed. */
bool rz_undone_was_of_another(const char *path, uint64_t inode, uint64_t made_ns);
bool rz_undone_changed(const struct stat *st);

/* A descriptor by which a stream of libc reads. Those that had no place all count. */
void rz_undone_stream(int fd, const struct stat *st);
bool rz_undone_is_stream(int fd, const struct stat *st);
void rz_undone_forget_streams(void); /* those that are closed */

#endif
