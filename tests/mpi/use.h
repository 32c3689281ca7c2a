/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process uses, its own or that of its daemon, for tests that look for growth. */
#ifndef USE_H
#define USE_H

#include "check.h"

#include <dirent.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* What is freed stays in the quarantine of a sanitizer: the memory of a process says nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_COUNTS = false };
#else
enum { MEMORY_COUNTS = true };
#endif

struct use {
    long memory, descriptors, shared;
};

static inline FILE *of_process(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    return file;
}

static inline struct use use_of(pid_t pid)
{
    struct use use = {0, 0, 0};
    char path[64], line[1024];
    FILE *file = of_process(pid, "statm");
    CHECK(fscanf(file, "%*d %ld", &use.memory) == 1);
    use.memory *= sysconf(_SC_PAGESIZE);
    fclose(file);
    file = of_process(pid, "maps");
    while (fgets(line, sizeof(line), file)) {
        unsigned long from, to;
        char mode[8];
        CHECK(sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3);
        use.shared += mode[3] == 's' ? (long)(to - from) : 0;
    }
    fclose(file);
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *all = opendir(path);
    CHECK(all != NULL);
    while (readdir(all)) {
        use.descriptors++;
    }
    closedir(all);
    return use;
}

/* A lane or two in shared memory may still be open to processes that have just ended. */
static inline bool grown(pid_t pid, struct use before)
{
    struct use now = use_of(pid);
    bool more = MEMORY_COUNTS && now.memory - before.memory >= 512 << 10;
    return more || now.descriptors - before.descriptors > 4 ||
           now.shared - before.shared >= 512 << 10;
}

/* Processes that have just ended may still be exiting: only permanent growth counts. */
static inline void settle(pid_t pid, struct use before)
{
    for (int i = 0, flag; i < 10000 && grown(pid, before); i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static inline void has_not_grown(const char *what, pid_t pid, struct use before)
{
    settle(pid, before);
    struct use now = use_of(pid);
    fprintf(stderr, "%s: %ld bytes, %ld descriptors, %ld bytes of shared memory more\n", what,
            now.memory - before.memory, now.descriptors - before.descriptors,
            now.shared - before.shared);
    CHECK(!grown(pid, before));
}

#endif
