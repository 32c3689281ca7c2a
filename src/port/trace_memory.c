/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory files for the rings of a node's trace, and their maps. */
#include "port/trace_memory.h"

#include "port/memory.h"

#include <rhizome/types.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The same for all sizes of pages, also those that tests pretend. */
#define PAGE_MAX ((size_t)1 << 16)
#define STRIDE ((sizeof(struct rz_trace_ring) + PAGE_MAX - 1) / PAGE_MAX * PAGE_MAX)

rz_status_t rz_trace_memory_create(uint32_t n_rings, int *fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < n_rings * STRIDE) {
        return RZ_ERR_NO_MEMORY; /* the attempt would be a signal, SIGXFSZ */
    }
    return rz_memory_create("rhizome-trace", n_rings * STRIDE, fd);
}

uint32_t rz_trace_memory_rings(int fd)
{
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0 || about.st_size < 0 ||
        (uint64_t)about.st_size % STRIDE != 0) {
        return 0;
    }
    return (uint32_t)((uint64_t)about.st_size / STRIDE);
}

rz_status_t rz_trace_memory_make(int fd, uint32_t index, struct rz_trace_ring **ring)
{
    void *at;
    rz_status_t status = rz_memory_reserve(fd, index * STRIDE, sizeof(**ring));
    if (status == RZ_OK) {
        status = rz_memory_map_range(fd, index * STRIDE, sizeof(**ring), true, &at);
    }
    if (status == RZ_OK) {
        *ring = at;
    }
    return status;
}

rz_status_t rz_trace_memory_of_node(uint32_t node, uint32_t n_rings,
                                    const struct rz_trace_levels *levels, int *fd)
{
    struct rz_trace_ring *ring;
    const struct rz_trace_owner owner = {.slot = RZ_ID_NONE, .node = node};
    rz_status_t status = rz_trace_memory_create(n_rings, fd);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_trace_memory_make(*fd, 0, &ring);
    if (status != RZ_OK) {
        close(*fd);
        return status;
    }
    rz_trace_ring_make(ring, &owner, levels);
    rz_trace_memory_unmap(ring);
    return RZ_OK;
}

rz_status_t rz_trace_memory_map(int fd, uint32_t index, bool writable, struct rz_trace_ring **ring)
{
    void *at;
    uint32_t magic = 0;
    /* A look by pread backs nothing with pages. */
    if (pread(fd, &magic, sizeof(magic), (off_t)(index * STRIDE)) != (ssize_t)sizeof(magic) ||
        magic != RZ_TRACE_MAGIC) {
        return RZ_ERR_VERSION;
    }
    rz_status_t status = rz_memory_map_range(fd, index * STRIDE, sizeof(**ring), writable, &at);
    if (status != RZ_OK) {
        return status;
    }
    *ring = at;
    if (!rz_trace_ring_valid(*ring)) {
        rz_trace_memory_unmap(*ring);
        return RZ_ERR_VERSION;
    }
    return RZ_OK;
}

void rz_trace_memory_unmap(const struct rz_trace_ring *ring)
{
    rz_memory_unmap((void *)ring, ring ? sizeof(*ring) : 0);
}
