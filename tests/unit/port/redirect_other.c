/* SPDX-License-Identifier: BSD-3-Clause */
/* A library with a function of its own that has the name of one of libc's. */
#include <sys/types.h>

pid_t getsid(pid_t pid);
pid_t other_calls_getsid(void);

pid_t getsid(pid_t pid)
{
    (void)pid;
    return 4711;
}

pid_t other_calls_getsid(void)
{
    return getsid(0);
}
