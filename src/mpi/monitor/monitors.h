/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rest of the library knows of group monitors. All functions are called with the engine
 * lock held. A build without dynamic groups (RZ_GROUP) has no monitors.
 */
#ifndef RZ_MPI_MONITORS_H
#define RZ_MPI_MONITORS_H

#include "mpi/impl.h"
#include "mpi/engine/hooks.h"

/* Process sets, one for each monitor, by its name: the latest view. */
#define RZ_MONITOR_PSET "rhizome://recommended/"

#if RZ_GROUP

/* List of all monitors; NULL in most programs. */
extern struct rz_monitor *rz_monitors;

extern const struct rz_hooks rz_monitor_hooks;

/* Number of datagrams that monitors of this process have sent and received so far, including ended
 * ones. */
uint64_t rz_monitors_sent(void);
uint64_t rz_monitors_received(void);

/* The number of process sets; the name of the i-th one, without RZ_MONITOR_PSET. */
int rz_monitors_count(void);
const char *rz_monitors_name(int i);

/* Makes a group of the latest view of the monitor with that process set; *found: there is such a
 * monitor. NULL: there is none, or no memory. */
struct rz_group *rz_monitors_pset(const char *pset, bool *found);

#else

static inline uint64_t rz_monitors_sent(void)
{
    return 0;
}

static inline uint64_t rz_monitors_received(void)
{
    return 0;
}

static inline int rz_monitors_count(void)
{
    return 0;
}

static inline const char *rz_monitors_name(int i)
{
    (void)i;
    return "";
}

static inline struct rz_group *rz_monitors_pset(const char *pset, bool *found)
{
    (void)pset;
    *found = false;
    return NULL;
}

#endif

#endif
