/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint files, one at a time: a piece or a mark is written whole, or read and checked. */
#include "ckpt/file.h"

#include "ckpt/file_private.h"
#include "ckpt/piece.h"
#include "port/kill_point.h"
#include "port/memory.h"
#include "port/own_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of bytes written between two checks whether the piece is still needed. */
#define CHUNK_BYTES (4u << 20)

/* ---- names and messages ---- */

struct rz_ckpt_path rz_ckpt_run_path(const struct rz_ckpt_folder *folder, uint32_t run)
{
    struct rz_ckpt_path path;
    snprintf(path.text, sizeof(path.text), "%s/run-%" PRIu32, folder->path, run);
    return path;
}

struct rz_ckpt_path rz_ckpt_generation_path(const struct rz_ckpt_folder *folder,
                                            const struct rz_ckpt_generation *generation)
{
    struct rz_ckpt_path path;
    snprintf(path.text, sizeof(path.text), "%s/run-%" PRIu32 "/generation-%" PRIu64 ".%" PRIu32,
             folder->path, generation->run, generation->number, generation->epoch);
    return path;
}

struct rz_ckpt_path rz_ckpt_file_path(const struct rz_ckpt_folder *folder,
                                      const struct rz_ckpt_generation *generation, const char *file)
{
    struct rz_ckpt_path path = rz_ckpt_generation_path(folder, generation);
    size_t n = strlen(path.text);
    snprintf(path.text + n, sizeof(path.text) - n, "/%s", file);
    return path;
}

static struct rz_ckpt_path piece_path(const struct rz_ckpt_folder *folder,
                                      const struct rz_ckpt_generation *generation, uint32_t rank)
{
    char name[32];
    snprintf(name, sizeof(name), "piece-%" PRIu32, rank);
    return rz_ckpt_file_path(folder, generation, name);
}

rz_status_t rz_ckpt_say(struct rz_ckpt_words *words, rz_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->text, sizeof(words->text), format, arguments);
    va_end(arguments);
    return status;
}

rz_status_t rz_ckpt_refused(struct rz_ckpt_words *words, const char *what, const char *path)
{
    return rz_ckpt_say(words, RZ_ERR_SYSTEM, "cannot %s %.380s: %s", what, path, strerror(errno));
}

/* ---- directories ---- */

rz_status_t rz_ckpt_sync_directory(int fd, const char *path, struct rz_ckpt_words *words)
{
    return fsync(fd) == 0 ? RZ_OK : rz_ckpt_refused(words, "write the directory", path);
}

static rz_status_t not_ours(struct rz_ckpt_words *words, rz_status_t status,
                            const struct rz_own_why *why)
{
    return status == RZ_OK ? RZ_OK : rz_ckpt_say(words, status, "%s", why->text);
}

/* From *fd, which is closed, into the folder `path` in it. A new one is durable. */
static rz_status_t enter_next(const char *path, bool make, int *fd, struct rz_ckpt_words *words)
{
    struct rz_own_why why;
    int next = -1;
    rz_status_t status = rz_own_enter(*fd, path, false, &next, &why);
    if (status == RZ_ERR_NOT_FOUND && make) {
        status = rz_own_enter(*fd, path, true, &next, &why);
        if (status == RZ_OK && fsync(*fd) != 0) {
            status = rz_ckpt_refused(words, "write the directory of", path);
        } else {
            status = not_ours(words, status, &why);
        }
    } else {
        status = not_ours(words, status, &why);
    }
    if (status != RZ_OK && next >= 0) {
        close(next);
    }
    close(*fd);
    *fd = next;
    return status;
}

rz_status_t rz_ckpt_enter(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *where, bool make, int *fd,
                          struct rz_ckpt_words *words)
{
    struct rz_own_why why;
    int at = -1;
    bool run = where != NULL, generation = where && where->number > 0;
    rz_status_t status = not_ours(words, rz_own_walk(folder->path, true, &at, &why), &why);
    if (status == RZ_OK && run) {
        status =
            enter_next(rz_ckpt_run_path(folder, where->run).text, make && !generation, &at, words);
    }
    if (status == RZ_OK && generation) {
        status = enter_next(rz_ckpt_generation_path(folder, where).text, make, &at, words);
    }
    if (status == RZ_OK) {
        *fd = at;
    }
    return status;
}

/* ---- writing ---- */

static struct rz_ckpt_header head_of(const struct rz_ckpt_folder *folder,
                                     const struct rz_ckpt_generation *generation,
                                     enum rz_ckpt_kind kind, uint32_t rank)
{
    struct rz_ckpt_header header = {
        .kind = kind, .n_ranks = folder->n_ranks, .rank = rank, .generation = *generation};
    memcpy(header.name, folder->name, sizeof(header.name));
    return header;
}

static bool write_all(int fd, const void *at, size_t bytes)
{
    for (const char *rest = at; bytes > 0;) {
        ssize_t n = write(fd, rest, bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        rest += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* RZ_ERR_CANCELLED: the piece is not needed any more. */
static rz_status_t write_content(int out, const uint8_t *at, size_t bytes, const char *path,
                                 const atomic_bool *stop, struct rz_ckpt_words *words)
{
    for (size_t done = 0; done < bytes;) {
        size_t n = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
        if (atomic_load(stop)) {
            return RZ_ERR_CANCELLED;
        }
        if (!write_all(out, at + done, n)) {
            return rz_ckpt_refused(words, "write", path);
        }
        done += n;
    }
    return RZ_OK;
}

/* The process may write into the memory again once it need not be kept; then it is too late. */
static rz_status_t copy_memory(int out, int fd, const struct rz_ckpt_header *header,
                               const char *path, const atomic_bool *stop,
                               struct rz_ckpt_words *words)
{
    void *at;
    size_t bytes = (size_t)header->bytes;
    if (bytes == 0) {
        return RZ_OK;
    }
    if (rz_memory_map(fd, bytes, false, &at, NULL) != RZ_OK) {
        return rz_ckpt_say(words, RZ_ERR_NO_MEMORY, "cannot map %zu bytes to write them to %.380s",
                           bytes, path);
    }
    rz_status_t status = write_content(out, at, bytes, path, stop, words);
    if (status == RZ_OK && rz_piece_hash(at, bytes) != header->hash) {
        status = RZ_ERR_CANCELLED;
    }
    rz_memory_unmap(at, bytes);
    return status;
}

static rz_status_t fill(int out, const struct rz_ckpt_header *header, int fd, const char *path,
                        const atomic_bool *stop, struct rz_ckpt_words *words)
{
    uint8_t head[RZ_CKPT_HEADER_BYTES];
    bool mark = header->kind == RZ_CKPT_MARK;
    rz_ckpt_header_encode(header, head);
    if (!write_all(out, head, sizeof(head))) {
        return rz_ckpt_refused(words, "write", path);
    }
    rz_status_t status = mark ? RZ_OK : copy_memory(out, fd, header, path, stop, words);
    rz_kill_here(mark ? RZ_KILL_MARK_WRITTEN : RZ_KILL_FILE_WRITTEN);
    if (status == RZ_OK && fsync(out) != 0) {
        status = rz_ckpt_refused(words, "write", path);
    }
    return status;
}

/* Writes header, and the content of fd if there is one, to a file of the generation. */
static rz_status_t write_file(const struct rz_ckpt_folder *folder,
                              const struct rz_ckpt_header *header, uint32_t node, int fd,
                              const atomic_bool *stop, struct rz_ckpt_words *words)
{
    char name[32], part[64];
    bool mark = header->kind == RZ_CKPT_MARK;
    if (mark) {
        snprintf(name, sizeof(name), "%s", RZ_CKPT_MARK_FILE);
    } else {
        snprintf(name, sizeof(name), "piece-%" PRIu32, header->rank);
    }
    snprintf(part, sizeof(part), "%s.%" PRIu32 RZ_CKPT_PART_SUFFIX, name, node);
    struct rz_ckpt_path from = rz_ckpt_file_path(folder, &header->generation, part);
    struct rz_ckpt_path to = rz_ckpt_file_path(folder, &header->generation, name);
    struct rz_own_why why;
    int out, at;
    rz_status_t status = rz_ckpt_enter(folder, &header->generation, false, &at, words);
    if (status != RZ_OK) {
        return status;
    }
    status = not_ours(words, rz_own_create(at, from.text, &out, &why), &why);
    if (status != RZ_OK) {
        close(at);
        return status;
    }
    rz_kill_here(mark ? RZ_KILL_MARK_OPENED : RZ_KILL_FILE_OPENED);
    status = fill(out, header, fd, from.text, stop, words);
    if (close(out) != 0 &&
        status == RZ_OK) { /* some file systems report only here that they are full */
        status = rz_ckpt_refused(words, "write", from.text);
    }
    rz_kill_here(mark ? RZ_KILL_MARK_SYNCED : RZ_KILL_FILE_SYNCED);
    if (status == RZ_OK && renameat(at, part, at, name) != 0) {
        status = rz_ckpt_refused(words, "name", to.text);
    }
    if (status != RZ_OK) {
        unlinkat(at, part, 0);
    } else {
        rz_kill_here(mark ? RZ_KILL_MARK_NAMED : RZ_KILL_FILE_NAMED);
        status = rz_ckpt_sync_directory(at, to.text, words);
        rz_kill_here(mark ? RZ_KILL_MARK_DURABLE : RZ_KILL_FILE_DURABLE);
    }
    close(at);
    return status;
}

/* Whether a file exists that claims to be this one. Its content was on disk when it got its
 * name. */
static bool there_already(const struct rz_ckpt_folder *folder, const struct rz_ckpt_header *header)
{
    struct rz_ckpt_header found = {0};
    struct rz_ckpt_words words;
    int fd;
    const struct rz_ckpt_which which = {&header->generation, header->kind, header->rank};
    if (rz_ckpt_open(folder, &which, &found, &fd, &words) != RZ_OK) {
        return false;
    }
    close(fd);
    return found.bytes == header->bytes && found.hash == header->hash;
}

rz_status_t rz_ckpt_write(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *generation,
                          const struct rz_ckpt_piece *piece, uint32_t node,
                          struct rz_ckpt_words *words)
{
    struct rz_ckpt_header header = head_of(folder, generation, RZ_CKPT_PIECE, piece->rank);
    header.bytes = piece->content.bytes;
    header.hash = piece->content.hash;
    int at;
    rz_kill_here(RZ_KILL_FILE_BEGIN);
    rz_status_t status = rz_ckpt_enter(folder, generation, true, &at, words);
    if (status == RZ_ERR_NOT_FOUND) { /* the folder of the run */
        errno = ENOENT;
        return rz_ckpt_refused(words, "make the directory",
                               rz_ckpt_generation_path(folder, generation).text);
    }
    if (status != RZ_OK) {
        return status;
    }
    if (there_already(folder, &header)) {
        status =
            rz_ckpt_sync_directory(at, rz_ckpt_generation_path(folder, generation).text, words);
        close(at);
        return status;
    }
    close(at);
    return write_file(folder, &header, node, piece->content.fd, piece->stop, words);
}

rz_status_t rz_ckpt_commit(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation, uint32_t node,
                           struct rz_ckpt_words *words)
{
    static const atomic_bool never_stopped;
    const struct rz_ckpt_header header = head_of(folder, generation, RZ_CKPT_MARK, 0);
    rz_kill_here(RZ_KILL_MARK_BEGIN);
    return write_file(folder, &header, node, -1, &never_stopped, words);
}

/* ---- reading ---- */

static bool read_all(int fd, void *at, size_t bytes)
{
    for (char *rest = at; bytes > 0;) {
        ssize_t n = read(fd, rest, bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        rest += n;
        bytes -= (size_t)n;
    }
    return true;
}

static rz_status_t read_head(int fd, const char *path, struct rz_ckpt_header *header,
                             struct rz_ckpt_words *words)
{
    uint8_t head[RZ_CKPT_HEADER_BYTES];
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return rz_ckpt_refused(words, "look at", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rz_ckpt_say(words, RZ_ERR_MALFORMED, "%.400s is not a file", path);
    }
    if (info.st_size < (off_t)sizeof(head)) {
        return rz_ckpt_say(words, RZ_ERR_TRUNCATE, "%.400s is truncated: it has %lld bytes", path,
                           (long long)info.st_size);
    }
    errno = EIO;
    if (!read_all(fd, head, sizeof(head))) {
        return rz_ckpt_refused(words, "read", path);
    }
    rz_status_t status = rz_ckpt_header_decode(header, head, sizeof(head));
    if (status == RZ_ERR_VERSION) {
        return rz_ckpt_say(words, status, "%.400s was written by another version of Rhizome", path);
    }
    if (status != RZ_OK) {
        return rz_ckpt_say(words, status, "%.400s is damaged: its header is wrong", path);
    }
    if ((uint64_t)info.st_size < header->bytes + RZ_CKPT_HEADER_BYTES) {
        return rz_ckpt_say(words, RZ_ERR_TRUNCATE,
                           "%.380s is truncated: of %" PRIu64 " bytes it has %lld", path,
                           header->bytes + RZ_CKPT_HEADER_BYTES, (long long)info.st_size);
    }
    if ((uint64_t)info.st_size > header->bytes + RZ_CKPT_HEADER_BYTES) {
        return rz_ckpt_say(words, RZ_ERR_MALFORMED, "%.400s is longer than its header says", path);
    }
    return RZ_OK;
}

/* Refuses a valid file of something else: it was copied there, or left by an older run. */
static rz_status_t check_whose(const struct rz_ckpt_folder *folder,
                               const struct rz_ckpt_which *which,
                               const struct rz_ckpt_header *header, const char *path,
                               struct rz_ckpt_words *words)
{
    const struct rz_ckpt_generation *of = &header->generation;
    if (strcmp(header->name, folder->name) != 0) {
        return rz_ckpt_say(words, RZ_ERR_INVALID, "%.320s is of another job, `%s`", path,
                           header->name);
    }
    if (header->n_ranks != folder->n_ranks) {
        return rz_ckpt_say(words, RZ_ERR_INVALID,
                           "%.320s is of a job of %" PRIu32 " ranks, this one has %" PRIu32, path,
                           header->n_ranks, folder->n_ranks);
    }
    if (header->kind != which->kind || header->rank != which->rank) {
        return rz_ckpt_say(words, RZ_ERR_INVALID,
                           "%.320s is not what its name says, but a %s, rank %" PRIu32, path,
                           header->kind == RZ_CKPT_MARK ? "commit mark" : "piece", header->rank);
    }
    if (rz_ckpt_generation_compare(of, which->generation) != 0) {
        return rz_ckpt_say(words, RZ_ERR_INVALID,
                           "%.300s is of generation %" PRIu64 ", run %" PRIu32 ", epoch %" PRIu32
                           ", and does not belong here",
                           path, of->number, of->run, of->epoch);
    }
    return RZ_OK;
}

rz_status_t rz_ckpt_open(const struct rz_ckpt_folder *folder, const struct rz_ckpt_which *which,
                         struct rz_ckpt_header *header, int *fd, struct rz_ckpt_words *words)
{
    struct rz_ckpt_path path = which->kind == RZ_CKPT_MARK
                                   ? rz_ckpt_file_path(folder, which->generation, RZ_CKPT_MARK_FILE)
                                   : piece_path(folder, which->generation, which->rank);
    struct rz_own_why why;
    int at;
    rz_status_t status = rz_ckpt_enter(folder, which->generation, false, &at, words);
    if (status == RZ_OK) {
        status = not_ours(words, rz_own_open(at, path.text, false, fd, &why), &why);
        close(at);
    }
    if (status == RZ_ERR_NOT_FOUND) {
        return rz_ckpt_say(words, status, "%.400s is missing", path.text);
    }
    if (status != RZ_OK) {
        return status;
    }
    status = read_head(*fd, path.text, header, words);
    if (status == RZ_OK) {
        status = check_whose(folder, which, header, path.text, words);
    }
    if (status != RZ_OK) {
        close(*fd);
    }
    return status;
}

static rz_status_t read_content(int fd, const char *path, struct rz_ckpt_content *content,
                                struct rz_ckpt_words *words)
{
    void *at;
    size_t bytes = (size_t)content->bytes;
    rz_status_t status = RZ_OK;
    if (bytes > 0 && rz_memory_map(content->fd, bytes, true, &at, NULL) != RZ_OK) {
        return rz_ckpt_say(words, RZ_ERR_NO_MEMORY, "cannot map %zu bytes to read %.380s into them",
                           bytes, path);
    }
    errno = EIO;
    if (bytes > 0 && !read_all(fd, at, bytes)) {
        status = rz_ckpt_refused(words, "read", path);
    }
    rz_kill_here(RZ_KILL_RESTORE_READ);
    if (status == RZ_OK && bytes > 0 && rz_piece_hash(at, bytes) != content->hash) {
        status = rz_ckpt_say(words, RZ_ERR_MALFORMED,
                             "%.400s is damaged: its content does not match its checksum", path);
    }
    if (bytes > 0) {
        rz_memory_unmap(at, bytes);
    }
    return status;
}

rz_status_t rz_ckpt_read(const struct rz_ckpt_folder *folder,
                         const struct rz_ckpt_generation *generation, uint32_t rank,
                         struct rz_ckpt_content *content, struct rz_ckpt_words *words)
{
    struct rz_ckpt_header header = {0};
    struct rz_ckpt_path path = piece_path(folder, generation, rank);
    int fd;
    rz_kill_here(RZ_KILL_RESTORE_OPEN);
    const struct rz_ckpt_which which = {generation, RZ_CKPT_PIECE, rank};
    rz_status_t status = rz_ckpt_open(folder, &which, &header, &fd, words);
    if (status != RZ_OK) {
        return status;
    }
    struct rz_ckpt_content read = {.fd = -1, .bytes = header.bytes, .hash = header.hash};
    size_t room = header.bytes ? (size_t)header.bytes : 1;
    if (rz_memory_create("rz-piece", room, &read.fd) != RZ_OK ||
        rz_memory_reserve(read.fd, 0, room) != RZ_OK) {
        status = rz_ckpt_say(words, RZ_ERR_NO_MEMORY,
                             "no memory for %zu bytes to read %.380s into them", room, path.text);
    } else {
        status = read_content(fd, path.text, &read, words);
    }
    close(fd);
    if (read.fd >= 0 && (status != RZ_OK || !content)) {
        close(read.fd);
    }
    if (status == RZ_OK && content) {
        *content = read;
    }
    rz_kill_here(RZ_KILL_RESTORE_CHECKED);
    return status;
}
