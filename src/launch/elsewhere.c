/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the names of hosts with this machine, and asks for the routes to the others. Each name
 * is looked up at most once. */
#include "launch/elsewhere.h"

#include "port/interface.h"

#include <string.h>

enum { INTERFACES_MAX = 256, ASKED_MAX = 4 };

/* The addresses of some remote hosts. */
struct asked {
    unsigned n;
    struct rz_host_addresses hosts[ASKED_MAX];
};

/* found: what was looked up for the answer. */
static bool is_elsewhere(const struct rz_rzrun_options *options, const char *host,
                         struct rz_host_addresses *found)
{
    switch (options->launcher) {
    case RZ_LAUNCHER_LOCAL:
        return false;
    case RZ_LAUNCHER_SSH:
        return true;
    case RZ_LAUNCHER_SLURM:
        return strcmp(host, "localhost") != 0;
    default:
        return !rz_host_is_here(host, found);
    }
}

static void add_address(struct rz_rzrun_options *options, const struct rz_address *address)
{
    unsigned i = 0;
    while (i < options->n_addresses && !rz_address_same_ip(&options->addresses[i], address)) {
        i++;
    }
    if (i == options->n_addresses && i < RZ_RZRUN_ADDRESSES_MAX) {
        options->addresses[options->n_addresses++] = *address;
    }
}

/* Looks up what was not yet: a few hosts show the ways to all, and each question may take seconds.
 */
static void ask_host(struct asked *asked, const char *host, const struct rz_host_addresses *found)
{
    const char *at = strrchr(host, '@');
    if (asked->n == ASKED_MAX) {
        return;
    }
    struct rz_host_addresses *addresses = &asked->hosts[asked->n++];
    *addresses = *found;
    if (addresses->n == 0) {
        rz_host_look_up(at ? at + 1 : host, addresses);
    }
}

/* The addresses from which hosts are reached, in the order in which theirs should be tried. */
static void add_routes(struct rz_rzrun_options *options, const struct asked *asked)
{
    for (unsigned i = 0; i < asked->n; i++) {
        const struct rz_host_addresses *host = &asked->hosts[i];
        for (unsigned k = 0; k < host->n; k++) {
            struct rz_address from;
            if (!rz_address_is_loopback(&host->all[k]) &&
                rz_socket_route(&host->all[k], &from) == RZ_OK &&
                !rz_address_is_link_local(&from)) {
                add_address(options, &from);
            }
        }
    }
}

/* Those from which the hosts are reached come first; then all that other hosts may know. */
static void settle_addresses(struct rz_rzrun_options *options, const struct asked *asked)
{
    struct rz_interface interfaces[INTERFACES_MAX];
    unsigned n = rz_interfaces(interfaces, INTERFACES_MAX);
    if (!options->interface) {
        add_routes(options, asked);
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
    struct asked asked = {.n = 0};
    for (uint32_t i = 0; options->named && i < layout->n_nodes; i++) {
        struct rz_host_addresses found = {.n = 0};
        struct rz_layout_node *node = &layout->nodes[i];
        node->remote = is_elsewhere(options, node->host, &found);
        if (node->remote && !options->interface) {
            ask_host(&asked, node->host, &found);
        }
    }
    rz_layout_merge_remote(layout);
    options->n_remote = 0;
    for (uint32_t i = 0; i < layout->n_nodes; i++) {
        options->n_remote += layout->nodes[i].remote;
    }
    if (options->n_remote > 0) {
        settle_addresses(options, &asked);
    }
}
