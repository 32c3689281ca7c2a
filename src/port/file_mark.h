/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a file was, and which file that is: so that another process, perhaps on another host,
 * cuts off what was appended since.
 */
#ifndef RZ_PORT_FILE_MARK_H
#define RZ_PORT_FILE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_FILE_PATH_BYTES 4096

enum rz_file_mark_flags {
    RZ_FILE_CREATED = 1, /* there was no such file: it was made when it was opened */
    RZ_FILE_LOCAL = 2,   /* of a file system that only its host reaches */
    RZ_FILE_EMPTIED = 4, /* it was cut, and what was there is needed */
    RZ_FILE_WANTED = 8,  /* there was no such file, and one was about to be made */
};

struct rz_file_mark {
    uint64_t host;          /* the boot of the host; 0: unknown */
    uint64_t device, inode; /* the number of the device is that host's own */
    uint64_t made_ns;       /* when the file was made; 0: its file system does not say; of one that
                               is wanted: when it was wanted */
    uint64_t bytes;
    uint32_t flags; /* enum rz_file_mark_flags */
    const char *path;
};

/* The members of a mark, of what has them under the same names: a mark, or a message that carries
 * one. */
#define RZ_FILE_MARK_MEMBERS(from)                                                                 \
    .host = (from)->host, .device = (from)->device, .inode = (from)->inode,                        \
    .made_ns = (from)->made_ns, .bytes = (from)->bytes, .flags = (from)->flags,                    \
    .path = (from)->path

/* Marks an open file (also with O_PATH) as it is now. path: room for its name, which the mark
 * refers to. False: it is no regular file, or has no name. */
bool rz_file_mark_take(int fd, struct rz_file_mark *mark, char path[RZ_FILE_PATH_BYTES]);

/* Marks the name of a file that is about to be made, in that folder or AT_FDCWD. False: there is no
 * such folder. */
bool rz_file_mark_want(int folder, const char *name, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES]);

/* The host of marks that are taken here. */
uint64_t rz_file_mark_host(void);

/* Whether nothing is left to do for a mark that is not the last of its process: the file was
 * wanted, so that it has a mark of its own since, or could not be made; or it was created, on this
 * host, and is not there any more under its name, which another one may have. Never of a file that
 * another host serves, which might not answer, nor of one that its file system does not tell from a
 * later one. host: rz_file_mark_host(). */
bool rz_file_mark_is_gone(const struct rz_file_mark *mark, uint64_t host);

enum rz_file_mark_result {
    RZ_FILE_AS_MARKED, /* it is no longer than the mark says, or nothing is there any more */
    RZ_FILE_CUT,       /* it was longer, or had been created */
    RZ_FILE_ANOTHER,   /* it was there before, and another file has its name now */
    RZ_FILE_CLOSED,    /* the system does not let this process cut it */
    RZ_FILE_LOST,      /* what was cut off cannot be brought back */
};

/* Makes the file as long as the mark says, if it is longer; removes it if it had been created. One
 * that was wanted is removed if it is empty, this user's, and was made within a minute: nobody has
 * written to it, since its maker ended before it knew the descriptor. cut false: changes nothing,
 * and says what would be. */
enum rz_file_mark_result rz_file_mark_restore(const struct rz_file_mark *mark, bool cut);

#endif
