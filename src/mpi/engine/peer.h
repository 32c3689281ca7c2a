/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: whom this process sends to. Made at the first message: the node stands in the board's
 * word, the daemon helps with the introduction (the inbox of a process of the same node, or the
 * network endpoint address of another). Until then send descriptors queue; nobody waits in here. A
 * peer is one incarnation, and may outlive an epoch: what was sent in it is then dropped at the
 * epoch check.
 */
#ifndef RZ_MPI_PEER_H
#define RZ_MPI_PEER_H

#include "mpi/engine/liveness.h"
#include "mpi/engine/send_desc.h"

enum rz_peer_state {
    RZ_PEER_ASKED, /* the daemon was asked how to reach it */
    RZ_PEER_OPEN,
    RZ_PEER_BROKEN /* the connection broke; the daemons will say whether it has failed */
};

struct rz_peer {
    uint32_t process, incarnation;
    enum rz_peer_state state;
    rz_peer_t number; /* at the transport */
    struct rz_path *path;
    struct rz_send_desc *queue, *queue_last;
    rz_time broken_since;
};

/*
 * Sends send descriptor (op.header, data, bytes are set) to a process other than the own. RZ_OK:
 * done. RZ_IN_PROGRESS: send descriptor->op.done will be called. RZ_ERR_PROC_FAILED: known to be
 * failed; or another error: nothing was sent.
 */
rz_status_t rz_peer_send(uint32_t process, struct rz_send_desc *send_desc);

/*
 * Fetches send descriptor->bytes of the payload that send descriptor->token names, whose message
 * came over path from that process, into send descriptor->data. As rz_peer_send; on an error the
 * token is gone. Connects first: only then does a failure end a fetch.
 */
rz_status_t rz_peer_fetch(uint32_t process, struct rz_path *path, struct rz_send_desc *send_desc);

/*
 * Nobody here wants the payload that token names, whose message came over path from that
 * process.
 * Connects first, too: else the sender would never hear of it, and wait.
 */
void rz_peer_drop(uint32_t process, struct rz_path *path, rz_net_token_t token);

/* Nobody wants what send descriptor was sent or fetched for any more, and whoever is on the other
 * side knows or will. True: it is the caller's again, and its done will not be called. */
bool rz_peer_withdraw(uint32_t process, struct rz_send_desc *send_desc);

/* Whether what is sent to that process goes at once: it lives, and the connection is open. */
bool rz_peer_is_open(uint32_t process);

/* That process sends to us: connect to it, too, if it lives. */
void rz_peer_meet(uint32_t process);

/* Registers for the daemon's answers about how processes are reached. */
void rz_peers_open(void);

/* The connection broke (rz_net_host.broken). */
void rz_peer_broken(void *path, rz_peer_t number);

/* The present process of that slot is gone: take what it still sent, then end everything with it
 * with status. */
void rz_peer_close(uint32_t slot, bool drain, rz_status_t status);

/*
 * The epoch is given up: ends everything with everybody, without taking anything. Connections stay
 * where the transport can renew them; the start of the next epoch tells which processes they still
 * lead to, and closes the others (rz_peer_close). Others rest in the transport until the endpoint
 * address of the next epoch wakes them.
 */
void rz_peers_roll_back(void);

/* A new epoch: asks for those, or who came in their places, whose connections went with the last
 * one. That takes its time; to be called before a wait. */
void rz_peers_meet_again(void);

/* The transports are closed: frees what is known of all peers. */
void rz_peers_forget(void);

/* Connections that broke long ago although the peer is said to live: an error of the network, told
 * as RZ_ERR_TIMEOUT. */
void rz_peers_overdue(rz_time now);

#endif
