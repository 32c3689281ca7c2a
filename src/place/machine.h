/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine as hwloc reports it: the cores that this process may use. */
#ifndef RZ_PLACE_MACHINE_H
#define RZ_PLACE_MACHINE_H

#include "base/status.h"

#include <rhizome/types.h>

struct rz_machine_core {
    uint32_t number;        /* hwloc's logical number */
    uint32_t package, numa; /* the system's numbers; 0 where it has none */
    uint32_t first, count;  /* processors[first] and the following belong to it */
};

struct rz_machine {
    uint32_t n_cores, n_processors;
    struct rz_machine_core *cores; /* in the order of the machine: neighbours are close */
    uint32_t *processors;          /* the system's numbers */
};

/* Asks hwloc, which takes some milliseconds. RZ_ERR_SYSTEM (hwloc does not know this machine),
 * RZ_ERR_NO_MEMORY: nothing is to be cleared. */
rz_status_t rz_machine_look(struct rz_machine *machine);
void rz_machine_clear(struct rz_machine *machine);

#endif
