/* Finds and loads the module, so that nothing else is linked with UCX. */
#include "net/ucx/ucx.h"

#include "port/module.h"

#include <dlfcn.h>

#define MODULE "rhizome-ucx.so"

static const char *why_missing(void)
{
#ifdef RZ_HAVE_UCX
    const char *reason = dlerror();
    return reason != NULL ? reason : MODULE " was not found";
#else
    return "this build of Rhizome has no UCX (cmake -DRZ_WITH_UCX=ON builds it in)";
#endif
}

static void complain(const struct rz_ucx_config *config, const char *text)
{
    if (config->complain != NULL)
        config->complain(config->host.arg, text);
}

rz_status_t rz_ucx_open(const struct rz_ucx_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops)
{
    /* Never unloaded: UCX keeps state of the process that does not survive it. */
    static const struct rz_net_ucx_entry *entry;
    if (entry == NULL) {
        void *module = rz_module_load(MODULE, "RZ_UCX_MODULE");
        if (module == NULL) {
            complain(config, why_missing());
            return RZ_ERR_UNSUPPORTED;
        }
        const struct rz_net_ucx_entry *found = dlsym(module, "rz_net_ucx_entry");
        if (found == NULL || found->version != RZ_NET_UCX_VERSION) {
            complain(config, MODULE " is of another build");
            dlclose(module);
            return RZ_ERR_UNSUPPORTED;
        }
        entry = found;
    }
    rz_status_t status = entry->open(config, net);
    if (status == RZ_OK)
        *ops = entry->ops;
    return status;
}
