/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processors that the calling process may use, whether other threads need the one it runs on,
 * and threads that are bound to some of them.
 */
#ifndef RZ_PORT_PROCESSOR_H
#define RZ_PORT_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

/* No quota. */
#define RZ_PROCESSOR_MILLI_MAX UINT32_MAX

/* The number of processors that the calling thread may use; the quota of its control group rounds
 * down, so it may be 0 (less than one). */
uint32_t rz_processor_count(void);

/* The quota of the calling process's control groups (cgroup version 2, cpu.max; version 1,
 * cpu.cfs_quota_us), in thousandths of a processor: the least quota on the way to the root.
 * RZ_PROCESSOR_MILLI_MAX: there is none. */
uint32_t rz_processor_quota_milli(void);

/* The quota by given paths, for tests: a file like /proc/self/cgroup, and the folder of the
 * groups. */
uint32_t rz_processor_quota_in(const char *groups_file, const char *folder);

/* Whether a new process of this machine waits long for a processor: several threads for each
 * processor are ready to run (/proc/loadavg). false: unknown. */
bool rz_processors_busy(void);

/* A counter that grows each time the calling thread loses its processor to another one although it
 * could run. */
uint64_t rz_processor_losses(void);

/* ---- A set of processors, and a thread that runs on no others ---- */

struct rz_processor_set;

/* Makes a set for processors up to number `highest`; NULL: no memory. */
struct rz_processor_set *rz_processor_set_make(uint32_t highest);
void rz_processor_set_free(struct rz_processor_set *set); /* NULL: nothing */

void rz_processor_set_clear(struct rz_processor_set *set);
void rz_processor_set_add(struct rz_processor_set *set, uint32_t processor);

/* Binds the calling thread to the set. Processors that were taken from the thread meanwhile are
 * ignored; if none is left, nothing changes. Async-signal-safe. */
void rz_processor_set_apply(const struct rz_processor_set *set);

#endif
