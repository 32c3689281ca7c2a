/* Finds and loads the module, so that nothing else is linked with libsodium. */
#include "net/tcp/tcp.h"

#include "port/module.h"

#include <dlfcn.h>

#define MODULE "rhizome-tcp.so"

static void complain(const struct rz_tcp_config *config, const char *text)
{
    if (config->complain != NULL)
        config->complain(config->host.arg, text);
}

rz_status_t rz_tcp_open(const struct rz_tcp_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops)
{
    static const struct rz_net_tcp_entry *entry;
    if (entry == NULL) {
        void *module = rz_module_load(MODULE, "RZ_TCP_MODULE");
        if (module == NULL) {
            const char *reason = dlerror();
            complain(config, reason != NULL ? reason : MODULE " was not found");
            return RZ_ERR_UNSUPPORTED;
        }
        const struct rz_net_tcp_entry *found = dlsym(module, "rz_net_tcp_entry");
        if (found == NULL || found->version != RZ_NET_TCP_VERSION) {
            complain(config, MODULE " is of another build");
            return RZ_ERR_UNSUPPORTED;
        }
        entry = found;
    }
    rz_status_t status = entry->open(config, net);
    if (status == RZ_OK)
        *ops = entry->ops;
    return status;
}
