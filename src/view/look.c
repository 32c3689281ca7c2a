/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the status documents: one request to each daemon, and one document for each job. */
#include "view/look.h"

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

static void merge_checkpoint(json_t *into, const json_t *from)
{
    json_t *bytes = json_object_get(into, "bytes");
    if (!bytes || json_integer_value(json_object_get(into, "generation")) !=
                      json_integer_value(json_object_get(from, "generation"))) {
        return;
    }
    json_integer_set(bytes, json_integer_value(bytes) +
                                json_integer_value(json_object_get(from, "bytes")));
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

void rz_look_merge(json_t **job, json_t *page)
{
    json_t *processes = json_object_get(page, "processes"), *one;
    size_t i;
    json_array_foreach(processes, i, one)
    {
        if (!json_object_get(one, "node")) {
            json_object_set(one, "node", json_object_get(page, "node"));
        }
    }
    if (!*job) {
        *job = json_incref(page);
        return;
    }
    json_array_extend(json_object_get(*job, "processes"), processes);
    merge_checkpoint(json_object_get(*job, "checkpoint"), json_object_get(page, "checkpoint"));
    json_t *groups = json_object_get(*job, "groups");
    json_array_foreach(json_object_get(page, "groups"), i, one)
    {
        if (!has_group(groups, one)) {
            json_array_append(groups, one);
        }
    }
}

/* The document of the job of names[*at], of all its daemons; *at is moved to the next job. NULL:
 * none answered. */
static json_t *ask_job(const struct rz_local_name *names, size_t n, size_t *at, rz_time until)
{
    json_t *job = NULL;
    uint64_t id = names[*at].job;
    for (; *at < n && names[*at].job == id; ++*at) {
        json_t *page = rz_clock_now() < until ? ask_daemon(&names[*at]) : NULL;
        if (json_is_object(page)) {
            rz_look_merge(&job, page);
        }
        json_decref(page);
    }
    return job;
}

rz_status_t rz_look(const char *prefix, bool all_users, json_t **jobs)
{
    struct rz_local_name *names = NULL;
    size_t n = 0, at = 0;
    rz_time until = rz_clock_now() + LOOK_BOUND;
    rz_status_t status = rz_local_list(geteuid(), all_users, &names, &n);
    if (status != RZ_OK) {
        return status;
    }
    json_t *list = json_array();
    while (list && at < n) {
        if (prefix && !rz_local_begins(&names[at], prefix)) {
            at++;
            continue;
        }
        json_t *job = ask_job(names, n, &at, until);
        if (job) {
            json_array_append_new(list, job);
        }
    }
    free(names);
    *jobs = list;
    return list ? RZ_OK : RZ_ERR_NO_MEMORY;
}
