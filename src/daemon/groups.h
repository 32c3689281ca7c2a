/*
 * Computing rounds of dynamic groups (RZ_Group_monitor): hosts proto/view_change for the processes
 * of this node. A process that waits for a round says so (GROUP_ARRIVE); the daemons settle among
 * themselves when the round ends, and each tells its own (GROUP_ROUND). Nothing of a group outlives
 * its processes, or its epoch: a roll-back forgets all groups.
 */
#ifndef RZ_DAEMON_GROUPS_H
#define RZ_DAEMON_GROUPS_H

#include "daemon/daemon.h"
#include "proto/view_change/view_change.h"

struct rz_groups;
struct rz_child;

#define RZ_GROUP_NAME_MAX 256 /* bytes */

/* For status pages. Pointers hold until the next event. */
struct rz_groups_look {
    const char *name;
    struct rz_view_change_look turn;
    const uint32_t *events; /* [n]: the greatest counters that processes of this node have told */
};

#if RZ_GROUP

rz_status_t rz_groups_open(struct rz_groups **groups, struct rz_daemon *daemon);
void rz_groups_close(struct rz_groups *groups); /* NULL: nothing */

/* A process wants a socket for datagrams to other processes, and a line to this daemon, on which
 * the thread that reads the socket says GROUP_ARRIVE in a group of its own; GROUP_SOCKET answers.
 */
void rz_groups_join(struct rz_child *process, uint64_t question);

/* A process waits for a round, or goes; false: it breaks the protocol. */
bool rz_groups_arrive(struct rz_child *process, const struct rz_link_group_arrive *arrive);
bool rz_groups_leave(struct rz_child *process, const struct rz_link_group_leave *leave);

/* It has come to its end in order: it leaves all its groups. */
void rz_groups_process_left(struct rz_child *process);

/* From the host of the other cores: a message of the room `turn`, the failure of a node. */
void rz_groups_message(struct rz_groups *groups, const struct rz_message *message,
                       const uint64_t *items);
void rz_groups_node_failed(struct rz_groups *groups, rz_id node, bool proof);

/* A process of the job has failed, or ended, anywhere. */
void rz_groups_process_failed(struct rz_groups *groups, uint32_t slot, uint32_t incarnation);

/* daemon->epoch is a new one. */
void rz_groups_epoch(struct rz_groups *groups);

/* The groups that processes of this node take part in, i = 0, 1, ... until false. */
bool rz_groups_at(const struct rz_groups *groups, uint32_t i, struct rz_groups_look *look);

#else /* there are none */

static inline rz_status_t rz_groups_open(struct rz_groups **groups, struct rz_daemon *daemon)
{
    (void)daemon;
    *groups = NULL;
    return RZ_OK;
}

static inline void rz_groups_close(struct rz_groups *groups)
{
    (void)groups;
}

static inline void rz_groups_process_left(struct rz_child *process)
{
    (void)process;
}

static inline void rz_groups_message(struct rz_groups *groups, const struct rz_message *message,
                                     const uint64_t *items)
{
    (void)groups, (void)message, (void)items;
}

static inline void rz_groups_node_failed(struct rz_groups *groups, rz_id node, bool proof)
{
    (void)groups, (void)node, (void)proof;
}

static inline void rz_groups_process_failed(struct rz_groups *groups, uint32_t slot,
                                            uint32_t incarnation)
{
    (void)groups, (void)slot, (void)incarnation;
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
