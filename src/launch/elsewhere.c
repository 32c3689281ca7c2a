/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the names of hosts with this machine, and asks for the routes to the others. */
#include "launch/elsewhere.h"

#include "port/interface.h"

#include <string.h>

enum { INTERFACES_MAX = 64, ADDRESSES_MAX = 16, ASKED_MAX = 4 };

static bool is_elsewhere(const struct rz_rzrun_options *options, const char *host)
{
    switch (options->launcher) {
    case RZ_LAUNCHER_LOCAL:
        return false;
    case RZ_LAUNCHER_SSH:
        return true;
    case RZ_LAUNCHER_SLURM:
        return strcmp(host, "localhost") != 0;
    default:
        return !rz_host_is_here(host);
    }
}

static void add_address(struct rz_rzrun_options *options, const struct rz_address *address)
{
    unsigned i = 0;
    while (i < options->n_addresses && options->addresses[i].ip != address->ip) {
        i++;
    }
    if (i == options->n_addresses && i < RZ_RZRUN_ADDRESSES_MAX) {
        options->addresses[options->n_addresses++] = *address;
    }
}

/* The addresses from which hosts are reached. A few hosts show the ways to all; each question may
 * take seconds. */
static void add_routes(struct rz_rzrun_options *options)
{
    struct rz_address found[ADDRESSES_MAX], from;
    for (uint32_t i = 0, asked = 0; i < options->layout.n_nodes && asked < ASKED_MAX; i++) {
        const struct rz_layout_node *node = &options->layout.nodes[i];
        const char *at = strrchr(node->host, '@'), *name = at ? at + 1 : node->host;
        asked += node->remote;
        unsigned n = node->remote ? rz_host_addresses(name, found, ADDRESSES_MAX) : 0;
        for (unsigned k = 0; k < n; k++) {
            if (found[k].ip >> 24 != 127 && rz_socket_route(&found[k], &from) == RZ_OK) {
                add_address(options, &from);
            }
        }
    }
}

/* Those from which the hosts are reached come first; then all that other hosts may know. */
static void settle_addresses(struct rz_rzrun_options *options)
{
    struct rz_interface interfaces[INTERFACES_MAX];
    unsigned n = rz_interfaces(interfaces, INTERFACES_MAX);
    if (!options->interface) {
        add_routes(options);
    }
    for (unsigned i = 0; i < n; i++) {
        if (options->interface ? rz_interface_matches(&interfaces[i], options->interface)
                               : !interfaces[i].loopback && !interfaces[i].local) {
            add_address(options, &interfaces[i].address);
        }
    }
}

void rz_elsewhere_settle(struct rz_rzrun_options *options)
{
    struct rz_launch_layout *layout = &options->layout;
    for (uint32_t i = 0; options->named && i < layout->n_nodes; i++) {
        layout->nodes[i].remote = is_elsewhere(options, layout->nodes[i].host);
    }
    rz_layout_merge_remote(layout);
    options->n_remote = 0;
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        options->n_remote += layout->nodes[i].remote;
    }
    if (options->n_remote > 0) {
        settle_addresses(options);
    }
}
