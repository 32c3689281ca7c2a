/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of the files of which something is known since a snapshot, or for longer. */
#ifndef RZ_MPI_SEEN_FILES_H
#define RZ_MPI_SEEN_FILES_H

#include <stdbool.h>
#include <stdint.h>

/* So many files at most; a power of two is twice as many. */
enum { RZ_SEEN_MAX = 1024, RZ_SEEN_SLOTS = 2 * RZ_SEEN_MAX };

struct rz_seen_files {
    struct rz_seen_file {
        uint64_t device, inode, made_ns; /* inode 0: the place is free; made_ns 0: not known */
        uint64_t bytes;   /* in the list of those that were appended to: what it had before */
        uint64_t read[2]; /* in that of those that were read: only read, and read and written: 1
                             and the moment before that; 0: it was not */
        bool kept;        /* in that of those that were changed: the daemons have what was in it */
    } slot[RZ_SEEN_SLOTS];
    uint32_t n;
    uint64_t others; /* 1 and the moment after which others may have been seen; 0: there are none */
};

/* Its place, or a free one. */
struct rz_seen_file *rz_seen_place(struct rz_seen_files *seen, uint64_t device, uint64_t inode);

/* One that has no place any more counts among the others, after that moment. */
void rz_seen_add(struct rz_seen_files *seen, const struct rz_seen_file *file, uint64_t moment);

void rz_seen_forget(struct rz_seen_files *seen);

#endif
