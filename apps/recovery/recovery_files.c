/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's checkpoints in files: which exist, which all have, and how they are written. See
 * recovery_files.h. */
#include "recovery_files.h"

#include "recovery.h"

#ifdef RECOVERY_SURVIVES
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files of a process: two valid ones, the next one, and remains of what a repair has ended. */
enum { FILES_MAX = 8, COPIES = 2, PATH_BYTES = 4096 };
enum { REPAIR_BITS = 20 };

static const char magic[8] = "RZULFM1";

struct header {
    char magic[sizeof(magic)];
    uint64_t job, rank, key, bytes, sum;
};

/* In memory, as it is in its file; key 0: nothing. */
struct copy {
    uint64_t key;
    size_t bytes, room;
    unsigned char *memory;
};

static struct {
    const char *directory;
    char folder[PATH_BYTES];
    uint64_t job;
    int rank, size;
    struct copy copy[COPIES];
    int now;                  /* which copy is valid; the next one is stored in the other */
    uint64_t coming;          /* the key that settle makes valid */
    uint64_t keys[FILES_MAX]; /* of the files, in any order; 0: none */
    bool drop;                /* and obsolete files are looked for */
} f;

/* Names a checkpoint: an iteration after this repair. The same iteration before it is another,
 * obsolete one. */
static uint64_t key_of(uint64_t version)
{
    return version << REPAIR_BITS | (recovery_ulfm_repairs() & ((UINT64_C(1) << REPAIR_BITS) - 1));
}

/* ---- Names ---- */

struct path {
    char text[PATH_BYTES + 64];
};

static struct path path_of(uint64_t key, const char *ending)
{
    struct path path;
    snprintf(path.text, sizeof(path.text), "%s/rank-%d.%" PRIu64 "%s", f.folder, f.rank, key,
             ending);
    return path;
}

static _Noreturn void refuse(const char *what, const char *path)
{
    recovery_fail("cannot %s %s: %s", what, path, strerror(errno));
}

static void make_folder(void)
{
    snprintf(f.folder, sizeof(f.folder), "%s/job-%016" PRIx64, f.directory, f.job);
    if (mkdir(f.directory, 0777) != 0 && errno != EEXIST) {
        refuse("make the directory", f.directory);
    }
    if (mkdir(f.folder, 0777) != 0 && errno != EEXIST) {
        refuse("make the directory", f.folder);
    }
}

static void note_key(uint64_t key)
{
    for (int i = 0; i < FILES_MAX; i++) {
        if (f.keys[i] == 0 || f.keys[i] == key) {
            f.keys[i] = key;
            return;
        }
    }
}

static void forget(int i)
{
    unlink(path_of(f.keys[i], "").text);
    f.keys[i] = 0;
}

/* What this rank has written, in this incarnation or an earlier one. */
static void look(void)
{
    char mine[32];
    int n = snprintf(mine, sizeof(mine), "rank-%d.", f.rank);
    DIR *folder = opendir(f.folder);
    if (!folder) {
        refuse("look into", f.folder);
    }
    memset(f.keys, 0, sizeof(f.keys));
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char *end;
        if (strncmp(entry->d_name, mine, (size_t)n) != 0) {
            continue;
        }
        uint64_t key = strtoull(entry->d_name + n, &end, 10);
        if (*end) {
            unlinkat(dirfd(folder), entry->d_name, 0); /* of a writer that failed */
        } else {
            note_key(key);
        }
    }
    closedir(folder);
}

/* ---- Writing and reading ---- */

/* Each word by an invertible step: no single change remains undetected. */
static uint64_t sum_of(const unsigned char *at, size_t bytes)
{
    uint64_t sum = bytes, word;
    for (size_t done = 0; done < bytes; done += sizeof(word)) {
        size_t n = bytes - done < sizeof(word) ? bytes - done : sizeof(word);
        word = 0;
        memcpy(&word, at + done, n);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

static bool write_all(int fd, const void *from, size_t bytes)
{
    for (const char *at = from; bytes > 0;) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool read_all(int fd, void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        ssize_t n = read(fd, at, bytes);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void sync_folder(void)
{
    int fd = open(f.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        refuse("write the directory", f.folder);
    }
    close(fd);
}

static void write_file(const struct copy *copy)
{
    struct header header = {.job = f.job,
                            .rank = (uint64_t)f.rank,
                            .key = copy->key,
                            .bytes = copy->bytes,
                            .sum = sum_of(copy->memory, copy->bytes)};
    struct path part = path_of(copy->key, ".part"), name = path_of(copy->key, "");
    memcpy(header.magic, magic, sizeof(magic));
    int fd = open(part.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        refuse("create", part.text);
    }
    bool good = write_all(fd, &header, sizeof(header)) &&
                write_all(fd, copy->memory, copy->bytes) && fsync(fd) == 0;
    if (close(fd) != 0 || !good) {
        refuse("write", part.text);
    }
    if (rename(part.text, name.text) != 0) {
        refuse("name", name.text);
    }
    sync_folder();
}

static void reserve(struct copy *copy, size_t bytes)
{
    copy->key = 0;
    copy->bytes = bytes;
    recovery_reserve(&copy->memory, &copy->room, bytes);
}

/* What is wrong with it, as text; NULL: it is in the copy now. */
static const char *read_from(int fd, uint64_t key, struct copy *copy)
{
    struct header header;
    struct stat info;
    if (!read_all(fd, &header, sizeof(header)) || fstat(fd, &info) != 0) {
        return "is truncated";
    }
    if (memcmp(header.magic, magic, sizeof(magic)) != 0) {
        return "is damaged: its header is wrong";
    }
    if (header.job != f.job || header.rank != (uint64_t)f.rank || header.key != key) {
        return "is not what its name says";
    }
    if ((uint64_t)info.st_size != sizeof(header) + header.bytes) {
        return "has another length than its header says";
    }
    reserve(copy, (size_t)header.bytes);
    if (!read_all(fd, copy->memory, copy->bytes)) {
        return "is truncated";
    }
    if (sum_of(copy->memory, copy->bytes) != header.sum) {
        return "is damaged: its content does not match its checksum";
    }
    copy->key = key;
    return NULL;
}

static struct copy *copy_of(uint64_t key)
{
    for (int i = 0; i < COPIES; i++) {
        if (key > 0 && f.copy[i].key == key) {
            return &f.copy[i];
        }
    }
    return NULL;
}

/* Into memory, if it is not there. */
static bool load(uint64_t key)
{
    struct path path = path_of(key, "");
    if (copy_of(key)) {
        return true;
    }
    int fd = open(path.text, O_RDONLY | O_CLOEXEC);
    const char *wrong = fd < 0 ? strerror(errno) : read_from(fd, key, &f.copy[1 - f.now]);
    if (fd >= 0) {
        close(fd);
    }
    if (wrong) {
        fprintf(stderr, "recovery: the checkpoint %s %s\n", path.text, wrong);
    }
    for (int i = 0; wrong && i < FILES_MAX; i++) {
        if (f.keys[i] == key) {
            forget(i);
        }
    }
    return !wrong;
}

/* ---- What can be restored ---- */

/* New processes do not know the job's name; if no process does rank 0 draws it. */
static int agree_on_job(MPI_Comm world)
{
    uint64_t job = 0;
    struct timespec now;
    int error = MPI_Allreduce(&f.job, &job, 1, MPI_UINT64_T, MPI_MAX, world);
    if (error == MPI_SUCCESS && job == 0) {
        clock_gettime(CLOCK_REALTIME, &now);
        job = ((uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 2 ^ (uint64_t)getpid()) | 1;
        error = MPI_Bcast(&job, 1, MPI_UINT64_T, 0, world);
    }
    if (error == MPI_SUCCESS && f.job == 0) {
        f.job = job;
        make_folder();
    }
    return error;
}

static bool all_have(const uint64_t *keys, uint64_t key)
{
    for (int rank = 0; rank < f.size; rank++) {
        bool has = false;
        for (int i = 0; i < FILES_MAX; i++) {
            has |= keys[rank * FILES_MAX + i] == key;
        }
        if (!has) {
            return false;
        }
    }
    return true;
}

/* The newest that all have; 0: none. One that all have is one that rank 0 has. */
static uint64_t newest_of_all(const uint64_t *keys)
{
    uint64_t newest = 0;
    for (int i = 0; i < FILES_MAX; i++) {
        if (keys[i] > newest && all_have(keys, keys[i])) {
            newest = keys[i];
        }
    }
    return newest;
}

/* A damaged one counts as none: then the previous one is looked for. */
static int find(MPI_Comm world, uint64_t *keys, uint64_t *found)
{
    int error, all = 0;
    bool any = false;
    do {
        error =
            MPI_Allgather(f.keys, FILES_MAX, MPI_UINT64_T, keys, FILES_MAX, MPI_UINT64_T, world);
        if (error != MPI_SUCCESS) {
            return error;
        }
        *found = newest_of_all(keys);
        for (int i = 0; i < f.size * FILES_MAX; i++) {
            any |= keys[i] > 0;
        }
        int good = *found == 0 || load(*found);
        error = MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, world);
    } while (error == MPI_SUCCESS && !all);
    if (error == MPI_SUCCESS && any && *found == 0 && f.rank == 0) {
        fprintf(stderr,
                "recovery: no checkpoint in %s is complete at all processes; all begin again "
                "at the beginning\n",
                f.folder);
    }
    return error;
}

static int refill(MPI_Comm world)
{
    MPI_Comm_rank(world, &f.rank);
    MPI_Comm_size(world, &f.size);
    int error = agree_on_job(world);
    if (error != MPI_SUCCESS) {
        return error;
    }
    uint64_t *keys = calloc((size_t)f.size * FILES_MAX, sizeof(*keys));
    if (!keys) {
        recovery_fail("no memory for the files of %d ranks", f.size);
    }
    look();
    f.drop = true;
    error = find(world, keys, &f.coming);
    free(keys);
    return error;
}

/* Keeps the valid file, and the previous one. */
static void prune(void)
{
    uint64_t before = 0;
    for (int i = 0; i < FILES_MAX; i++) {
        if (f.keys[i] < f.coming && f.keys[i] > before) {
            before = f.keys[i];
        }
    }
    for (int i = 0; i < FILES_MAX; i++) {
        if (f.keys[i] > 0 && f.keys[i] != f.coming && f.keys[i] != before) {
            forget(i);
        }
    }
}

static void settle(void)
{
    struct copy *copy = copy_of(f.coming);
    if (copy) {
        f.now = (int)(copy - f.copy);
    }
    for (int i = 0; f.drop && i < COPIES; i++) {
        if (&f.copy[i] != copy) {
            f.copy[i].key = 0;
        }
    }
    f.drop = false;
    prune();
}

/* ---- Checkpoints ---- */

static const void *own(size_t *bytes)
{
    *bytes = f.copy[f.now].bytes;
    return f.copy[f.now].key > 0 ? f.copy[f.now].memory : NULL;
}

static void *next(size_t bytes)
{
    reserve(&f.copy[1 - f.now], bytes);
    return f.copy[1 - f.now].memory;
}

static int save(MPI_Comm world, uint64_t version)
{
    (void)world;
    struct copy *copy = &f.copy[1 - f.now];
    copy->key = f.coming = key_of(version);
    write_file(copy);
    note_key(copy->key);
    return MPI_SUCCESS;
}

static void finish(void)
{
    for (int i = 0; i < FILES_MAX; i++) {
        if (f.keys[i] > 0) {
            forget(i);
        }
    }
    rmdir(f.folder); /* the last one succeeds */
    for (int i = 0; i < COPIES; i++) {
        free(f.copy[i].memory);
    }
}

void recovery_files_open(const char *directory)
{
    f.directory = directory;
    if (strlen(directory) > PATH_BYTES - 64) {
        recovery_fail("--checkpoint-files: the path is too long");
    }
}

const struct recovery_store recovery_files = {refill, settle, own, next, save, finish};
#else
typedef int recovery_files_is_not_there; /* a file must not be empty */
#endif
