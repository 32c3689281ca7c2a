/* Loads the module of the testing thread, when a monitor is first started. */
#include "mpi/monitor/monitor.h"
#include "port/module.h"

#include <dlfcn.h>

#define MODULE "rhizome-tester.so"

const struct rz_tester_entry *rz_monitor_tester(void)
{
    static const struct rz_tester_entry *entry;
    if (entry != NULL) {
        return entry;
    }
    void *module = rz_module_load(MODULE, "RZ_TESTER_MODULE");
    const struct rz_tester_entry *found = module != NULL ? dlsym(module, "rz_tester_entry") : NULL;
    if (found == NULL || found->version != RZ_TESTER_MODULE_VERSION) {
        const char *reason = dlerror();
        rzm_error(MPI_ERR_OTHER, MODULE " is needed beside the library: %s",
                  reason != NULL ? reason : "it is of another build");
        return NULL;
    }
    return entry = found;
}
