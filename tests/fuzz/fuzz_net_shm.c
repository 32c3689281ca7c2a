/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What another process leaves in its lane of our inbox: records cut anywhere, lengths and offsets
 * of any value, offers and answers to ours. The other process is played by the input.
 */
#include "fuzz_transport.h"
#include "net/shm/shm.h"
#include "net/shm/shm_layout.h"
#include "port/memory.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { LANES = 2, US = 0, THEM = 1, LARGE = 9000, FETCH_MAX = 3 * SHM_PIECE_MAX };

static struct world {
    struct rz_fuzz_input *input;
    struct rz_fuzz_user user;
    int inbox[LANES], event[LANES];
    struct rz_net *net;
    struct rz_doorbell *bell;
    struct shm_lane_page *page; /* of their lane in our inbox */
    uint8_t *ring;
    uint64_t tail;
    rz_peer_t peer;
    bool connected;
    unsigned broken;
} world;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(world.input, bound);
}

/* ---- our side ---- */

static void broken(void *arg, rz_peer_t peer)
{
    (void)arg;
    rz_fuzz_holds(world.connected && peer == world.peer);
    world.broken++;
}

static void connect_peer(void)
{
    struct rz_shm_ep_address ep_address = {.peer = {.job = 77, .rank = THEM, .incarnation = 1},
                                           .pid = (uint32_t)getpid(),
                                           .lane = THEM,
                                           .inbox_fd = world.inbox[THEM],
                                           .event_fd = world.event[THEM]};
    world.peer++;
    rz_status_t status = rz_shm_ops.connect(world.net, world.peer, &ep_address, sizeof(ep_address));
    /* Refused if it has shown another identity, or was declared failed. */
    world.connected = status == RZ_OK;
}

static void disconnect_peer(rz_status_t status)
{
    if (!world.connected) {
        return;
    }
    rz_shm_ops.disconnect(world.net, world.peer, below(2), status);
    world.connected = false;
    rz_fuzz_all_ended(&world.user);
}

static void send_one(void)
{
    static const size_t sizes[] = {0, 40, SHM_EAGER_MAX, LARGE, 2 * LARGE};
    size_t bytes = sizes[below(5)];
    struct rz_fuzz_op *op = world.connected ? rz_fuzz_op_begin(&world.user, bytes) : NULL;
    if (op) {
        rz_fuzz_op_began(op, rz_shm_ops.send(world.net, world.peer, op->data, bytes, &op->op));
    }
}

/* ---- their side ---- */

static void ring_put(const void *bytes, size_t n, uint64_t at)
{
    for (size_t i = 0; i < n; i++) {
        world.ring[(at + i) % SHM_RING] = ((const uint8_t *)bytes)[i];
    }
}

/* The word behind the last record is 0. */
static void publish(uint64_t tail)
{
    const uint64_t none = 0;
    world.tail = tail & ~(uint64_t)(SHM_LINE - 1);
    ring_put(&none, sizeof(none), world.tail);
    atomic_store(&world.page->tail, tail);
    atomic_fetch_or(&world.bell->lanes[0], UINT64_C(1) << THEM);
}

/* Ids of offers count from 1 in each process: theirs and ours meet. */
static uint64_t any_id(void)
{
    uint64_t id = below(256);
    return id < 250 ? id % 6 : rz_fuzz_take(world.input, 8);
}

static uint64_t any_bytes(void)
{
    static const uint64_t sizes[] = {0, 1, 100, SHM_PIECE_MAX, LARGE, 2 * LARGE, 65536, SIZE_MAX};
    uint64_t what = below(10);
    return what < 8 ? sizes[what] : rz_fuzz_take(world.input, 4);
}

/* A body that suits the kind. */
static size_t make_body(uint32_t kind, uint8_t body[64])
{
    struct shm_offer offer = {any_id(), any_bytes(), (uintptr_t)world.ring, (uint32_t)below(70),
                              below(2) ? 0 : (uint32_t)any_bytes()};
    struct shm_reply reply = {offer.id, offer.bytes, offer.slot % 8 ? offer.slot % 8 - 1 : 64,
                              offer.slot % 2};
    if (offer.slot >= SHM_SLOTS + 2) {
        offer.slot = reply.slot = SHM_PARKED;
        offer.early = 0;
    }
    struct shm_piece piece = {offer.id, offer.bytes};
    if (kind == SHM_OFFER) {
        if (offer.slot < SHM_SLOTS && below(4) > 0) {
            atomic_store(&world.page->offered[offer.slot], offer.id);
        }
        if (below(4) == 0) {
            offer.at = rz_fuzz_take(world.input, 8);
        }
        memcpy(body, &offer, sizeof(offer));
        return sizeof(offer);
    }
    if (kind == SHM_DONE || kind == SHM_ASK || kind == SHM_SLOT) {
        memcpy(body, &reply, sizeof(reply));
        return sizeof(reply);
    }
    memcpy(body, &piece, sizeof(piece));
    if (kind == SHM_HELP) {
        struct shm_help help = {.id = offer.id, .bytes = offer.bytes, .slot = offer.slot};
        memcpy(body, &help, sizeof(help));
        return sizeof(help);
    }
    return kind == SHM_PIECE || kind == SHM_EARLY ? sizeof(piece) : 0;
}

static void write_record(void)
{
    uint32_t kind = (uint32_t)below(SHM_HELP + 2);
    uint8_t body[64];
    size_t n = make_body(kind, body), more = below(4) ? 0 : below(SHM_PIECE_MAX + 2);
    uint64_t odd = below(256);
    struct shm_record record = {(uint8_t)kind, 48, 0, (uint32_t)(n + more)};
    if (odd % 32 == 1) {
        record.header_bytes = (uint8_t)rz_fuzz_take(world.input, 1);
    }
    size_t at = shm_body_offset(record.header_bytes, record.body_bytes);
    if (odd % 32 == 2) {
        record.body_bytes = (uint32_t)rz_fuzz_take(world.input, 4);
    }
    if (odd % 32 == 3) {
        record.body_bytes -= (uint32_t)below(n + 1);
    }
    ring_put(&record, sizeof(record), world.tail);
    ring_put(body, n, world.tail + at);
    uint64_t bytes = shm_record_bytes(record.header_bytes, n + more);
    if (odd % 32 == 4) {
        bytes = rz_fuzz_take(world.input, 3); /* the tail is anywhere */
    }
    if (odd == 5) {
        bytes = rz_fuzz_take(world.input, 8);
    }
    publish(world.tail + bytes);
}

/* An offer that we fetch, and a piece that goes beyond it by as much as the input says. */
static void piece_too_long(void)
{
    uint64_t id = 1000 + world.user.n_ops, more = below(4);
    struct shm_offer offer = {.id = id, .bytes = 100, .at = 1};
    struct shm_piece piece = {.id = id};
    struct shm_record records[] = {{SHM_OFFER, 48, 0, sizeof(offer)},
                                   {SHM_PIECE, 48, 0, (uint32_t)(sizeof(piece) + 99 + more)}};
    atomic_store(&world.page->offered[0], id);
    ring_put(&records[0], sizeof(records[0]), world.tail);
    ring_put(&offer, sizeof(offer), world.tail + shm_body_offset(48, sizeof(offer)));
    publish(world.tail + shm_record_bytes(48, sizeof(offer)));
    rz_shm_ops.progress(world.net);
    rz_fuzz_use_token(&world.user);
    ring_put(&records[1], sizeof(records[1]), world.tail);
    ring_put(&piece, sizeof(piece), world.tail + shm_body_offset(48, records[1].body_bytes));
    publish(world.tail + shm_record_bytes(48, records[1].body_bytes));
    rz_shm_ops.progress(world.net);
}

static void their_page(void)
{
    switch (below(4)) {
    case 0:
        atomic_store(&world.page->offered[below(SHM_SLOTS)], any_id());
        break;
    case 1:
        atomic_store(&world.page->waiting, 1);
        break;
    case 2:
        atomic_store(&world.page->identity_at, rz_fuzz_take(world.input, 8));
        break;
    default:
        if (below(16) == 0) {
            world.page->identity.rank = (uint32_t)below(4);
        }
    }
}

/* They read on in our lane of their inbox, or claim that they did. */
static void their_head(void)
{
    uint8_t *at;
    size_t n = rz_shm_inbox_bytes(LANES);
    if (rz_memory_map(world.inbox[THEM], n, true, (void **)&at, NULL) != RZ_OK) {
        abort();
    }
    struct shm_head *heads = (struct shm_head *)(void *)(at + shm_page_bytes());
    struct shm_lane_page *lane = (struct shm_lane_page *)(void *)(at + shm_lane_offset(US, LANES));
    bool odd = below(32) == 0;
    atomic_store(&heads[US].read, odd ? rz_fuzz_take(world.input, 8) : atomic_load(&lane->tail));
    rz_memory_unmap(at, n);
}

/* ---- the world ---- */

static void open_world(struct rz_fuzz_input *input)
{
    static const enum rz_shm_copy copies[] = {RZ_SHM_COPY_AUTO, RZ_SHM_COPY_RING,
                                              RZ_SHM_COPY_DIRECT};
    void *at;
    memset(&world, 0, sizeof(world));
    world.input = input;
    for (unsigned i = 0; i < LANES; i++) {
        if (rz_memory_create("fuzz-inbox", rz_shm_inbox_bytes(LANES), &world.inbox[i]) != RZ_OK ||
            (world.event[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
            abort();
        }
    }
    if (rz_memory_map(world.inbox[US], rz_shm_inbox_bytes(LANES), true, &at, NULL) != RZ_OK) {
        abort();
    }
    world.bell = at;
    world.page = (struct shm_lane_page *)(void *)((uint8_t *)at + shm_lane_offset(THEM, LANES));
    world.ring = (uint8_t *)world.page + shm_page_bytes();
    world.page->identity =
        (struct shm_identity){.job = 77, .job_token = 0xCAFE, .rank = THEM, .incarnation = 1};
    atomic_store(&world.page->identity_at, (uintptr_t)&world.page->identity);
    atomic_store(&world.page->opened, 1);
    struct rz_shm_config config = {
        .self = {.job = 77, .rank = US, .incarnation = 1},
        .job_token = 0xCAFE,
        .lane = US,
        .lanes_max = LANES,
        .inbox_fd = world.inbox[US],
        .event_fd = world.event[US],
        .copy = copies[below(3)],
        .host = {.arg = &world.user, .arrived = rz_fuzz_arrived, .broken = broken}};
    rz_fuzz_holds(rz_shm_open(&world.net, &config) == RZ_OK);
    world.user = (struct rz_fuzz_user){.input = input,
                                       .token_least = 1,
                                       .whole_max = SHM_RING,
                                       .fetch_max = FETCH_MAX,
                                       .fetch = rz_shm_ops.fetch,
                                       .drop = rz_shm_ops.drop,
                                       .net = world.net};
}

static void close_world(void)
{
    rz_fuzz_drop_tokens(&world.user);
    disconnect_peer(RZ_ERR_PROC_FAILED);
    rz_shm_ops.close(world.net);
    rz_fuzz_all_ended(&world.user);
    rz_memory_unmap(world.bell, rz_shm_inbox_bytes(LANES));
    for (unsigned i = 0; i < LANES; i++) {
        close(world.inbox[i]);
        close(world.event[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    open_world(&input);
    if (below(4) > 0) {
        connect_peer();
    }
    while (rz_fuzz_left(&input) > 0) {
        uint64_t what = below(32);
        if (what < 14) {
            write_record();
        } else if (what < 16) {
            their_page();
        } else if (what < 18) {
            their_head();
        } else if (what < 21) {
            send_one();
        } else if (what < 24) {
            rz_fuzz_use_token(&world.user);
        } else if (what < 26) {
            piece_too_long();
        } else if (what < 27 && below(4) == 0) {
            world.connected ? disconnect_peer(RZ_ERR_CLOSED) : connect_peer();
        } else {
            rz_shm_ops.progress(world.net);
        }
    }
    close_world();
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 16 ? rz_fuzz_seed_noise(number, 32u << number % 4, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_net_shm",
                                              .input_max = 1024,
                                              .memory_fixed = 2u << 20,
                                              .memory_factor = 4096,
                                              .seed = seed};
