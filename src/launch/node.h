/* SPDX-License-Identifier: BSD-3-Clause */
/* A node as rzrun sees it: the channel to its daemon, and, where the node is on this machine, the
 * keeper process whose child the daemon is. The adapter defines their environment. */
#ifndef RZ_LAUNCH_NODE_H
#define RZ_LAUNCH_NODE_H

#include "base/status.h"
#include "launch/clock_offset.h"
#include "launch/silent.h"
#include "net/stream/stream.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

#include <event2/event.h>
#include <sys/types.h>

struct rz_node {
    uint32_t index;
    pid_t keeper;                 /* 0: not started, or reaped */
    bool remote;                  /* on another host; keeper and daemon_pid are 0 */
    struct rz_clock_offset clock; /* of another host: times of messages are by our clock */
    rz_time clock_asked;          /* for its time, at that time */
    uint32_t clock_answers;
    uint32_t daemon_pid; /* as the daemon says */
    int trace_fd; /* of the node's traces, or -1; set before the start, and not closed here */
    int alive_fd; /* its end tells the keeper that rzrun has ended */
    struct rz_stream *channel; /* NULL: the daemon has not connected yet */
    struct event *readable, *writable;
    bool listening; /* LISTENING was received */
    bool gone;      /* the channel has ended */
    struct rz_silent silence;
    bool asked;   /* it was asked for a sign of life, and has not answered yet */
    bool sampled; /* it was asked for waits for a report, and has not answered yet */
    uint32_t
        n_asked_waits; /* it was asked so often for a page of waits, and has not answered yet */
    bool early;        /* it ended before it was told to */
    int status;        /* of the keeper, as waitpid gives it; -1: it was not waited for */
    enum rz_node_detached {
        RZ_NODE_ATTACHED,
        RZ_NODE_CAN_DETACH,
        RZ_NODE_DETACHED
    } detached;         /* whether it needs us */
    bool lost;          /* its failure was agreed, though its daemon may still exist, stopped */
    uint32_t epoch;     /* the newest one in which it took part */
    bool done;          /* all processes of the node have ended, and the daemon waits for LEAVE */
    uint64_t strangers; /* connections that its daemon refused for lack of authentication */
    bool input_ended;   /* the end of standard input was sent */
    uint32_t input_credit;     /* bytes of input that it still accepts */
    uint32_t input_reader;     /* for which process, as it said; 0: any */
    uint64_t input_place;      /* what that one was sent of all that was read */
    struct rz_address address; /* port 0 */
    uint32_t tcp_port, udp_port;
    /* Where it listens in the other family (IPv4, IPv6); ports 0: nowhere. */
    struct rz_address other_address;
    uint32_t other_tcp_port, other_udp_port;
    void *arg;
    void (*message)(void *arg, struct rz_node *node, const struct rz_launch_message *message);
    void (*ended)(void *arg, struct rz_node *node);
};

/*
 * Starts `daemon --keeper` for node->index; callbacks must be set, alive_fd and status are -1.
 * switch_fd: -1 (adapter "local": the node shares this machine's network, with loopback addresses
 * of its own), or a switch of port/netns.h that it is connected to (adapter "netns").
 * node->address: set before where other nodes are on other hosts, else all 0. *why on an error;
 * errors after the fork are reported by the child, and the channel ends.
 */
rz_status_t rz_node_start(struct rz_node *node, int switch_fd, const char *daemon,
                          struct event_base *base, const char **why);

/* The daemon of a node on another host has connected: takes over its stream. */
void rz_node_attach(struct rz_node *node, struct rz_stream *stream, struct event_base *base);

/* Says why, and closes the connection: the daemon ends, and with it the node. */
void rz_node_end(struct rz_node *node, const char *why);

/* Queues a message; does nothing before the daemon has connected, and after the node has ended. */
void rz_node_send(struct rz_node *node, const struct rz_launch_message *message);

/* Asks a daemon on another host for its time, if the last answer is some seconds old. To be called
 * once a second or so. */
void rz_node_look_at_clock(struct rz_node *node);

/* Closes the channel and the keeper's pipe: the node ends in order, or is ended by its keeper. */
void rz_node_release(struct rz_node *node);

/* Releases all n nodes and waits for the end of their keepers. One that has not ended after
 * bound_ms is killed, and its daemon then sees its end. So the wait ends even if they are
 * stopped. */
void rz_nodes_end(struct rz_node *nodes, uint32_t n, unsigned bound_ms);

/* Reports on standard error how the daemons ended that were not told to end, as far as they
 * (why[node], or NULL) or their keepers reported it; only the first few. */
void rz_nodes_tell_ends(const struct rz_node *nodes, uint32_t n, char *const *why);

/* Reports in one line on standard error how many connections the daemons refused for lack of
 * authentication, and where; prints nothing if there were none. */
void rz_nodes_tell_strangers(const struct rz_node *nodes, uint32_t n);

#endif
