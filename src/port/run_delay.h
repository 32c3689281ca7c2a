/* How long this process has waited for a processor: ready to run, and not running. */
#ifndef RZ_PORT_RUN_DELAY_H
#define RZ_PORT_RUN_DELAY_H

#include <rhizome/types.h>

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor for rz_run_delay; -1: the kernel does not count it. Of the main thread. */
int rz_run_delay_open(void);

/* Since the process began, in ns; 0 for fd -1. */
rz_time rz_run_delay(int fd);

/* What the kernel says of a process of this machine at one moment, of its main thread. */
struct rz_run_look {
    rz_time ran;    /* on a processor, since it began, in ns */
    rz_time waited; /* for a processor, in waits that are over */
    bool ready;     /* it runs, or waits for a processor or a device */
};

/* All zero for pid 0, where there is no such process, and where the kernel does not tell. */
struct rz_run_look rz_run_delay_look(pid_t pid);

/* Whether it was to run at the later look, and has not run since the earlier one. */
bool rz_run_delay_lasts(const struct rz_run_look *earlier, const struct rz_run_look *later);

/* How much of the `gap` between two looks it waited, in ns, at most all of it. */
rz_time rz_run_delay_between(const struct rz_run_look *earlier, const struct rz_run_look *later,
                             rz_time gap);

#endif
