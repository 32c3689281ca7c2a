/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cluster of nodes on one machine, each with a network and a host name of its own: network
 * namespaces attached to a bridge. The bridge is in a namespace without processes, the switch.
 *
 * Nothing here has a name in the file system, and nothing needs clean-up. A node's namespace exists
 * as long as a process in it, the switch as long as its descriptor; the kernel removes them and
 * their links with the last of these, however it ended.
 *
 * It needs CAP_SYS_ADMIN and CAP_NET_ADMIN, which root has, also the root of a user namespace.
 */
#ifndef RZ_PORT_NETNS_H
#define RZ_PORT_NETNS_H

#include "base/status.h"

#include <rhizome/types.h>

/* The largest number of ports of a Linux bridge. */
#define RZ_NETNS_NODES_MAX 1023

/* The only device beside lo that a node has; it leads to the switch. */
#define RZ_NETNS_DEVICE "rz0"

/* The bridge, in the namespace of the switch. */
#define RZ_NETNS_BRIDGE "switch"

/* The settings of a node. */
struct rz_netns_node {
    const char *host;    /* its host name, also that of its port on the switch (15 characters) */
    const char *address; /* numeric IPv4 */
    unsigned prefix;     /* bits of the network that all nodes share */
};

/*
 * Makes a switch; *fd is its namespace, close-on-exec. Forks and waits for a moment. After an error
 * *why (static text) says what failed and, if rights are missing, the remedy.
 */
rz_status_t rz_netns_switch(int *fd, const char **why);

/*
 * In a child after fork, before exec: puts it into a new node at the switch, with that host name, a
 * loopback device, RZ_NETNS_DEVICE with the address, and a /sys that shows these devices. *why: as
 * above; then the child must exit.
 */
rz_status_t rz_netns_enter(int switch_fd, const struct rz_netns_node *node, const char **why);

#endif
