/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls that are younger than the oldest supported system (Linux 4.18, as in RHEL 8), with
 * numbers for C libraries and headers that do not know them. Each has a fallback where it is used;
 * a call is tried, and its result decides, never a version.
 *
 *   futex_waitv  5.16  port/watch.c    one waiting thread per process instead of one per 127
 *   close_range  5.9   port/process.c  descriptors are closed one by one, as /proc names them
 *   pidfd_*      5.3   port/process.c  a process is signalled by its number
 *   madvise(MADV_POPULATE_WRITE)
 *                5.14  port/memory.c   rings of shared memory do not grow
 *   memfd_create       port/memory.c   where it is forbidden: a file of /dev/shm without a name
 */
#ifndef RZ_PORT_KERNEL_H
#define RZ_PORT_KERNEL_H

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#ifndef FUTEX_WAITV_MAX
#define FUTEX_WAITV_MAX 128
struct futex_waitv {
    uint64_t val, uaddr;
    uint32_t flags, __reserved;
};
#endif
#ifndef FUTEX_32
#define FUTEX_32 2
#endif

/* After a call that failed: whether the kernel lacks the call, or a container forbids it (old
 * seccomp profiles return this error for calls that they do not know). */
static inline bool rz_kernel_lacks_it(void)
{
    return errno == ENOSYS || errno == EPERM;
}

#endif
