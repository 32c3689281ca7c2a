/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of a job: its generations, which of them may be removed, and the remains of earlier
 * runs. */
#include "ckpt/file_private.h"
#include "port/kill_point.h"
#include "port/own_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A folder of a generation, whatever is in it. */
struct entry {
    struct rz_ckpt_generation generation;
    bool marked; /* a mark is there, possibly damaged */
};

struct entries {
    struct entry *all; /* newest first, once sorted */
    uint32_t n, room;
};

/* ---- names ---- */

/* Reads the digits at *text as a number without leading zeros; moves *text behind them. */
static bool take_number(const char **text, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (**text < '1' || **text > '9') {
        return false;
    }
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (value > (max - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static bool take_word(const char **text, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*text, word, n) != 0) {
        return false;
    }
    *text += n;
    return true;
}

static bool is_run(const char *name, uint32_t *run)
{
    uint64_t number;
    if (!take_word(&name, "run-") || !take_number(&name, UINT32_MAX, &number) || *name) {
        return false;
    }
    *run = (uint32_t)number;
    return true;
}

static bool is_generation(const char *name, struct rz_ckpt_generation *generation)
{
    uint64_t number, epoch;
    if (!take_word(&name, "generation-") || !take_number(&name, UINT64_MAX, &number) ||
        !take_word(&name, ".") || !take_number(&name, UINT32_MAX, &epoch) || *name) {
        return false;
    }
    generation->number = number;
    generation->epoch = (uint32_t)epoch;
    return true;
}

/* Whether the name is that of a file that a run has made, or was making, in a generation's
 * folder. */
static bool is_file(const char *name)
{
    uint64_t number;
    bool known = take_word(&name, "piece-")
                     ? take_word(&name, "0") || take_number(&name, UINT32_MAX, &number)
                     : take_word(&name, RZ_CKPT_MARK_FILE);
    if (!known || !*name) {
        return known;
    }
    return take_word(&name, ".") &&
           (take_word(&name, "0") || take_number(&name, UINT32_MAX, &number)) &&
           strcmp(name, RZ_CKPT_PART_SUFFIX) == 0;
}

/* ---- reading directories ---- */

struct look {
    const struct rz_ckpt_folder *folder;
    struct rz_ckpt_words *words;
    struct entries *entries;
    uint32_t *newest; /* run */
    uint32_t run;
    int at; /* the folder that is read */
};

/* Calls each(arg, name) for every name in the folder of `where` (rz_ckpt_enter) until one call
 * fails; a missing folder has none. */
static rz_status_t for_names(const struct look *look, const struct rz_ckpt_generation *where,
                             rz_status_t (*each)(struct look *look, const char *name))
{
    struct look within = *look;
    int fd;
    rz_status_t status = rz_ckpt_enter(look->folder, where, false, &fd, look->words);
    if (status != RZ_OK) {
        return status == RZ_ERR_NOT_FOUND ? RZ_OK : status;
    }
    DIR *directory = fdopendir(fd);
    if (!directory) {
        status = rz_ckpt_refused(look->words, "look into", look->folder->path);
        close(fd);
        return status;
    }
    within.at = fd;
    for (const struct dirent *entry;
         status == RZ_OK && (errno = 0, entry = readdir(directory)) != NULL;) {
        status = each(&within, entry->d_name);
    }
    if (status == RZ_OK && errno != 0) {
        status = rz_ckpt_refused(look->words, "look into", look->folder->path);
    }
    closedir(directory);
    return status;
}

static rz_status_t look_for_mark(const struct look *look, struct entry *entry)
{
    struct rz_ckpt_header header;
    int fd;
    rz_status_t status =
        rz_ckpt_open(look->folder, &(struct rz_ckpt_which){&entry->generation, RZ_CKPT_MARK, 0},
                     &header, &fd, look->words);
    if (status == RZ_OK) {
        close(fd);
    }
    entry->marked = status != RZ_ERR_NOT_FOUND;
    return status == RZ_ERR_INVALID || status == RZ_ERR_SYSTEM ? status : RZ_OK;
}

static rz_status_t look_at_generation(struct look *look, const char *name)
{
    struct entries *entries = look->entries;
    struct entry entry = {.generation = {.run = look->run}};
    if (!is_generation(name, &entry.generation)) {
        return RZ_OK;
    }
    rz_status_t status = look_for_mark(look, &entry);
    if (status != RZ_OK) {
        return status;
    }
    if (entries->n == entries->room) {
        uint32_t room = entries->room ? 2 * entries->room : 16;
        struct entry *more = realloc(entries->all, room * sizeof(*more));
        if (!more) {
            return rz_ckpt_say(look->words, RZ_ERR_NO_MEMORY, "out of memory");
        }
        entries->all = more;
        entries->room = room;
    }
    entries->all[entries->n++] = entry;
    return RZ_OK;
}

static rz_status_t look_at_run(struct look *look, const char *name)
{
    if (!is_run(name, &look->run)) {
        return RZ_OK;
    }
    const struct rz_ckpt_generation run = {.run = look->run};
    return for_names(look, &run, look_at_generation);
}

static int newest_first(const void *a, const void *b)
{
    const struct entry *one = a, *other = b;
    return -rz_ckpt_generation_compare(&one->generation, &other->generation);
}

/* All generations; the caller frees entries->all, also after an error. */
static rz_status_t look_at_all(const struct rz_ckpt_folder *folder, struct entries *entries,
                               struct rz_ckpt_words *words)
{
    struct look look = {.folder = folder, .words = words, .entries = entries};
    *entries = (struct entries){0};
    rz_status_t status = for_names(&look, NULL, look_at_run);
    if (entries->n > 0) {
        qsort(entries->all, entries->n, sizeof(*entries->all), newest_first);
    }
    return status;
}

rz_status_t rz_ckpt_list(const struct rz_ckpt_folder *folder,
                         struct rz_ckpt_generation **generations, uint32_t *n,
                         struct rz_ckpt_words *words)
{
    struct entries entries;
    rz_status_t status = look_at_all(folder, &entries, words);
    struct rz_ckpt_generation *marked = calloc(entries.n + 1, sizeof(*marked));
    uint32_t n_marked = 0;
    for (uint32_t i = 0; marked && i < entries.n; i++) {
        if (entries.all[i].marked) {
            marked[n_marked++] = entries.all[i].generation;
        }
    }
    free(entries.all);
    if (status != RZ_OK || !marked) {
        free(marked);
        return status != RZ_OK ? status : rz_ckpt_say(words, RZ_ERR_NO_MEMORY, "out of memory");
    }
    *generations = marked;
    *n = n_marked;
    return RZ_OK;
}

rz_status_t rz_ckpt_verify(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation, struct rz_ckpt_words *words)
{
    struct rz_ckpt_header header;
    int fd;
    rz_status_t status = rz_ckpt_open(folder, &(struct rz_ckpt_which){generation, RZ_CKPT_MARK, 0},
                                      &header, &fd, words);
    if (status == RZ_OK) {
        close(fd);
    }
    for (uint32_t rank = 0; status == RZ_OK && rank < folder->n_ranks; rank++) {
        status = rz_ckpt_read(folder, generation, rank, NULL, words);
    }
    return status;
}

/* ---- removing ---- */

/* path: for messages. */
static rz_status_t unlink_file(int at, const char *name, const char *path,
                               struct rz_ckpt_words *words)
{
    return unlinkat(at, name, 0) == 0 || errno == ENOENT ? RZ_OK
                                                         : rz_ckpt_refused(words, "remove", path);
}

/* Removes the folder of `where`, which lies in that of `parent`. Other files in a directory keep
 * it. */
static rz_status_t remove_directory(const struct rz_ckpt_folder *folder,
                                    const struct rz_ckpt_generation *parent, const char *path,
                                    struct rz_ckpt_words *words)
{
    int at;
    rz_status_t status = rz_ckpt_enter(folder, parent, false, &at, words);
    if (status != RZ_OK) {
        return status == RZ_ERR_NOT_FOUND ? RZ_OK : status;
    }
    bool gone = unlinkat(at, strrchr(path, '/') + 1, AT_REMOVEDIR) == 0 || errno == ENOENT ||
                errno == ENOTEMPTY || errno == EEXIST;
    status = gone ? RZ_OK : rz_ckpt_refused(words, "remove", path);
    close(at);
    return status;
}

static rz_status_t remove_file(struct look *look, const char *name)
{
    if (!is_file(name)) {
        return RZ_OK;
    }
    const struct rz_ckpt_generation *of = &look->entries->all[0].generation;
    return unlink_file(look->at, name, rz_ckpt_file_path(look->folder, of, name).text, look->words);
}

rz_status_t rz_ckpt_remove(const struct rz_ckpt_folder *folder,
                           const struct rz_ckpt_generation *generation, struct rz_ckpt_words *words)
{
    struct rz_ckpt_path path = rz_ckpt_generation_path(folder, generation);
    const struct rz_ckpt_generation run = {.run = generation->run};
    struct entry entry = {.generation = *generation};
    struct entries one = {.all = &entry, .n = 1};
    struct look look = {.folder = folder, .words = words, .entries = &one};
    int at;
    rz_kill_here(RZ_KILL_PRUNE);
    rz_status_t status = rz_ckpt_enter(folder, generation, false, &at, words);
    if (status != RZ_OK) {
        return status == RZ_ERR_NOT_FOUND ? RZ_OK : status;
    }
    status = unlink_file(at, RZ_CKPT_MARK_FILE,
                         rz_ckpt_file_path(folder, generation, RZ_CKPT_MARK_FILE).text, words);
    /* The mark is durably removed before the first piece. */
    if (status == RZ_OK) {
        status = rz_ckpt_sync_directory(at, path.text, words);
    }
    close(at);
    rz_kill_here(RZ_KILL_PRUNE_UNMARKED);
    if (status == RZ_OK) {
        status = for_names(&look, generation, remove_file);
    }
    if (status == RZ_OK) {
        status = remove_directory(folder, &run, path.text, words);
    }
    return status;
}

/* Removes one more; of several that cannot be removed the first is reported, and the others are
 * removed nevertheless. */
static void remove_next(const struct rz_ckpt_folder *folder, const struct entry *entry,
                        rz_status_t *status, struct rz_ckpt_words *words)
{
    struct rz_ckpt_words more;
    rz_status_t removed =
        rz_ckpt_remove(folder, &entry->generation, *status == RZ_OK ? words : &more);
    *status = *status == RZ_OK ? removed : *status;
}

/* Whether a generation may be removed when `newest` was committed after `before`; *older counts
 * those on the branch of newest. */
static bool may_go(const struct entry *entry, const struct rz_ckpt_generation *newest,
                   const struct rz_ckpt_generation *before, uint32_t keep, uint32_t *older)
{
    if (rz_ckpt_generation_compare(&entry->generation, newest) >= 0) {
        return false;
    }
    if (!entry->marked) {
        return true;
    }
    return rz_ckpt_generation_compare(&entry->generation, before) > 0 || ++*older >= keep;
}

rz_status_t rz_ckpt_prune(const struct rz_ckpt_folder *folder,
                          const struct rz_ckpt_generation *newest,
                          const struct rz_ckpt_generation *before, uint32_t keep,
                          struct rz_ckpt_words *words)
{
    struct entries entries;
    uint32_t older = 0;
    rz_status_t status = look_at_all(folder, &entries, words);
    uint32_t n = status == RZ_OK ? entries.n : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (may_go(&entries.all[i], newest, before, keep, &older)) {
            remove_next(folder, &entries.all[i], &status, words);
        }
    }
    free(entries.all);
    return status;
}

static rz_status_t remove_run(struct look *look, const char *name)
{
    uint32_t run;
    if (!is_run(name, &run)) {
        return RZ_OK;
    }
    const struct rz_ckpt_path path = rz_ckpt_run_path(look->folder, run);
    return remove_directory(look->folder, NULL, path.text, look->words);
}

/* Removes generations, all or those without a mark, then empty runs. */
static rz_status_t remove_generations(const struct rz_ckpt_folder *folder, bool marked,
                                      struct rz_ckpt_words *words)
{
    struct entries entries;
    struct look look = {.folder = folder, .words = words};
    rz_status_t status = look_at_all(folder, &entries, words);
    uint32_t n = status == RZ_OK ? entries.n : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (marked || !entries.all[i].marked) {
            remove_next(folder, &entries.all[i], &status, words);
        }
    }
    free(entries.all);
    return status == RZ_OK ? for_names(&look, NULL, remove_run) : status;
}

rz_status_t rz_ckpt_tidy(const struct rz_ckpt_folder *folder, struct rz_ckpt_words *words)
{
    return remove_generations(folder, false, words);
}

rz_status_t rz_ckpt_remove_all(const struct rz_ckpt_folder *folder, struct rz_ckpt_words *words)
{
    struct rz_own_why why;
    int at = -1;
    rz_status_t status = remove_generations(folder, true, words);
    if (status == RZ_OK) {
        status = rz_ckpt_enter(folder, NULL, false, &at, words);
    }
    if (status == RZ_OK) {
        status = unlink_file(at, RZ_CKPT_LOCK_FILE, folder->path, words);
        close(at);
    }
    if (status != RZ_OK) {
        return status == RZ_ERR_NOT_FOUND ? RZ_OK : status;
    }
    /* The folder above holds what is ours, and need not be ours itself. */
    struct rz_ckpt_path above;
    snprintf(above.text, sizeof(above.text), "%s/..", folder->path);
    if (rz_own_walk(above.text, false, &at, &why) != RZ_OK) {
        return rz_ckpt_say(words, RZ_ERR_SYSTEM, "%s", why.text);
    }
    if (unlinkat(at, strrchr(folder->path, '/') + 1, AT_REMOVEDIR) != 0 && errno != ENOENT &&
        errno != ENOTEMPTY && errno != EEXIST) {
        status = rz_ckpt_refused(words, "remove", folder->path);
    }
    close(at);
    return status;
}

/* ---- a new run ---- */

static rz_status_t lift_run(struct look *look, const char *name)
{
    uint32_t run;
    if (is_run(name, &run) && run > *look->newest) {
        *look->newest = run;
    }
    return RZ_OK;
}

rz_status_t rz_ckpt_begin_run(const struct rz_ckpt_folder *folder, uint32_t *run,
                              struct rz_ckpt_words *words)
{
    uint32_t newest = 0;
    struct look look = {.folder = folder, .words = words, .newest = &newest};
    int fd;
    rz_status_t status = for_names(&look, NULL, lift_run);
    if (status != RZ_OK) {
        return status;
    }
    if (newest == UINT32_MAX) {
        return rz_ckpt_say(words, RZ_ERR_INVALID, "%.400s has seen too many runs", folder->path);
    }
    const struct rz_ckpt_generation made = {.run = newest + 1};
    status = rz_ckpt_enter(folder, &made, true, &fd, words);
    if (status == RZ_OK) {
        *run = made.run;
        close(fd);
    }
    return status;
}
