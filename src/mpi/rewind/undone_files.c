/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of times, of files that are open, of names, and of streams. */
#include "mpi/rewind/undone_files.h"

#include "base/random.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

/* So many restorations of one process have times of their own. What comes after them makes the last
 * one longer, and what was written between them, and stays, is then taken for undone. */
enum { TIMES_MAX = 1024 };

/* Files that are open, and streams. */
enum { OPENED_MAX = 1024, STREAMS_MAX = 256 };

static struct {
    uint64_t from, to;
    bool names;
} times[TIMES_MAX];
static uint32_t n_times;

static struct undone_file {
    dev_t device;
    ino_t inode;
    uint64_t bytes, written; /* what it had; how much of that was written anew, from 0 on */
} opened[OPENED_MAX];
static uint32_t n_opened;
static bool more_opened;
atomic_bool rz_undone_any_open;

static struct stream {
    int fd;
    ino_t inode;
} streams[STREAMS_MAX];
static uint32_t n_streams;
static bool more_streams;

static struct name {
    char *path;
    uint64_t inode, made_ns; /* inode 0: there was none */
    bool large;              /* when the process was saved */
    bool missing;            /* in the restored process, though it was large */
} names[RZ_UNDONE_NAMES_MAX];
static uint32_t n_names;
static uint16_t name_at[2 * RZ_UNDONE_NAMES_MAX]; /* a hash table: 1 and the index of a name */
atomic_bool rz_undone_any_missing;

/* ---- Times ---- */

void rz_undone_add(uint64_t from_ns, uint64_t to_ns, bool of_names)
{
    uint32_t i = n_times < TIMES_MAX ? n_times++ : TIMES_MAX - 1;
    if (times[i].to == 0 || from_ns < times[i].from) {
        times[i].from = from_ns;
    }
    times[i].to = to_ns;
    times[i].names |= of_names;
}

/* of_names: in a time whose renames stay. */
static bool is_undone(uint64_t ns, bool of_names)
{
    bool found = false;
    uint64_t until = ns % NS_PER_S ? ns : ns + NS_PER_S - 1;
    for (uint32_t i = 0; i < n_times; i++) {
        found =
            found || (until > times[i].from && ns < times[i].to && (times[i].names || !of_names));
    }
    return found;
}

bool rz_undone_has(const struct stat *st)
{
    return is_undone(rz_undone_ns(&st->st_mtim), false);
}

bool rz_undone_changed(const struct stat *st)
{
    return is_undone(rz_undone_ns(&st->st_ctim), false);
}

bool rz_undone_made(uint64_t made_ns)
{
    return made_ns != 0 && is_undone(made_ns, false);
}

/* ---- Files ---- */

static struct undone_file *find_opened(const struct stat *st)
{
    for (uint32_t i = 0; i < n_opened; i++) {
        if (opened[i].inode == st->st_ino && opened[i].device == st->st_dev) {
            return &opened[i];
        }
    }
    return NULL;
}

static void say_any(void)
{
    atomic_store(&rz_undone_any_open, n_opened > 0 || more_opened);
}

void rz_undone_open(const struct stat *st)
{
    if (!find_opened(st) && n_opened < OPENED_MAX) {
        opened[n_opened++] = (struct undone_file){st->st_dev, st->st_ino, (uint64_t)st->st_size, 0};
    } else if (!find_opened(st)) {
        more_opened = true;
    }
    say_any();
}

void rz_undone_emptied(const struct stat *st)
{
    struct undone_file *file = find_opened(st);
    if (file) {
        *file = opened[--n_opened];
        say_any();
    }
}

void rz_undone_written(const struct stat *st, uint64_t from, uint64_t to)
{
    struct undone_file *file = find_opened(st);
    if (file && from <= file->written && to > file->written) {
        file->written = to;
    }
    if (file && file->written >= file->bytes) {
        rz_undone_emptied(st);
    }
}

bool rz_undone_is_open(const struct stat *st)
{
    return find_opened(st) || (more_opened && rz_undone_has(st));
}

/* ---- Names ---- */

/* Its place in the table, or a free one. */
static uint16_t *name_place(const char *path)
{
    enum { SLOTS = sizeof(name_at) / sizeof(*name_at) };
    uint64_t hash = rz_mix_text(UINT64_C(0xcbf29ce484222325), path);
    uint64_t at = hash ^ hash >> 32;
    while (name_at[at % SLOTS] != 0 && strcmp(names[name_at[at % SLOTS] - 1].path, path) != 0) {
        at++;
    }
    return &name_at[at % SLOTS];
}

static struct name *find_name(const char *path)
{
    uint16_t place = *name_place(path);
    return place != 0 ? &names[place - 1] : NULL;
}

void rz_undone_name(const char *path, uint64_t inode, uint64_t made_ns)
{
    struct name *name = find_name(path);
    char *copy = !name && n_names < RZ_UNDONE_NAMES_MAX ? strdup(path) : NULL;
    if (copy) {
        uint16_t *place = name_place(path);
        name = &names[n_names++];
        name->path = copy;
        *place = (uint16_t)n_names;
    }
    if (name) {
        name->inode = inode;
        name->made_ns = made_ns;
        name->missing = false;
    }
}

static bool is_large(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > RZ_FILE_CONTENT_MAX;
}

void rz_undone_replaced(const char *path)
{
    uint64_t inode, made_ns;
    if (is_large(path) && rz_file_mark_named(path, &inode, &made_ns)) {
        rz_undone_name(path, inode, made_ns);
    }
}

/* Names that nothing has any more leave the list for others. */
static void forget_names(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_names; i++) {
        if (names[i].inode != 0) {
            names[kept++] = names[i];
        } else {
            free(names[i].path);
        }
    }
    n_names = kept;
    memset(name_at, 0, sizeof(name_at));
    for (uint32_t i = 0; i < n_names; i++) {
        *name_place(names[i].path) = (uint16_t)(i + 1);
    }
}

/* The program has not used the name since it was restored, and would find the wrong file, or none:
 * what it had counts for the next image, too. */
static bool is_still_wrong(const struct name *name)
{
    struct stat st;
    uint64_t inode, made_ns;
    bool is = lstat(name->path, &st) == 0 && rz_file_mark_named(name->path, &inode, &made_ns);
    return is ? rz_undone_changed(&st) && rz_undone_was_of_another(name->path, inode, made_ns)
              : name->missing;
}

void rz_undone_look_at_names(void)
{
    for (uint32_t i = 0; i < n_names; i++) {
        struct name *name = &names[i];
        if (is_still_wrong(name)) {
            continue;
        }
        if (!rz_file_mark_named(name->path, &name->inode, &name->made_ns)) {
            name->inode = 0;
        }
        name->large = is_large(name->path);
        name->missing = false;
    }
    if (n_names > RZ_UNDONE_NAMES_MAX / 2) {
        forget_names();
    }
}

bool rz_undone_was_of_another(const char *path, uint64_t inode, uint64_t made_ns)
{
    const struct name *name = find_name(path);
    return name && (name->inode != inode ||
                    (name->made_ns != made_ns && name->made_ns != 0 && made_ns != 0));
}

/* In a time whose renames stay, or later. */
static bool is_after_renames(uint64_t ns)
{
    bool found = false;
    uint64_t until = ns % NS_PER_S ? ns : ns + NS_PER_S - 1;
    for (uint32_t i = 0; i < n_times; i++) {
        found = found || (times[i].names && until > times[i].from);
    }
    return found;
}

/* A rename changes the folder, too; a call that changes the inode alone (chmod) does not. */
static bool folder_changed(const char *path)
{
    struct stat st;
    const char *last = strrchr(path, '/');
    char folder[RZ_FILE_PATH_BYTES];
    size_t n = last ? (size_t)(last - path) : 0;
    if (n >= sizeof(folder)) {
        return true;
    }
    memcpy(folder, path, n);
    folder[n] = '\0';
    return stat(n > 0 ? folder : "/", &st) != 0 || is_after_renames(rz_undone_ns(&st.st_mtim));
}

bool rz_undone_wrong_file(const struct rz_file_mark *mark, const struct stat *st,
                          enum rz_undone_use use)
{
    const struct name *name = find_name(mark->path);
    bool large = st->st_size > RZ_FILE_CONTENT_MAX || (name && name->large);
    bool old = !rz_undone_made(mark->made_ns), stays = is_undone(rz_undone_ns(&st->st_ctim), true);
    stays = stays && (name || folder_changed(mark->path));
    if (!large || !(name ? rz_undone_changed(st) : stays)) {
        return false;
    }
    if (name && !rz_undone_was_of_another(mark->path, mark->inode, mark->made_ns)) {
        return false;
    }
    switch (use) {
    case RZ_UNDONE_READ:
        return name || old;
    case RZ_UNDONE_RENAMED:
        return stays || old;
    default:
        return old && !rz_undone_has(st);
    }
}

void rz_undone_look_for_missing(void)
{
    for (uint32_t i = 0; i < n_names; i++) {
        uint64_t inode, made_ns;
        names[i].missing = names[i].large && !rz_file_mark_named(names[i].path, &inode, &made_ns) &&
                           errno == ENOENT;
        if (names[i].missing) {
            atomic_store(&rz_undone_any_missing, true);
        }
    }
}

bool rz_undone_is_missing(const char *path)
{
    uint64_t inode, made_ns;
    const struct name *name = find_name(path);
    return name && name->missing && !rz_file_mark_named(path, &inode, &made_ns);
}

void rz_undone_found(const char *path)
{
    struct name *name = atomic_load(&rz_undone_any_missing) ? find_name(path) : NULL;
    if (name) {
        name->missing = false;
    }
}

/* ---- Streams ---- */

/* The number of the device may be that of another host. */
static struct stream *find_stream(int fd, const struct stat *st)
{
    for (uint32_t i = 0; i < n_streams; i++) {
        if (streams[i].fd == fd && streams[i].inode == st->st_ino) {
            return &streams[i];
        }
    }
    return NULL;
}

void rz_undone_stream(int fd, const struct stat *st)
{
    if (!find_stream(fd, st) && n_streams < STREAMS_MAX) {
        streams[n_streams++] = (struct stream){fd, st->st_ino};
    } else if (!find_stream(fd, st)) {
        more_streams = true;
    }
}

bool rz_undone_is_stream(int fd, const struct stat *st)
{
    return more_streams || find_stream(fd, st);
}

void rz_undone_forget_streams(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_streams; i++) {
        struct stat st;
        if (fstat(streams[i].fd, &st) == 0 && st.st_ino == streams[i].inode) {
            streams[kept++] = streams[i];
        }
    }
    n_streams = kept;
}
