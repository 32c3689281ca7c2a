/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptors of this process: regular files and folders are part of the image. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>

uint32_t rz_image_keep_text(struct rz_image_tables *image, const char *text)
{
    uint32_t at = image->head.n_text;
    size_t bytes = rz_raw_length(text) + 1;
    if (bytes > RZ_IMAGE_TEXT - at) {
        rz_image_refuse(RZ_ERR_UNSUPPORTED, "the names of files are too long");
        return UINT32_MAX;
    }
    rz_raw_copy(image->text + at, text, bytes);
    image->head.n_text += (uint32_t)bytes;
    return at;
}

static bool is_harmless_device(const char *path)
{
    static const char names[5][16] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom"};
    for (int i = 0; i < 5; i++) {
        if (rz_raw_same(path, names[i])) {
            return true;
        }
    }
    return false;
}

/* Files are told from what the launcher gave by the number, too: the program may open one again. A
 * device is the same one in each process that opens it. */
int rz_image_given_of(int fd, const struct stat *st)
{
    for (int i = 0; i < RZ_IMAGE_GIVEN; i++) {
        const struct rz_image_given *given = &RZ_AREA->given[i];
        bool same = given->inode != 0 && given->inode == st->st_ino && given->device == st->st_dev;
        if (same && (fd == i || !(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)))) {
            return i;
        }
    }
    return -1;
}

/* What kcmp says of two descriptors: which one is less, in an order that the kernel keeps. Below 0:
 * it does not say. */
enum { SAME, LESS, GREATER };

/* Its place in the order of open files. True: it is the one that stands there. *order below 0: the
 * system does not say. */
static bool find_open_file(const struct rz_image_tables *image, int fd, uint32_t *at, long *order)
{
    long pid = RZ_RAW0(getpid);
    uint32_t end = RZ_AREA->n_ordered;
    *at = 0;
    *order = LESS;
    while (*at < end) {
        uint32_t middle = *at + (end - *at) / 2;
        *order = RZ_RAW5(kcmp, pid, pid, KCMP_FILE, image->file[RZ_AREA->ordered[middle]].fd, fd);
        if (*order == LESS) {
            *at = middle + 1;
        } else if (*order == GREATER) {
            end = middle;
        } else {
            *at = middle;
            return *order == SAME;
        }
    }
    return false;
}

/* The file that is noted next. Those behind it make room. */
static void put_in_order(const struct rz_image_tables *image, uint32_t at)
{
    for (uint32_t i = RZ_AREA->n_ordered++; i > at; i--) {
        RZ_AREA->ordered[i] = RZ_AREA->ordered[i - 1];
    }
    RZ_AREA->ordered[at] = (uint16_t)image->head.n_files;
}

static rz_status_t refuse_same_name(const struct rz_image_tables *image, int fd, const char *path)
{
    for (uint32_t i = 0; i < image->head.n_files; i++) {
        const struct rz_image_file *file = &image->file[i];
        if (file->given < 0 && rz_raw_same(image->text + file->path, path)) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                   "descriptors %d and %d are both %s, and the system does not say "
                                   "whether they share its offset (kcmp)",
                                   file->fd, fd, path);
        }
    }
    return RZ_OK;
}

/* Another descriptor before it that means the same open file: with dup they share an offset. */
static rz_status_t same_open_file(const struct rz_image_tables *image, int fd, const char *path,
                                  int *same)
{
    uint32_t at;
    long order;
    bool found = find_open_file(image, fd, &at, &order);
    *same = found ? image->file[RZ_AREA->ordered[at]].fd : -1;
    if (!found && RZ_AREA->n_ordered < RZ_IMAGE_FILES) {
        put_in_order(image, at);
    }
    return order < 0 ? refuse_same_name(image, fd, path) : RZ_OK;
}

/* A file that /proc has of this process, in the words of any: "/proc/self/..." is that of the
 * restored one. path has room for a few bytes before it. */
static const char *own_process_path(char *path)
{
    static const char self[] = "/proc/self";
    char own[32] = "/proc/";
    rz_image_number(own + 6, (uint64_t)RZ_RAW0(getpid));
    char *rest = path + rz_raw_length(own);
    if (!rz_raw_begins(path, own) || (*rest != '/' && *rest != '\0') ||
        rz_raw_begins(rest, "/task")) {
        return path;
    }
    rest -= sizeof(self) - 1;
    rz_raw_copy(rest, self, sizeof(self) - 1);
    return rest;
}

static rz_status_t refuse_file(int fd, const char *path, const struct stat *st)
{
    struct stat named;
    if (st->st_nlink == 0) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "descriptor %d is a file that has no name any more (%s)", fd, path);
    }
    if (rz_raw_begins(path, "/proc/") && path[6] >= '0' && path[6] <= '9') {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "descriptor %d is a file of one process (%s)",
                               fd, path);
    }
    if (RZ_RAW4(newfstatat, AT_FDCWD, path, &named, 0) != 0 || named.st_dev != st->st_dev ||
        named.st_ino != st->st_ino) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "descriptor %d is a file that its name does not lead to (%s)", fd,
                               path);
    }
    struct f_owner_ex owner = {.pid = 0};
    return !S_ISDIR(st->st_mode) || RZ_RAW3(fcntl, fd, F_GETOWN_EX, &owner) != 0 || owner.pid == 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                 "descriptor %d sends signals when its folder changes (%s)", fd,
                                 path);
}

static rz_status_t refuse_descriptor(int fd, const char *path, const struct stat *st)
{
    bool file = S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
    if (!file && !is_harmless_device(path)) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "descriptor %d (%s) is no regular file%s", fd,
                               path, fd < RZ_IMAGE_GIVEN ? ", and not what rzrun gave" : "");
    }
    return file ? refuse_file(fd, path, st) : RZ_OK;
}

static rz_status_t note_file(struct rz_image_tables *image, int fd)
{
    char link[40] = "/proc/thread-self/fd/", room[8 + 4096], *name = room + 8;
    rz_image_number(link + rz_raw_length(link), (uint64_t)fd);
    long bytes = RZ_RAW4(readlinkat, AT_FDCWD, link, name, 4095);
    struct stat st;
    if (bytes <= 0 || RZ_RAW2(fstat, fd, &st) != 0) {
        return RZ_OK; /* closed, by a thread that is not stopped */
    }
    name[bytes] = '\0';
    const char *path = own_process_path(name);
    int same_as = -1, given = is_harmless_device(path) ? -1 : rz_image_given_of(fd, &st);
    if (given < 0) {
        rz_status_t status = refuse_descriptor(fd, path, &st);
        status = status == RZ_OK ? same_open_file(image, fd, path, &same_as) : status;
        if (status != RZ_OK) {
            return status;
        }
    }
    if (image->head.n_files == RZ_IMAGE_FILES) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "more than %d files are open", RZ_IMAGE_FILES);
    }
    uint32_t text = rz_image_keep_text(image, path);
    image->file[image->head.n_files++] = (struct rz_image_file){
        .fd = fd,
        .flags = (int32_t)RZ_RAW2(fcntl, fd, F_GETFL),
        .close_on_exec = RZ_RAW2(fcntl, fd, F_GETFD) == FD_CLOEXEC,
        .same_as = same_as,
        .given = given,
        .offset = (uint64_t)RZ_RAW3(lseek, fd, 0, SEEK_CUR),
        .is = rz_image_identity_of(&st, rz_image_made_ns(fd, "", AT_EMPTY_PATH)),
        .path = text,
        .mode = st.st_mode};
    if (text == UINT32_MAX) {
        return RZ_ERR_UNSUPPORTED;
    }
    bool lockable = (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && given < 0 && same_as < 0;
    return lockable ? rz_image_note_lock(&image->file[image->head.n_files - 1], path) : RZ_OK;
}

/* fd: the image's. */
rz_status_t rz_image_note_files(struct rz_image_tables *image, int fd)
{
    long folder =
        RZ_RAW4(openat, AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0) {
        return rz_image_refuse(RZ_ERR_SYSTEM, "%s", rz_image_why_unread(folder));
    }
    rz_status_t status = RZ_OK;
    char *list = RZ_AREA->maps;
    long bytes;
    image->head.n_files = RZ_AREA->n_ordered = 0;
    while (status == RZ_OK &&
           (bytes = RZ_RAW3(getdents64, folder, list, sizeof(RZ_AREA->maps))) > 0) {
        long at = 0;
        int number;
        while (status == RZ_OK && (number = rz_image_next_number(list, bytes, &at)) >= 0) {
            if (number != folder && number != fd && number != RZ_AREA->protector &&
                !rz_image_excluded_descriptor(number)) {
                status = note_file(image, number);
            }
        }
    }
    RZ_RAW1(close, folder);
    return status;
}

/* The files that are not open any more, and whose end is to be found again. */
rz_status_t rz_image_note_closed(struct rz_image_tables *image, const struct rz_image_place *place)
{
    for (uint32_t i = 0; i < place->n_closed; i++) {
        const struct rz_image_closed *closed = &place->closed[i];
        struct stat st;
        uint64_t made_ns = rz_image_made_ns(AT_FDCWD, closed->path, AT_SYMLINK_NOFOLLOW);
        if (RZ_RAW4(newfstatat, AT_FDCWD, closed->path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            st.st_dev != closed->device || st.st_ino != closed->inode || !S_ISREG(st.st_mode) ||
            !rz_image_same_made(made_ns, closed->made_ns)) {
            continue;
        }
        if (image->head.n_files == RZ_IMAGE_FILES) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                   "more than %d files are open, or were appended to",
                                   RZ_IMAGE_FILES);
        }
        uint32_t text = rz_image_keep_text(image, closed->path);
        if (text == UINT32_MAX) {
            return RZ_ERR_UNSUPPORTED;
        }
        image->file[image->head.n_files++] =
            (struct rz_image_file){.fd = -1,
                                   .flags = closed->anywhere ? 0 : O_APPEND,
                                   .same_as = -1,
                                   .given = -1,
                                   .is = rz_image_identity_of(&st, made_ns),
                                   .path = text,
                                   .mode = st.st_mode};
    }
    return RZ_OK;
}

bool rz_image_next_open(uint32_t *i, struct rz_image_open *open)
{
    const struct rz_image_tables *image = rz_image_area_ready() ? &RZ_AREA->image : NULL;
    while (image && *i < image->head.n_files) {
        const struct rz_image_file *file = &image->file[(*i)++];
        if (file->fd >= 0 && file->given < 0 && S_ISREG(file->mode)) {
            bool writes = (file->flags & O_ACCMODE) != O_RDONLY && !(file->flags & O_APPEND);
            *open = (struct rz_image_open){file->is.device, file->is.inode, file->is.made_ns,
                                           file->is.bytes,  file->fd,       writes};
            return true;
        }
    }
    return false;
}
