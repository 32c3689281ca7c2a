/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads /proc/PID/schedstat, in which the kernel counts the time on and in wait for a processor. */
#include "port/run_delay.h"

#include "port/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int rz_run_delay_open(void)
{
    return open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
}

static bool read_counts(int fd, rz_time *ran, rz_time *waited)
{
    char text[96];
    unsigned long long counts[2];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : 0;
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    if (sscanf(text, "%llu %llu", &counts[0], &counts[1]) != 2) {
        return false;
    }
    *ran = (rz_time)counts[0];
    *waited = (rz_time)counts[1];
    return true;
}

rz_time rz_run_delay(int fd)
{
    rz_time ran, waited;
    return read_counts(fd, &ran, &waited) ? waited : 0;
}

struct rz_run_look rz_run_delay_look(pid_t pid)
{
    struct rz_run_look look = {0};
    char path[40];
    if (pid <= 0) {
        return look;
    }
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool told = read_counts(fd, &look.ran, &look.waited);
    if (fd >= 0) {
        close(fd);
    }
    char state = told ? rz_process_state(pid) : 0;
    look.ready = state == 'R' || state == 'D';
    return look;
}

bool rz_run_delay_lasts(const struct rz_run_look *earlier, const struct rz_run_look *later)
{
    return later->ready && later->ran == earlier->ran;
}

rz_time rz_run_delay_between(const struct rz_run_look *earlier, const struct rz_run_look *later,
                             rz_time gap)
{
    if (rz_run_delay_lasts(earlier, later)) {
        return gap;
    }
    rz_time waited = later->waited > earlier->waited ? later->waited - earlier->waited : 0;
    return waited < gap ? waited : gap;
}
