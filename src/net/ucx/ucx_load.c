/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and loads the module, so that nothing else is linked with UCX. */
#include "net/ucx/ucx.h"

#include "port/module.h"

#define MODULE "rhizome-ucx.so"

static void complain_of_load(const struct rz_ucx_config *config, const char *text)
{
    if (config->complain) {
        config->complain(config->host.arg, text);
    }
}

rz_status_t rz_ucx_open(const struct rz_ucx_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops)
{
    /* Never unloaded: UCX keeps process-wide state that does not survive it. */
    static const struct rz_net_ucx_entry *entry;
    if (!entry) {
        const char *why;
        entry =
            rz_module_entry(MODULE, "RZ_UCX_MODULE", "rz_net_ucx_entry", RZ_NET_UCX_VERSION, &why);
        if (!entry) {
#ifndef RZ_HAVE_UCX
            why = "this build of Rhizome has no UCX (cmake -DRZ_UCX=ON builds it in)";
#endif
            complain_of_load(config, why);
            return RZ_ERR_UNSUPPORTED;
        }
    }
    rz_status_t status = entry->open(config, net);
    if (status == RZ_OK) {
        *ops = entry->ops;
    }
    return status;
}
