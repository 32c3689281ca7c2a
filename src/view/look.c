/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the status documents: one request to each daemon; and makes one of each job. */
#include "view/look.h"

#include "base/no_memory.h"
#include "base/printable.h"
#include "port/clock.h"
#include "port/prompt.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SILENT_MAX_MS = 2000, AGAIN_MS = 10, OPEN_MAX = 256, FIRST_BYTES = 1 << 14 };
/* Of one answer, and of all of other users together. */
#define ANSWER_MAX ((size_t)64 << 20)
#define FOREIGN_MAX ((size_t)256 << 20)
/* After this time what has not answered is left out, however it delays its answer. */
#define LOOK_BOUND (6 * RZ_SECOND)

/* ---- merging ---- */

static json_int_t number_of(const json_t *page, const char *key)
{
    return json_integer_value(json_object_get(page, key));
}

/* Set by rz_look: the user, if it is not the one that looks. */
static json_int_t user_of(const json_t *page)
{
    const json_t *uid = json_object_get(page, "uid");
    return json_is_integer(uid) ? json_integer_value(uid) : -1;
}

static const char *job_of(const json_t *page)
{
    const char *job = json_string_value(json_object_get(page, "job"));
    return job ? job : "";
}

/* By job, user and node; of one node the newest epoch first. */
static int by_daemon(const void *a, const void *b)
{
    const json_t *l = *(json_t *const *)a, *r = *(json_t *const *)b;
    json_int_t nodes[] = {number_of(l, "node"), number_of(r, "node")};
    json_int_t epochs[] = {number_of(r, "epoch"), number_of(l, "epoch")};
    int order = strcmp(job_of(l), job_of(r));
    order = order ? order : (user_of(l) > user_of(r)) - (user_of(l) < user_of(r));
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

/* Adds those of a page that are not there yet; `names` has the names of those that are. */
static void merge_groups(json_t *groups, json_t *names, const json_t *more)
{
    json_t *one;
    size_t i;
    json_array_foreach(more, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && !json_object_get(names, name)) {
            json_object_set_new(names, name, json_true());
            json_array_append(groups, one);
        }
    }
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
static void merge_page(json_t *job, json_t *names, const json_t *page)
{
    json_array_extend(json_object_get(job, "processes"), json_object_get(page, "processes"));
    merge_checkpoint(json_object_get(job, "checkpoint"), json_object_get(page, "checkpoint"));
    merge_groups(json_object_get(job, "groups"), names, json_object_get(page, "groups"));
}

/* The document of a job, of those of its daemons, n > 0 of them, sorted. What is of the job as a
 * whole is taken from the newest epoch: a node that was cut off may answer, too. */
static json_t *merge_job(json_t *const *pages, size_t n)
{
    json_t *names = json_object();
    size_t newest = 0;
    rz_need_memory(names, "for the groups of a job");
    for (size_t i = 1; i < n; i++) {
        if (number_of(pages[i], "epoch") > number_of(pages[newest], "epoch")) {
            newest = i;
        }
    }
    merge_groups(NULL, names, json_object_get(pages[newest], "groups"));
    for (size_t i = 0; i < n; i++) {
        bool again = i > 0 && number_of(pages[i], "node") == number_of(pages[i - 1], "node");
        set_node(pages[i]);
        if (i != newest && !again) {
            merge_page(pages[newest], names, pages[i]);
        }
    }
    json_decref(names);
    return pages[newest];
}

static char *clean_copy(const char *text, size_t n)
{
    char *copy = rz_need_copy(text, n + 1, "for a text");
    rz_printable(copy, n, "");
    return copy;
}

/* Texts are of programs and users: a terminal shows them, and names of fields, too. */
static void clean(json_t *value)
{
    const char *key;
    json_t *one;
    size_t i;
    void *next;
    if (json_is_string(value)) {
        size_t n = json_string_length(value);
        char *text = clean_copy(json_string_value(value), n);
        json_string_setn(value, text, n);
        free(text);
    }
    json_array_foreach(value, i, one)
    {
        clean(one);
    }
    json_object_foreach_safe(value, next, key, one)
    {
        clean(one);
        char *name = clean_copy(key, strlen(key));
        if (strcmp(name, key) != 0) { /* fields that are alike now are one */
            json_object_set(value, name, one);
            json_object_del(value, key);
        }
        free(name);
    }
}

json_t *rz_look_jobs(json_t *pages)
{
    size_t all = json_array_size(pages), n = 0;
    json_t *jobs = json_array(), **sorted = calloc(all + 1, sizeof(json_t *));
    rz_need_memory(jobs && sorted, "for the documents of jobs");
    for (size_t i = 0; i < all; i++) {
        json_t *page = json_array_get(pages, i);
        if (*job_of(page)) {
            clean(page);
            sorted[n++] = page;
        }
    }
    qsort(sorted, n, sizeof(*sorted), by_daemon);
    for (size_t from = 0, to = 0; from < n; from = to) {
        while (to < n && strcmp(job_of(sorted[to]), job_of(sorted[from])) == 0 &&
               user_of(sorted[to]) == user_of(sorted[from])) {
            to++;
        }
        json_array_append(jobs, merge_job(sorted + from, to - from));
    }
    free(sorted);
    return jobs;
}

/* ---- asking ---- */

enum ask_state { ASK_WAITS, ASK_READS, ASK_OVER };

/* One daemon. */
struct ask {
    struct rz_local_name name;
    size_t turn; /* its number among those of its user */
    enum ask_state state;
    int fd;
    char *text;
    size_t n, room;
    rz_time heard;
};

struct look {
    struct ask *asks;
    size_t n, open, foreign_bytes;
    json_t *pages;
};

static bool ask_is_foreign(const struct ask *ask)
{
    return ask->name.uid != geteuid();
}

/* Own ones first, then those of all other users in turn: none can hide what another one has. */
static int by_turn(const void *a, const void *b)
{
    const struct ask *l = a, *r = b;
    int order = (int)ask_is_foreign(l) - (int)ask_is_foreign(r);
    order = order ? order : (l->turn > r->turn) - (l->turn < r->turn);
    return order ? order : (l->name.uid > r->name.uid) - (l->name.uid < r->name.uid);
}

static void ask_end(struct look *look, struct ask *ask)
{
    if (ask->state == ASK_READS) {
        rz_prompt_close(ask->fd);
        look->open--;
    }
    look->foreign_bytes -= ask_is_foreign(ask) ? ask->room : 0;
    free(ask->text);
    ask->text = NULL;
    ask->room = 0;
    ask->state = ASK_OVER;
}

/* The document, if it is of the daemon that the name is of: of what it says of itself nothing else
 * can be checked. */
static void ask_take(struct look *look, struct ask *ask)
{
    char number[17];
    json_t *page = json_loadb(ask->text, ask->n, 0, NULL), *node = json_object_get(page, "node");
    snprintf(number, sizeof(number), "%016" PRIx64, ask->name.job);
    if (strcmp(job_of(page), number) == 0 && json_is_integer(node) &&
        json_integer_value(node) == (json_int_t)ask->name.node) {
        json_object_del(page, "uid");
        if (ask_is_foreign(ask)) {
            json_object_set_new(page, "uid", json_integer((json_int_t)ask->name.uid));
        }
        json_array_append(look->pages, page);
    }
    json_decref(page);
}

/* False: there is no space for more. */
static bool ask_grow(struct look *look, struct ask *ask)
{
    size_t room = ask->room ? 2 * ask->room : FIRST_BYTES, more = room - ask->room;
    if (room > ANSWER_MAX || (ask_is_foreign(ask) && look->foreign_bytes + more > FOREIGN_MAX)) {
        return false;
    }
    char *bigger = realloc(ask->text, room);
    if (!bigger) {
        return false;
    }
    ask->text = bigger;
    ask->room = room;
    look->foreign_bytes += ask_is_foreign(ask) ? more : 0;
    return true;
}

static void ask_read(struct look *look, struct ask *ask)
{
    size_t n;
    rz_status_t status = ask->n < ask->room || ask_grow(look, ask)
                             ? rz_local_read(ask->fd, ask->text + ask->n, ask->room - ask->n, &n)
                             : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        ask->n += n;
        ask->heard = rz_clock_now();
    } else if (status != RZ_IN_PROGRESS) {
        if (status == RZ_ERR_CLOSED && ask->n > 0) {
            ask_take(look, ask);
        }
        ask_end(look, ask);
    }
}

static void ask_begin(struct look *look, struct ask *ask)
{
    uid_t peer;
    size_t n;
    rz_status_t status = rz_local_connect(&ask->name, &ask->fd, &peer);
    rz_time now = rz_clock_now();
    ask->heard = ask->heard ? ask->heard : now;
    if (status == RZ_IN_PROGRESS && now - ask->heard < SILENT_MAX_MS * RZ_MILLISECOND) {
        return; /* too many others wait there: tried again */
    }
    ask->state = status == RZ_OK ? ASK_READS : ASK_OVER;
    look->open += status == RZ_OK;
    ask->heard = now;
    if (status == RZ_OK && (rz_local_write(ask->fd, "status\n", 7, &n) != RZ_OK || n != 7)) {
        ask_end(look, ask);
    }
}

/* One round: begins what can begin, and reads what is there. False: all are over. */
static bool look_on(struct look *look)
{
    struct pollfd polled[OPEN_MAX];
    struct ask *of[OPEN_MAX];
    nfds_t n = 0;
    bool waits = false;
    for (size_t i = 0; i < look->n; i++) {
        struct ask *ask = &look->asks[i];
        if (ask->state == ASK_WAITS && look->open < OPEN_MAX) {
            ask_begin(look, ask);
        }
        waits |= ask->state == ASK_WAITS;
        if (ask->state == ASK_READS) {
            of[n] = ask;
            polled[n++] = (struct pollfd){.fd = ask->fd, .events = POLLIN};
        }
    }
    poll(polled, n, waits ? AGAIN_MS : n > 0 ? SILENT_MAX_MS : 0);
    for (nfds_t i = 0; i < n; i++) {
        if (polled[i].revents) {
            ask_read(look, of[i]);
        } else if (rz_clock_now() - of[i]->heard > SILENT_MAX_MS * RZ_MILLISECOND) {
            ask_end(look, of[i]);
        }
    }
    return waits || n > 0;
}

rz_status_t rz_look(const char *prefix, bool all_users, json_t *pages)
{
    struct rz_local_name *names = NULL;
    struct look look = {.pages = pages};
    size_t n = 0, turn = 0;
    rz_time until = rz_clock_now() + LOOK_BOUND;
    rz_status_t status = rz_local_list(geteuid(), all_users, &names, &n);
    if (status != RZ_OK) {
        return status;
    }
    look.asks = calloc(n + 1, sizeof(*look.asks));
    rz_need_memory(look.asks, "for the daemons of this machine");
    for (size_t i = 0; i < n; i++) {
        turn = i > 0 && names[i].uid == names[i - 1].uid ? turn + 1 : 0;
        if (!prefix || rz_local_begins(&names[i], prefix)) {
            look.asks[look.n++] = (struct ask){.name = names[i], .turn = turn};
        }
    }
    free(names);
    qsort(look.asks, look.n, sizeof(*look.asks), by_turn);
    while (look_on(&look) && rz_clock_now() < until) {
        ;
    }
    for (size_t i = 0; i < look.n; i++) {
        ask_end(&look, &look.asks[i]);
    }
    free(look.asks);
    return RZ_OK;
}
