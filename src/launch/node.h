/* A node as rzrun sees it: a keeper process (whose child is the daemon) and the channel to that
 * daemon. */
#ifndef RZ_LAUNCH_NODE_H
#define RZ_LAUNCH_NODE_H

#include "base/status.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

#include <event2/event.h>
#include <sys/types.h>

struct rz_node {
    uint32_t index;
    pid_t keeper; /* 0: not started, or reaped */
    int alive_fd; /* its end tells the keeper that rzrun is gone */
    struct rz_frames *channel;
    struct event *readable, *writable;
    bool listening;        /* LISTENING has come */
    bool gone;             /* the channel has ended */
    bool input_ended;      /* standard input's end was told */
    uint32_t input_credit; /* bytes of input that it still takes */
    char address[64];
    uint32_t tcp_port, udp_port;
    void *arg;
    void (*message)(void *arg, struct rz_node *node, const struct rz_launch_message *message);
    void (*ended)(void *arg, struct rz_node *node);
};

/* Starts `daemon --keeper` for a node of this machine (adapter "local"); callbacks must be set.
 * *why on an error. */
rz_status_t rz_node_start_local(struct rz_node *node, uint32_t index, const char *daemon,
                                struct event_base *base, const char **why);

/* Queues a message; nothing happens when the node is gone. */
void rz_node_send(struct rz_node *node, const struct rz_launch_message *message);

/* Closes the channel and the keeper's pipe: the node ends in order, or is ended by its keeper. */
void rz_node_release(struct rz_node *node);

#endif
