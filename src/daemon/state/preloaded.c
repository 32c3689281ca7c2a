/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives files into the folder, one after the other, and checks that each arrived whole and can
 * be used on this host. */
#include "daemon/state/preloaded.h"

#include "base/no_memory.h"
#include "port/private_folder.h"

#include <elf.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define DIGITS 16
#define PRELOADED_NAME_MAX_BYTES 255
#define ELSEWHERE "set TMPDIR there to a directory that can be used"
/* The identification of an ELF file, its type, and its machine. */
#define HEAD_BYTES (EI_NIDENT + 4)

struct rz_preloaded_file {
    char *path;
    const char *name; /* in path */
    uint32_t mode;
    uint64_t bytes;
    uint8_t head[HEAD_BYTES];
    bool whole;
};

__attribute__((format(printf, 2, 3))) static const char *wrong(struct rz_preloaded *preloaded,
                                                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(preloaded->why, sizeof(preloaded->why), format, arguments);
    va_end(arguments);
    return preloaded->why;
}

/* ---- the folder ---- */

static const char *parent_of_folders(void)
{
    const char *named = getenv("TMPDIR");
    return named && named[0] == '/' ? named : "/tmp";
}

/* The host is part of the name: a directory that several hosts share may lack locks between
 * hosts. */
static void prefix_of_folders(char *prefix, size_t bytes)
{
    char host[65] = "";
    gethostname(host, sizeof(host) - 1);
    snprintf(prefix, bytes, "rhizome-preload-%s-", host);
}

void rz_preloaded_open(struct rz_preloaded *preloaded)
{
    *preloaded = (struct rz_preloaded){.held = -1, .now = {.fd = -1}};
}

const char *rz_preloaded_choose(struct rz_preloaded *preloaded)
{
    char prefix[96];
    uint64_t number;
    prefix_of_folders(prefix, sizeof(prefix));
    randombytes_buf(&number, sizeof(number));
    int n = snprintf(preloaded->folder, sizeof(preloaded->folder), "%s/%s%016llx",
                     parent_of_folders(), prefix, (unsigned long long)number);
    if (n < (int)sizeof(preloaded->folder)) {
        return NULL;
    }
    preloaded->folder[0] = 0;
    return wrong(preloaded, "the path of TMPDIR there is too long; " ELSEWHERE);
}

const char *rz_preloaded_make(struct rz_preloaded *preloaded)
{
    struct rz_own_why why;
    rz_status_t status = rz_private_folder_make(preloaded->folder, &preloaded->held, &why);
    int error = errno;
    if (status == RZ_OK) {
        return NULL;
    }
    preloaded->held = -1;
    if (status == RZ_ERR_INVALID) {
        return wrong(preloaded, "other users could exchange what lies in %s: %s; or " ELSEWHERE,
                     parent_of_folders(), why.text);
    }
    return wrong(preloaded, "no folder can be made in %s: %s; " ELSEWHERE, parent_of_folders(),
                 strerror(error));
}

void rz_preloaded_sweep(void)
{
    char prefix[96];
    prefix_of_folders(prefix, sizeof(prefix));
    rz_private_folder_sweep(parent_of_folders(), prefix, DIGITS, rz_scratch_remove);
}

void rz_preloaded_close(struct rz_preloaded *preloaded)
{
    if (preloaded->now.fd >= 0) {
        close(preloaded->now.fd);
    }
    if (preloaded->now.sum) {
        XXH3_freeState(preloaded->now.sum);
    }
    if (preloaded->held >= 0) {
        rz_scratch_remove(preloaded->folder);
        close(preloaded->held);
    }
    for (uint32_t i = 0; i < preloaded->n; i++) {
        free(preloaded->files[i].path);
    }
    free(preloaded->files);
    rz_preloaded_open(preloaded);
}

/* ---- a file ---- */

static bool good_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= PRELOADED_NAME_MAX_BYTES && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static struct rz_preloaded_file *last(const struct rz_preloaded *preloaded)
{
    return &preloaded->files[preloaded->n - 1];
}

static const char *cannot_write(struct rz_preloaded *preloaded, int error)
{
    const struct rz_preloaded_file *file = last(preloaded);
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    return wrong(preloaded, "%s (%llu bytes) cannot be written in %s: %s; %s" ELSEWHERE, file->name,
                 (unsigned long long)file->bytes, parent_of_folders(), strerror(error),
                 full ? "free some space, or " : "");
}

const char *rz_preloaded_begin(struct rz_preloaded *preloaded, const char *name, uint32_t mode,
                               uint64_t bytes)
{
    if (preloaded->held < 0 || preloaded->now.fd >= 0 || !good_name(name)) {
        return wrong(preloaded, "a file comes that is not expected");
    }
    struct rz_preloaded_file *more =
        realloc(preloaded->files, (preloaded->n + 1) * sizeof(*preloaded->files));
    rz_need_memory(more, "for the files of --preload");
    preloaded->files = more;
    struct rz_preloaded_file *file = &more[preloaded->n++];
    size_t length = strlen(preloaded->folder) + strlen(name) + 2;
    *file = (struct rz_preloaded_file){.path = malloc(length), .mode = mode & 0777, .bytes = bytes};
    if (!preloaded->now.sum) {
        preloaded->now.sum = XXH3_createState();
    }
    rz_need_memory(file->path && preloaded->now.sum, "for the files of --preload");
    snprintf(file->path, length, "%s/%s", preloaded->folder, name);
    file->name = file->path + strlen(preloaded->folder) + 1;
    XXH3_64bits_reset(preloaded->now.sum);
    preloaded->now.left = bytes;
    if (rz_private_folder_create(preloaded->held, file->name, &preloaded->now.fd) == RZ_OK) {
        return NULL;
    }
    int error = errno;
    preloaded->now.fd = -1;
    return cannot_write(preloaded, error);
}

const char *rz_preloaded_part(struct rz_preloaded *preloaded, const void *part, size_t bytes)
{
    if (preloaded->now.fd < 0 || bytes > preloaded->now.left) {
        return wrong(preloaded, "more of a file comes than was said");
    }
    struct rz_preloaded_file *file = last(preloaded);
    uint64_t done = file->bytes - preloaded->now.left;
    if (done < sizeof(file->head)) {
        size_t room = sizeof(file->head) - (size_t)done;
        memcpy(file->head + done, part, bytes < room ? bytes : room);
    }
    for (size_t at = 0; at < bytes;) {
        ssize_t n = write(preloaded->now.fd, (const uint8_t *)part + at, bytes - at);
        if (n < 0 && errno != EINTR) {
            return cannot_write(preloaded, errno);
        }
        at += n > 0 ? (size_t)n : 0;
    }
    XXH3_64bits_update(preloaded->now.sum, part, bytes);
    preloaded->now.left -= bytes;
    preloaded->bytes += bytes;
    return NULL;
}

/* ---- whether it can be used here ---- */

/* The machine that an ELF file is for; EM_NONE: it is none. */
static unsigned machine_of(const uint8_t head[HEAD_BYTES])
{
    uint16_t machine;
    memcpy(&machine, head + EI_NIDENT + 2, sizeof(machine));
    return memcmp(head, ELFMAG, SELFMAG) == 0 ? machine : EM_NONE;
}

static unsigned own_machine(void)
{
    uint8_t head[HEAD_BYTES] = {0};
    FILE *own = fopen("/proc/self/exe", "re");
    if (!own) {
        return EM_NONE;
    }
    size_t n = fread(head, 1, sizeof(head), own);
    fclose(own);
    return n == sizeof(head) ? machine_of(head) : EM_NONE;
}

/* Systems of 64 bits execute programs of 32 bits of their family. */
static bool runs_here(unsigned machine)
{
    unsigned own = own_machine();
    return machine == EM_NONE || own == EM_NONE || machine == own ||
           (machine == EM_386 && own == EM_X86_64) || (machine == EM_ARM && own == EM_AARCH64);
}

static const char *check_executable(struct rz_preloaded *preloaded,
                                    const struct rz_preloaded_file *file)
{
    if (!runs_here(machine_of(file->head))) {
        return wrong(preloaded,
                     "%s is for another kind of machine (ELF machine %u, there %u); use hosts of "
                     "the kind for which it was compiled",
                     file->name, machine_of(file->head), own_machine());
    }
    if (access(file->path, X_OK) != 0) {
        return wrong(
            preloaded,
            "programs in %s may not be executed (%s; is it mounted with noexec?); " ELSEWHERE,
            parent_of_folders(), strerror(errno));
    }
    return NULL;
}

const char *rz_preloaded_end(struct rz_preloaded *preloaded, uint64_t checksum)
{
    if (preloaded->now.fd < 0) {
        return wrong(preloaded, "a file ends that has not begun");
    }
    struct rz_preloaded_file *file = last(preloaded);
    int fd = preloaded->now.fd;
    preloaded->now.fd = -1;
    int error = fchmod(fd, file->mode) != 0 ? errno : 0;
    /* Some file systems report only here what could not be written. */
    error = close(fd) != 0 && error == 0 ? errno : error;
    if (error) {
        return cannot_write(preloaded, error);
    }
    if (preloaded->now.left > 0 || XXH3_64bits_digest(preloaded->now.sum) != checksum) {
        return wrong(preloaded, "what has come of %s is not what was sent; start again",
                     file->name);
    }
    file->whole = true;
    return file->mode & 0111 ? check_executable(preloaded, file) : NULL;
}

const char *rz_preloaded_program(const struct rz_preloaded *preloaded, const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    for (uint32_t i = 0; i < preloaded->n; i++) {
        const struct rz_preloaded_file *file = &preloaded->files[i];
        if (file->whole && file->mode & 0111 && strcmp(file->name, name) == 0) {
            return file->path;
        }
    }
    return NULL;
}
