/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the environment of a process as an array that grows: each source adds entries, and a later
 * entry replaces an earlier one of the same name. */
#include "daemon/process/environment.h"

#include "daemon/state/job.h"
#include "net/ucx/ucx.h"
#include "wire/link_messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

#define ENTRY_BYTES 160 /* the longest entry made here */

struct environment {
    char **entries;
    size_t n, room;
    bool out_of_memory;
};

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

static char **find_entry(const struct environment *e, const char *entry)
{
    size_t n = name_length(entry);
    for (size_t i = 0; i < e->n; i++) {
        if (name_length(e->entries[i]) == n && memcmp(e->entries[i], entry, n) == 0) {
            return &e->entries[i];
        }
    }
    return NULL;
}

/* Sets an entry; one of the same name is replaced. */
static void set_entry(struct environment *e, const char *entry)
{
    char *copy = strdup(entry), **place = find_entry(e, entry);
    if (!copy) {
        e->out_of_memory = true;
        return;
    }
    if (place) {
        free(*place);
        *place = copy;
        return;
    }
    if (e->n + 1 >= e->room) { /* including the terminating NULL */
        size_t room = e->room ? 2 * e->room : 64;
        char **more = realloc(e->entries, room * sizeof(*more));
        if (!more) {
            e->out_of_memory = true;
            free(copy);
            return;
        }
        e->entries = more;
        e->room = room;
    }
    e->entries[e->n++] = copy;
    e->entries[e->n] = NULL;
}

__attribute__((format(printf, 2, 3))) static void set_made(struct environment *e,
                                                           const char *format, ...)
{
    char entry[ENTRY_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry, sizeof(entry), format, arguments);
    va_end(arguments);
    set_entry(e, entry);
}

static bool uses_ucx(const struct environment *e)
{
    char **net = find_entry(e, "RZ_NET=");
    return net && strcmp(*net, "RZ_NET=ucx") == 0;
}

/* The settings that UCX reads when the process starts, if the job uses UCX (rzrun --net ucx). The
 * user's own settings override those that are only advisable, not those that are necessary. */
static void set_network(struct environment *e, const struct rz_daemon_job *job)
{
    bool single = rz_job_single_host(job);
    if (!uses_ucx(e)) {
        return;
    }
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        char entry[ENTRY_BYTES];
        snprintf(entry, sizeof(entry), "%s=%s", v->name, v->value);
        if ((single || !v->single_host) && (v->problem || !find_entry(e, entry))) {
            set_entry(e, entry);
        }
    }
}

/* So that the process can tell what it was given from what a script before it, or it, has put in
 * its place. */
static void set_streams(struct environment *e, const int streams[3])
{
    struct stat st[3];
    for (int i = 0; i < 3; i++) {
        if (fstat(streams[i], &st[i]) != 0) {
            st[i] = (struct stat){0};
        }
    }
    set_made(e, "RZ_STREAMS=%llx.%llx %llx.%llx %llx.%llx", (unsigned long long)st[0].st_dev,
             (unsigned long long)st[0].st_ino, (unsigned long long)st[1].st_dev,
             (unsigned long long)st[1].st_ino, (unsigned long long)st[2].st_dev,
             (unsigned long long)st[2].st_ino);
}

static void set_identity(struct environment *e, const struct rz_daemon_job *job, uint32_t rank,
                         uint32_t incarnation, int link_fd)
{
    uint8_t key[RZ_JOB_KEY_BYTES];
    char hex[2 * RZ_JOB_KEY_BYTES + 1];
    rz_job_process_key(job, rank, incarnation, key);
    for (size_t i = 0; i < sizeof(key); i++) {
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    }
    if (job->flags & (RZ_JOB_PMIX | RZ_JOB_PMI1)) {
        set_made(e, "RZ_LINK_FD=%s", RZ_LINK_FD_NONE);
    } else {
        set_made(e, "RZ_LINK_FD=%d", link_fd);
    }
    if (job->link_token != 0) {
        set_made(e, "RZ_LINK_SOCKET=%u/%016llx/%u", (unsigned)geteuid(),
                 (unsigned long long)job->link_token, job->node);
    }
    set_made(e, "RZ_JOB_KEY=%s", hex);
    set_made(e, "RZ_JOB_ID=%llu", (unsigned long long)job->id);
    set_made(e, "RZ_RANK=%u", rank);
    set_made(e, "RZ_APPNUM=%u", rz_job_appnum(job, rank));
    set_made(e, "RZ_INCARNATION=%u", incarnation);
    set_made(e, "RZ_SCRATCH=%s", job->scratch);
    if (job->flags & RZ_JOB_REWIND) {
        set_made(e, "RZ_REWIND=%s",
                 incarnation > 1 || job->checkpoints.restored.number > 0 ? "image" : "start");
    }
}

/* Where the files are that were brought to this host. The loader looks for libraries there
 * first. */
static void set_preloaded(struct environment *e, const char *folder)
{
    static const char libraries[] = "LD_LIBRARY_PATH=";
    char **own = find_entry(e, libraries);
    const char *others = own ? *own + sizeof(libraries) - 1 : "";
    size_t bytes = sizeof(libraries) + strlen(folder) + strlen(others) + 1;
    char *entry = malloc(bytes);
    if (!entry) {
        e->out_of_memory = true;
        return;
    }
    snprintf(entry, bytes, "%s%s%s%s", libraries, folder, *others ? ":" : "", others);
    set_entry(e, entry);
    snprintf(entry, bytes, "RZ_PRELOAD_DIR=%s", folder);
    set_entry(e, entry);
    free(entry);
}

/* The entries of all programs of the job. */
static void set_user(struct environment *e, const struct rz_daemon_job *job)
{
    for (char **entry = environ; *entry; entry++) {
        set_entry(e, *entry);
    }
    for (char **entry = job->environment; *entry; entry++) {
        set_entry(e, *entry);
    }
}

static void set_given(struct environment *e, const struct rz_environment_given *given)
{
    for (char *const *entry = given->texts; entry && *entry; entry++) {
        set_entry(e, *entry);
    }
    for (char *const *entry = given->defaults; entry && *entry; entry++) {
        if (!find_entry(e, *entry)) {
            set_entry(e, *entry);
        }
    }
    if (given->rank_variable) {
        set_made(e, "%s=%u", given->rank_variable, given->rank);
    }
}

char **rz_environment_make(const struct rz_environment_config *config, uint32_t rank,
                           uint32_t incarnation)
{
    const struct rz_daemon_job *job = config->job;
    struct environment e = {0};
    set_user(&e, job);
    for (char *const *entry = config->program->environment; entry && *entry; entry++) {
        set_entry(&e, *entry);
    }
    set_network(&e, job);
    set_identity(&e, job, rank, incarnation, config->link_fd);
    if (job->flags & RZ_JOB_REWIND) {
        set_streams(&e, config->streams);
    }
    set_made(&e, "RZ_MAXPROCS=%u", config->program->maxprocs);
    set_given(&e, config->given);
    if (job->preloaded) {
        set_preloaded(&e, job->preloaded->folder);
    }
    if (!e.out_of_memory) {
        return e.entries;
    }
    rz_environment_free(e.entries);
    return NULL;
}

void rz_environment_tell_overruled(const struct rz_own_node *own)
{
    struct environment e = {0};
    set_user(&e, &own->job);
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name && uses_ucx(&e); v++) {
        char **entry = find_entry(&e, v->name);
        if (v->problem && entry && strcmp(*entry + name_length(*entry) + 1, v->value) != 0) {
            rz_report_log(&own->report, 0, "%s is overruled: %s", *entry, v->problem);
        }
    }
    rz_environment_free(e.entries);
}

void rz_environment_free(char **environment)
{
    for (char **entry = environment; entry && *entry; entry++) {
        free(*entry);
    }
    free(environment);
}
