/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program as on a kernel that lacks calls, or in a container that forbids them: a filter of
 * seccomp refuses them to it and to all that it starts.
 *
 *   old_kernel 4.18|5.14|CALL[,CALL...] [--forbidden] PROGRAM [ARGUMENT...]
 *
 * 4.18 (as in RHEL 8) and 5.14 (RHEL 9) lack every call that is younger. The answer is ENOSYS;
 * --forbidden: EPERM, as old profiles of containers give. Exit status 77: there is no seccomp here.
 */
#include "port/kernel.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CALLS_MAX = 16, SKIPPED = 77, USAGE = 2 };

/* From 424 on, numbers are the same on all machines and grow with the kernel. */
static const struct {
    const char *name;
    unsigned first; /* that it lacks */
} kernels[] = {{"4.18", SYS_pidfd_send_signal}, {"5.14", 448}};

static const struct {
    const char *name;
    unsigned number;
} calls[] = {{"memfd_create", SYS_memfd_create},
             {"membarrier", SYS_membarrier},
             {"madvise", SYS_madvise},
             {"process_vm_readv", SYS_process_vm_readv},
             {"set_robust_list", SYS_set_robust_list},
             {"getrandom", SYS_getrandom},
             {"futex_waitv", SYS_futex_waitv},
             {"close_range", SYS_close_range},
             {"pidfd_open", SYS_pidfd_open},
             {"pidfd_send_signal", SYS_pidfd_send_signal},
             {"statx", SYS_statx},
             {"clone3", 435}};

static unsigned n_filter;
static struct sock_filter filter[2 * CALLS_MAX + 4];

static void add(struct sock_filter step)
{
    if (n_filter == sizeof(filter) / sizeof(*filter)) {
        exit(USAGE);
    }
    filter[n_filter++] = step;
}

static void refuse(unsigned short when, unsigned number, int error)
{
    add((struct sock_filter)BPF_JUMP(BPF_JMP | when | BPF_K, number, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error));
}

static bool refuse_named(const char *name, int error)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
        if (strcmp(name, kernels[i].name) == 0) {
            refuse(BPF_JGE, kernels[i].first, error);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        if (strcmp(name, calls[i].name) == 0) {
            refuse(BPF_JEQ, calls[i].number, error);
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    bool forbidden = argc > 2 && strcmp(argv[2], "--forbidden") == 0;
    char **program = argv + (forbidden ? 3 : 2);
    bool good = argc > (forbidden ? 3 : 2);
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (char *name = good ? strtok(argv[1], ",") : NULL; good && name; name = strtok(NULL, ",")) {
        good = refuse_named(name, forbidden ? EPERM : ENOSYS);
    }
    if (!good) {
        fprintf(stderr, "usage: old_kernel 4.18|5.14|CALL[,CALL...] [--forbidden] PROGRAM ...\n");
        return USAGE;
    }
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog whole = {.len = (unsigned short)n_filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) != 0) {
        printf("skipped: no filter of seccomp can be set here\n");
        return SKIPPED;
    }
    execvp(program[0], program);
    perror(program[0]);
    return 127;
}
