/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints: a file for each list of a generation, with the round in its name. With --dir they
 * are in a folder of the job. With memory they are in the scratch folder of the node (RZ_SCRATCH),
 * which is removed with the node, and in that of the next node on this machine.
 */
#include "sort.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOLDERS_MAX = 1024,
    FOLDER_BYTES = 128,
    LANES = 4,
    GENERATIONS_KEPT = 2,
    REMOVALS_MAX = 1000
};

static const uint64_t MAGIC = 0x31305452534b4852, PRIME = 0x100000001b3;

/* The head of a file; the elements follow. */
struct header {
    uint64_t magic, v, generation, round, n, hash;
};

struct path {
    char text[PATH_MAX];
};

struct folder {
    unsigned long node;
    char path[FOLDER_BYTES];
};

static struct {
    bool files;                        /* false: one process alone needs none */
    bool memory;                       /* in scratch folders */
    char own[PATH_MAX / 2];            /* the folder of this process */
    char prefix[FOLDER_BYTES];         /* memory: what the paths of all nodes' folders begin with */
    struct folder beside[FOLDERS_MAX]; /* memory: those of other nodes, as look_beside found them */
} store;

/* Of header and elements. Each step is a bijection: no single error passes. */
static uint64_t hash_of(const struct header *header, const uint32_t *at)
{
    uint64_t lane[LANES] = {header->v, header->generation, header->round, header->n}, hash = 0;
    for (uint64_t i = 0; i < header->n; i++) {
        lane[i % LANES] = (lane[i % LANES] ^ at[i]) * PRIME;
    }
    for (int i = 0; i < LANES; i++) {
        hash = sort_mix(hash ^ lane[i]);
    }
    return hash;
}

/* ---- folders ---- */

/* Any user may make a folder of such a name, and read or redirect what is written there. */
static bool is_own_folder(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
}

static void folder_make(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        sort_fatal("the folder %s for checkpoints cannot be made: %s", path, strerror(errno));
    }
    if (!is_own_folder(path)) {
        sort_fatal("%s for checkpoints is no folder of this user", path);
    }
}

void sort_store_open(void)
{
    const char *job = getenv("RZ_JOB_ID"), *scratch = getenv("RZ_SCRATCH");
    store.memory = !sort_options.folder;
    store.files = !store.memory || scratch;
    if (!store.files) {
        return;
    }
    if (store.memory) {
        snprintf(store.own, sizeof(store.own), "%s", scratch);
        snprintf(store.prefix, sizeof(store.prefix), "%s", scratch);
        for (int i = 0; i < 2; i++) { /* ...-JOB-NODE-RANDOM */
            char *part = strrchr(store.prefix, '-');
            if (part) {
                part[i] = '\0';
            }
        }
    } else {
        snprintf(store.own, sizeof(store.own), "%s/hyperquicksort-%s", sort_options.folder,
                 job ? job : "alone");
    }
    folder_make(store.own);
}

/* In a ring of the nodes' numbers, from one's own on. */
static void insert_folder(int n, unsigned long node, const char *path)
{
    unsigned long own = strtoul(store.own + strlen(store.prefix), NULL, 10);
    for (; n > 0 && store.beside[n - 1].node - own > node - own; n--) {
        store.beside[n] = store.beside[n - 1];
    }
    store.beside[n].node = node;
    snprintf(store.beside[n].path, FOLDER_BYTES, "%.*s", FOLDER_BYTES - 1, path);
}

/* Finds the folders of the other nodes on this machine: how many there are now. */
static int look_beside(void)
{
    char parent[FOLDER_BYTES];
    snprintf(parent, sizeof(parent), "%s", store.prefix);
    char *slash = strrchr(parent, '/');
    if (!store.memory || !slash) {
        return 0;
    }
    const char *name = store.prefix + (slash - parent) + 1;
    slash[slash == parent] = '\0';
    int n = 0;
    DIR *folder = opendir(parent);
    for (struct dirent *entry; folder && n < FOLDERS_MAX && (entry = readdir(folder));) {
        char path[FOLDER_BYTES + sizeof(entry->d_name)];
        snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
        if (strncmp(entry->d_name, name, strlen(name)) == 0 && strcmp(path, store.own) != 0 &&
            is_own_folder(path)) {
            insert_folder(n++, strtoul(entry->d_name + strlen(name), NULL, 10), path);
        }
    }
    if (folder) {
        closedir(folder);
    }
    return n;
}

static void file_path(struct path *path, const char *folder, const struct sort_name *name)
{
    snprintf(path->text, sizeof(path->text), "%s/%u.%u.%llu", folder, name->v, name->generation,
             (unsigned long long)name->round);
}

/* ---- the content of a folder ---- */

/* Calls act for each file of a folder with its list and generation. */
static void each_file(const char *folder,
                      void (*act)(const char *path, const struct sort_name *, const void *arg),
                      const void *arg)
{
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        struct sort_name name;
        struct path path;
        unsigned long long round;
        if (sscanf(entry->d_name, "%u.%u.%llu", &name.v, &name.generation, &round) != 3) {
            continue;
        }
        name.round = round;
        snprintf(path.text, sizeof(path.text), "%s/%s", folder, entry->d_name);
        act(path.text, &name, arg);
    }
    if (open) {
        closedir(open);
    }
}

static void forget_any(const char *path, const struct sort_name *name, const void *arg)
{
    (void)name, (void)arg;
    unlink(path);
}

/* False: a file was added meanwhile. */
static bool folder_is_removed(void)
{
    char probe[PATH_MAX];
    each_file(store.own, forget_any, NULL);
    snprintf(probe, sizeof(probe), "%s/probe", store.own);
    unlink(probe);
    return rmdir(store.own) == 0 || errno == ENOENT;
}

/* Others may write until it is removed, and rename a file into it: then they find no folder. */
static void folder_remove(void)
{
    for (int i = 0; i < REMOVALS_MAX && !folder_is_removed(); i++) {
        ;
    }
}

/* ---- writing ---- */

static bool write_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t wrote = write(fd, at, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return false;
        }
        at += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* The file gets its name when all bytes are written. errno: what was wrong. */
static bool write_file(const char *folder, const struct sort_name *name,
                       const struct sort_list *list)
{
    struct header header = {MAGIC, name->v, name->generation, name->round, list->n, 0};
    struct path path, early;
    header.hash = hash_of(&header, list->at);
    file_path(&path, folder, name);
    snprintf(early.text, sizeof(early.text), "%.*s.tmp", PATH_MAX - 5, path.text);
    int fd = open(early.text, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    bool well = write_all(fd, &header, sizeof(header)) &&
                write_all(fd, list->at, list->n * sizeof(*list->at)) && fsync(fd) == 0;
    sort_leave_at(name->generation, SORT_WRITING);
    int error = errno;
    close(fd);
    errno = error;
    well = well && rename(early.text, path.text) == 0;
    error = errno;
    if (!well) {
        unlink(early.text);
    }
    errno = error;
    return well;
}

/* A folder may be removed while it is written to: its node has failed, or the job is over. */
static bool write_or_gone(const char *folder, const struct sort_name *name,
                          const struct sort_list *list)
{
    if (write_file(folder, name, list)) {
        return true;
    }
    if (errno == ENOENT || errno == ESTALE) {
        return false;
    }
    const char *why = strerror(errno);
    if (!store.memory) {
        folder_remove();
    }
    sort_fatal("no checkpoint can be written to %s: %s", folder, why);
}

bool sort_store_write(const struct sort_name *name, const struct sort_list *list)
{
    if (!store.files) {
        return true;
    }
    if (!write_or_gone(store.own, name, list)) {
        return false;
    }
    int n = look_beside();
    for (int i = 0; i < n; i++) {
        if (write_or_gone(store.beside[i].path, name, list)) {
            break;
        }
    }
    return true;
}

/* ---- reading ---- */

static bool read_all(int fd, void *bytes, size_t n)
{
    char *at = bytes;
    while (n > 0) {
        ssize_t got = read(fd, at, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static bool header_is(const struct header *header, const struct sort_name *name, uint64_t bytes)
{
    return header->magic == MAGIC && header->v == name->v &&
           header->generation == name->generation && header->round == name->round &&
           header->n <= sort_options.count &&
           bytes == sizeof(*header) + header->n * sizeof(uint32_t);
}

static enum sort_read read_file(const char *folder, const struct sort_name *name,
                                struct sort_list *list, char *why, size_t bytes)
{
    struct header header;
    struct stat facts;
    struct path path;
    file_path(&path, folder, name);
    int fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, bytes, "the checkpoint %s is lost: %s", path.text, strerror(errno));
        return SORT_LOST;
    }
    bool well = fstat(fd, &facts) == 0 && read_all(fd, &header, sizeof(header)) &&
                header_is(&header, name, (uint64_t)facts.st_size);
    if (well) {
        list->n = header.n;
        list->at = sort_memory(NULL, header.n, sizeof(*list->at));
        well = read_all(fd, list->at, header.n * sizeof(*list->at)) &&
               hash_of(&header, list->at) == header.hash;
    }
    close(fd);
    if (well) {
        return SORT_READ;
    }
    sort_list_free(list);
    snprintf(why, bytes, "the checkpoint %s is damaged: its checksum says so", path.text);
    return SORT_DAMAGED;
}

enum sort_read sort_store_read(const struct sort_name *name, struct sort_list *list, char *why,
                               size_t bytes)
{
    char other[PATH_MAX + 64];
    *list = (struct sort_list){0};
    if (!store.files) {
        snprintf(why, bytes, "one process alone keeps no checkpoints");
        return SORT_LOST;
    }
    enum sort_read got = read_file(store.own, name, list, why, bytes);
    int n = look_beside();
    for (int i = 0; i < n && got != SORT_READ; i++) {
        enum sort_read found = read_file(store.beside[i].path, name, list, other, sizeof(other));
        if (found == SORT_DAMAGED) {
            snprintf(why, bytes, "%s", other);
        }
        got = found == SORT_LOST ? got : found;
    }
    return got;
}

static bool is_there(const char *folder, const struct sort_name *name)
{
    struct path path;
    file_path(&path, folder, name);
    return access(path.text, R_OK) == 0;
}

void sort_store_keep(const struct sort_name *name, const struct sort_list *list)
{
    if (!store.files || !store.memory) {
        return;
    }
    int n = look_beside(), copies = is_there(store.own, name);
    for (int i = 0; i < n; i++) {
        copies += is_there(store.beside[i].path, name);
    }
    if (copies < 2 && copies <= n) {
        sort_store_write(name, list);
    }
}

bool sort_store_is_shared(MPI_Comm comm)
{
    struct path probe = {""};
    int rank, sees, all = 1;
    if (!store.files) {
        return true;
    }
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        snprintf(probe.text, sizeof(probe.text), "%s/probe", store.own);
        close(open(probe.text, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    if (MPI_Bcast(probe.text, sizeof(probe.text), MPI_CHAR, 0, comm) != MPI_SUCCESS) {
        return true;
    }
    sees = access(probe.text, F_OK) == 0;
    if (MPI_Allreduce(&sees, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) {
        return true;
    }
    return all;
}

/* ---- removal, and damage on purpose ---- */

struct old {
    uint32_t generation;
    const bool *mine;
};

static void forget_old(const char *path, const struct sort_name *name, const void *arg)
{
    const struct old *old = arg;
    if (name->v < sort_options.virtuals && old->mine[name->v] &&
        name->generation + GENERATIONS_KEPT <= old->generation) {
        unlink(path);
    }
}

/* Also of other nodes: their writers may have failed. */
static void each_file_of_all(void (*act)(const char *path, const struct sort_name *, const void *),
                             const void *arg)
{
    if (!store.files) {
        return;
    }
    each_file(store.own, act, arg);
    int n = look_beside();
    for (int i = 0; i < n; i++) {
        each_file(store.beside[i].path, act, arg);
    }
}

void sort_store_forget(uint32_t generation, const bool *mine)
{
    each_file_of_all(forget_old, &(struct old){generation, mine});
}

static void damage(const char *path, const struct sort_name *name, const void *arg)
{
    struct header header;
    (void)name, (void)arg;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    if (pread(fd, &header, sizeof(header), 0) == sizeof(header)) {
        header.hash ^= 1;
        if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header)) {
            sort_fatal("%s cannot be damaged: %s", path, strerror(errno));
        }
    }
    close(fd);
}

void sort_store_damage(void)
{
    each_file_of_all(damage, NULL);
}

/* The node removes its scratch folder. */
void sort_store_close(bool all)
{
    if (store.files && all && !store.memory) {
        folder_remove();
    }
}
