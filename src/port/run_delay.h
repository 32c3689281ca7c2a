/* SPDX-License-Identifier: BSD-3-Clause */
/* The time for which a process has waited for a processor: ready to run, and not running. */
#ifndef RZ_PORT_RUN_DELAY_H
#define RZ_PORT_RUN_DELAY_H

#include <rhizome/types.h>

#include <stdbool.h>
#include <sys/types.h>

/* Opens a descriptor for rz_run_delay, of the main thread; -1: the kernel does not count this
 * time. */
int rz_run_delay_open(void);

/* The waiting time since the process started, in ns; 0 for fd -1. */
rz_time rz_run_delay(int fd);

/* What the kernel reports of the main thread of a process of this machine at one moment. */
struct rz_run_look {
    rz_time ran;    /* time on a processor since the start, in ns */
    rz_time waited; /* time of finished waits for a processor, in ns */
    bool ready;     /* it runs, or waits for a processor or a device */
};

/* Samples a process. All fields are 0 for pid 0, if there is no such process, and if the kernel
 * does not report it. */
struct rz_run_look rz_run_delay_look(pid_t pid);

/* Whether the process was ready to run at the later sample, and has not run since the earlier
 * one. */
bool rz_run_delay_lasts(const struct rz_run_look *earlier, const struct rz_run_look *later);

/* How much of the `gap` between two samples the process has waited, in ns; at most gap. */
rz_time rz_run_delay_between(const struct rz_run_look *earlier, const struct rz_run_look *later,
                             rz_time gap);

#endif
