/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the status documents: one request to each daemon; and makes one of each job. */
#include "view/look.h"

#include "base/no_memory.h"
#include "port/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MAX = 64 << 20, TIMEOUT_MS = 2000 };
/* Of a machine whose daemons do not answer, after this time the others are not asked any more. */
#define LOOK_BOUND (6 * RZ_SECOND)

/* All input until the daemon closes the connection; NULL: nothing useful arrived in time. */
static char *read_all(int fd, size_t *n)
{
    size_t room = 1 << 16;
    char *text = malloc(room);
    *n = 0;
    while (text) {
        ssize_t got = recv(fd, text + *n, room - *n, 0);
        if (got == 0) {
            return text;
        }
        if (got < 0 || room > ANSWER_MAX) {
            break;
        }
        *n += (size_t)got;
        if (*n == room) {
            char *bigger = realloc(text, room *= 2);
            if (!bigger) {
                break;
            }
            text = bigger;
        }
    }
    free(text);
    return NULL;
}

/* The status of one daemon, or NULL: it has ended meanwhile, or does not answer. */
static json_t *ask_daemon(const struct rz_local_name *name)
{
    int fd;
    size_t n;
    if (rz_local_connect(name->uid, name->job, name->node, TIMEOUT_MS, &fd) != RZ_OK) {
        return NULL;
    }
    char *text = send(fd, "status\n", 7, MSG_NOSIGNAL) == 7 ? read_all(fd, &n) : NULL;
    json_t *page = text ? json_loadb(text, n, 0, NULL) : NULL;
    free(text);
    close(fd);
    return page;
}

/* ---- merging ---- */

static json_int_t number_of(const json_t *page, const char *key)
{
    return json_integer_value(json_object_get(page, key));
}

static const char *job_of(const json_t *page)
{
    const char *job = json_string_value(json_object_get(page, "job"));
    return job ? job : "";
}

/* By job, then node; of one node the newest epoch first. */
static int by_daemon(const void *a, const void *b)
{
    const json_t *l = *(json_t *const *)a, *r = *(json_t *const *)b;
    json_int_t nodes[] = {number_of(l, "node"), number_of(r, "node")};
    json_int_t epochs[] = {number_of(r, "epoch"), number_of(l, "epoch")};
    int order = strcmp(job_of(l), job_of(r));
    order = order ? order : (nodes[0] > nodes[1]) - (nodes[0] < nodes[1]);
    return order ? order : (epochs[0] > epochs[1]) - (epochs[0] < epochs[1]);
}

static void merge_checkpoint(json_t *into, const json_t *from)
{
    json_t *bytes = json_object_get(into, "bytes");
    if (!bytes || number_of(into, "generation") != number_of(from, "generation")) {
        return;
    }
    json_integer_set(bytes, json_integer_value(bytes) + number_of(from, "bytes"));
    if (json_is_false(json_object_get(from, "safe"))) {
        json_object_set_new(into, "safe", json_false());
    }
}

static bool has_group(const json_t *groups, const json_t *wanted)
{
    json_t *one;
    size_t i;
    json_array_foreach(groups, i, one)
    {
        if (json_equal(json_object_get(one, "name"), json_object_get(wanted, "name"))) {
            return true;
        }
    }
    return false;
}

static void set_node(json_t *page)
{
    json_t *one;
    size_t i;
    json_array_foreach(json_object_get(page, "processes"), i, one)
    {
        json_object_set(one, "node", json_object_get(page, "node"));
    }
}

/* Adds what another document of the same job has in addition: processes, groups and bytes of
 * checkpoints of its node. */
static void merge_page(json_t *job, const json_t *page)
{
    json_t *groups = json_object_get(job, "groups"), *one;
    size_t i;
    json_array_extend(json_object_get(job, "processes"), json_object_get(page, "processes"));
    merge_checkpoint(json_object_get(job, "checkpoint"), json_object_get(page, "checkpoint"));
    json_array_foreach(json_object_get(page, "groups"), i, one)
    {
        if (!has_group(groups, one)) {
            json_array_append(groups, one);
        }
    }
}

/* The document of a job, of those of its daemons, n > 0 of them, sorted. What is of the job as a
 * whole is taken from the newest epoch: a node that was cut off may answer, too. */
static json_t *merge_job(json_t *const *pages, size_t n)
{
    size_t newest = 0;
    for (size_t i = 1; i < n; i++) {
        if (number_of(pages[i], "epoch") > number_of(pages[newest], "epoch")) {
            newest = i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        bool again = i > 0 && number_of(pages[i], "node") == number_of(pages[i - 1], "node");
        set_node(pages[i]);
        if (i != newest && !again) {
            merge_page(pages[newest], pages[i]);
        }
    }
    return pages[newest];
}

json_t *rz_look_jobs(json_t *pages)
{
    size_t all = json_array_size(pages), n = 0;
    json_t *jobs = json_array(), **sorted = calloc(all + 1, sizeof(json_t *));
    rz_need_memory(jobs && sorted, "for the documents of jobs");
    for (size_t i = 0; i < all; i++) {
        json_t *page = json_array_get(pages, i);
        if (*job_of(page)) {
            sorted[n++] = page;
        }
    }
    qsort(sorted, n, sizeof(*sorted), by_daemon);
    for (size_t from = 0, to = 0; from < n; from = to) {
        while (to < n && strcmp(job_of(sorted[to]), job_of(sorted[from])) == 0) {
            to++;
        }
        json_array_append(jobs, merge_job(sorted + from, to - from));
    }
    free(sorted);
    return jobs;
}

/* ---- asking ---- */

rz_status_t rz_look(const char *prefix, bool all_users, json_t *pages)
{
    struct rz_local_name *names = NULL;
    size_t n = 0;
    rz_time until = rz_clock_now() + LOOK_BOUND;
    rz_status_t status = rz_local_list(geteuid(), all_users, &names, &n);
    for (size_t i = 0; status == RZ_OK && i < n && rz_clock_now() < until; i++) {
        json_t *page = !prefix || rz_local_begins(&names[i], prefix) ? ask_daemon(&names[i]) : NULL;
        if (json_is_object(page)) {
            json_array_append(pages, page);
        }
        json_decref(page);
    }
    free(names);
    return status;
}
