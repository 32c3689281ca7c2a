/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between processes of one node. Each process has an inbox: a memfd that its daemon
 * made, with one ring for each process that may send to it. A process sends through its lane, a
 * number that the daemon gave to it alone. The daemon gives the lane to another process only after
 * all have closed the former owner's (rz_shm_lane_over): so a ring has one writer, and what a
 * failed process leaves behind is in pages that no other process writes or waits for.
 *
 * Payloads up to eager_max travel through the ring. A longer one stays in its sender's memory; its
 * first bytes follow through the ring if there is space, and the receiver copies the rest straight
 * from the sender's memory (process_vm_readv) or, where the system refuses that, asks for all of it
 * piece by piece through the ring. A sender that waits copies the other end of a large payload at
 * the same time (process_vm_writev), if both sides agree to that (`asks`, `helps`). Statuses with
 * which an operation may end: RZ_OK; RZ_ERR_CANCELLED (fetch: the sender has withdrawn the
 * payload); the status given to disconnect.
 *
 * To sleep: rz_doorbell_prepare, then arm and the checks of other owners, then rz_doorbell_sleep.
 */
#ifndef RZ_NET_SHM_SHM_H
#define RZ_NET_SHM_SHM_H

#include "net/net.h"
#include "port/doorbell.h"

#include <sys/types.h>

/* How a payload in its sender's memory is fetched. */
enum rz_shm_copy {
    RZ_SHM_COPY_ENVIRONMENT, /* as RZ_SHM_CMA says: 0 (ring), 1 (direct) or auto (default) */
    RZ_SHM_COPY_AUTO,        /* directly; through the ring from peers where that was refused once */
    RZ_SHM_COPY_RING,
    RZ_SHM_COPY_DIRECT, /* refusal ends the fetch with RZ_ERR_UNSUPPORTED: for tests */
};

struct rz_shm_config {
    struct rz_identity self;
    uint32_t job_token;
    uint32_t lane, lanes_max; /* the process's lane in the inboxes of others; number of lanes of
                                 each inbox of this node */
    /* of this process; they belong to the caller and must stay open until close */
    int inbox_fd, event_fd;
    enum rz_shm_copy copy;
    /* Peers are this process's descendants, as is this process; 0: peers may be any processes of
     * this user. Where Yama restricts it, others cannot read this process's memory. */
    pid_t copied_by;
    struct rz_net_host host;
    /*
     * A process to which this one is not connected has sent something. Its small messages arrive
     * anyway; fetches and drops wait until the user connects to it (or calls rz_shm_forget), and
     * the sender may wait for space in its ring. Called once per lane and connection, with
     * host.arg; the user may ignore an identity that is failed or not of its job. May be NULL.
     */
    void (*stranger)(void *arg, struct rz_identity identity);
    /*
     * Whether the sender of a large payload may write a part of it straight into the buffer of its
     * fetch, while this process copies the rest (`asks`); and whether this process has the time to
     * do that for a receiver (`helps`). Called for each payload with host.arg. NULL: no. Where a
     * roll-back is possible a process must not ask: the sender may be stopped before it writes.
     */
    bool (*asks)(void *arg);
    bool (*helps)(void *arg);
};

/* What connect needs; the fds stay the caller's and may be closed after connect. */
struct rz_shm_ep_address {
    struct rz_identity peer;
    uint32_t pid, lane;
    int inbox_fd, event_fd; /* of the peer */
};

/* Size of an inbox, which the daemon makes with this number of zero bytes. */
size_t rz_shm_inbox_bytes(uint32_t lanes_max);

/* RZ_ERR_NO_MEMORY, RZ_ERR_SYSTEM; RZ_ERR_MALFORMED: the inbox is smaller than
 * rz_shm_inbox_bytes(lanes_max). */
rz_status_t rz_shm_open(struct rz_net **net, const struct rz_shm_config *config);

/*
 * The table for nets of rz_shm_open. ep_address writes a struct rz_shm_ep_address for use within
 * this process and its children. After disconnect(peer, drain, status) the same process may be
 * connected again under a new peer number (roll-back), unless status was RZ_ERR_PROC_FAILED: then
 * its lane stays closed. The other side sees no difference between that and renew, nor whether we
 * did either.
 */
extern const struct rz_net_ops rz_shm_ops;

/*
 * As disconnect, for a process that was never connected: fetches from it end with status, its lane
 * is closed. If nothing has arrived from it yet, its lane is not known, and its messages may still
 * arrive: the user's epoch check drops them.
 */
void rz_shm_forget(struct rz_net *net, struct rz_identity identity, rz_status_t status);

/* Whether a sender may be writing to the buffer of a fetch: the fetch ends when the sender has left
 * it, or is disconnected with RZ_ERR_PROC_FAILED, whatever else ends before. */
bool rz_shm_shares(const struct rz_net *net);

/* Calls visit(arg, fd) for each descriptor that the transport has opened. */
void rz_shm_descriptors(const struct rz_net *net, void (*visit)(void *arg, int fd), void *arg);

/*
 * The process `identity`, the owner of the lane, has ended, and so has every process that could
 * write there: its ring in our inbox is returned to the system, and the next owner of the lane
 * finds an empty one. Fetches from the former owner end with RZ_ERR_PROC_FAILED, now or when they
 * are requested; its tokens stay valid to fetch or drop. Not called from inside a callback.
 * RZ_ERR_MALFORMED: the lane is that of this process, or of another one; nothing was done.
 * RZ_ERR_SYSTEM: the ring could not be returned; the lane must not be used again.
 */
rz_status_t rz_shm_lane_over(struct rz_net *net, uint32_t lane, struct rz_identity identity);

#endif
