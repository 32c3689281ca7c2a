/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and loads the module, so that nothing else is linked with libsodium. */
#include "net/tcp/tcp.h"

#include "port/module.h"

#define MODULE "rhizome-tcp.so"

rz_status_t rz_tcp_open(const struct rz_tcp_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops)
{
    static const struct rz_net_tcp_entry *entry;
    if (!entry) {
        const char *why;
        entry =
            rz_module_entry(MODULE, "RZ_TCP_MODULE", "rz_net_tcp_entry", RZ_NET_TCP_VERSION, &why);
        if (!entry) {
            rz_tcp_complain(config, why);
            return RZ_ERR_UNSUPPORTED;
        }
    }
    rz_status_t status = entry->open(config, net);
    if (status == RZ_OK) {
        *ops = entry->ops;
    }
    return status;
}
