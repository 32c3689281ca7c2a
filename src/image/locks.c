/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks of files, as /proc says: one for each open file is part of the image. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/file.h>

static const char *next_word(const char *c)
{
    while (*c && *c != ' ' && *c != '\n') {
        c++;
    }
    while (*c == ' ') {
        c++;
    }
    return c;
}

static const char *take_decimal(const char *c, uint64_t *value)
{
    for (*value = 0; *c >= '0' && *c <= '9'; c++) {
        *value = *value * 10 + (uint64_t)(*c - '0');
    }
    return next_word(c);
}

/* "lock:\t1: FLOCK  ADVISORY  WRITE PID DEVICE START END": END may be EOF. */
static bool take_lock(const char *c, struct rz_image_file *file)
{
    uint64_t end;
    c = next_word(c);
    file->lock = rz_raw_begins(c, "FLOCK ")   ? RZ_LOCK_FLOCK
                 : rz_raw_begins(c, "POSIX ") ? RZ_LOCK_PROCESS
                 : rz_raw_begins(c, "OFDLCK") ? RZ_LOCK_FILE
                                              : RZ_LOCK_NONE;
    c = next_word(next_word(c));
    file->lock_type = rz_raw_begins(c, "READ") ? F_RDLCK : F_WRLCK;
    c = take_decimal(next_word(next_word(next_word(c))), &file->lock_start);
    bool open = rz_raw_begins(c, "EOF");
    take_decimal(c, &end);
    file->lock_bytes = open ? 0 : end - file->lock_start + 1;
    return file->lock != RZ_LOCK_NONE;
}

rz_status_t rz_image_note_lock(struct rz_image_file *file, const char *path)
{
    char name[48] = "/proc/thread-self/fdinfo/", text[4096];
    rz_image_number(name + rz_raw_length(name), (uint64_t)file->fd);
    long n = rz_image_read_file(name, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    int locks = 0;
    bool known = true;
    for (const char *c = text; *c; c++) {
        if (rz_raw_begins(c, "\nlock:\t")) {
            known = take_lock(c + 7, file) && known;
            locks++;
        }
    }
    return locks <= 1 && known ? RZ_OK
                               : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                                 "descriptor %d has several locks or a lease "
                                                 "(%s)",
                                                 file->fd, path);
}
