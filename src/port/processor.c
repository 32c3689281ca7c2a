/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the processors of the thread's mask and of the control groups' quota, and reads
 * involuntary context switches. */
#include "port/processor.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Where Linux mounts control groups. */
#define CGROUPS "/sys/fs/cgroup"

/* More threads than this for each processor are a crowd. */
#define CROWD 4

/* Reads up to two words of a small file; returns their number. */
static int words_of(const char *folder, const char *group, const char *file, char words[2][32])
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s/%s", folder, group, file);
    FILE *f = n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
    n = f ? fscanf(f, "%31s %31s", words[0], words[1]) : 0;
    if (f) {
        fclose(f);
    }
    return n > 0 ? n : 0;
}

static uint32_t milli(const char *quota, const char *period)
{
    long long a = 0, b = 0;
    if (sscanf(quota, "%lld", &a) != 1 || sscanf(period, "%lld", &b) != 1 || a <= 0 || b <= 0 ||
        a > LLONG_MAX / 1000) {
        return RZ_PROCESSOR_MILLI_MAX; /* "max" and -1: no quota */
    }
    long long quotient = a * 1000 / b;
    return quotient < RZ_PROCESSOR_MILLI_MAX ? (uint32_t)quotient : RZ_PROCESSOR_MILLI_MAX;
}

/* The quota of this group alone. */
static uint32_t quota_of(const char *folder, const char *group)
{
    char words[2][32], period[2][32];
    if (words_of(folder, group, "cpu.max", words) == 2) {
        return milli(words[0], words[1]);
    }
    if (words_of(folder, group, "cpu.cfs_quota_us", words) >= 1 &&
        words_of(folder, group, "cpu.cfs_period_us", period) >= 1) {
        return milli(words[0], period[0]);
    }
    return RZ_PROCESSOR_MILLI_MAX;
}

/* The least quota of this group and all above it. */
static uint32_t least_quota(const char *folder, char *group)
{
    uint32_t least = RZ_PROCESSOR_MILLI_MAX;
    for (;;) {
        uint32_t quota = quota_of(folder, group);
        least = quota < least ? quota : least;
        char *slash = strrchr(group, '/');
        if (!slash) {
            return least;
        }
        *slash = 0;
    }
}

/* Whether a list like "cpu,cpuacct" contains cpu. */
static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; *at;) {
        size_t length = strcspn(at, ",");
        if (length == 3 && strncmp(at, "cpu", 3) == 0) {
            return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

uint32_t rz_processor_quota_in(const char *groups_file, const char *folder)
{
    char line[PATH_MAX], cpu[PATH_MAX];
    uint32_t least = RZ_PROCESSOR_MILLI_MAX;
    FILE *f = fopen(groups_file, "re");
    snprintf(cpu, sizeof(cpu), "%s/cpu", folder);
    while (f && fgets(line, sizeof(line), f)) { /* "0::/a/b", or "4:cpu,cpuacct:/a/b" */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *controllers++ = *group++ = 0;
        bool unified = *controllers == 0;
        if (!unified && !has_cpu(controllers)) {
            continue;
        }
        uint32_t quota = least_quota(unified ? folder : cpu, group);
        least = quota < least ? quota : least;
    }
    if (f) {
        fclose(f);
    }
    return least;
}

uint32_t rz_processor_quota_milli(void)
{
    return rz_processor_quota_in("/proc/self/cgroup", CGROUPS);
}

uint32_t rz_processor_count(void)
{
    cpu_set_t cpus;
    uint32_t count =
        sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (uint32_t)CPU_COUNT(&cpus) : 1;
    uint32_t quota = rz_processor_quota_milli();
    return quota / 1000 < count ? quota / 1000 : count;
}

uint64_t rz_processor_losses(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nivcsw : 0;
}

bool rz_processors_crowded(void)
{
    long ready = 0, processors = sysconf(_SC_NPROCESSORS_ONLN);
    FILE *f = fopen("/proc/loadavg", "re");
    if (f) {
        bool told = fscanf(f, "%*s %*s %*s %ld/", &ready) == 1;
        fclose(f);
        ready = told ? ready : 0;
    }
    return processors > 0 && ready > CROWD * processors;
}
