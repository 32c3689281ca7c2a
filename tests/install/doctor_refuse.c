/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program: the system call named by RZ_TEST_REFUSE is refused, as on a system that
 * lacks or forbids it; with "hang:" before the name, it does not come back, and the file named by
 * RZ_TEST_REACHED says that it was called. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static bool refused(const char *name)
{
    const char *wanted = getenv("RZ_TEST_REFUSE");
    if (wanted && strncmp(wanted, "hang:", 5) == 0 && strcmp(wanted + 5, name) == 0) {
        close(open(getenv("RZ_TEST_REACHED"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        for (;;) {
            pause();
        }
    }
    errno = ENOSYS;
    return wanted && strcmp(wanted, name) == 0;
}

SHOWN long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if ((number == SYS_pidfd_open && refused("pidfd_open")) ||
        (number == SYS_futex_waitv && refused("futex_waitv")) ||
        (number == SYS_membarrier && refused("membarrier")) ||
        (number == SYS_close_range && refused("close_range"))) {
        return -1;
    }
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

SHOWN int memfd_create(const char *name, unsigned flags)
{
    static int (*real)(const char *, unsigned);
    if (refused("memfd_create")) {
        return -1;
    }
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "memfd_create");
    }
    return real(name, flags);
}

SHOWN ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n,
                               const struct iovec *from, unsigned long m, unsigned long flags)
{
    static ssize_t (*real)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                           unsigned long, unsigned long);
    if (refused("process_vm_readv")) {
        return -1;
    }
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "process_vm_readv");
    }
    return real(pid, to, n, from, m, flags);
}
