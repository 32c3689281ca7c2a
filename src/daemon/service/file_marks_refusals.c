/* SPDX-License-Identifier: BSD-3-Clause */
/* Why an image is of no use, by what this node knows of marks. */
#include "daemon/service/file_marks_private.h"

#include "base/no_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mark that this node should have is not there any more: files would have what is rolled back. */
static bool refuses_dropped(const struct rz_file_marks *marks, struct rz_child *p, uint64_t since)
{
    for (uint32_t slot = 0; slot < marks->own->job.n_slots; slot++) {
        const struct rank_marks *of = &marks->ranks[slot];
        if (of->dropped > since && of->owner == marks->own->job.node) {
            char why[160];
            snprintf(why, sizeof(why),
                     "rank %u has opened more than %u files for writing after it, and how long all "
                     "of them were is not known",
                     slot, marks->each);
            marks->config.unrestored(marks->config.arg, p, why);
            return true;
        }
    }
    return false;
}

/* It was thought that nothing goes back so far. */
static bool refuses_forgotten(const struct rz_file_marks *marks, struct rz_child *p, uint64_t since)
{
    if (since < marks->oldest) {
        marks->config.unrestored(marks->config.arg, p,
                                 "which files were written to after it is not known any more");
    }
    return since < marks->oldest;
}

/* Those who had marks of what is rolled back have failed. */
static bool refuses_lost(const struct rz_file_marks *marks, struct rz_child *p, uint64_t since)
{
    const struct rz_mark_pair *lost =
        rz_mark_keepers_lost(&marks->keepers, &marks->own->membership, since);
    char why[160];
    if (!lost) {
        return false;
    }
    snprintf(why, sizeof(why),
             "nodes %u and %u have failed, and no other one knows which files were written to "
             "after it",
             lost->owner, lost->keeper);
    marks->config.unrestored(marks->config.arg, p, why);
    return true;
}

/* ---- Names that several ranks have given ---- */

/* One of the two names of a mark. */
struct given_name {
    const char *path;
    size_t length;
    uint64_t host; /* 0: of all */
    uint32_t rank;
};

static int compare_given(const void *a, const void *b)
{
    const struct given_name *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int paths = memcmp(x->path, y->path, least);
    return paths != 0               ? paths
           : x->length != y->length ? (x->length > y->length) - (x->length < y->length)
           : x->host != y->host     ? (x->host > y->host) - (x->host < y->host)
                                    : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool same_name(const struct given_name *a, const struct given_name *b)
{
    return a->length == b->length && a->host == b->host && memcmp(a->path, b->path, a->length) == 0;
}

static bool gives_name(const struct file_mark *mark, uint64_t since)
{
    return mark->moment >= since && mark->content &&
           (mark->file.flags & (RZ_FILE_RENAMED | RZ_FILE_UNDONE)) == RZ_FILE_RENAMED;
}

/* Those since then, sorted; [*n], allocated. */
static struct given_name *given_names(const struct rz_file_marks *marks, uint64_t since, size_t *n)
{
    *n = 0;
    for (const struct file_mark *mark = marks->first; mark; mark = mark->next) {
        *n += gives_name(mark, since) ? 2 : 0;
    }
    struct given_name *names = malloc((*n + 1) * sizeof(*names)), *next = names;
    rz_need_memory(names, "for the names of files");
    for (const struct file_mark *mark = marks->first; mark; mark = mark->next) {
        uint64_t host = mark->file.flags & RZ_FILE_LOCAL ? mark->file.host : 0;
        if (gives_name(mark, since)) {
            *next++ = (struct given_name){mark->path, strlen(mark->path), host, mark->rank};
            *next++ = (struct given_name){(const char *)mark->content, mark->file.content_length,
                                          host, mark->rank};
        }
    }
    qsort(names, *n, sizeof(*names), compare_given);
    return names;
}

/* Each rank undoes its own renames. Without an order between them files would get names that they
 * never had. */
static bool refuses_names(const struct rz_file_marks *marks, struct rz_child *p, uint64_t since)
{
    size_t n;
    struct given_name *names = given_names(marks, since, &n);
    bool refused = false;
    for (size_t i = 1; i < n && !refused; i++) {
        refused = names[i - 1].rank != names[i].rank && same_name(&names[i - 1], &names[i]);
        if (refused) {
            char why[320];
            snprintf(why, sizeof(why),
                     "ranks %u and %u have renamed files from or to %.*s after it",
                     names[i - 1].rank, names[i].rank,
                     (int)(names[i].length < 200 ? names[i].length : 200), names[i].path);
            marks->config.unrestored(marks->config.arg, p, why);
        }
    }
    free(names);
    return refused;
}

bool rz_file_marks_refuse(const struct rz_file_marks *marks, struct rz_child *p,
                          const struct rz_link_file_mark_ask *asked)
{
    return refuses_forgotten(marks, p, asked->since) || refuses_dropped(marks, p, asked->since) ||
           (asked->after == 0 &&
            (refuses_lost(marks, p, asked->since) || refuses_names(marks, p, asked->since)));
}
