/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of timing runs: blocks of powers of two in slabs, with reuse. */
#include "timing/timing_memory.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *rz_timing_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes > 0 ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "rzsim: out of memory (%zu bytes)\n", bytes);
        abort();
    }
    return memory;
}

void rz_timing_free(void *memory)
{
    free(memory);
}

void rz_timing_pool_init(struct rz_timing_pool *pool)
{
    memset(pool, 0, sizeof(*pool));
    for (uint32_t i = 0; i < RZ_POOL_SIZES; i++) {
        pool->free[i] = RZ_TIMING_NO_BLOB;
    }
    pool->free_slab = RZ_TIMING_NO_BLOB;
    pool->next = RZ_POOL_SLAB_UNITS; /* no slab yet */
}

void rz_timing_pool_release(struct rz_timing_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_slabs; i++) {
        free(pool->slabs[i]);
    }
    free(pool->slabs);
}

static uint32_t add_slab(struct rz_timing_pool *pool, size_t bytes)
{
    if (pool->n_slabs == pool->slabs_max) {
        pool->slabs_max = pool->slabs_max ? 2 * pool->slabs_max : 64;
        pool->slabs = rz_timing_memory(pool->slabs, pool->slabs_max * sizeof(*pool->slabs));
    }
    rz_assert(pool->n_slabs < UINT32_MAX / RZ_POOL_SLAB_UNITS);
    pool->slabs[pool->n_slabs] = rz_timing_memory(NULL, bytes);
    pool->bytes += bytes;
    return pool->n_slabs++;
}

/* log2 of the units of a block; RZ_POOL_SIZES or more: it has a slab of its own. */
static uint32_t size_of(size_t bytes)
{
    uint32_t size = 0;
    while (((size_t)RZ_POOL_UNIT << size) < bytes) {
        size++;
    }
    return size;
}

static void note_used(struct rz_timing_pool *pool, size_t bytes)
{
    pool->bytes_used += bytes;
    if (pool->bytes_used > pool->bytes_most) {
        pool->bytes_most = pool->bytes_used;
    }
}

static uint32_t take_large(struct rz_timing_pool *pool, size_t bytes)
{
    uint32_t slab;
    if (pool->free_slab != RZ_TIMING_NO_BLOB) {
        slab = pool->free_slab;
        memcpy(&pool->free_slab, pool->slabs[slab], sizeof(pool->free_slab));
        pool->slabs[slab] = rz_timing_memory(pool->slabs[slab], bytes);
        pool->bytes += bytes;
    } else {
        slab = add_slab(pool, bytes);
    }
    note_used(pool, bytes);
    return slab * RZ_POOL_SLAB_UNITS;
}

uint32_t rz_timing_pool_take(struct rz_timing_pool *pool, size_t bytes)
{
    uint32_t size = size_of(bytes);
    if (size >= RZ_POOL_SIZES) {
        return take_large(pool, bytes);
    }
    uint32_t handle = pool->free[size];
    if (handle != RZ_TIMING_NO_BLOB) {
        memcpy(&pool->free[size], rz_timing_pool_at(pool, handle), sizeof(handle));
        return handle;
    }
    if (pool->next + (1U << size) > RZ_POOL_SLAB_UNITS) {
        pool->slab = add_slab(pool, (size_t)RZ_POOL_SLAB_UNITS * RZ_POOL_UNIT);
        pool->next = 0;
    }
    handle = pool->slab * RZ_POOL_SLAB_UNITS + pool->next;
    pool->next += 1U << size;
    note_used(pool, (size_t)RZ_POOL_UNIT << size);
    return handle;
}

void rz_timing_pool_give(struct rz_timing_pool *pool, uint32_t handle, size_t bytes)
{
    uint32_t size = size_of(bytes);
    if (size < RZ_POOL_SIZES) {
        memcpy(rz_timing_pool_at(pool, handle), &pool->free[size], sizeof(handle));
        pool->free[size] = handle;
        return;
    }
    uint32_t slab = handle / RZ_POOL_SLAB_UNITS;
    pool->slabs[slab] = rz_timing_memory(pool->slabs[slab], sizeof(slab));
    memcpy(pool->slabs[slab], &pool->free_slab, sizeof(slab));
    pool->free_slab = slab;
    pool->bytes -= bytes;
    pool->bytes_used -= bytes;
}
