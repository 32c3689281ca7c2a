/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs of this build beside the library, their arguments and environment, and the two forks
 * by which they leave this process. */
#include "pmix/start.h"

#include "port/child_process.h"
#include "port/descriptor.h"
#include "port/memory.h"
#include "wire/meeting.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MORE_MAX = 64 };

static char folder[PATH_MAX]; /* of the programs */
static char token_entry[64], ranks_entry[64];

static rz_status_t refused(const char *what)
{
    fprintf(stderr, "rhizome: %s: %s\n", what, strerror(errno));
    return RZ_ERR_SYSTEM;
}

rz_status_t rz_pmix_start_open(void)
{
    static const char *const ways[] = {RZ_PMIX_WAY_TO_PROGRAMS, "../../bin"};
    static const char anchor;
    char path[PATH_MAX];
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || !info.dli_fname) {
        info.dli_fname = "";
    }
    const char *slash = strrchr(info.dli_fname, '/');
    for (size_t i = 0; slash && i < sizeof(ways) / sizeof(*ways); i++) {
        int n = snprintf(path, sizeof(path), "%.*s/%s/rzrun", (int)(slash - info.dli_fname),
                         info.dli_fname, ways[i]);
        if (n > 0 && n < (int)sizeof(path) && realpath(path, folder) && access(folder, X_OK) == 0) {
            *strrchr(folder, '/') = '\0';
            return RZ_OK;
        }
    }
    fprintf(stderr, "rhizome: rzrun, which a job through PMIx needs, is not in the folder bin "
                    "beside this library\n");
    return RZ_ERR_SYSTEM;
}

/* ---- The environment: as here, without what makes a client of PMIx ---- */

static bool is_of_launcher(const char *entry)
{
    static const char *const beginnings[] = {
        "PMIX_", "PMI_", "OMPI_", "SLURMD_NODENAME=", RZ_MEETING_TOKEN "=", RZ_MEETING_RANKS "="};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (strncmp(entry, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Its entries are not copied. NULL: no memory. */
static char **environment(bool of_rzrun)
{
    size_t n = 0, kept = 0;
    while (environ[n]) {
        n++;
    }
    char **entries = calloc(n + 3, sizeof(*entries));
    for (size_t i = 0; entries && i < n; i++) {
        if (!is_of_launcher(environ[i])) {
            entries[kept++] = environ[i];
        }
    }
    if (entries && of_rzrun) {
        entries[kept++] = token_entry;
        entries[kept++] = ranks_entry;
    }
    return entries;
}

/* ---- Leaving this process ---- */

/* Between fork and exec: async-signal-safe calls only. The child ends at once, so that its own
 * child is left to the system. */
_Noreturn static void leave(const char *path, char *const *words, char *const *entries,
                            const int *fds, unsigned n_fds)
{
    rz_child_process_lead_session();
    pid_t pid = fork();
    if (pid != 0) {
        _exit(pid > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    rz_child_process_plain_signals();
    if (rz_child_process_place_descriptors(fds, n_fds)) {
        execve(path, words, entries);
    }
    _exit(EXIT_FAILURE);
}

static rz_status_t start(const char *program, char **words, bool of_rzrun, const int *fds,
                         unsigned n_fds)
{
    char path[PATH_MAX + 16];
    int status = -1;
    snprintf(path, sizeof(path), "%s/%s", folder, program);
    words[0] = path;
    char **entries = environment(of_rzrun);
    if (!entries) {
        return RZ_ERR_NO_MEMORY;
    }
    pid_t pid = rz_child_process_fork();
    if (pid == 0) {
        leave(path, words, entries, fds, n_fds);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    free(entries);
    return pid > 0 && status == 0 ? RZ_OK : refused("a process of the runtime cannot be started");
}

/* A file in memory with these bytes, to be read from its beginning; -1: reported. */
static int file_of(const void *bytes, size_t n)
{
    int fd;
    if (rz_memory_create("rhizome-start", n, &fd) != RZ_OK) {
        refused("no memory to start the job");
        return -1;
    }
    for (size_t at = 0; at < n;) {
        ssize_t got = write(fd, (const char *)bytes + at, n - at);
        if (got < 0 && errno != EINTR) {
            refused("no memory to start the job");
            close(fd);
            return -1;
        }
        at += got > 0 ? (size_t)got : 0;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* ---- rzrun ---- */

/* The text of a rank file; the caller frees it. NULL: no memory. */
static char *rankfile_of(const char *const *hosts, uint32_t n_ranks, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    for (uint32_t i = 0; out && i < n_ranks; i++) {
        fprintf(out, "rank %u=%s\n", i, hosts[i]);
    }
    return out && fclose(out) == 0 ? text : NULL;
}

static rz_status_t run_rzrun(int rankfile, const int alive[2])
{
    static char agent[PATH_MAX + 32], stand_in[PATH_MAX + 8];
    const char *given = getenv("RZ_RZRUN_ARGS");
    char *more = strdup(given ? given : ""), *save;
    char *words[MORE_MAX + 16] = {
        "",           "--launcher",      "pmix",         "--launch-agent", agent,
        "--rankfile", "/proc/self/fd/3", "--on-failure", "continue"};
    unsigned n = 9;
    int nothing;
    if (!more || rz_descriptor_nothing(&nothing) != RZ_OK) {
        free(more);
        return refused("rzrun cannot be started");
    }
    snprintf(agent, sizeof(agent), "%s/rzd --relay", folder);
    snprintf(stand_in, sizeof(stand_in), "%s/rzd", folder);
    for (char *word = strtok_r(more, " \t", &save); word && n < MORE_MAX + 9;
         word = strtok_r(NULL, " \t", &save)) {
        words[n++] = word;
    }
    words[n++] = stand_in;
    words[n++] = "--stand-in";
    const int fds[] = {nothing, STDOUT_FILENO, STDERR_FILENO, rankfile, alive[1]};
    rz_status_t status = start("rzrun", words, true, fds, sizeof(fds) / sizeof(*fds));
    close(nothing);
    free(more);
    return status;
}

rz_status_t rz_pmix_start_rzrun(uint64_t token, const char *const *hosts, uint32_t n_ranks,
                                int *alive)
{
    size_t bytes = 0;
    int ends[2];
    char *text = rankfile_of(hosts, n_ranks, &bytes);
    int rankfile = text ? file_of(text, bytes) : -1;
    free(text);
    if (rankfile < 0) {
        return RZ_ERR_NO_MEMORY;
    }
    if (rz_descriptor_pipe(ends) != RZ_OK) {
        close(rankfile);
        return refused("rzrun cannot be started");
    }
    snprintf(token_entry, sizeof(token_entry), RZ_MEETING_TOKEN "=%016" PRIx64, token);
    snprintf(ranks_entry, sizeof(ranks_entry), RZ_MEETING_RANKS "=%u", n_ranks);
    rz_status_t status = run_rzrun(rankfile, ends);
    close(rankfile);
    close(ends[1]);
    *alive = ends[0];
    return status;
}

/* ---- rzd ---- */

rz_status_t rz_pmix_start_daemon(const void *begin, size_t n)
{
    char *words[] = {"", "--remote", NULL};
    int nothing, file = file_of(begin, n);
    if (file < 0 || rz_descriptor_nothing(&nothing) != RZ_OK) {
        return RZ_ERR_SYSTEM;
    }
    const int fds[] = {file, nothing, STDERR_FILENO};
    rz_status_t status = start("rzd", words, false, fds, sizeof(fds) / sizeof(*fds));
    close(nothing);
    close(file);
    return status;
}
