/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the status documents: one request to each daemon; and makes one of each job. */
#include "view/look.h"

#include "base/job_bounds.h"
#include "base/no_memory.h"
#include "base/printable.h"
#include "port/clock.h"
#include "port/prompt.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SILENT_MAX_MS = 2000, AGAIN_MS = 10, OPEN_MAX = 256, FIRST_BYTES = 1 << 14 };
/* Of one answer, in bytes; of one of another user, which is longer than the page of any job. */
#define ANSWER_MAX ((size_t)64 << 20)
#define PAGE_MAX ((size_t)16 << 20)
/* Of all answers of another user, and of all other users, in a look: the bytes of their texts and
 * of the documents made of them. */
#define USER_MAX ((size_t)256 << 20)
#define FOREIGN_MAX ((size_t)512 << 20)
/* At most what a list or an object takes, empty, and what is one more value or field of it. */
enum { LIST_BYTES = 256, VALUE_BYTES = 96 };
/* What a job can have (docs/bounds.md), with as many spawned processes as ranks; and the dynamic
 * groups that a daemon knows. */
enum { PAGE_NODES_MAX = RZ_NODES_MAX, PAGE_SLOTS_MAX = RZ_SLOTS_MAX, PAGE_GROUPS_MAX = 128 };
/* After this time what has not answered is left out, however it delays its answer. */
#define LOOK_BOUND (6 * RZ_SECOND)

/* ---- merging ---- */

static json_int_t number_of(const json_t *page, const char *key)
{
    return json_integer_value(json_object_get(page, key));
}

/* Set by rz_look. */
json_int_t rz_look_user(const json_t *page)
{
    const json_t *uid = json_object_get(page, "uid");
    return json_is_integer(uid) ? json_integer_value(uid) : -1;
}

unsigned rz_look_owner(const json_t *job)
{
    json_int_t uid = rz_look_user(job);
    return uid < 0 ? (unsigned)geteuid() : (unsigned)uid;
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
    order =
        order ? order : (rz_look_user(l) > rz_look_user(r)) - (rz_look_user(l) < rz_look_user(r));
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
               rz_look_user(sorted[to]) == rz_look_user(sorted[from])) {
            to++;
        }
        json_array_append(jobs, merge_job(sorted + from, to - from));
    }
    free(sorted);
    return jobs;
}

static double age_of(const json_t *job)
{
    return json_number_value(json_object_get(job, "seconds"));
}

struct rz_look_choice rz_look_choose(const json_t *jobs, bool named)
{
    struct rz_look_choice choice = {.job = NULL};
    const json_t *newest = NULL;
    json_t *job;
    bool own = false;
    size_t i;
    json_array_foreach(jobs, i, job) own |= rz_look_user(job) < 0;
    json_array_foreach(jobs, i, job)
    {
        if (own != (rz_look_user(job) < 0)) {
            continue;
        }
        if (choice.n < 2) {
            choice.two[choice.n] = job;
        }
        choice.n++;
        newest = !newest || age_of(job) < age_of(newest) ? job : newest;
    }
    choice.job = choice.n == 1 || (own && !named) ? newest : NULL;
    return choice;
}

const json_t *rz_look_find(const json_t *jobs, const char *number, json_int_t uid)
{
    json_t *job;
    size_t i;
    json_array_foreach(jobs, i, job)
    {
        if (rz_look_user(job) == uid && strcmp(job_of(job), number) == 0) {
            return job;
        }
    }
    return NULL;
}

json_t *rz_look_words(const json_t *pages)
{
    json_t *words = json_array(), *page;
    size_t i;
    rz_need_memory(words, "for words about documents");
    json_array_foreach(pages, i, page)
    {
        json_t *text = json_object_get(page, "passed_over");
        if (!*job_of(page) && json_is_string(text)) {
            clean(text);
            json_array_append(words, text);
        }
    }
    return words;
}

/* ---- asking ---- */

/* Another user who has daemons here. */
struct look_user {
    uid_t uid;
    size_t bytes;    /* of its answers in this look: nothing that was read is forgotten */
    size_t n_passed; /* pages that were passed over */
    char why[200];   /* the first one of them */
};

enum ask_state { ASK_WAITS, ASK_READS, ASK_OVER };

/* One daemon. */
struct ask {
    struct rz_local_name name;
    struct look_user *user; /* NULL: the one that asks */
    size_t turn;            /* its number among those of its user */
    enum ask_state state;
    int fd;
    char *text;
    size_t n, room;
    rz_time heard;
};

struct look {
    struct ask *asks;
    struct look_user *users; /* [n_users] */
    size_t n, n_users, open, foreign_bytes;
    json_t *pages;
};

/* Own ones first, then those of all other users in turn: none can hide what another one has. */
static int by_turn(const void *a, const void *b)
{
    const struct ask *l = a, *r = b;
    int order = (l->user != NULL) - (r->user != NULL);
    order = order ? order : (l->turn > r->turn) - (l->turn < r->turn);
    return order ? order : (l->name.uid > r->name.uid) - (l->name.uid < r->name.uid);
}

static void ask_end(struct look *look, struct ask *ask)
{
    if (ask->state == ASK_READS) {
        rz_prompt_close(ask->fd);
        look->open--;
    }
    free(ask->text);
    ask->text = NULL;
    ask->room = 0;
    ask->state = ASK_OVER;
}

static void pass_over(const struct ask *ask, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void pass_over(const struct ask *ask, const char *format, ...)
{
    struct look_user *user = ask->user;
    va_list arguments;
    if (user->n_passed++ > 0) {
        return;
    }
    int n = snprintf(user->why, sizeof(user->why),
                     "a page of uid %u is passed over (job %016" PRIx64 ", node %u): it ",
                     (unsigned)user->uid, ask->name.job, ask->name.node);
    va_start(arguments, format);
    vsnprintf(user->why + n, sizeof(user->why) - (size_t)n, format, arguments);
    va_end(arguments);
}

/* False: it is too much of this user, or of all others. */
static bool afford(struct look *look, const struct ask *ask, size_t bytes)
{
    if (!ask->user) {
        return true;
    }
    if (bytes > USER_MAX - ask->user->bytes || bytes > FOREIGN_MAX - look->foreign_bytes) {
        pass_over(ask, "takes more memory than pages of other users may");
        return false;
    }
    ask->user->bytes += bytes;
    look->foreign_bytes += bytes;
    return true;
}

/* At most so many bytes does the document of this text take. */
static size_t document_bytes(const char *text, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += text[i] == '[' || text[i] == '{' ? LIST_BYTES + VALUE_BYTES
                 : text[i] == ','                 ? VALUE_BYTES
                                                  : 1;
    }
    return bytes;
}

/* Whether the page of another user may be one of a job. */
static bool is_of_a_job(const struct ask *ask, const json_t *page)
{
    const struct {
        const char *list;
        size_t max;
    } bounds[] = {{"nodes", PAGE_NODES_MAX},
                  {"ranks", PAGE_SLOTS_MAX},
                  {"processes", PAGE_SLOTS_MAX},
                  {"groups", PAGE_GROUPS_MAX}};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        size_t n = json_array_size(json_object_get(page, bounds[i].list));
        if (n > bounds[i].max) {
            pass_over(ask, "says %zu %s, and no page of a job has more than %zu", n, bounds[i].list,
                      bounds[i].max);
            return false;
        }
    }
    return true;
}

/* The document, if it is of the daemon that the name is of: of what it says of itself nothing else
 * can be checked but that a job can be so. */
static void ask_take(struct look *look, struct ask *ask)
{
    char number[17];
    if (!afford(look, ask, document_bytes(ask->text, ask->n))) {
        return;
    }
    json_t *page = json_loadb(ask->text, ask->n, 0, NULL), *node = json_object_get(page, "node");
    snprintf(number, sizeof(number), "%016" PRIx64, ask->name.job);
    if (strcmp(job_of(page), number) == 0 && json_is_integer(node) &&
        json_integer_value(node) == (json_int_t)ask->name.node &&
        (!ask->user || is_of_a_job(ask, page))) {
        json_object_del(page, "uid");
        if (ask->user) {
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
    if (ask->user && room > PAGE_MAX) {
        pass_over(ask, "is longer than %zu MiB", PAGE_MAX >> 20);
        return false;
    }
    if (room > ANSWER_MAX || !afford(look, ask, more)) {
        return false;
    }
    char *bigger = realloc(ask->text, room);
    if (!bigger) {
        return false;
    }
    ask->text = bigger;
    ask->room = room;
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

/* Appends what is to be said of pages that were passed over: a text of each user. */
static void say_passed_over(const struct look *look)
{
    for (size_t i = 0; i < look->n_users; i++) {
        const struct look_user *user = &look->users[i];
        char more[64] = "";
        if (user->n_passed == 0) {
            continue;
        }
        if (user->n_passed > 1) {
            snprintf(more, sizeof(more), "; %zu more are, too", user->n_passed - 1);
        }
        json_t *said = json_pack("{s:s+}", "passed_over", user->why, more);
        rz_need_memory(said, "for words about documents");
        json_array_append_new(look->pages, said);
    }
}

/* A question to each daemon, of n names that are sorted by user. */
static void look_prepare(struct look *look, const struct rz_local_name *names, size_t n,
                         const char *prefix)
{
    size_t turn = 0;
    look->asks = calloc(n + 1, sizeof(*look->asks));
    look->users = calloc(n + 1, sizeof(*look->users));
    rz_need_memory(look->asks && look->users, "for the daemons of this machine");
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && names[i].uid == names[i - 1].uid, other = names[i].uid != geteuid();
        turn = same ? turn + 1 : 0;
        if (other && !same) {
            look->users[look->n_users++].uid = names[i].uid;
        }
        if (!prefix || rz_local_begins(&names[i], prefix)) {
            look->asks[look->n++] =
                (struct ask){.name = names[i],
                             .turn = turn,
                             .user = other ? &look->users[look->n_users - 1] : NULL};
        }
    }
    qsort(look->asks, look->n, sizeof(*look->asks), by_turn);
}

rz_status_t rz_look(const char *prefix, bool all_users, json_t *pages)
{
    struct rz_local_name *names = NULL;
    struct look look = {.pages = pages};
    size_t n = 0;
    rz_time until = rz_clock_now() + LOOK_BOUND;
    rz_status_t status = rz_local_list(geteuid(), all_users, &names, &n);
    if (status != RZ_OK) {
        return status;
    }
    look_prepare(&look, names, n, prefix);
    free(names);
    while (look_on(&look) && rz_clock_now() < until) {
        ;
    }
    for (size_t i = 0; i < look.n; i++) {
        ask_end(&look, &look.asks[i]);
    }
    say_passed_over(&look);
    free(look.asks);
    free(look.users);
    return RZ_OK;
}
