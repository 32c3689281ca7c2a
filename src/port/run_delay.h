/* How long this process has waited for a processor: ready to run, and not running. */
#ifndef RZ_PORT_RUN_DELAY_H
#define RZ_PORT_RUN_DELAY_H

#include <rhizome/types.h>

/* A descriptor for rz_run_delay; -1: the kernel does not count it. Of the main thread. */
int rz_run_delay_open(void);

/* Since the process began, in ns; 0 for fd -1. */
rz_time rz_run_delay(int fd);

#endif
