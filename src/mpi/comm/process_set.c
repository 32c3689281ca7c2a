/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of the process sets, and which predefined communicator each one belongs to.
 */
#include "mpi/comm/process_set.h"

#include <strings.h>

const char *const rz_process_sets[RZ_PROCESS_SETS] = {"mpi://WORLD", "mpi://SELF"};

unsigned rz_process_set_comm(const char *name)
{
    for (unsigned i = 0; i < RZ_PROCESS_SETS; i++) {
        if (strcasecmp(name, rz_process_sets[i]) == 0) {
            return 0x101 + i;
        }
    }
    return 0;
}
