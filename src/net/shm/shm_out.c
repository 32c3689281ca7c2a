/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side: records for this process's rings in the inboxes of others, and queues of those
 * without space.
 */
#include "net/shm/shm_state.h"

#include "base/assert.h"
#include "port/kill_point.h"
#include "port/memory.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static_assert(sizeof(struct shm_op) <= sizeof(((struct rz_net_op *)0)->net_private), "fits");
static_assert(sizeof(struct shm_lane_page) <= 4096, "fits into the smallest page there is");

static_assert(SHM_EAGER_MAX >= RZ_NET_EAGER_LEAST, "net.h promises it");

/* The largest record must fit into an empty ring, and must not have to wait until the ring is
 * empty. */
static_assert(4 * (SHM_EAGER_MAX + 2 * RZ_NET_HEADER_MAX) <= SHM_RING_FIRST - SHM_LINE,
              "several records fit");

/* What is written into a ring that has grown was last read long ago: it has left the reader's first
 * cache, from which the writer would get the lines more slowly. That is worth it for records of
 * this size, and for a few peers. */
enum { GROW_BYTES = 2 * 1024 };
static_assert(sizeof(struct shm_record) == sizeof(uint64_t), "written at once");

static void out_unmap(struct shm_pair *pair)
{
    rz_memory_unmap(pair->out.doorbell, shm_page_bytes());
    rz_memory_unmap((void *)pair->out.heads_page, shm_page_bytes());
    rz_memory_unmap(pair->out.page, shm_page_bytes() + 2 * SHM_RING);
    if (pair->out.event_fd > 0) {
        close(pair->out.event_fd);
    }
    memset(&pair->out, 0, sizeof(pair->out));
}

/* Maps each part with the access rights of a sender: the owner's pages for reading only. */
static rz_status_t out_map(struct shm *shm, struct shm_pair *pair, int inbox_fd)
{
    uint32_t lane = shm->config.lane, lanes_max = shm->config.lanes_max;
    size_t head_at = shm_page_bytes() + lane * sizeof(struct shm_head);
    size_t lane_at = shm_lane_offset(lane, lanes_max);
    void *at;
    rz_status_t status = rz_memory_reserve(inbox_fd, lane_at, shm_lane_first_bytes());
    if (status == RZ_OK) {
        status = rz_memory_map_range(inbox_fd, 0, shm_page_bytes(), true, &at);
    }
    if (status != RZ_OK) {
        return status;
    }
    pair->out.doorbell = at;
    status = rz_memory_map_range(inbox_fd, head_at / shm_page_bytes() * shm_page_bytes(),
                                 shm_page_bytes(), false, &at);
    if (status != RZ_OK) {
        return status;
    }
    pair->out.heads_page = at;
    pair->out.head =
        (const struct shm_head *)(const void *)((const char *)at + head_at % shm_page_bytes());
    status = rz_memory_map_ring(inbox_fd, lane_at, shm_page_bytes(), SHM_RING, true, &at);
    if (status != RZ_OK) {
        return status;
    }
    pair->out.page = at;
    pair->out.ring = (unsigned char *)at + shm_page_bytes();
    return RZ_OK;
}

/* Reads how far the owner has read. An impossible value counts as nothing read: only our own lane
 * is affected. */
static void out_look(struct shm_pair *pair)
{
    uint64_t head = atomic_load_explicit(&pair->out.head->read, memory_order_acquire);
    pair->out.head_seen = pair->out.tail - head <= SHM_USABLE ? head : pair->out.tail - SHM_USABLE;
    uint64_t first_ends =
        pair->out.tail - pair->out.tail % SHM_RING + pair->out.bounds->ring_first - SHM_LINE;
    pair->out.until = pair->out.head_seen + SHM_USABLE;
    if (!pair->out.grown && first_ends < pair->out.until) {
        pair->out.until = first_ends;
    }
}

rz_status_t shm_out_open(struct shm *shm, struct shm_pair *pair,
                         const struct rz_shm_ep_address *ep_address)
{
    rz_assert(!pair->out.page);
    rz_status_t status = out_map(shm, pair, ep_address->inbox_fd);
    if (status == RZ_OK) {
        pair->out.event_fd = fcntl(ep_address->event_fd, F_DUPFD_CLOEXEC, 3);
        status = pair->out.event_fd >= 0 ? RZ_OK : RZ_ERR_SYSTEM;
    }
    if (status != RZ_OK) {
        out_unmap(pair);
        return status;
    }
    /* After a roll-back the ring continues where it was: only this process writes tail. */
    struct shm_lane_page *page = pair->out.page;
    pair->out.tail = atomic_load_explicit(&page->tail, memory_order_relaxed);
    pair->out.rung = pair->out.tail;
    pair->out.bounds = &shm->bounds;
    out_look(pair);
    pair->out.slots_free = UINT64_MAX;
    pair->out.n_grown = &shm->n_grown;
    atomic_store(&page->identity_at, (uintptr_t)&shm->identity);
    if (!atomic_load(&page->opened)) {
        page->identity = shm->identity;
        atomic_store(&page->opened, 1);
    }
    return RZ_OK;
}

/* Withdraws all that is offered or waits to be sent; the caller ends the operations. */
static struct shm_ops out_take_back_all(struct shm *shm, struct shm_pair *pair)
{
    struct shm_ops ended = pair->out.queue;
    for (struct rz_net_op *op; (op = shm_ops_pop(&pair->out.pieces));) {
        if (shm_op(op)->slot == SHM_PARKED) {
            shm_ops_push(&ended, op);
        }
    }
    for (struct rz_net_op *op; (op = pair->out.parked);) {
        shm_parked_take(&pair->out.parked, shm_op(op)->id);
        shm_ops_push(&ended, op);
    }
    for (unsigned slot = 0; slot < SHM_SLOTS; slot++) {
        if (pair->out.offered[slot]) {
            /* Withdrawn before the operation ends: a copy that still finds the offer afterwards is
             * complete. */
            atomic_store(&pair->out.page->offered[slot], 0);
            shm_ops_push(&ended, pair->out.offered[slot]);
        }
    }
    atomic_store(&pair->out.page->waiting, 0);
    if (pair->out.rung != pair->out.tail) {
        shm_out_ring(shm,
                     pair); /* a callback ended the connection before its messages were announced */
    }
    return ended;
}

static void out_end_all(struct shm_ops *ended, rz_status_t status)
{
    for (struct rz_net_op *op; (op = shm_ops_pop(ended));) {
        op->done(op, status);
    }
}

void shm_out_close(struct shm *shm, struct shm_pair *pair, rz_status_t status)
{
    struct shm_ops ended = out_take_back_all(shm, pair);
    shm->n_grown -= pair->out.grown;
    out_unmap(pair);
    out_end_all(&ended, status);
}

void shm_out_renew(struct shm *shm, struct shm_pair *pair, rz_status_t status)
{
    struct shm_ops ended = out_take_back_all(shm, pair);
    pair->out.queue = (struct shm_ops){NULL, NULL};
    memset(pair->out.offered, 0, sizeof(pair->out.offered));
    pair->out.slots_free = UINT64_MAX;
    out_end_all(&ended, status);
}

/* All of the ring is used from now on, if the system has pages for it: it is asked once. */
static bool out_grow(struct shm_pair *pair)
{
    if (pair->out.cannot_grow || *pair->out.n_grown >= pair->out.bounds->grown_peers) {
        return false;
    }
    pair->out.grown =
        rz_memory_populate(pair->out.ring + SHM_RING_FIRST, SHM_RING - SHM_RING_FIRST) == RZ_OK;
    pair->out.cannot_grow = !pair->out.grown;
    *pair->out.n_grown += pair->out.grown;
    return pair->out.grown;
}

/* What follows is written at the begin of the ring. */
static void out_skip(struct shm_pair *pair)
{
    size_t bytes = SHM_RING - pair->out.tail % SHM_RING;
    struct shm_record record = {.kind = SHM_SKIP, .body_bytes = (uint32_t)(bytes - SHM_LINE)};
    _Atomic uint64_t *word = shm_record_word(pair->out.ring, pair->out.tail);
    uint64_t head;
    memcpy(&head, &record, sizeof(head));
    pair->out.tail += bytes;
    atomic_store_explicit(shm_record_word(pair->out.ring, pair->out.tail), 0, memory_order_relaxed);
    atomic_store_explicit(&pair->out.page->tail, pair->out.tail, memory_order_relaxed);
    rz_kill_here(RZ_KILL_RING_WRITE);
    atomic_store_explicit(word, head, memory_order_release);
}

static __attribute__((noinline)) bool out_make_room(struct shm_pair *pair, size_t bytes)
{
    size_t at = pair->out.tail % SHM_RING;
    out_look(pair);
    if (!pair->out.grown && at + bytes > pair->out.bounds->ring_first - SHM_LINE) {
        bool room = pair->out.tail - pair->out.head_seen + (SHM_RING - at) + bytes <= SHM_USABLE;
        bool grows = (bytes > GROW_BYTES || !room) && out_grow(pair);
        if (room && !grows) {
            out_skip(pair);
        }
        out_look(pair);
    }
    return pair->out.tail + bytes <= pair->out.until;
}

/* Whether there is space for bytes; if not, head_seen is the latest head. */
static inline bool out_room(struct shm_pair *pair, size_t bytes)
{
    return pair->out.tail + bytes <= pair->out.until || out_make_room(pair, bytes);
}

/* Part of a record's body. */
struct out_part {
    const void *data;
    size_t bytes;
};

/* Copies a header: one of the usual length without a call. */
static inline void out_copy_header(unsigned char *at, const void *header, uint32_t bytes)
{
    if (bytes == SHM_HEADER_USUAL) {
        memcpy(at, header, SHM_HEADER_USUAL);
    } else if (bytes > 0) {
        memcpy(at, header, bytes);
    }
}

/* Copies a body. */
static __attribute__((noinline)) void out_copy_far(unsigned char *at, struct out_part first,
                                                   struct out_part second)
{
    memcpy(at, first.data, first.bytes);
    if (second.bytes > 0) {
        memcpy(at + first.bytes, second.data, second.bytes);
    }
}

/* The same of one in the first line, without a call where it is one word. */
static inline void out_copy_near(unsigned char *at, struct out_part first, struct out_part second)
{
    if (first.bytes == sizeof(uint64_t)) {
        memcpy(at, first.data, sizeof(uint64_t));
    } else if (first.bytes > 0) {
        memcpy(at, first.data, first.bytes);
    }
    if (second.bytes > 0) {
        memcpy(at + first.bytes, second.data, second.bytes);
    }
}

struct out_header {
    enum shm_kind kind;
    const void *data;
    uint32_t bytes;
};

/*
 * Writes one record, for which there is space; `second` may be empty. The first line is written
 * last and at once: a waiting reader looks at it all the time, and would take it away again from a
 * sender that writes something of it, then other lines, then the head. points: the kill points are
 * compiled in.
 */
static inline __attribute__((always_inline)) void
out_record(struct shm_pair *pair, struct out_header header, struct out_part first,
           struct out_part second, const bool points)
{
    size_t body_bytes = first.bytes + second.bytes;
    size_t offset = shm_body_offset(header.bytes, body_bytes);
    struct shm_record record = {.kind = (uint8_t)header.kind,
                                .header_bytes = (uint8_t)header.bytes,
                                .body_bytes = (uint32_t)body_bytes};
    _Atomic uint64_t *word = shm_record_word(pair->out.ring, pair->out.tail);
    unsigned char *at = (unsigned char *)word;
    uint64_t head;
    memcpy(&head, &record, sizeof(head));
    if (__builtin_expect(offset >= SHM_LINE, 0)) {
        out_copy_far(at + offset, first, second);
    }
    pair->out.tail += shm_record_bytes(header.bytes, body_bytes);
    atomic_store_explicit(shm_record_word(pair->out.ring, pair->out.tail), 0, memory_order_relaxed);
    atomic_store_explicit(&pair->out.page->tail, pair->out.tail, memory_order_relaxed);
    if (points) {
        rz_kill_here(RZ_KILL_RING_WRITE);
    }
    out_copy_header(at + sizeof(record), header.data, header.bytes);
    if (__builtin_expect(offset < SHM_LINE, 1)) {
        out_copy_near(at + offset, first, second);
    }
    atomic_store_explicit(word, head, memory_order_release);
    if (points) {
        rz_kill_here(RZ_KILL_RING_TOLD);
    }
}

static inline __attribute__((always_inline)) void
out_write(struct shm_pair *pair, enum shm_kind kind, const void *header, uint32_t header_bytes,
          struct out_part first, struct out_part second)
{
    out_record(pair, (struct out_header){kind, header, header_bytes}, first, second, true);
}

void shm_out_ring(struct shm *shm, struct shm_pair *pair)
{
    pair->out.rung = pair->out.tail;
    rz_doorbell_ring_lane(pair->out.doorbell, shm->config.lane, pair->out.event_fd);
}

static size_t out_piece_record(size_t bytes)
{
    return shm_record_bytes(0, sizeof(struct shm_piece) + bytes);
}

/* How many of the first bytes go behind the offer, if there is space for all of them: a sender that
 * would wait copies at the same time as the receiver. Not where other payloads are on offer, or the
 * sender has others to receive: a receiver that copies by itself has less work. */
static uint32_t out_early(struct shm_pair *pair, const struct rz_net_op *op, size_t bytes)
{
    size_t early_max = pair->out.bounds->early_bytes;
    size_t early = bytes < early_max ? bytes : early_max, rest = early % SHM_PIECE_MAX;
    size_t records = early / SHM_PIECE_MAX * out_piece_record(SHM_PIECE_MAX) +
                     (rest > 0 ? out_piece_record(rest) : 0);
    size_t offer = shm_record_bytes(op->header_bytes, sizeof(struct shm_offer));
    bool helps = op->waits && pair->out.slots_free == UINT64_MAX;
    return helps && out_room(pair, offer + records) ? (uint32_t)early : 0;
}

/* Writes the next piece of op's payload, up to `end`, for which there is space. */
static void out_piece(struct shm_pair *pair, enum shm_kind kind, struct shm_op *own, size_t end)
{
    struct shm_piece piece = {.id = own->id, .offset = own->sent};
    size_t bytes = end - own->sent < SHM_PIECE_MAX ? end - own->sent : SHM_PIECE_MAX;
    out_write(pair, kind, NULL, 0, (struct out_part){&piece, sizeof(piece)},
              (struct out_part){(const char *)own->data + own->sent, bytes});
    own->sent += bytes;
}

/* Gives the operation one of these slots, or, if none is free, none. */
static void out_give_slot(struct shm_pair *pair, struct rz_net_op *op, uint64_t slots)
{
    struct shm_op *own = shm_op(op);
    uint64_t given = pair->out.slots_free & slots;
    if (given == 0) {
        own->slot = SHM_PARKED;
        return;
    }
    own->slot = (uint32_t)__builtin_ctzll(given);
    pair->out.slots_free &= ~(UINT64_C(1) << own->slot);
    pair->out.offered[own->slot] = op;
    atomic_store_explicit(&pair->out.page->offered[own->slot], own->id, memory_order_relaxed);
}

/* Offers a payload, which stays where it is: puts its id into a free slot. Without one, the offer
 * goes all the same, since later messages must not wait for it, and its payload is parked. */
static enum shm_written out_offer(struct shm *shm, struct shm_pair *pair, struct rz_net_op *op)
{
    struct shm_op *own = shm_op(op);
    if (!out_room(pair, shm_record_bytes(op->header_bytes, sizeof(struct shm_offer)))) {
        return SHM_FULL;
    }
    uint32_t early = out_early(pair, op, own->bytes);
    own->id = ++shm->last_id;
    out_give_slot(pair, op, shm->bounds.slots);
    if (own->slot == SHM_PARKED) {
        shm_parked_add(&pair->out.parked, op);
    }
    struct shm_offer offer = {.id = own->id,
                              .bytes = own->bytes,
                              .at = (uintptr_t)own->data,
                              .slot = own->slot,
                              .early = early};
    out_write(pair, SHM_OFFER, op->header, op->header_bytes,
              (struct out_part){&offer, sizeof(offer)}, (struct out_part){NULL, 0});
    if (early > 0) {
        while (own->sent < early) {
            out_piece(pair, SHM_EARLY, own, early);
        }
        own->sent = 0; /* of what the receiver may ask for */
    }
    return SHM_WRITTEN;
}

static enum shm_written out_message(struct shm *shm, struct shm_pair *pair, struct rz_net_op *op)
{
    struct shm_op *own = shm_op(op);
    if (own->bytes > SHM_EAGER_MAX) {
        return out_offer(shm, pair, op);
    }
    if (!out_room(pair, shm_record_bytes(op->header_bytes, own->bytes))) {
        return SHM_FULL;
    }
    out_write(pair, SHM_EAGER, op->header, op->header_bytes,
              (struct out_part){own->data, own->bytes}, (struct out_part){NULL, 0});
    return SHM_WRITTEN;
}

rz_status_t shm_send(struct rz_net *net, rz_peer_t peer, const void *data, size_t bytes,
                     struct rz_net_op *op)
{
    struct shm *shm = (struct shm *)net;
    rz_assert(op->header_bytes <= RZ_NET_HEADER_MAX);
    struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    if (!pair) {
        return peer < shm->n_peers ? shm->peers[peer].status : RZ_ERR_CLOSED;
    }
    struct shm_op *own = shm_op(op);
    own->data = data;
    own->bytes = bytes;
    own->sent = 0;
    own->asked = 0;
    if (!pair->out.queue.first && out_message(shm, pair, op) == SHM_WRITTEN) {
        shm_out_ring(shm, pair);
        return bytes > SHM_EAGER_MAX ? RZ_IN_PROGRESS : RZ_OK;
    }
    shm_ops_push(&pair->out.queue, op);
    shm_set_add(&shm->blocked, pair->lane);
    return RZ_IN_PROGRESS;
}

rz_status_t shm_inject(struct rz_net *net, rz_peer_t peer, const void *header,
                       uint32_t header_bytes, const void *data, size_t bytes)
{
    struct shm *shm = (struct shm *)net;
    struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    if (!pair || pair->out.queue.first || bytes > SHM_EAGER_MAX ||
        !out_room(pair, shm_record_bytes(header_bytes, bytes))) {
        return RZ_IN_PROGRESS;
    }
    out_record(pair, (struct out_header){SHM_EAGER, header, header_bytes},
               (struct out_part){data, bytes}, (struct out_part){NULL, 0}, false);
    shm_out_ring(shm, pair);
    return RZ_OK;
}

enum shm_written shm_out_reply(struct shm_pair *pair, enum shm_kind kind,
                               const struct shm_reply *reply)
{
    if (!out_room(pair, shm_record_bytes(0, sizeof(struct shm_reply)))) {
        return SHM_FULL;
    }
    out_write(pair, kind, NULL, 0, (struct out_part){reply, sizeof(*reply)},
              (struct out_part){NULL, 0});
    return SHM_WRITTEN;
}

enum shm_written shm_out_help(struct shm_pair *pair, const struct shm_help *help)
{
    if (!out_room(pair, shm_record_bytes(0, sizeof(*help)))) {
        return SHM_FULL;
    }
    out_write(pair, SHM_HELP, NULL, 0, (struct out_part){help, sizeof(*help)},
              (struct out_part){NULL, 0});
    return SHM_WRITTEN;
}

/* The operation in this slot, if it is still the one with this id, or the parked one. */
static struct rz_net_op *out_offered(const struct shm_pair *pair, uint64_t id, uint32_t slot)
{
    if (slot == SHM_PARKED) {
        return shm_parked_find(pair->out.parked, id);
    }
    struct rz_net_op *op = pair->connected && slot < SHM_SLOTS ? pair->out.offered[slot] : NULL;
    return op && shm_op(op)->id == id ? op : NULL;
}

const struct shm_op *shm_out_offered(const struct shm_pair *pair, uint64_t id, uint32_t slot)
{
    struct rz_net_op *op = out_offered(pair, id, slot);
    return op && !shm_op(op)->asked ? shm_op(op) : NULL;
}

/* Called before its operation ends: a copy that still finds the offer afterwards is complete. */
static void out_take_back(struct shm_pair *pair, struct rz_net_op *op)
{
    uint32_t slot = shm_op(op)->slot;
    if (slot == SHM_PARKED) {
        shm_parked_take(&pair->out.parked, shm_op(op)->id); /* no receiver has copied from it */
        return;
    }
    atomic_store(&pair->out.page->offered[slot], 0);
    atomic_thread_fence(memory_order_seq_cst); /* before the user writes to the memory */
    pair->out.offered[slot] = NULL;
    pair->out.slots_free |= UINT64_C(1) << slot;
}

static void out_end_offer(struct shm_pair *pair, struct rz_net_op *op)
{
    out_take_back(pair, op);
    op->done(op, RZ_OK);
}

enum rz_net_withdrawn shm_out_withdraw(struct shm_pair *pair, struct rz_net_op *op)
{
    if (shm_ops_take(&pair->out.queue, op)) {
        return RZ_NET_UNSENT;
    }
    bool in_pieces = shm_ops_take(&pair->out.pieces, op);
    if (!in_pieces && out_offered(pair, shm_op(op)->id, shm_op(op)->slot) != op) {
        return RZ_NET_NOT_WITHDRAWN;
    }
    out_take_back(pair, op);
    return RZ_NET_WITHDRAWN;
}

void shm_out_done(struct shm_pair *pair, const struct shm_reply *reply)
{
    struct rz_net_op *op = out_offered(pair, reply->id, reply->slot);
    if (op && !shm_op(op)->asked) {
        out_end_offer(pair, op);
    }
}

/* Lets the receiver copy a payload that was parked, and tells it. False: there is no free slot, or
 * no space to tell. */
static bool out_unpark(struct shm *shm, struct shm_pair *pair, struct rz_net_op *op)
{
    struct shm_op *own = shm_op(op);
    if (!out_room(pair, shm_record_bytes(0, sizeof(struct shm_reply)))) {
        return false;
    }
    out_give_slot(pair, op, shm->bounds.slots | shm->bounds.slots_kept);
    if (own->slot == SHM_PARKED) {
        return false;
    }
    shm_out_reply(pair, SHM_SLOT,
                  &(struct shm_reply){.id = own->id, .bytes = own->bytes, .slot = own->slot});
    shm_out_ring(shm, pair);
    return true;
}

void shm_out_asked(struct shm *shm, struct shm_pair *pair, const struct shm_reply *reply)
{
    struct rz_net_op *op = out_offered(pair, reply->id, reply->slot);
    if (!op || reply->bytes == 0 || reply->bytes > shm_op(op)->bytes || shm_op(op)->asked) {
        return;
    }
    if (reply->slot == SHM_PARKED) {
        shm_parked_take(&pair->out.parked, reply->id);
        shm_op(op)->sent = 0;
        if (reply->slots && out_unpark(shm, pair, op)) {
            return;
        }
    }
    shm_op(op)->asked = 1;
    shm_op(op)->bytes = reply->bytes;
    shm_ops_push(&pair->out.pieces, op);
    shm_set_add(&shm->blocked, pair->lane);
}

/* Writes one message of the queue. */
static enum shm_written out_queue_step(struct shm *shm, struct shm_pair *pair)
{
    struct rz_net_op *op = pair->out.queue.first;
    if (!op) {
        return SHM_NOTHING;
    }
    struct rz_net_op *next = shm_op(op)->next; /* an offer may be parked, and then is in a tree */
    enum shm_written written = out_message(shm, pair, op);
    if (written != SHM_WRITTEN) {
        return written;
    }
    pair->out.queue.first = next;
    if (shm_op(op)->bytes <= SHM_EAGER_MAX) {
        op->done(op, RZ_OK);
    }
    return SHM_WRITTEN;
}

/* Writes one piece of the first payload that is sent in pieces. */
static enum shm_written out_piece_step(struct shm_pair *pair)
{
    struct rz_net_op *op = pair->out.pieces.first;
    if (!op) {
        return SHM_NOTHING;
    }
    struct shm_op *own = shm_op(op);
    size_t bytes = own->bytes - own->sent < SHM_PIECE_MAX ? own->bytes - own->sent : SHM_PIECE_MAX;
    if (!out_room(pair, out_piece_record(bytes))) {
        return SHM_FULL;
    }
    out_piece(pair, SHM_PIECE, own, own->bytes);
    if (own->sent == own->bytes) {
        shm_ops_pop(&pair->out.pieces);
        out_end_offer(pair, op);
    }
    return SHM_WRITTEN;
}

/* Queue and pieces alternate, and one that finds no space keeps its turn: neither small messages
 * nor pieces can permanently take the space that the other waits for. */
static enum shm_written out_step(struct shm *shm, struct shm_pair *pair)
{
    uint64_t connection = pair->connection;
    enum shm_written written = SHM_NOTHING;
    for (unsigned turn = 0; turn < 2 && written == SHM_NOTHING; turn++) {
        bool pieces = pair->out.pieces_turn;
        written = pieces ? out_piece_step(pair) : out_queue_step(shm, pair);
        if (pair->connection != connection) {
            return SHM_FULL; /* a callback has ended the connection */
        }
        if (written != SHM_FULL) {
            pair->out.pieces_turn = !pieces;
        }
    }
    return written;
}

void shm_out_flush(struct shm *shm, struct shm_pair *pair)
{
    uint64_t connection = pair->connection;
    if (!pair->connected) {
        return;
    }
    if (atomic_load_explicit(&pair->out.page->waiting, memory_order_relaxed)) {
        atomic_store_explicit(&pair->out.page->waiting, 0, memory_order_relaxed);
    }
    out_look(pair);
    enum shm_written written = shm_fetch_flush(shm, pair);
    while (written != SHM_FULL && pair->connection == connection) {
        written = out_step(shm, pair);
        if (written == SHM_NOTHING) {
            break;
        }
    }
    if (pair->connection != connection) {
        return;
    }
    if (pair->out.rung != pair->out.tail) {
        shm_out_ring(shm, pair);
    }
    if (!pair->out.queue.first && !pair->out.pieces.first && !pair->to_send.first) {
        shm_set_remove(&shm->blocked, pair->lane);
    }
}

bool shm_out_arm(struct shm_pair *pair)
{
    atomic_store(&pair->out.page->waiting, 1);
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t head_seen = pair->out.head_seen;
    out_look(pair);
    return pair->out.head_seen == head_seen;
}
