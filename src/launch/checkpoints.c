/* SPDX-License-Identifier: BSD-3-Clause */
/* rzrun's part of checkpoint files: ownership of the folder, and where an attempt begins. */
#include "launch/checkpoints.h"

#include "port/own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FILE "lock"
/* Another rzrun may remove the folder with its last file between our steps. */
#define TRIES_MAX 100

__attribute__((format(printf, 1, 2))) static bool refuse_directory(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("rzrun: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

/* ---- exclusive use of the folder ---- */

/* Makes a directory, but no parents: a mistyped path must not create one. */
static bool make(const char *path)
{
    struct stat info;
    if (mkdir(path, 0700) == 0) {
        return true;
    }
    if (errno == EEXIST && stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) {
        errno = ENOTDIR;
    }
    return errno == EEXIST ? true
                           : refuse_directory("--checkpoint-dir: cannot make the directory %s: %s",
                                              path, strerror(errno));
}

/* The process that held the lock before may have removed its file with all others. */
static bool is_file_of(int fd, int folder)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && fstatat(folder, LOCK_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* Opens the folder of the job and its lock file, and makes what is missing. A folder that another
 * user made, or may write to, could give this job the memory of a program of theirs. */
static rz_status_t open_lock(const struct rz_checkpoints *checkpoints, int *folder, int *lock)
{
    char path[sizeof(checkpoints->path) + sizeof(LOCK_FILE) + 1], *above;
    struct rz_own_why why;
    int at = -1;
    snprintf(path, sizeof(path), "%s", checkpoints->path);
    above = strrchr(path, '/');
    above[above == path] = 0;
    rz_status_t status = rz_own_walk(path, false, &at, &why);
    if (status == RZ_OK) {
        status = rz_own_enter(at, checkpoints->path, true, folder, &why);
        close(at);
    }
    if (status == RZ_OK) {
        snprintf(path, sizeof(path), "%s/" LOCK_FILE, checkpoints->path);
        status = rz_own_open(*folder, path, true, lock, &why);
        if (status != RZ_OK) {
            close(*folder);
        }
    }
    if (status != RZ_OK && status != RZ_ERR_NOT_FOUND) {
        refuse_directory("--checkpoint-dir: %s", why.text);
    }
    return status;
}

/* RZ_ERR_NOT_FOUND: another rzrun removed the folder meanwhile. */
static rz_status_t take_lock_once(struct rz_checkpoints *checkpoints)
{
    int folder, error;
    rz_status_t status = open_lock(checkpoints, &folder, &checkpoints->lock_fd);
    if (status != RZ_OK) {
        return status;
    }
    error = flock(checkpoints->lock_fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    bool there = error == 0 && is_file_of(checkpoints->lock_fd, folder);
    close(folder);
    if (there) {
        return RZ_OK;
    }
    close(checkpoints->lock_fd);
    if (error == EWOULDBLOCK) {
        refuse_directory("another rzrun keeps its checkpoints in %s; give this job another "
                         "name (--checkpoint-name) or another directory (--checkpoint-dir)",
                         checkpoints->path);
    } else if (error) {
        refuse_directory("--checkpoint-dir: cannot lock %s: %s", checkpoints->path,
                         strerror(error));
    }
    return error ? RZ_ERR_SYSTEM : RZ_ERR_NOT_FOUND;
}

static bool take_lock(struct rz_checkpoints *checkpoints, const char *directory)
{
    rz_status_t status = RZ_ERR_NOT_FOUND;
    for (int i = 0; status == RZ_ERR_NOT_FOUND && i < TRIES_MAX; i++) {
        if (!make(directory)) {
            return false;
        }
        status = take_lock_once(checkpoints);
    }
    return status == RZ_OK ||
           (status == RZ_ERR_NOT_FOUND &&
            refuse_directory("--checkpoint-dir: %s is removed again and again", checkpoints->path));
}

/* Whether the folder may hold what is ours, by each step of the way that the user has named: the
 * path without links does not show who made these. */
static bool may_lie_in(const char *directory)
{
    struct rz_own_why why;
    int fd;
    if (rz_own_walk(directory, false, &fd, &why) != RZ_OK) {
        return refuse_directory("--checkpoint-dir: %s", why.text);
    }
    close(fd);
    return true;
}

/* The path as all nodes see it, whatever their working directory. */
static bool settle_path(struct rz_checkpoints *checkpoints, const char *directory)
{
    if (!make(directory) || !may_lie_in(directory)) {
        return false;
    }
    char *whole = realpath(directory, NULL);
    if (!whole) {
        return refuse_directory("--checkpoint-dir: cannot find %s: %s", directory, strerror(errno));
    }
    size_t n = (size_t)snprintf(checkpoints->path, sizeof(checkpoints->path), "%s/%s", whole,
                                checkpoints->folder.name);
    free(whole);
    /* File names are appended to it. */
    return n < sizeof(checkpoints->path) - 128 ||
           refuse_directory("--checkpoint-dir: the path is too long");
}

/* Checkpoints of an earlier job are neither used nor removed without a request. */
static bool check_earlier(const struct rz_checkpoints *checkpoints,
                          const struct rz_rzrun_options *options)
{
    struct rz_ckpt_generation *found = NULL;
    struct rz_ckpt_words words;
    uint32_t n = 0;
    if (rz_ckpt_list(&checkpoints->folder, &found, &n, &words) != RZ_OK) {
        return refuse_directory(
            "%s; give this job another name (--checkpoint-name) or another directory", words.text);
    }
    uint64_t newest = n > 0 ? found[0].number : 0;
    free(found);
    if (n > 0 && !options->restart) {
        return refuse_directory(
            "%s holds checkpoints of an earlier job, up to generation %" PRIu64
            ": use --restart to continue from them, or remove it to start from the "
            "beginning",
            checkpoints->path, newest);
    }
    return true;
}

bool rz_checkpoints_open(struct rz_checkpoints *checkpoints, const struct rz_rzrun_options *options)
{
    *checkpoints = (struct rz_checkpoints){.lock_fd = -1};
    if (!options->checkpoint_dir) {
        return true;
    }
    checkpoints->folder.n_ranks = options->n_ranks;
    snprintf(checkpoints->folder.name, sizeof(checkpoints->folder.name), "%s",
             options->checkpoint_name);
    checkpoints->folder.path = checkpoints->path;
    if (!settle_path(checkpoints, options->checkpoint_dir) ||
        !take_lock(checkpoints, options->checkpoint_dir)) {
        return false;
    }
    checkpoints->used = true;
    if (check_earlier(checkpoints, options)) {
        return true;
    }
    close(checkpoints->lock_fd);
    checkpoints->used = false;
    return false;
}

/* ---- where to begin ---- */

void rz_checkpoints_give_up(struct rz_checkpoints *checkpoints, uint64_t number)
{
    const struct rz_ckpt_generation from = checkpoints->restored, *before = &checkpoints->fell_from;
    bool again = from.number > 0 && from.run == before->run && from.number == before->number &&
                 checkpoints->fell_in != checkpoints->run;
    checkpoints->given_up = (struct rz_ckpt_generation){
        .run = checkpoints->run, .number = again && from.number < number ? from.number : number};
    if (checkpoints->fell_in != checkpoints->run) {
        checkpoints->fell_from = from;
        checkpoints->fell_in = checkpoints->run;
    }
}

/* Whether it may be used; else *words says why not. */
static bool is_whole(const struct rz_checkpoints *checkpoints,
                     const struct rz_ckpt_generation *generation, struct rz_ckpt_words *words)
{
    const struct rz_ckpt_generation *given_up = &checkpoints->given_up;
    if (given_up->number > 0 && generation->run <= given_up->run &&
        generation->number >= given_up->number) {
        snprintf(words->text, sizeof(words->text), "a rank could not be restored from it");
        return false;
    }
    return rz_ckpt_verify(&checkpoints->folder, generation, words) == RZ_OK;
}

/* The newest complete generation; *n: number of generations. */
static bool find_whole(struct rz_checkpoints *checkpoints, uint32_t *n)
{
    struct rz_ckpt_generation *found = NULL;
    struct rz_ckpt_words words;
    checkpoints->restored = (struct rz_ckpt_generation){0};
    if (rz_ckpt_list(&checkpoints->folder, &found, n, &words) != RZ_OK) {
        return refuse_directory("%s", words.text);
    }
    for (uint32_t i = 0; i < *n && checkpoints->restored.number == 0; i++) {
        if (is_whole(checkpoints, &found[i], &words)) {
            checkpoints->restored = found[i];
        } else {
            refuse_directory("generation %" PRIu64 " cannot be used: %s%s", found[i].number,
                             words.text, i + 1 < *n ? "; trying an older one" : "");
        }
    }
    free(found);
    return true;
}

bool rz_checkpoints_attempt(struct rz_checkpoints *checkpoints,
                            const struct rz_rzrun_options *options, bool first)
{
    struct rz_ckpt_words words;
    uint32_t n = 0;
    if (!checkpoints->used) {
        return true;
    }
    if (rz_ckpt_tidy(&checkpoints->folder, &words) != RZ_OK ||
        rz_ckpt_begin_run(&checkpoints->folder, &checkpoints->run, &words) != RZ_OK) {
        return refuse_directory("--checkpoint-dir: %s", words.text);
    }
    if (!find_whole(checkpoints, &n)) {
        return false;
    }
    bool nothing = checkpoints->restored.number == 0;
    checkpoints->none_whole = nothing && n > 0;
    if (checkpoints->none_whole && first) {
        return refuse_directory(
            "--restart: no generation in %s is complete; remove it to start from the beginning",
            checkpoints->path);
    }
    if (checkpoints->none_whole) {
        refuse_directory("no generation in %s is complete: the job starts from its beginning",
                         checkpoints->path);
    } else if (nothing && (!first || options->restart)) {
        refuse_directory(
            "%s holds no checkpoint to continue from: the job starts from its beginning",
            checkpoints->path);
    }
    return true;
}

/* ---- the end ---- */

/* Generations with a mark; *whole: some of them may be complete, as far as was checked. */
static bool any_exist(const struct rz_checkpoints *checkpoints, bool *whole)
{
    struct rz_ckpt_generation *found = NULL;
    struct rz_ckpt_words words;
    uint32_t n = 0;
    *whole = false;
    if (rz_ckpt_list(&checkpoints->folder, &found, &n, &words) != RZ_OK) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        *whole |= !checkpoints->none_whole || found[i].run == checkpoints->run;
    }
    free(found);
    return n > 0;
}

void rz_checkpoints_close(struct rz_checkpoints *checkpoints,
                          const struct rz_rzrun_options *options, int status)
{
    struct rz_ckpt_words words;
    if (!checkpoints->used) {
        return;
    }
    bool whole, stay = any_exist(checkpoints, &whole) && (status != 0 || options->keep_checkpoints);
    rz_status_t tidied = stay ? rz_ckpt_tidy(&checkpoints->folder, &words)
                              : rz_ckpt_remove_all(&checkpoints->folder, &words);
    if (tidied != RZ_OK) {
        refuse_directory("some checkpoint files could not be removed: %s", words.text);
    }
    if (stay && status != 0 && whole && options->restart) {
        refuse_directory("checkpoints are in %s, also those from which this job was to continue: "
                         "--restart tries the newest ones again",
                         checkpoints->path);
    } else if (stay && status != 0 && whole) { /* else it was already said that none is */
        refuse_directory("checkpoints are in %s: --restart continues from them", checkpoints->path);
    }
    close(checkpoints->lock_fd);
    checkpoints->used = false;
}
