/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a file was, and which file that is: so that another process, perhaps on another host,
 * cuts off what was appended since. Of a small one also what was in it, so that this is written
 * back.
 */
#ifndef RZ_PORT_FILE_MARK_H
#define RZ_PORT_FILE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_FILE_PATH_BYTES 4096
#define RZ_FILE_CONTENT_MAX 32768 /* bytes of a file whose mark has what was in it */

enum rz_file_mark_flags {
    RZ_FILE_CREATED = 1,  /* there was no such file: it was made when it was opened */
    RZ_FILE_LOCAL = 2,    /* of a file system that only its host reaches */
    RZ_FILE_EMPTIED = 4,  /* it was cut or changed, and what was there is needed, and is gone */
    RZ_FILE_WANTED = 8,   /* there was no such file, and one was about to be made */
    RZ_FILE_CONTENT = 16, /* it was about to be changed; the mark has what was in it, unless it is
                             RZ_FILE_EMPTIED, too */
    RZ_FILE_UNREAD = 32,  /* and the process had not read it */
    RZ_FILE_NEW = 64, /* and it was made since the snapshot, by the clock: it is not made again */
    RZ_FILE_ANYWHERE = 128,  /* it was opened to write anywhere in it, not only at its end */
    RZ_FILE_UNDONE = 256,    /* RZ_FILE_EMPTIED: a restored process would have read what was written
                                to it in the time that was rolled back */
    RZ_FILE_SUCCEEDED = 512, /* RZ_FILE_CONTENT: the job has made another file with its name since;
                               that one gets the content */
    RZ_FILE_RENAMED = 1024,  /* it was about to get another name, which is in place of the content;
                                with RZ_FILE_UNDONE: it, or none, has a name that was another one's
                                at the snapshot, and that the program would have used */
};

/* Of a mark that was given to this daemon only so that it knows the names; and of one that all have
 * (daemon/service). */
#define RZ_FILE_KNOWN (1u << 31)
#define RZ_FILE_AT_ALL (1u << 30)

struct rz_file_mark {
    uint64_t host;          /* the boot of the host; 0: unknown */
    uint64_t device, inode; /* the number of the device is that host's own */
    uint64_t made_ns;       /* when the file was made; 0: its file system does not say; of one that
                               is wanted: when it was wanted */
    uint64_t bytes;
    uint64_t changed_ns; /* when it was written to last */
    uint32_t mode;       /* its permissions */
    uint32_t flags;      /* enum rz_file_mark_flags */
    const char *path;
    const uint8_t *content; /* [content_length], of RZ_FILE_CONTENT and RZ_FILE_RENAMED */
    uint32_t content_length;
};

/* The members of a mark, of what has them under the same names: a mark, or a message that carries
 * one. */
#define RZ_FILE_MARK_MEMBERS(from)                                                                 \
    .host = (from)->host, .device = (from)->device, .inode = (from)->inode,                        \
    .made_ns = (from)->made_ns, .bytes = (from)->bytes, .changed_ns = (from)->changed_ns,          \
    .mode = (from)->mode, .flags = (from)->flags, .path = (from)->path,                            \
    .content = (from)->content, .content_length = (from)->content_length

/* Marks an open file (also with O_PATH) as it is now. path: room for its name, which the mark
 * refers to. False: it is no regular file, or has no name. */
bool rz_file_mark_take(int fd, struct rz_file_mark *mark, char path[RZ_FILE_PATH_BYTES]);

/* Marks the name of a file that is about to be made, in that folder or AT_FDCWD. False: there is no
 * such folder. */
bool rz_file_mark_want(int folder, const char *name, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES]);

/* The same of a name that was not found: where it is a link, marks the name that this leads to. */
bool rz_file_mark_miss(int folder, const char *name, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES]);

/* Marks a file with what is in it (RZ_FILE_CONTENT), before that is changed: name in that folder or
 * AT_FDCWD; NULL: the open file `folder`. follow: a link is followed. One that is larger than
 * RZ_FILE_CONTENT_MAX, or on which this process has a lock that it would lose (F_SETLK), is marked
 * as RZ_FILE_EMPTIED. content: room for it, which the mark refers to. False: it is no regular file,
 * has no name, or this process may not read it. */
bool rz_file_mark_hold(int folder, const char *name, bool follow, struct rz_file_mark *mark,
                       char path[RZ_FILE_PATH_BYTES], uint8_t content[RZ_FILE_CONTENT_MAX]);

/* As renameat has them. */
struct rz_file_names {
    int from_folder;
    const char *from;
    int to_folder;
    const char *to;
};

/* Marks a file that is about to get another name, of which no content is kept (RZ_FILE_RENAMED).
 * content: room for that name, without a NUL. False: it is no regular file, or a folder is missing.
 */
bool rz_file_mark_rename(const struct rz_file_names *names, struct rz_file_mark *mark,
                         char path[RZ_FILE_PATH_BYTES], uint8_t content[RZ_FILE_PATH_BYTES]);

/* Whether they are of the same file: the number of the device counts on one host alone. */
bool rz_file_mark_same(const struct rz_file_mark *a, const struct rz_file_mark *b);

/* Which file has that name, which is no link: its inode, and when it was made (0: its file system
 * does not say). False: errno says why there is none. */
bool rz_file_mark_named(const char *path, uint64_t *inode, uint64_t *made_ns);

/* The host of marks that are taken here. */
uint64_t rz_file_mark_host(void);

/* Whether nothing is left to do for a mark that is not the last of its process: the file was
 * wanted, so that it has a mark of its own since, or could not be made; or it was created, on this
 * host, and is not there any more under its name, which another one may have. Never of a file that
 * another host serves, which might not answer, nor of one that its file system does not tell from a
 * later one. host: rz_file_mark_host(). */
bool rz_file_mark_is_gone(const struct rz_file_mark *mark, uint64_t host);

enum rz_file_mark_result {
    RZ_FILE_AS_MARKED, /* it is no longer than the mark says, or has what it says, or nothing is
                          there any more */
    RZ_FILE_CUT,       /* it was longer, had been created, or had other content */
    RZ_FILE_ANOTHER,   /* it was there before, and another file has its name now */
    RZ_FILE_CLOSED,    /* the system does not let this process cut it, or write to it */
    RZ_FILE_LOST,      /* what was cut off or changed cannot be brought back */
};

/*
 * Makes the file as long as the mark says, if it is longer, and gives it the time of the change
 * before; one that is RZ_FILE_ANYWHERE keeps its time. Removes it if it had been created. One that
 * was wanted is removed if it is empty, this user's, and was made within a minute: nobody has
 * written to it, since its maker ended before it knew the descriptor.
 *
 * With RZ_FILE_CONTENT it writes back what was in the file: in the same file, or in another one of
 * this user that has its name now, and no other name, and is no larger than RZ_FILE_CONTENT_MAX;
 * one that is gone is made again. Several processes may do it at once, also with marks of different
 * times: the file gets the oldest content, and one that has content of before it was created is not
 * removed.
 *
 * With RZ_FILE_RENAMED the file gets its name back, if it still has the one that it got. Another
 * one that has it meanwhile gets that one. RZ_FILE_CLOSED: the file system cannot exchange them.
 *
 * round: a number that those have in common who restore after the same failure, and no others. 0:
 * changes nothing, and says what would be.
 */
enum rz_file_mark_result rz_file_mark_restore(const struct rz_file_mark *mark, uint64_t round);

#endif
