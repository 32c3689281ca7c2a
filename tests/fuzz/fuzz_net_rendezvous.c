/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of the transports between nodes, of any sender and content, and endpoint addresses. The
 * carrier is played by the target. */
#include "fuzz_transport.h"
#include "net/rendezvous/rendezvous.h"

enum { EAGER_MAX = 32768, PIECE_MAX = 61440, MAGIC = 0x464c4150 };
enum { PEERS_MAX = 4, FETCH_MAX = 70000, LARGE = EAGER_MAX + 5000 };

static struct world {
    struct rz_fuzz_input *input;
    struct rz_fuzz_user user;
    struct rz_net net;
    rz_peer_t next_peer;
    uint64_t names[PEERS_MAX];
    unsigned full; /* the next sends do not fit */
    uint64_t sum;
} world;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(world.input, bound);
}

/* ---- the carrier, played ---- */

static rz_status_t address(struct rz_net *net, struct rz_wire_writer *writer)
{
    (void)net, (void)writer;
    return RZ_ERR_SYSTEM;
}

static bool is_address(const uint8_t *found, size_t bytes)
{
    (void)found;
    return bytes == 7;
}

static bool begin_connection(struct rz_rdv_peer *peer)
{
    peer->connection = peer->net;
    return true;
}

static rz_status_t put(struct rz_rdv_peer *peer, const struct rz_rdv_frame *frame)
{
    rz_fuzz_holds(peer->connection && frame->header_bytes <= RZ_NET_HEADER_MAX);
    rz_fuzz_holds(frame->bytes <= PIECE_MAX);
    for (size_t i = 0; i < frame->header_bytes; i++) {
        world.sum += ((const uint8_t *)frame->header)[i];
    }
    for (size_t i = 0; i < frame->bytes; i++) {
        world.sum += ((const uint8_t *)frame->data)[i];
    }
    if (world.full > 0) {
        world.full--;
        return RZ_IN_PROGRESS;
    }
    return RZ_OK;
}

static void shut(struct rz_rdv_peer *peer)
{
    peer->connection = NULL;
}

static unsigned turn(struct rz_net *net)
{
    (void)net;
    return 0;
}

static const struct rz_carrier_ops carrier = {
    .ep_address_magic = MAGIC,
    .eager_max = EAGER_MAX,
    .piece_max = PIECE_MAX,
    .address = address,
    .is_address = is_address,
    .connect = begin_connection,
    .put = put,
    .shut = shut,
    .turn = turn,
};

/* ---- our side ---- */

static void broken(void *arg, rz_peer_t peer)
{
    (void)arg;
    rz_fuzz_holds(peer < world.next_peer);
}

/* An endpoint address as rz_rdv_ep_address writes it, then changed here and there. */
static void connect_one(void)
{
    uint8_t ep_address[64];
    struct rz_wire_writer w;
    uint64_t name = world.names[below(PEERS_MAX)];
    rz_wire_writer_init(&w, ep_address, sizeof(ep_address));
    rz_wire_put_u32(&w, MAGIC);
    rz_wire_put_u32(&w, 1);
    rz_wire_put_u64(&w, world.net.job);
    rz_wire_put_u64(&w, name);
    rz_wire_put_bytes(&w, "address", 7);
    size_t n = (size_t)(w.at - ep_address);
    uint64_t odd = below(16);
    if (odd == 1) {
        ep_address[below(n)] ^= (uint8_t)(1u << below(8));
    }
    if (odd == 2) {
        n = below(n);
    }
    uint8_t *copy = rz_fuzz_copy(ep_address, n);
    rz_status_t status = rz_rdv_connect(&world.net, world.next_peer, copy, n);
    rz_fuzz_holds(odd != 2 || status != RZ_OK); /* an endpoint address that was cut is none */
    free(copy);
    world.next_peer++;
}

static void send_one(void)
{
    static const size_t sizes[] = {0, 40, EAGER_MAX, LARGE, 3 * LARGE};
    size_t bytes = sizes[below(5)];
    struct rz_fuzz_op *op = rz_fuzz_op_begin(&world.user, bytes);
    if (!op) {
        return;
    }
    rz_peer_t peer = (rz_peer_t)below(world.next_peer + 1);
    rz_fuzz_op_began(op, rz_rdv_send(&world.net, peer, op->data, bytes, &op->op));
}

/* ---- their frames ---- */

static uint64_t any_place(void)
{
    static const uint64_t places[] = {0,     1,     EAGER_MAX,  EAGER_MAX + 1,
                                      LARGE, 61440, UINT64_MAX, UINT64_MAX - 100};
    uint64_t what = below(10);
    return what < 8 ? places[what] : rz_fuzz_take(world.input, 4);
}

static void arrive(uint64_t name, struct rz_rdv_frame frame)
{
    struct rz_rdv_peer *peer = rz_rdv_peer_meet(&world.net, name);
    uint8_t header[48] = {0}, *data = calloc(1, frame.bytes);
    frame.header = header;
    frame.header_bytes = frame.header_bytes < sizeof(header) ? frame.header_bytes : sizeof(header);
    frame.data = data;
    world.net.inside = true;
    rz_rdv_arrived(peer, &frame);
    world.net.inside = false;
    free(data);
}

static void deliver(uint64_t name, enum rz_rdv_kind kind, uint64_t id, uint64_t place, size_t bytes)
{
    arrive(name, (struct rz_rdv_frame){.kind = kind, .id = id, .place = place, .bytes = bytes});
    rz_rdv_settle(&world.net);
}

/* An offer that we fetch, and pieces that go beyond it by as much as the input says. */
static void piece_too_long(void)
{
    uint64_t name = world.names[1 + below(PEERS_MAX - 1)], id = 1000 + world.user.n_ops;
    deliver(name, RZ_RDV_OFFER, id, LARGE, 0);
    rz_fuzz_use_token(&world.user);
    rz_rdv_settle(&world.net);
    deliver(name, RZ_RDV_PIECE, id, 0, LARGE - 1);
    deliver(name, RZ_RDV_PIECE, id, LARGE - 1, below(4));
}

static void frame(void)
{
    static const size_t sizes[] = {0, 16, PIECE_MAX, 8560, EAGER_MAX, EAGER_MAX + 1};
    uint64_t odd = below(64);
    uint64_t name = odd == 1 ? rz_fuzz_take(world.input, 8) : world.names[below(PEERS_MAX)];
    struct rz_rdv_frame frame = {
        .kind = odd == 2 ? (enum rz_rdv_kind)rz_fuzz_take(world.input, 4)
                         : (enum rz_rdv_kind)below(RZ_RDV_KIND_COUNT + 1),
        .id = odd == 3 ? rz_fuzz_take(world.input, 8) : below(6),
        .place = any_place(),
        .header_bytes = odd == 4 ? (uint32_t)below(80) : 48,
        .bytes = sizes[below(6)],
    };
    arrive(name, frame);
}

/* ---- the world ---- */

static void open_world(struct rz_fuzz_input *input)
{
    memset(&world, 0, sizeof(world));
    world.input = input;
    world.net =
        (struct rz_net){.carrier = &carrier,
                        .eager_max = EAGER_MAX,
                        .piece_max = PIECE_MAX,
                        .host = {.arg = &world.user, .arrived = rz_fuzz_arrived, .broken = broken},
                        .job = 77,
                        .name = 1};
    world.user = (struct rz_fuzz_user){.input = input,
                                       .token_least = 1,
                                       .whole_max = EAGER_MAX,
                                       .fetch_max = FETCH_MAX,
                                       .fetch = rz_rdv_fetch,
                                       .drop = rz_rdv_drop,
                                       .net = &world.net};
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        world.names[i] = i + 1; /* the first is our own */
    }
}

static void close_world(void)
{
    struct rz_net *net = &world.net;
    rz_fuzz_drop_tokens(&world.user);
    net->deaf = true;
    world.full = 0;
    for (rz_peer_t peer = 0; peer < world.next_peer; peer++) {
        rz_rdv_disconnect(net, peer, false, RZ_ERR_PROC_FAILED);
    }
    for (unsigned i = 0; i < 4; i++) {
        rz_rdv_settle(net);
    }
    for (size_t i = 0; i < net->buckets_count; i++) {
        for (struct rz_rdv_peer *peer = net->buckets[i], *next; peer; peer = next) {
            next = peer->next_in_bucket;
            rz_rdv_peer_end(peer, RZ_ERR_CANCELLED);
        }
    }
    rz_rdv_settle(net);
    rz_fuzz_all_ended(&world.user);
    for (size_t i = 0; i < net->buckets_count; i++) {
        for (struct rz_rdv_peer *peer = net->buckets[i], *next; peer; peer = next) {
            next = peer->next_in_bucket;
            while (peer->tokens) {
                rz_rdv_token_free(peer->tokens);
            }
            free(peer);
        }
    }
    free(net->numbered);
    free(net->buckets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    open_world(&input);
    connect_one();
    while (rz_fuzz_left(&input) > 0) {
        uint64_t what = below(32);
        if (what < 16) {
            frame();
        } else if (what < 18) {
            connect_one();
        } else if (what < 22) {
            send_one();
        } else if (what < 26) {
            rz_fuzz_use_token(&world.user);
        } else if (what < 27) {
            piece_too_long();
        } else if (what < 28) {
            world.full = (unsigned)below(4);
        } else if (what < 29 && below(4) == 0) {
            rz_rdv_disconnect(&world.net, (rz_peer_t)below(world.next_peer + 1), below(2),
                              RZ_ERR_PROC_FAILED);
        } else {
            rz_rdv_settle(&world.net);
        }
    }
    close_world();
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 16 ? rz_fuzz_seed_noise(number, 32u << number % 4, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_net_rendezvous",
                                              .input_max = 1024,
                                              .memory_fixed = 4u << 20,
                                              .memory_factor = 64 * 1024,
                                              .seed = seed};
