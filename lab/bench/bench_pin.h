/* SPDX-License-Identifier: BSD-3-Clause */
/* Binding of the calling thread: the n-th processor of a list "0,1,..." for the n-th rank. */
#ifndef BENCH_PIN_H
#define BENCH_PIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static int bench_pin(const char *cpus, int n)
{
    cpu_set_t set;
    for (; n > 0; n--) {
        const char *comma = strchr(cpus, ',');
        if (!comma) {
            return 0;
        }
        cpus = comma + 1;
    }
    CPU_ZERO(&set);
    CPU_SET((size_t)atoi(cpus), &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

#endif
