/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the network of emulated nodes: namespaces through clone and setns, bridge and cables
 * through rtnetlink. */
#include "port/netns.h"

#include "port/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char own_network[] = "/proc/self/ns/net";

/* Reports an error of the system, with the remedy if a right is missing. */
static rz_status_t failed(const char *what, const char **why)
{
    *why = errno == EPERM || errno == EACCES
               ? "namespaces of their own for nodes need root, or CAP_SYS_ADMIN and CAP_NET_ADMIN; "
                 "where users may have namespaces, `unshare -Ur rzrun ...` gives them"
               : what;
    return RZ_ERR_SYSTEM;
}

/* Reports an error of libnl, which has numbers of its own, in the same way. */
static rz_status_t netlink_failed(int error, const char *what, const char **why)
{
    errno = error == -NLE_PERM || error == -NLE_NOACCESS ? EPERM : 0;
    return failed(what, why);
}

/* Opens a socket for the network devices of the namespace that the caller is in now. */
static rz_status_t netlink_open(struct nl_sock **sock, const char **why)
{
    *sock = nl_socket_alloc();
    int error = *sock ? nl_connect(*sock, NETLINK_ROUTE) : -NLE_NOMEM;
    if (error == 0) {
        return RZ_OK;
    }
    nl_socket_free(*sock);
    return netlink_failed(error, "no netlink socket can be opened", why);
}

static int device_index(struct nl_sock *sock, const char *name)
{
    struct rtnl_link *link;
    if (rtnl_link_get_kernel(sock, 0, name, &link) != 0) {
        return 0;
    }
    int index = rtnl_link_get_ifindex(link);
    rtnl_link_put(link);
    return index;
}

/* ---- the switch ---- */

static rz_status_t add_bridge(const char **why)
{
    struct nl_sock *sock;
    rz_status_t status = netlink_open(&sock, why);
    if (status != RZ_OK) {
        return status;
    }
    struct rtnl_link *bridge = rtnl_link_alloc();
    int error = -NLE_NOMEM;
    if (bridge) {
        rtnl_link_set_name(bridge, RZ_NETNS_BRIDGE);
        rtnl_link_set_flags(bridge, IFF_UP);
        error = rtnl_link_set_type(bridge, "bridge");
        if (error == 0) {
            error = rtnl_link_add(sock, bridge, NLM_F_CREATE | NLM_F_EXCL);
        }
        rtnl_link_put(bridge);
    }
    nl_socket_free(sock);
    if (error != 0) {
        return netlink_failed(error, "no bridge can be made (kernel without CONFIG_BRIDGE?)", why);
    }
    return RZ_OK;
}

static rz_status_t make_switch(int *fd, const char **why)
{
    if (unshare(CLONE_NEWNET) != 0) {
        return failed("no network namespace can be made", why);
    }
    rz_status_t status = add_bridge(why);
    if (status != RZ_OK) {
        return status;
    }
    *fd = open(own_network, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? failed("the switch's namespace cannot be opened", why) : RZ_OK;
}

/* What the child that makes the switch reports. `why` is static text, so it is valid in the parent,
 * too. */
struct made {
    rz_status_t status;
    const char *why;
};

/* Runs in a child, because a process that has left a namespace may return only with rights over
 * it. */
rz_status_t rz_netns_switch(int *fd, const char **why)
{
    int channel[2];
    size_t bytes = 0;
    struct made made = {.status = RZ_ERR_SYSTEM,
                        .why = "the switch did not come from the process that makes it"};
    if (rz_channel_pair(channel) != RZ_OK) {
        return failed("no socket can be opened", why);
    }
    pid_t child = fork();
    if (child == 0) {
        int made_fd = -1;
        made.status = make_switch(&made_fd, &made.why);
        rz_channel_send(channel[1], &made, sizeof(made), &made_fd, made.status == RZ_OK);
        _exit(EXIT_SUCCESS);
    }
    close(channel[1]);
    unsigned n_fds = 1;
    if (child > 0) {
        waitpid(child, NULL, 0);
        if (rz_channel_receive(channel[0], &made, sizeof(made), &bytes, fd, &n_fds) == RZ_OK &&
            made.status == RZ_OK && n_fds != 1) {
            made.status = RZ_ERR_SYSTEM;
        }
    }
    close(channel[0]);
    if (child < 0) {
        return failed("no process can be started", why);
    }
    *why = made.why;
    return made.status;
}

/* ---- a node ---- */

/* Adds a cable from the switch (the namespace of sock) to the namespace of node_fd, and raises its
 * port. */
static int add_cable(struct nl_sock *sock, const struct rz_netns_node *node, int node_fd)
{
    struct rtnl_link *port = rtnl_link_veth_alloc();
    if (!port) {
        return -NLE_NOMEM;
    }
    rtnl_link_set_name(port, node->host);
    rtnl_link_set_master(port, device_index(sock, RZ_NETNS_BRIDGE));
    rtnl_link_set_flags(port, IFF_UP);
    struct rtnl_link *device = rtnl_link_veth_get_peer(port);
    rtnl_link_set_name(device, RZ_NETNS_DEVICE);
    rtnl_link_set_ns_fd(device, node_fd);
    rtnl_link_put(device);
    int error = rtnl_link_add(sock, port, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_veth_release(port);
    return error;
}

static int set_address(struct nl_sock *sock, const struct rz_netns_node *node)
{
    struct nl_addr *local;
    int error = nl_addr_parse(node->address, AF_INET, &local);
    if (error != 0) {
        return error;
    }
    nl_addr_set_prefixlen(local, (int)node->prefix);
    struct rtnl_addr *address = rtnl_addr_alloc();
    error = -NLE_NOMEM;
    if (address) {
        rtnl_addr_set_ifindex(address, device_index(sock, RZ_NETNS_DEVICE));
        error = rtnl_addr_set_local(address, local);
        if (error == 0) {
            error = rtnl_addr_add(sock, address, 0);
        }
        rtnl_addr_put(address);
    }
    nl_addr_put(local);
    return error;
}

static int raise_device(struct nl_sock *sock, const char *name)
{
    struct rtnl_link *wanted = rtnl_link_alloc(), *found = rtnl_link_alloc();
    int error = -NLE_NOMEM;
    if (wanted && found) {
        rtnl_link_set_ifindex(found, device_index(sock, name));
        rtnl_link_set_flags(wanted, IFF_UP);
        error = rtnl_link_change(sock, found, wanted, 0);
    }
    rtnl_link_put(wanted);
    rtnl_link_put(found);
    return error;
}

static rz_status_t set_devices_up(const struct rz_netns_node *node, const char **why)
{
    struct nl_sock *sock;
    rz_status_t status = netlink_open(&sock, why);
    if (status != RZ_OK) {
        return status;
    }
    int error = raise_device(sock, "lo");
    if (error == 0) {
        error = set_address(sock, node);
    }
    if (error == 0) {
        error = raise_device(sock, RZ_NETNS_DEVICE);
    }
    nl_socket_free(sock);
    return error == 0 ? RZ_OK
                      : netlink_failed(error, "the node's devices cannot be configured", why);
}

/* Mounts /sys again: a process that looks for network devices there must find the node's own. The
 * mount stays in the node. */
static rz_status_t show_devices(const char **why)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
        mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
        return failed("the node's devices cannot be shown in /sys", why);
    }
    return RZ_OK;
}

/*
 * Limits the retransmissions of connections that their process has left. Without an answer they
 * last for minutes and keep the namespace alive; on a cable one more try is enough. Where this
 * cannot be set, the namespace is removed later.
 */
static void bound_goodbyes(void)
{
    int fd = open("/proc/sys/net/ipv4/tcp_orphan_retries", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t written = write(fd, "1", 1);
        (void)written;
        close(fd);
    }
}

static rz_status_t plug_in(struct nl_sock *sock, const struct rz_netns_node *node, const char **why)
{
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS) != 0) {
        return failed("no namespaces can be made", why);
    }
    int own = open(own_network, O_RDONLY | O_CLOEXEC);
    if (own < 0) {
        return failed("the node's namespace cannot be opened", why);
    }
    int error = add_cable(sock, node, own);
    close(own);
    if (error != 0) {
        return netlink_failed(error, "no veth device can be made (kernel without CONFIG_VETH?)",
                              why);
    }
    if (sethostname(node->host, strlen(node->host)) != 0) {
        return failed("the node's name cannot be set", why);
    }
    bound_goodbyes();
    rz_status_t status = set_devices_up(node, why);
    return status == RZ_OK ? show_devices(why) : status;
}

rz_status_t rz_netns_enter(int switch_fd, const struct rz_netns_node *node, const char **why)
{
    struct nl_sock *at_switch;
    if (setns(switch_fd, CLONE_NEWNET) != 0) {
        return failed("the switch's namespace cannot be entered", why);
    }
    rz_status_t status = netlink_open(&at_switch, why);
    if (status != RZ_OK) {
        return status;
    }
    status = plug_in(at_switch, node, why); /* a socket stays in the namespace it was made in */
    nl_socket_free(at_switch);
    return status;
}
