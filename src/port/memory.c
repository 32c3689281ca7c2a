/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory through sealed memfds: making, reserving, punching, mapping; and the check of
 * memory that another process made. */
#include "port/memory.h"

#include "base/assert.h"
#include "port/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A signal may interrupt an allocation, which then undoes itself: this much is reserved between two
 * ticks of any timer. */
#define RESERVE_BYTES ((size_t)1 << 20)

static rz_status_t memory_status(int error)
{
    return error == ENOSPC || error == ENOMEM || error == EFBIG ? RZ_ERR_NO_MEMORY : RZ_ERR_SYSTEM;
}

/* Whether memory may have this size: the attempt would be a signal, SIGXFSZ, which ends a rank. */
static bool memory_is_allowed(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

#define PAGE_BYTES_MAX (1ul << 16)

size_t rz_memory_page_bytes(void)
{
    static atomic_size_t known;
    size_t page = atomic_load_explicit(&known, memory_order_relaxed);
    if (page == 0) {
        const char *text = getenv("RZ_TEST_PAGE_BYTES");
        size_t larger = text ? strtoul(text, NULL, 10) : 0;
        page = (size_t)sysconf(_SC_PAGESIZE);
        if (larger > page && larger <= PAGE_BYTES_MAX && (larger & (larger - 1)) == 0) {
            page = larger;
        }
        atomic_store_explicit(&known, page, memory_order_relaxed);
    }
    return page;
}

/* Set when memory had to be made without seals. */
static atomic_bool unsealed;

/* Used if memfd_create is forbidden: equivalent except for the seals. No file is left if the
 * process fails. */
static int open_nameless(void)
{
    int memory = open("/dev/shm", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (memory >= 0) {
        atomic_store(&unsealed, true);
    }
    return memory;
}

/* Without the last seal, if more are to follow. *sealed: it can have seals. */
static rz_status_t create(const char *name, size_t bytes, int last_seal, int *fd, bool *sealed)
{
    *sealed = true;
    if (!memory_is_allowed(bytes)) {
        errno = EFBIG;
        return RZ_ERR_FILE_SIZE;
    }
    int memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0 && rz_kernel_lacks_it()) {
        *sealed = false;
        memory = open_nameless();
    }
    if (memory < 0) {
        return memory_status(errno);
    }
    if (ftruncate(memory, (off_t)bytes) != 0 ||
        (*sealed && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | last_seal) != 0)) {
        int error = errno;
        close(memory);
        errno = error; /* the callers report it */
        return memory_status(error);
    }
    *fd = memory;
    return RZ_OK;
}

rz_status_t rz_memory_create(const char *name, size_t bytes, int *fd)
{
    bool sealed;
    return create(name, bytes, F_SEAL_SEAL, fd, &sealed);
}

rz_status_t rz_memory_create_own(const char *name, size_t bytes, void **at, int *fd)
{
    bool sealed;
    rz_status_t status = create(name, bytes, 0, fd, &sealed);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_memory_reserve(*fd, 0, bytes);
    if (status == RZ_OK) {
        status = rz_memory_map(*fd, bytes, true, at, NULL);
    }
    if (status != RZ_OK) {
        close(*fd);
        return status;
    }
    if (sealed && fcntl(*fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
        fcntl(*fd, F_ADD_SEALS, F_SEAL_SEAL); /* the kernel is older than 5.1 */
    }
    return RZ_OK;
}

rz_status_t rz_memory_open_of(pid_t pid, int fd, int *own)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    int opened = open(path, O_RDWR | O_CLOEXEC);
    if (opened < 0) {
        return RZ_ERR_SYSTEM;
    }
    *own = opened;
    return RZ_OK;
}

rz_status_t rz_memory_reserve(int fd, size_t offset, size_t bytes)
{
    for (size_t done = 0, n = 0; done < bytes; done += n) {
        n = bytes - done < RESERVE_BYTES ? bytes - done : RESERVE_BYTES;
        while (fallocate(fd, 0, (off_t)(offset + done), (off_t)n) != 0) {
            if (errno != EINTR) {
                return memory_status(errno);
            }
        }
    }
    return RZ_OK;
}

rz_status_t rz_memory_populate(void *at, size_t bytes)
{
    while (madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
        if (errno != EINTR) {
            return errno == EINVAL ? RZ_ERR_SYSTEM : RZ_ERR_NO_MEMORY;
        }
    }
    return RZ_OK;
}

rz_status_t rz_memory_punch(int fd, size_t offset, size_t bytes)
{
    while (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) !=
           0) {
        if (errno != EINTR) {
            return RZ_ERR_SYSTEM;
        }
    }
    return RZ_OK;
}

/* An access beyond the end of the file is a SIGBUS; sizes come from other processes, so this is an
 * operating error. */
static rz_status_t memory_size(int fd, size_t *bytes)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) {
        return RZ_ERR_SYSTEM;
    }
    *bytes = (size_t)stat.st_size;
    return RZ_OK;
}

/* Whether this is memory made without seals: its maker is trusted not to shrink it. */
static bool is_unsealed(int fd)
{
    struct statfs system;
    struct stat stat;
    return atomic_load(&unsealed) && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
           stat.st_nlink == 0 && fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/* Huge pages may be missing when they are read, which would end the reader. */
static bool is_huge(int fd)
{
    struct statfs system;
    return fstatfs(fd, &system) != 0 || system.f_type == HUGETLBFS_MAGIC;
}

bool rz_memory_holds(int fd, uint64_t bytes)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS); /* an error: no memory of this kind */
    bool kept = seals >= 0 && seals & F_SEAL_SHRINK && !is_huge(fd);
    return (kept || is_unsealed(fd)) && fstat(fd, &stat) == 0 && (uint64_t)stat.st_size >= bytes;
}

bool rz_memory_is_backed(int fd, uint64_t bytes)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 && (uint64_t)stat.st_blocks >= bytes / 512 + (bytes % 512 != 0);
}

static int memory_protection(bool writable)
{
    return PROT_READ | (writable ? PROT_WRITE : 0);
}

rz_status_t rz_memory_map(int fd, size_t bytes, bool writable, void **at, size_t *mapped)
{
    size_t all;
    rz_status_t status = memory_size(fd, &all);
    if (status != RZ_OK) {
        return status;
    }
    if (bytes == 0) {
        bytes = all;
    }
    status = rz_memory_map_range(fd, 0, bytes, writable, at);
    if (status == RZ_OK && mapped) {
        *mapped = bytes;
    }
    return status;
}

/* ---- Apart from the program's memory ---- */

static struct {
    uintptr_t begin, end; /* end 0: anywhere */
    uintptr_t next;
} apart;

void rz_memory_keep_apart(void *from, size_t bytes)
{
    apart.begin = apart.next = (uintptr_t)from;
    apart.end = apart.begin + bytes;
}

/* The region is large, and mappings end: a place behind the last one is nearly always free. */
static void *map_apart(size_t bytes, int protection, int flags, int fd, off_t offset)
{
    size_t page = rz_memory_page_bytes(), step = (bytes + page - 1) / page * page;
    for (int round = 0; round < 2; round++) {
        for (; apart.next + step <= apart.end; apart.next += step) {
            void *memory = mmap((void *)apart.next, bytes, protection, flags | MAP_FIXED_NOREPLACE,
                                fd, offset);
            if (memory != MAP_FAILED || errno != EEXIST) {
                apart.next += step;
                return memory;
            }
        }
        apart.next = apart.begin;
    }
    errno = ENOMEM;
    return MAP_FAILED;
}

static void *map_somewhere(size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return apart.end > 0 ? map_apart(bytes, protection, flags, fd, offset)
                         : mmap(NULL, bytes, protection, flags, fd, offset);
}

rz_status_t rz_memory_map_range(int fd, size_t offset, size_t bytes, bool writable, void **at)
{
    size_t all;
    rz_assert(offset % rz_memory_page_bytes() == 0);
    rz_status_t status = memory_size(fd, &all);
    if (status != RZ_OK) {
        return status;
    }
    if (bytes == 0 || offset > all || bytes > all - offset) {
        return RZ_ERR_MALFORMED;
    }
    void *memory = map_somewhere(bytes, memory_protection(writable), MAP_SHARED, fd, (off_t)offset);
    if (memory == MAP_FAILED) {
        return memory_status(errno);
    }
    *at = memory;
    return RZ_OK;
}

rz_status_t rz_memory_map_ring(int fd, size_t offset, size_t front, size_t ring, bool writable,
                               void **at)
{
    size_t all;
    rz_assert((offset | front | ring) % rz_memory_page_bytes() == 0);
    rz_status_t status = memory_size(fd, &all);
    if (status != RZ_OK) {
        return status;
    }
    if (offset > all || front + ring > all - offset) {
        return RZ_ERR_MALFORMED;
    }
    size_t bytes = front + 2 * ring;
    int protection = memory_protection(writable);
    unsigned char *memory = map_somewhere(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return memory_status(errno);
    }
    if (mmap(memory, front + ring, protection, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) ==
            MAP_FAILED ||
        mmap(memory + front + ring, ring, protection, MAP_SHARED | MAP_FIXED, fd,
             (off_t)(offset + front)) == MAP_FAILED) {
        int error = errno;
        munmap(memory, bytes);
        return memory_status(error);
    }
    /* A core dump would give pages to what is mapped and not used. */
    (void)madvise(memory, bytes, MADV_DONTDUMP);
    *at = memory;
    return RZ_OK;
}

void rz_memory_unmap(void *at, size_t bytes)
{
    if (at) {
        munmap(at, bytes);
    }
}
