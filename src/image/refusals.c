/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs to the process, cannot be saved, and is neither mapping nor descriptor nor thread.
 */
#include "image/area.h"

#include "image/raw_call.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define SHADOW_STACK_STATUS 0x5005 /* arch_prctl */

static rz_status_t refuse_children(void)
{
    siginfo_t info;
    rz_raw_zero(&info, sizeof(info));
    /* Also those of clone() whose end no signal tells. */
    const long how = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
    long result = RZ_RAW5(waitid, P_ALL, 0, &info, how, 0);
    if (result == -ECHILD) {
        return RZ_OK;
    }
    if (result == 0 && info.si_pid != 0) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "child process %d has ended and the program has not waited for it",
                               info.si_pid);
    }
    char pid[16];
    long n = rz_image_read_file("/proc/thread-self/children", pid, sizeof(pid) - 1), end = 0;
    while (end < n && pid[end] >= '0' && pid[end] <= '9') {
        end++;
    }
    pid[end] = '\0';
    return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has a child process%s%s",
                           *pid ? ": " : "", pid);
}

static rz_status_t refuse_timers(void)
{
    char text[64];
    long n = rz_image_read_file("/proc/self/timers", text, sizeof(text) - 1);
    if (n <= 0) {
        return RZ_OK; /* none, or a kernel that does not say */
    }
    text[n] = '\0';
    char *end = text;
    while (*end && *end != '\n') {
        end++;
    }
    *end = '\0';
    return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has a timer of timer_create (%s)",
                           text);
}

rz_status_t rz_image_refuse_others(void)
{
    uint64_t shadow = 0;
    if (RZ_RAW2(arch_prctl, SHADOW_STACK_STATUS, &shadow) == 0 && shadow != 0) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program runs with a shadow stack "
                                                   "(GLIBC_TUNABLES=glibc.cpu.x86_shstk=off)");
    }
    rz_status_t status = refuse_children();
    status = status == RZ_OK ? refuse_timers() : status;
    return status == RZ_OK ? rz_image_refuse_changed() : status;
}
