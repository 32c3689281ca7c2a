/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the module of the testing thread when a monitor is first started.
 */
#include "mpi/monitor/monitor.h"
#include "port/module.h"

#define MODULE "rhizome-tester.so"

const struct rz_tester_entry *rz_monitor_tester(void)
{
    static const struct rz_tester_entry *entry;
    const char *why;
    if (!entry) {
        entry = rz_module_entry(MODULE, "RZ_TESTER_MODULE", "rz_tester_entry",
                                RZ_TESTER_MODULE_VERSION, &why);
        if (!entry) {
            rzm_error(MPI_ERR_OTHER, MODULE " is needed beside the library: %s", why);
        }
    }
    return entry;
}
