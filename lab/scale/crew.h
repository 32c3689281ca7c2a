/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a model run: all do the same task, each for its own part, and synchronize in
 * between. The caller of rz_scale_crew_do is one of them. */
#ifndef RZ_SCALE_CREW_H
#define RZ_SCALE_CREW_H

#include <rhizome/types.h>

#define RZ_SCALE_CREW_MAX 64

struct rz_scale_crew;

/* threads 0: one per processor. If fewer can be started, there are fewer; the caller is always one.
 * NULL: out of memory. */
struct rz_scale_crew *rz_scale_crew_create(uint32_t threads);
/* Ends and joins the threads. */
void rz_scale_crew_destroy(struct rz_scale_crew *crew);
uint32_t rz_scale_crew_size(const struct rz_scale_crew *crew);

/* self: 0 .. size - 1. */
typedef void rz_scale_task(void *user, uint32_t self);
/* Every thread does the task once; returns when all have. Writes of one thread are visible to the
 * others afterwards. */
void rz_scale_crew_do(struct rz_scale_crew *crew, rz_scale_task *task, void *user);
/* Within a task: waits until all threads have called it. */
void rz_scale_crew_meet(struct rz_scale_crew *crew);

/* Part self of [0, all), in whole words of 64 members. */
struct rz_scale_part {
    uint64_t first, end;
};
struct rz_scale_part rz_scale_crew_part(const struct rz_scale_crew *crew, uint32_t self,
                                        uint64_t all);

/* Zeroed memory in large pages if the system has them, for tables with random access. NULL: out of
 * memory. */
void *rz_scale_table_create(uint64_t bytes);
void rz_scale_table_destroy(void *table, uint64_t bytes);

#endif
