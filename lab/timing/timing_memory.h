/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of timing runs: malloc or exit (a run is part of a tool), and a pool of shared blobs
 * (messages, calls) behind 32-bit handles. Blocks of a pool are powers of two of 64 bytes; freed
 * blocks are reused for the same size.
 */
#ifndef RZ_TIMING_TIMING_MEMORY_H
#define RZ_TIMING_TIMING_MEMORY_H

#include <rhizome/types.h>

/* realloc, never NULL. */
void *rz_timing_memory(void *old, size_t bytes);
void rz_timing_free(void *memory);

#define RZ_TIMING_NO_BLOB UINT32_MAX
#define RZ_POOL_SIZES 15 /* 64 bytes .. 1 MiB; larger blocks have a slab of their own */

struct rz_timing_pool {
    char **slabs;
    uint32_t n_slabs, slabs_max;
    uint32_t slab; /* the one that new blocks are cut from, from unit `next` on */
    uint32_t next;
    uint32_t free[RZ_POOL_SIZES];
    uint32_t free_slab; /* numbers of slabs without memory */
    uint64_t bytes;     /* of memory */
    uint64_t bytes_used,
        bytes_most; /* of it: blocks that were ever cut, and what is large; at most */
};

void rz_timing_pool_init(struct rz_timing_pool *pool);
void rz_timing_pool_release(struct rz_timing_pool *pool);
uint32_t rz_timing_pool_take(struct rz_timing_pool *pool, size_t bytes);
/* bytes as at take. */
void rz_timing_pool_give(struct rz_timing_pool *pool, uint32_t handle, size_t bytes);

#define RZ_POOL_UNIT 64
#define RZ_POOL_SLAB_UNITS 16384 /* 1 MiB */

static inline void *rz_timing_pool_at(const struct rz_timing_pool *pool, uint32_t handle)
{
    return pool->slabs[handle / RZ_POOL_SLAB_UNITS] +
           (size_t)(handle % RZ_POOL_SLAB_UNITS) * RZ_POOL_UNIT;
}

#endif
