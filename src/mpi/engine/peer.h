/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: the processes that this process sends to. A peer is made at the first message: the board's
 * word shows its node, and the daemon gives its address (the inbox of a process of the same node,
 * or the network endpoint address of another). Until then send descriptors queue; no call waits in
 * here. A peer is one incarnation, and may outlive an epoch: messages of the old epoch are then
 * dropped at the epoch check.
 */
#ifndef RZ_MPI_PEER_H
#define RZ_MPI_PEER_H

#include "mpi/engine/liveness.h"
#include "mpi/engine/send_desc.h"

enum rz_peer_state {
    RZ_PEER_ASKED, /* the daemon was asked how to reach it */
    RZ_PEER_OPEN,
    RZ_PEER_BROKEN /* the connection broke; the daemons will decide whether the peer has failed */
};

struct rz_peer {
    uint32_t process, incarnation;
    enum rz_peer_state state;
    rz_peer_t number; /* at the transport */
    struct rz_path *path;
    struct rz_member *member; /* of its slot */
    struct rz_send_desc *queue, *queue_last;
    rz_time broken_since;
};

/*
 * Sends send_desc (op.header, data, bytes are set) to another process. RZ_OK: done. RZ_IN_PROGRESS:
 * send_desc->op.done will be called. RZ_ERR_PROC_FAILED: the process is known to have failed. With
 * this or another error nothing was sent.
 */
rz_status_t rz_peer_send(uint32_t process, struct rz_send_desc *send_desc);

/* Sends a message without a send descriptor, if it can leave at once. False: nothing was sent, and
 * the caller uses rz_peer_send. header: of RZ_ENVELOPE_BYTES. */
bool rz_peer_inject(uint32_t process, const void *header, const void *data, size_t bytes);

/*
 * Fetches send_desc->bytes of the payload that send_desc->token names into send_desc->data; its
 * message came over path from that process. Results as for rz_peer_send; after an error the token
 * is invalid. Connects first, since a failure ends a fetch only on a connection.
 */
rz_status_t rz_peer_fetch(uint32_t process, struct rz_path *path, struct rz_send_desc *send_desc);

/* Drops the payload that token names, whose message came over path from that process: no receive
 * wants it. Connects first, since otherwise the sender would never hear of it, and would wait. */
void rz_peer_drop(uint32_t process, struct rz_path *path, rz_net_token_t token);

/* Withdraws a send or fetch that is of no use any more; the other side knows that or will learn it.
 * True: send_desc is the caller's again, and its done will not be called. */
bool rz_peer_withdraw(uint32_t process, struct rz_send_desc *send_desc);

/* Whether a message to that process goes at once: it is alive, and the connection is open. */
bool rz_peer_is_open(uint32_t process);

/* Cells of a process (net/net.h) that this one is connected to; path NULL: it has none, or there is
 * no connection. Stays valid when the process fails. */
struct rz_peer_cells {
    struct rz_path *path;
    rz_peer_t number;
};

struct rz_peer_cells rz_peer_cells(uint32_t process);

/* That process sends to us: connects to it, too, if it is alive. */
void rz_peer_meet(uint32_t process);

/* Registers for the daemon's answers about how processes are reached. */
void rz_peers_open(void);

/* The connection broke (rz_net_host.broken). */
void rz_peer_broken(void *path, rz_peer_t number);

/* The present process of that slot is gone: receives what it still sent (drain), then ends all
 * operations with it with status. */
void rz_peer_close(uint32_t slot, bool drain, rz_status_t status);

/*
 * The epoch is given up: ends all operations with all peers, and receives nothing more. Connections
 * that the transport can renew stay; the start of the next epoch tells which processes they still
 * lead to, and closes the others (rz_peer_close). Other connections are dormant in the transport
 * until the endpoint address of the next epoch arrives.
 */
void rz_peers_roll_back(void);

/* A new epoch: asks for the processes, or their replacements, whose connections ended with the last
 * epoch. The answers take time; to be called before a wait. */
void rz_peers_meet_again(void);

/* The transports are closed: frees what is known of all peers. */
void rz_peers_forget(void);

/* Ends all connections that broke although the peer is not known to have failed: it has ended in
 * order. Not called from inside a callback of a transport. */
void rz_peers_end_broken(void);

/* Ends with RZ_ERR_TIMEOUT, an error of the network, the connections that broke long ago although
 * the peer is not known to have failed. */
void rz_peers_overdue(rz_time now);

#endif
