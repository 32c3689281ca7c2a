/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks from the process's control groups to the root, and reads the files of each. */
#include "port/control_group.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a list like "cpu,cpuacct" contains the controller. */
static bool group_has(const char *controllers, const char *controller)
{
    size_t wanted = strlen(controller);
    for (const char *at = controllers; *at;) {
        size_t length = strcspn(at, ",");
        if (length == wanted && strncmp(at, controller, length) == 0) {
            return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

/* This group and all above it, up to the folder of the controller, of so many bytes. */
static void group_climb(char *path, size_t folder_bytes, void (*visit)(void *arg, const char *path),
                        void *arg)
{
    for (;;) {
        visit(arg, path);
        char *slash = strrchr(path + folder_bytes, '/');
        if (!slash) {
            return;
        }
        *slash = 0;
    }
}

void rz_control_groups(const char *groups_file, const char *folder, const char *controller,
                       void (*visit)(void *arg, const char *path), void *arg)
{
    char line[PATH_MAX], path[PATH_MAX]; /* no more: the stack may be small */
    FILE *f = fopen(groups_file, "re");
    while (f && fgets(line, sizeof(line), f)) { /* "0::/a/b", or "4:cpu,cpuacct:/a/b" */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *controllers++ = *group++ = 0;
        bool unified = *controllers == 0;
        if (!unified && !group_has(controllers, controller)) {
            continue;
        }
        int n = snprintf(path, sizeof(path), "%s%s%s%s", folder, unified ? "" : "/",
                         unified ? "" : controller, group);
        if (n > 0 && (size_t)n < sizeof(path)) {
            group_climb(path, (size_t)n - strlen(group), visit, arg);
        }
    }
    if (f) {
        fclose(f);
    }
}

size_t rz_control_group_words(const char *path, const char *file, char (*words)[32], size_t n)
{
    size_t found = 0;
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder >= 0 ? openat(folder, file, O_RDONLY | O_CLOEXEC) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (f && found < n && fscanf(f, "%31s", words[found]) == 1) {
        found++;
    }
    if (f) {
        fclose(f);
    } else if (fd >= 0) {
        close(fd);
    }
    if (folder >= 0) {
        close(folder);
    }
    return found;
}

/* The number in a file of a group; UINT64_MAX: "max", or there is none. */
static uint64_t group_number(const char *path, const char *file)
{
    char word[1][32];
    unsigned long long value;
    bool known = rz_control_group_words(path, file, word, 1) == 1 && word[0][0] >= '0' &&
                 word[0][0] <= '9' && sscanf(word[0], "%llu", &value) == 1;
    return known ? value : UINT64_MAX;
}

static void group_memory(void *arg, const char *path)
{
    uint64_t *least = arg;
    uint64_t most = group_number(path, "memory.max"), used = group_number(path, "memory.current");
    if (most == UINT64_MAX) { /* version 1, which writes no limit as a number near 2^63 */
        most = group_number(path, "memory.limit_in_bytes");
        used = group_number(path, "memory.usage_in_bytes");
    }
    if (most < INT64_MAX / 2 && used != UINT64_MAX) {
        uint64_t left = most > used ? most - used : 0;
        *least = left < *least ? left : *least;
    }
}

uint64_t rz_control_group_memory_left(const char *groups_file, const char *folder)
{
    uint64_t least = UINT64_MAX;
    rz_control_groups(groups_file, folder, "memory", group_memory, &least);
    return least;
}

static uint64_t machine_memory_left(void)
{
    char line[128];
    unsigned long long kib, memory = UINT64_MAX >> 10, swap = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) {
            memory = kib;
        } else if (sscanf(line, "SwapFree: %llu", &kib) == 1) {
            swap = kib;
        }
    }
    if (f) {
        fclose(f);
    }
    return memory < UINT64_MAX >> 10 ? (memory + swap) << 10 : UINT64_MAX;
}

uint64_t rz_memory_left(void)
{
    const char *text = getenv("RZ_TEST_MEMORY_LEFT");
    if (text) {
        return strtoull(text, NULL, 10);
    }
    uint64_t left = machine_memory_left();
    uint64_t group = rz_control_group_memory_left(RZ_CONTROL_GROUPS_FILE, RZ_CONTROL_GROUPS_FOLDER);
    return group < left ? group : left;
}

uint64_t rz_memory_kills(void)
{
    char line[128];
    unsigned long long value = 0;
    bool found = false;
    FILE *f = fopen("/proc/vmstat", "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        found = sscanf(line, "oom_kill %llu", &value) == 1;
    }
    if (f) {
        fclose(f);
    }
    return found ? value : UINT64_MAX;
}
