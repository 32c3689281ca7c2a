/* SPDX-License-Identifier: BSD-3-Clause */
/* What a new process does with the marks of what is rolled back. */
#include "mpi/rewind/closed_files.h"

#include "base/random.h"
#include "port/clock.h"
#include "port/file_mark.h"
#include "port/kill_point.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked_mark {
    bool answered;
    uint64_t number, moment;
    uint32_t rank;
    struct rz_file_mark mark;
    char path[RZ_FILE_PATH_BYTES];
    uint8_t content[RZ_FILE_CONTENT_MAX];
};

static void on_mark_is(void *arg, const struct rz_link_message *message, const int *fds,
                       unsigned n_fds)
{
    const struct rz_link_file_mark_is *is = &message->file_mark_is;
    struct asked_mark *asked = arg;
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    uint32_t bytes =
        is->content_length < RZ_FILE_CONTENT_MAX ? is->content_length : RZ_FILE_CONTENT_MAX;
    snprintf(asked->path, sizeof(asked->path), "%s", is->path);
    memcpy(asked->content, is->content, bytes);
    asked->mark = (struct rz_file_mark){RZ_FILE_MARK_MEMBERS(is)};
    asked->mark.path = asked->path;
    asked->mark.content = asked->content;
    asked->mark.content_length = bytes;
    asked->number = is->number;
    asked->moment = is->moment;
    asked->rank = is->rank;
    asked->answered = true;
}

/* The next one; false: there is none, or *status says why it cannot be had. */
static bool next_mark(struct rz_link *link, uint32_t epoch, uint64_t since,
                      struct asked_mark *asked, rz_status_t *status)
{
    const struct rz_link_message ask = {
        .type = RZ_LINK_FILE_MARK_ASK,
        .file_mark_ask = {.epoch = epoch, .since = since, .after = asked->number}};
    asked->answered = false;
    rz_link_handle(link, RZ_LINK_FILE_MARK_IS, on_mark_is, asked);
    *status = rz_link_send(link, &ask, -1);
    *status = *status == RZ_OK ? rz_link_await(link, &asked->answered) : *status;
    rz_link_handle(link, RZ_LINK_FILE_MARK_IS, NULL, NULL);
    return *status == RZ_OK && asked->number != 0;
}

/* What becomes of a file that is not as its mark says. */
static const char *why_not(const struct rz_file_mark *mark, enum rz_file_mark_result result)
{
    bool content = mark->flags & RZ_FILE_CONTENT;
    return result == RZ_FILE_ANOTHER ? "is another file now"
           : result == RZ_FILE_LOST
               ? (content ? "had content that is not kept" : "was emptied or cut after it")
           : mark->flags & RZ_FILE_RENAMED ? "cannot get its name back"
           : content                       ? "cannot get back the content that it had"
                                           : "cannot be cut to the length that it had";
}

/* One of all that are restored. */
struct known_mark {
    struct known_mark *next;
    uint64_t moment, number;
    bool needless; /* the file gets the content that another one of its name had before */
    struct rz_file_mark mark;
    char bytes[]; /* its path and its content */
};

static struct known_mark *known_mark_of(const struct asked_mark *asked)
{
    size_t path = strlen(asked->path) + 1;
    struct known_mark *known = malloc(sizeof(*known) + path + asked->mark.content_length);
    if (known) {
        *known = (struct known_mark){
            .moment = asked->moment, .number = asked->number, .mark = asked->mark};
        memcpy(known->bytes, asked->path, path);
        memcpy(known->bytes + path, asked->content, asked->mark.content_length);
        known->mark.path = known->bytes;
        known->mark.content = (const uint8_t *)known->bytes + path;
    }
    return known;
}

/* Newest first, as changes are undone: what a file had at the first one is restored last. */
static int compare_known(const void *a, const void *b)
{
    const struct known_mark *x = *(struct known_mark *const *)a,
                            *y = *(struct known_mark *const *)b;
    return x->moment != y->moment ? (x->moment < y->moment) - (x->moment > y->moment)
                                  : (x->number < y->number) - (x->number > y->number);
}

/* All of them, in that order; the process becomes an image, or ends, so nothing is freed. NULL:
 * *status says why. */
static struct known_mark **known_marks(struct rz_link *link, uint32_t epoch, uint64_t since,
                                       size_t *n, rz_status_t *status)
{
    struct asked_mark asked = {.number = 0};
    struct known_mark *last = NULL, **all = NULL;
    *n = 0;
    for (; next_mark(link, epoch, since, &asked, status); ++*n) {
        struct known_mark *known = known_mark_of(&asked);
        if (!known) {
            *status = RZ_ERR_NO_MEMORY;
            return NULL;
        }
        known->next = last;
        last = known;
    }
    if (*status == RZ_OK && !(all = malloc((*n + 1) * sizeof(struct known_mark *)))) {
        *status = RZ_ERR_NO_MEMORY;
    }
    for (size_t i = 0; all && i < *n; i++, last = last->next) {
        all[i] = last;
    }
    if (all) {
        qsort(all, *n, sizeof(struct known_mark *), compare_known);
    }
    return all;
}

static int compare_paths(const void *a, const void *b)
{
    int paths = strcmp((*(struct known_mark *const *)a)->mark.path,
                       (*(struct known_mark *const *)b)->mark.path);
    return paths != 0 ? paths : compare_known(b, a);
}

/* Some hosts have files of their own with the same names. */
static bool same_name(const struct known_mark *a, const struct known_mark *b)
{
    return strcmp(a->mark.path, b->mark.path) == 0 &&
           (a->mark.host == b->mark.host || !(b->mark.flags & RZ_FILE_LOCAL));
}

/* A file that the program has made with the name of an older one is not removed before that one's
 * content is back, for this process may end meanwhile. */
static rz_status_t find_needless(struct known_mark *const *all, size_t n)
{
    struct known_mark **sorted = malloc((n + 1) * sizeof(struct known_mark *)), *kept = NULL;
    if (!sorted) {
        return RZ_ERR_NO_MEMORY;
    }
    memcpy(sorted, all, n * sizeof(struct known_mark *));
    qsort(sorted, n, sizeof(struct known_mark *), compare_paths);
    for (size_t i = 0; i < n; i++) {
        uint32_t flags = sorted[i]->mark.flags;
        if (kept && !same_name(kept, sorted[i])) {
            kept = NULL;
        }
        if (kept && flags & (RZ_FILE_CREATED | RZ_FILE_WANTED)) {
            sorted[i]->needless = true;
            kept->mark.flags |= RZ_FILE_SUCCEEDED;
        } else if (!kept && flags & RZ_FILE_CONTENT &&
                   !(flags & (RZ_FILE_CREATED | RZ_FILE_EMPTIED | RZ_FILE_NEW))) {
            kept = sorted[i];
        }
    }
    free(sorted);
    return RZ_OK;
}

uint64_t rz_closed_files_round(const struct rz_link *link, uint32_t epoch)
{
    return rz_mix(rz_link_info(link)->self.job, epoch) | 1;
}

/* An older one is of the name that the file had at the snapshot. */
static bool was_renamed_before(struct known_mark *const *all, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++) {
        const struct rz_file_mark *older = &all[k]->mark;
        if (older->flags & RZ_FILE_RENAMED && rz_file_mark_same(older, &all[i]->mark)) {
            return true;
        }
    }
    return false;
}

/* Whether nothing has its name now, on this host. */
static bool is_missing(const struct rz_file_mark *mark)
{
    uint64_t inode, made_ns;
    return (mark->host == rz_file_mark_host() || !(mark->flags & RZ_FILE_LOCAL)) &&
           !rz_file_mark_named(mark->path, &inode, &made_ns) && errno == ENOENT;
}

/* When the names are given back: one that had a file at the snapshot has none now, which the
 * program would find missing. */
static bool misses_name(struct known_mark *const *all, size_t n, char *why, size_t max)
{
    for (size_t i = 0; i < n; i++) {
        const struct rz_file_mark *mark = &all[i]->mark;
        if (mark->flags & RZ_FILE_RENAMED && is_missing(mark) && !was_renamed_before(all, n, i)) {
            snprintf(why, max, "%s, which was renamed after it, is gone", mark->path);
            return true;
        }
    }
    return false;
}

static void on_all_restored(void *arg, const struct rz_link_message *message, const int *fds,
                            unsigned n_fds)
{
    bool *answered = arg;
    (void)message; /* a process that waits is of one epoch */
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    *answered = true;
}

/* Files of this process may be with others, which restore them, too. */
static rz_status_t await_others(struct rz_link *link, uint32_t epoch)
{
    rz_kill_here(RZ_KILL_RESTORE_FILES);
    const struct rz_link_message restored = {.type = RZ_LINK_FILES_RESTORED,
                                             .files_restored = {.epoch = epoch}};
    const struct rz_wait_text text = {.call = "a restoration",
                                      .operation = epoch,
                                      .peer = RZ_WAIT_ANY,
                                      .tag = RZ_WAIT_ANY,
                                      .since_ns = rz_clock_now()};
    struct rz_waits *waits = rz_link_info(link)->waits;
    bool answered = false;
    rz_wait_write(&waits->wait[0], &text);
    rz_link_handle(link, RZ_LINK_ALL_FILES_RESTORED, on_all_restored, &answered);
    rz_status_t status = rz_link_send(link, &restored, -1);
    status = status == RZ_OK ? rz_link_await(link, &answered) : status;
    rz_link_handle(link, RZ_LINK_ALL_FILES_RESTORED, NULL, NULL);
    rz_wait_write(&waits->wait[0], NULL);
    return status;
}

/* All that this process is given; RZ_ERR_UNSUPPORTED: *why says what cannot be. */
static rz_status_t restore_marks(struct known_mark *const *all, size_t n, uint64_t round, char *why,
                                 size_t max)
{
    for (size_t i = 0; i < n; i++) {
        const struct rz_file_mark *mark = &all[i]->mark;
        enum rz_file_mark_result result =
            all[i]->needless ? RZ_FILE_AS_MARKED : rz_file_mark_restore(mark, round);
        if (mark->flags & RZ_FILE_UNDONE) {
            snprintf(
                why, max,
                mark->flags & RZ_FILE_RENAMED
                    ? "the program would use the name %s, which another file may have had at it"
                    : "the program would read what was written to %s after it",
                mark->path);
            return RZ_ERR_UNSUPPORTED;
        }
        if (result != RZ_FILE_AS_MARKED && result != RZ_FILE_CUT) {
            snprintf(why, max, "%s, which was %s after it, %s", mark->path,
                     mark->flags & RZ_FILE_RENAMED ? "renamed" : "written to",
                     why_not(mark, result));
            return RZ_ERR_UNSUPPORTED;
        }
    }
    return misses_name(all, n, why, max) ? RZ_ERR_UNSUPPORTED : RZ_OK;
}

rz_status_t rz_closed_files_restore(struct rz_link *link, uint32_t epoch, uint64_t since, char *why,
                                    size_t max)
{
    rz_status_t status;
    size_t n;
    struct known_mark **all = known_marks(link, epoch, since, &n, &status);
    status = all ? find_needless(all, n) : status;
    if (status == RZ_OK) {
        status = restore_marks(all, n, rz_closed_files_round(link, epoch), why, max);
        if (status != RZ_OK) {
            return status;
        }
        status = await_others(link, epoch);
    }
    if (status != RZ_OK) {
        snprintf(why, max, "%s", rz_status_text(status));
    }
    return status;
}

/* The program finds it as it has left it. What it had not read it writes again as it did before. */
static bool is_left(const struct rz_file_mark *mark)
{
    enum rz_file_mark_result result = rz_file_mark_restore(mark, 0);
    return !(mark->flags & RZ_FILE_UNREAD) && result != RZ_FILE_AS_MARKED &&
           (result != RZ_FILE_LOST || mark->flags & RZ_FILE_CONTENT);
}

/* What the program finds that it has not made yet. */
static const char *what_is_left(const struct rz_file_mark *mark)
{
    return mark->flags & RZ_FILE_RENAMED   ? "got another name"
           : mark->flags & RZ_FILE_CONTENT ? "has what was written to it before"
                                           : "has what was appended to it before";
}

void rz_closed_files_tell(struct rz_link *link, uint32_t epoch)
{
    struct asked_mark asked = {.number = 0};
    char first[RZ_FILE_PATH_BYTES], more[64] = "";
    const char *what = "";
    uint32_t rank = rz_link_info(link)->self.rank, n = 0;
    rz_status_t status;
    while (next_mark(link, epoch, 0, &asked, &status)) {
        if (asked.rank != rank || !is_left(&asked.mark)) {
            continue; /* of a rank that was on this node or the one before, which says it itself */
        }
        if (n == 0) {
            snprintf(first, sizeof(first), "%s", asked.path);
            what = what_is_left(&asked.mark);
        }
        n += n == 0 || strcmp(first, asked.path) != 0;
    }
    if (n > 1) {
        snprintf(more, sizeof(more), "; so it is with %u more", n - 1);
    }
    if (n > 0) {
        fprintf(stderr, "rhizome: rank %u begins again from its start, and %s %s%s\n", rank, first,
                what, more);
    }
}
