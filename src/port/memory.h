/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory without names: sealed memfds. */
#ifndef RZ_PORT_MEMORY_H
#define RZ_PORT_MEMORY_H

#include "base/status.h"

#include <rhizome/types.h>

#include <sys/types.h>

/* The size of a page: of this machine, or from RZ_TEST_PAGE_BYTES (a hook for tests: a larger power
 * of two, as on other machines), which is read once. */
size_t rz_memory_page_bytes(void);

/* Makes a memfd of `bytes` (sparse), sealed against shrinking and growing, close-on-exec. name is
 * for /proc only. Where the system forbids memfd_create, it is a file of /dev/shm without name or
 * seals. RZ_ERR_FILE_SIZE: beyond `ulimit -f`, as which the system counts it. */
rz_status_t rz_memory_create(const char *name, size_t bytes, int *fd);

/* The same, with its pages, of which only the caller can write to it, and only by *at: no other
 * process that gets the descriptor, even if it opens that anew (Linux 5.1; before that it must not
 * be let). */
rz_status_t rz_memory_create_own(const char *name, size_t bytes, void **at, int *fd);

/* Allocates pages for [offset, offset + bytes) now: RZ_ERR_NO_MEMORY here instead of SIGBUS
 * later. */
rz_status_t rz_memory_reserve(int fd, size_t offset, size_t bytes);

/* The same for mapped memory that may be written. RZ_ERR_SYSTEM: the kernel is older than 5.14. */
rz_status_t rz_memory_populate(void *at, size_t bytes);

/* Returns the pages of [offset, offset + bytes) to the system, in whole pages: later reads give
 * zero. RZ_ERR_SYSTEM: this failed. */
rz_status_t rz_memory_punch(int fd, size_t offset, size_t bytes);

/* Opens the memory that is descriptor fd of the process pid, of the same user. RZ_ERR_SYSTEM: it is
 * not, any more, or the system refuses it. */
rz_status_t rz_memory_open_of(pid_t pid, int fd, int *own);

/* Maps the whole or its first bytes; bytes 0: the size of the file, returned in *mapped when not
 * NULL. */
rz_status_t rz_memory_map(int fd, size_t bytes, bool writable, void **at, size_t *mapped);

/* Maps [offset, offset + bytes) of the file; offset in whole pages. RZ_ERR_MALFORMED: the file is
 * shorter. */
rz_status_t rz_memory_map_range(int fd, size_t offset, size_t bytes, bool writable, void **at);

/*
 * Maps [offset, offset + front + ring) and then the ring once more behind it, so that all that
 * begins in the ring is contiguous. All in whole pages; unmap front + 2 * ring bytes.
 */
rz_status_t rz_memory_map_ring(int fd, size_t offset, size_t front, size_t ring, bool writable,
                               void **at);

/*
 * From now on this process maps shared memory between these addresses alone, from the first one on:
 * apart from the program's own memory, and at the same addresses in each process that makes the
 * same mappings in the same order. To be called before any other thread maps memory.
 */
void rz_memory_keep_apart(void *from, size_t bytes);

/* Whether fd is a memfd of at least this number of bytes that cannot be shrunk: a process that
 * received it from an untrusted process may read that much of it without SIGBUS, and never waits
 * for it. If this process itself can make memory only without seals, it accepts such memory,
 * too. */
bool rz_memory_holds(int fd, uint64_t bytes);

/* Whether the memory has pages for so many bytes, in RAM or swapped out; what has holes may be of
 * any size, and costs its maker nothing. */
bool rz_memory_is_backed(int fd, uint64_t bytes);

void rz_memory_unmap(void *at, size_t bytes);

#endif
