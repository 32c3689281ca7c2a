/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: asks the daemon for each at its first message, connects, and hands the queued send
 * descriptors to the transport. Ends the operations of a peer that failed, and holds them while its
 * connection is broken without a known failure.
 */
#include "mpi/engine/peer.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "base/trace.h"
#include "mpi/engine/paths.h"
#include "net/shm/shm.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "wire/envelope.h"

#include <stdlib.h>

/* A connection that has been broken for so long, although its peer is not known to have failed, is
 * an error of the network. The daemons find a failed node earlier, also at the start of a job on a
 * machine with far more threads than processors (daemon/recovery/detector.c). */
#define BROKEN_MAX (150 * RZ_SECOND)

static struct rz_peer **by_number; /* [n_numbers]; NULL: closed */
static rz_peer_t n_numbers, numbers_max;
static uint32_t n_broken;

static bool number_take(struct rz_peer *peer)
{
    if (n_numbers == numbers_max) {
        rz_peer_t more = numbers_max == 0 ? 64 : numbers_max * 2;
        struct rz_peer **bigger = realloc(by_number, more * sizeof(*by_number));
        if (!bigger) {
            return false;
        }
        by_number = bigger;
        numbers_max = more;
    }
    peer->number = n_numbers;
    by_number[n_numbers++] = peer;
    return true;
}

/* ---- The queue before the connection ---- */

static void queue_append(struct rz_peer *peer, struct rz_send_desc *send_desc)
{
    send_desc->next = NULL;
    *(peer->queue ? &peer->queue_last->next : &peer->queue) = send_desc;
    peer->queue_last = send_desc;
}

static void mark_broken(struct rz_peer *peer)
{
    if (peer->state != RZ_PEER_BROKEN) {
        peer->state = RZ_PEER_BROKEN;
        peer->broken_since = rz_clock_now();
        n_broken++;
        RZ_TRACE(CONNECTION_BROKEN, rz_process_slot(peer->process), peer->incarnation, 0);
    }
}

static rz_status_t hand_over(struct rz_peer *peer, struct rz_send_desc *send_desc)
{
    const struct rz_net_ops *ops = peer->path->ops;
    struct rz_net *net = peer->path->net;
    if (send_desc->token) {
        rz_kill_here(RZ_KILL_FETCH);
        return ops->fetch(net, send_desc->token, send_desc->data, send_desc->bytes, &send_desc->op);
    }
    return ops->send(net, peer->number, send_desc->data, send_desc->bytes, &send_desc->op);
}

/* A send on a broken connection waits until the daemons have decided whether the peer has failed;
 * if not, the network is at fault. */
static rz_status_t hand_over_or_hold(struct rz_peer *peer, struct rz_send_desc *send_desc)
{
    rz_status_t status = hand_over(peer, send_desc);
    if (status == RZ_ERR_CLOSED && !send_desc->token) {
        mark_broken(peer);
        queue_append(peer, send_desc);
        return RZ_IN_PROGRESS;
    }
    return status;
}

static void queue_flush(struct rz_peer *peer)
{
    struct rz_send_desc *next = peer->queue;
    peer->queue = peer->queue_last = NULL;
    while (next) {
        struct rz_send_desc *send_desc = next;
        next = send_desc->next;
        if (peer->state != RZ_PEER_OPEN) {
            queue_append(peer, send_desc);
            continue;
        }
        rz_status_t status = hand_over_or_hold(peer, send_desc);
        if (status != RZ_IN_PROGRESS) {
            send_desc->op.done(&send_desc->op, status);
        }
    }
}

static void queue_end(struct rz_peer *peer, rz_status_t status)
{
    struct rz_send_desc *next = peer->queue;
    peer->queue = peer->queue_last = NULL;
    while (next) {
        struct rz_send_desc *send_desc = next;
        next = send_desc->next;
        if (send_desc->token && peer->path->net) {
            peer->path->ops->drop(peer->path->net, send_desc->token);
        }
        send_desc->op.done(&send_desc->op, status);
    }
}

/* ---- Introductions ---- */

static rz_status_t peer_new(uint32_t process, struct rz_peer **new_peer)
{
    struct rz_member *member = rz_member_of(process);
    uint64_t word = member->word;
    bool here = rz_board_node(word) == rz_engine.info->node;
    rz_status_t status = here ? RZ_OK : rz_paths_open_net();
    bool later = status == RZ_IN_PROGRESS;
    if (status != RZ_OK && !later) {
        return status;
    }
    struct rz_peer *peer = calloc(1, sizeof(*peer));
    if (!peer || !number_take(peer)) {
        free(peer);
        return RZ_ERR_NO_MEMORY;
    }
    peer->process = process;
    peer->incarnation = rz_board_incarnation(word);
    peer->path = &rz_engine.paths[here ? RZ_PATH_SHM : RZ_PATH_NET];
    peer->member = member;
    member->peer = peer;
    if (!later) {
        rz_paths_ask(rz_process_slot(process), here ? RZ_PATH_SHM : RZ_PATH_NET);
    }
    *new_peer = peer;
    return RZ_OK;
}

/* The network between nodes has been opened (RZ_OK) or will not be: continues the peers that wait
 * for it. */
static void network_opened(rz_status_t status)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        struct rz_peer *peer = rz_liveness.members[slot].peer;
        if (!peer || peer->state != RZ_PEER_ASKED || peer->path != &rz_engine.paths[RZ_PATH_NET]) {
            continue;
        }
        if (status == RZ_OK) {
            rz_paths_ask(slot, RZ_PATH_NET);
        } else {
            rz_peer_close(slot, true, status);
        }
    }
}

static struct rz_peer *peer_asked(uint32_t slot, uint32_t incarnation, enum rz_path_kind kind)
{
    if (slot >= rz_engine.info->n_slots) {
        return NULL;
    }
    struct rz_peer *peer = rz_liveness.members[slot].peer;
    bool fits = peer && peer->state == RZ_PEER_ASKED && peer->incarnation == incarnation &&
                peer->path == &rz_engine.paths[kind];
    return fits ? peer : NULL;
}

static void introduce(struct rz_peer *peer, const void *ep_address, size_t bytes)
{
    rz_status_t status = peer->path->ops->connect(peer->path->net, peer->number, ep_address, bytes);
    RZ_TRACE(CONNECT, rz_process_slot(peer->process), peer->incarnation, status);
    if (status == RZ_OK) {
        peer->state = RZ_PEER_OPEN;
        queue_flush(peer);
    } else {
        mark_broken(peer);
    }
    /* No daemon will report one of the two as failed, and the peer waits for messages. */
    rz_need_memory(status != RZ_ERR_NO_MEMORY, "for a connection to another process");
}

void rz_peer_meet(uint32_t process)
{
    if (!rz_engine.rollback && !rz_process_failed(process) && !rz_member_of(process)->peer) {
        struct rz_peer *peer;
        peer_new(process, &peer);
    }
}

/* The peer, if that process is alive and the connection is open; otherwise NULL. */
static inline const struct rz_peer *open_peer(uint32_t process)
{
    const struct rz_peer *peer = rz_member_of(process)->peer;
    return !rz_process_failed(process) && peer && peer->state == RZ_PEER_OPEN ? peer : NULL;
}

bool rz_peer_is_open(uint32_t process)
{
    return open_peer(process) != NULL;
}

struct rz_peer_cells rz_peer_cells(uint32_t process)
{
    const struct rz_peer *peer = open_peer(process);
    bool has = peer && peer->path->ops->cell_put;
    return (struct rz_peer_cells){.path = has ? peer->path : NULL,
                                  .number = has ? peer->number : 0};
}

static void on_opened(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    const struct rz_link_opened *opened = &message->opened;
    struct rz_peer *peer = peer_asked(opened->rank, opened->incarnation, RZ_PATH_SHM);
    if (peer && n_fds == 2) {
        struct rz_shm_ep_address ep_address = {
            .peer = {.job = rz_engine.info->self.job,
                     .rank = opened->rank,
                     .incarnation = opened->incarnation},
            .pid = opened->pid,
            .lane = opened->lane,
            .inbox_fd = fds[0],
            .event_fd = fds[1],
        };
        introduce(peer, &ep_address, sizeof(ep_address));
    }
    rz_engine_close_fds(fds, n_fds);
}

static void on_ep_address(void *arg, const struct rz_link_message *message, const int *fds,
                          unsigned n_fds)
{
    (void)arg;
    const struct rz_link_ep_address *ep_address = &message->ep_address;
    struct rz_peer *peer = peer_asked(ep_address->rank, ep_address->incarnation, RZ_PATH_NET);
    if (peer && ep_address->epoch == rz_engine.epoch && peer->path->net) {
        introduce(peer, ep_address->ep_address, ep_address->ep_address_length);
    }
    rz_engine_close_fds(fds, n_fds);
}

void rz_peers_open(void)
{
    rz_link_handle(rz_engine.link, RZ_LINK_OPENED, on_opened, NULL);
    rz_link_handle(rz_engine.link, RZ_LINK_EP_ADDRESS, on_ep_address, NULL);
}

/* ---- Sending and fetching ---- */

static rz_status_t peer_submit(uint32_t process, struct rz_send_desc *send_desc)
{
    struct rz_peer *peer = rz_member_of(process)->peer;
    if (!peer) {
        rz_status_t status = peer_new(process, &peer);
        if (status != RZ_OK) {
            return status;
        }
    }
    if (peer->state == RZ_PEER_OPEN) {
        return hand_over_or_hold(peer, send_desc);
    }
    queue_append(peer, send_desc);
    return RZ_IN_PROGRESS;
}

rz_status_t rz_peer_send(uint32_t process, struct rz_send_desc *send_desc)
{
    if (rz_process_failed(process)) {
        return RZ_ERR_PROC_FAILED;
    }
    rz_status_t status = peer_submit(process, send_desc);
    if (status == RZ_OK || status == RZ_IN_PROGRESS) {
        rz_member_of(process)->handed++;
    }
    return status;
}

bool rz_peer_inject(uint32_t process, const void *header, const void *data, size_t bytes)
{
    const struct rz_peer *peer = open_peer(process);
    const struct rz_path *path = peer ? peer->path : NULL;
    if (!path || !path->ops->inject) {
        return false;
    }
    if (path->ops->inject(path->net, peer->number, header, RZ_ENVELOPE_BYTES, data, bytes) !=
        RZ_OK) {
        return false;
    }
    peer->member->handed++;
    return true;
}

rz_status_t rz_peer_fetch(uint32_t process, struct rz_path *path, struct rz_send_desc *send_desc)
{
    rz_assert(send_desc->token != NULL);
    struct rz_member *member = rz_member_of(process);
    bool failed = rz_process_failed(process);
    rz_status_t status = RZ_OK;
    if (!failed && !member->peer) {
        status = peer_new(process, &member->peer);
    }
    if (status != RZ_OK) {
        path->ops->drop(path->net, send_desc->token);
        return status;
    }
    if (!failed && member->peer->state == RZ_PEER_ASKED) {
        queue_append(member->peer, send_desc);
        return RZ_IN_PROGRESS;
    }
    rz_kill_here(RZ_KILL_FETCH);
    /*
     * Within a node the transport knows whether the payload outlived its sender. On another node
     * the payload is lost with its sender; the transport cannot know of a sender that it was never
     * told of.
     */
    if (failed && path == &rz_engine.paths[RZ_PATH_NET]) {
        path->ops->drop(path->net, send_desc->token);
        return RZ_ERR_PROC_FAILED;
    }
    return path->ops->fetch(path->net, send_desc->token, send_desc->data, send_desc->bytes,
                            &send_desc->op);
}

void rz_peer_drop(uint32_t process, struct rz_path *path, rz_net_token_t token)
{
    rz_peer_meet(process);
    path->ops->drop(path->net, token);
}

static bool queue_take(struct rz_peer *peer, struct rz_send_desc *send_desc)
{
    struct rz_send_desc *before = NULL, *at = peer->queue;
    while (at && at != send_desc) {
        before = at;
        at = at->next;
    }
    if (!at) {
        return false;
    }
    *(before ? &before->next : &peer->queue) = at->next;
    if (peer->queue_last == at) {
        peer->queue_last = before;
    }
    return true;
}

/* As rz_peer_withdraw. A message that will never arrive must not be awaited before a snapshot, nor
 * be taken for one under way. */
static bool withdraw_handed(const struct rz_peer *peer, struct rz_send_desc *send_desc)
{
    enum rz_net_withdrawn withdrawn =
        peer->path->ops->withdraw(peer->path->net, peer->number, send_desc->token, &send_desc->op);
    peer->member->handed -= withdrawn == RZ_NET_UNSENT;
    return withdrawn != RZ_NET_NOT_WITHDRAWN;
}

bool rz_peer_withdraw(uint32_t process, struct rz_send_desc *send_desc)
{
    struct rz_peer *peer = rz_member_of(process)->peer;
    if (!peer || peer->process != process || !peer->path->net) {
        return false;
    }
    if (!queue_take(peer, send_desc)) {
        return peer->state == RZ_PEER_OPEN && withdraw_handed(peer, send_desc);
    }
    if (send_desc->token) {
        peer->path->ops->drop(peer->path->net, send_desc->token);
    } else {
        peer->member->handed--;
    }
    return true;
}

/* ---- Ends ---- */

void rz_peer_broken(void *path, rz_peer_t number)
{
    struct rz_peer *peer = number < n_numbers ? by_number[number] : NULL;
    if (peer && peer->path == path) {
        mark_broken(peer);
    }
}

void rz_peer_close(uint32_t slot, bool drain, rz_status_t status)
{
    struct rz_member *member = &rz_liveness.members[slot];
    struct rz_peer *peer = member->peer;
    if (status == RZ_ERR_PROC_FAILED && (!peer || peer->state == RZ_PEER_ASKED)) {
        rz_paths_forget(slot, rz_board_incarnation(member->word));
    }
    if (!peer) {
        return;
    }
    RZ_TRACE(DISCONNECTED, slot, peer->incarnation, status);
    if (peer->state != RZ_PEER_ASKED && peer->path->net) {
        peer->path->ops->disconnect(peer->path->net, peer->number, drain, status);
    }
    if (peer->state == RZ_PEER_BROKEN) {
        n_broken--;
    }
    queue_end(peer, status);
    by_number[peer->number] = NULL;
    member->peer = NULL;
    free(peer);
}

/* The connection is kept over a roll-back, if its process is. */
static bool is_kept(const struct rz_peer *peer)
{
    return peer->state == RZ_PEER_OPEN && peer->path->ops->renew;
}

/* By the board, which may show this failure before we have dealt with it. */
static bool lives(const struct rz_peer *peer)
{
    uint64_t word = atomic_load_explicit(&rz_engine.board->rank[rz_process_slot(peer->process)],
                                         memory_order_acquire);
    return rz_board_incarnation(word) == peer->incarnation &&
           rz_board_state(word) == RZ_PROCESS_ALIVE;
}

/* Ends what is under way; in the next epoch the daemon is asked for this process again, or for its
 * replacement. */
static void roll_back(uint32_t slot, struct rz_peer *peer)
{
    struct rz_path *path = peer->path;
    rz_liveness.members[slot].spoken_to = true;
    if (peer->state != RZ_PEER_ASKED && path->ops->rest) {
        bool rests = peer->state == RZ_PEER_OPEN &&
                     path->ops->rest(path->net, peer->number, RZ_ERR_ROLLBACK);
        path->incomplete = path->incomplete || (!rests && lives(peer));
    }
    rz_peer_close(slot, false, RZ_ERR_ROLLBACK);
}

void rz_peers_roll_back(void)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        struct rz_peer *peer = rz_liveness.members[slot].peer;
        if (peer && is_kept(peer)) {
            rz_assert(!peer->queue);
            peer->path->ops->renew(peer->path->net, peer->number, RZ_ERR_ROLLBACK);
        } else if (peer) {
            roll_back(slot, peer);
        }
    }
}

void rz_peers_meet_again(void)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        struct rz_member *member = &rz_liveness.members[slot];
        if (member->spoken_to) {
            member->spoken_to = false;
            rz_peer_meet(member->process);
        }
    }
}

void rz_peers_forget(void)
{
    for (rz_peer_t i = 0; i < n_numbers; i++) {
        if (by_number[i]) {
            queue_end(by_number[i], RZ_ERR_CANCELLED);
            rz_member_of(by_number[i]->process)->peer = NULL;
        }
        free(by_number[i]);
    }
    free(by_number);
    by_number = NULL;
    n_numbers = numbers_max = n_broken = 0;
}

void rz_peers_end_broken(void)
{
    for (uint32_t slot = 0; n_broken > 0 && slot < rz_engine.info->n_slots; slot++) {
        const struct rz_peer *peer = rz_liveness.members[slot].peer;
        if (peer && peer->state == RZ_PEER_BROKEN) {
            rz_peer_close(slot, true, RZ_ERR_CANCELLED);
        }
    }
}

void rz_peers_overdue(rz_time now)
{
    rz_status_t status = rz_paths_retry();
    if (status != RZ_IN_PROGRESS) {
        network_opened(status);
    }
    for (uint32_t slot = 0;
         n_broken > 0 && !rz_engine.reinit_open && slot < rz_engine.info->n_slots; slot++) {
        struct rz_peer *peer = rz_liveness.members[slot].peer;
        if (peer && peer->state == RZ_PEER_BROKEN && now - peer->broken_since > BROKEN_MAX) {
            rz_peer_close(slot, true, RZ_ERR_TIMEOUT);
        }
    }
}
