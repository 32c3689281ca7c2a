/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the processors of the thread's mask and of the control groups' quota, and reads
 * involuntary context switches; binds threads. */
#include "port/processor.h"

#include "port/control_group.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Processors with more threads than this for each are busy. */
#define BUSY 4

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

static void least_quota(void *arg, const char *path)
{
    char quota[2][32], period[1][32];
    uint32_t *least = arg, own = RZ_PROCESSOR_MILLI_MAX;
    if (rz_control_group_words(path, "cpu.max", quota, 2) == 2) {
        own = milli(quota[0], quota[1]);
    } else if (rz_control_group_words(path, "cpu.cfs_quota_us", quota, 1) == 1 &&
               rz_control_group_words(path, "cpu.cfs_period_us", period, 1) == 1) {
        own = milli(quota[0], period[0]);
    }
    *least = own < *least ? own : *least;
}

uint32_t rz_processor_quota_in(const char *groups_file, const char *folder)
{
    uint32_t least = RZ_PROCESSOR_MILLI_MAX;
    rz_control_groups(groups_file, folder, "cpu", least_quota, &least);
    return least;
}

uint32_t rz_processor_quota_milli(void)
{
    return rz_processor_quota_in(RZ_CONTROL_GROUPS_FILE, RZ_CONTROL_GROUPS_FOLDER);
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

bool rz_processors_busy(void)
{
    long ready = 0, processors = sysconf(_SC_NPROCESSORS_ONLN);
    FILE *f = fopen("/proc/loadavg", "re");
    if (f) {
        bool told = fscanf(f, "%*s %*s %*s %ld/", &ready) == 1;
        fclose(f);
        ready = told ? ready : 0;
    }
    return processors > 0 && ready > BUSY * processors;
}

/* ---- A set, in the form of the kernel's cpu_set_t, allocated for its largest number ---- */

struct rz_processor_set {
    size_t bytes;
    cpu_set_t mask[];
};

struct rz_processor_set *rz_processor_set_make(uint32_t highest)
{
    size_t bytes = CPU_ALLOC_SIZE(highest + 1);
    struct rz_processor_set *set = calloc(1, sizeof(*set) + bytes);
    if (set) {
        set->bytes = bytes;
    }
    return set;
}

void rz_processor_set_free(struct rz_processor_set *set)
{
    free(set);
}

void rz_processor_set_clear(struct rz_processor_set *set)
{
    CPU_ZERO_S(set->bytes, set->mask);
}

void rz_processor_set_add(struct rz_processor_set *set, uint32_t processor)
{
    CPU_SET_S(processor, set->bytes, set->mask);
}

void rz_processor_set_apply(const struct rz_processor_set *set)
{
    sched_setaffinity(0, set->bytes, set->mask);
}
