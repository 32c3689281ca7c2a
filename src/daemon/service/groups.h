/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing rounds of dynamic groups (RZ_Group_monitor): hosts proto/view_change for the processes
 * of this node. A process that waits for a round sends GROUP_ARRIVE; the daemons agree when the
 * round ends, and each tells its own processes (GROUP_ROUND). Nothing of a group outlives its
 * processes or its epoch: a roll-back forgets all groups.
 */
#ifndef RZ_DAEMON_GROUPS_H
#define RZ_DAEMON_GROUPS_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"
#include "proto/view_change/view_change.h"

struct rz_groups;

#define RZ_GROUP_NAME_MAX 256 /* bytes */

/* How many monitors one process may have at a time: each has a line to the daemon, of which a
 * process that never lets go of them would otherwise use up all descriptors. */
#define RZ_GROUP_LINES_EACH 64

struct rz_groups_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
};

/* A group for status pages. Pointers are valid until the next event. */
struct rz_groups_look {
    const char *name;
    struct rz_view_change_look view_change;
    /* [n]: the greatest counters that processes of this node have reported */
    const uint32_t *events;
};

#if RZ_GROUP

/*
 * Handles the messages of the routers. With GROUP_JOIN a process asks for a socket for datagrams to
 * other processes, and for a line to this daemon, on which the thread that reads the socket sends
 * GROUP_ARRIVE for a group of its own; GROUP_SOCKET answers. The others are GROUP_ARRIVE,
 * GROUP_LEAVE, and the messages of the other daemons' cores.
 */
rz_status_t rz_groups_open(struct rz_groups **groups, const struct rz_groups_config *config);
void rz_groups_close(struct rz_groups *groups); /* NULL: nothing */

/* The process has ended in order: it leaves all its groups. */
void rz_groups_process_left(struct rz_groups *groups, const struct rz_child *process);

/* Subscribers of the membership: for groups each end of a process is the same. */
void rz_groups_node_failed(void *groups, rz_id node, bool proof, bool first);
void rz_groups_process_failed(void *groups, uint32_t slot, uint32_t incarnation, enum rz_end end);

/* The membership has entered a new epoch. */
void rz_groups_epoch(struct rz_groups *groups);

/* Returns the groups with processes of this node, for i = 0, 1, ... until it returns false. */
bool rz_groups_at(const struct rz_groups *groups, uint32_t i, struct rz_groups_look *look);

#else /* there are none */

static inline rz_status_t rz_groups_open(struct rz_groups **groups,
                                         const struct rz_groups_config *config)
{
    (void)config;
    *groups = NULL;
    return RZ_OK;
}

static inline void rz_groups_close(struct rz_groups *groups)
{
    (void)groups;
}

static inline void rz_groups_process_left(struct rz_groups *groups, const struct rz_child *process)
{
    (void)groups, (void)process;
}

static inline void rz_groups_node_failed(void *groups, rz_id node, bool proof, bool first)
{
    (void)groups, (void)node, (void)proof, (void)first;
}

static inline void rz_groups_process_failed(void *groups, uint32_t slot, uint32_t incarnation,
                                            enum rz_end end)
{
    (void)groups, (void)slot, (void)incarnation, (void)end;
}

static inline void rz_groups_epoch(struct rz_groups *groups)
{
    (void)groups;
}

static inline bool rz_groups_at(const struct rz_groups *groups, uint32_t i,
                                struct rz_groups_look *look)
{
    (void)groups, (void)i, (void)look;
    return false;
}

#endif

#endif
