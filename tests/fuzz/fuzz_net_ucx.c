/*
 * Frames of the network transport, of any sender and content, and cards. UCX itself is played by
 * the target: these functions come before those of the library.
 */
#include "fuzz_transport.h"
#include "net/ucx/ucx_internal.h"
#include "wire/cursor.h"

enum { PEERS_MAX = 4, FETCH_MAX = 70000, LARGE = RZ_UCX_EAGER_MAX + 5000 };

static struct world {
    struct rz_fuzz_input *input;
    struct rz_fuzz_user user;
    struct rz_net net;
    ucp_am_recv_callback_t handler;
    rz_peer_t next_peer;
    uint64_t names[PEERS_MAX];
    unsigned full; /* the next sends find no room */
    uint64_t sum;
} world;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(world.input, bound);
}

/* --- UCX, played --------------------------------------------------------------------------------
 */

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                            const ucp_am_handler_param_t *parameters)
{
    (void)worker;
    world.handler = parameters->cb;
    return UCS_OK;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header,
                                 size_t header_length, const void *buffer, size_t count,
                                 const ucp_request_param_t *parameters)
{
    (void)id, (void)parameters;
    rz_fuzz_holds(endpoint != NULL && header_length >= RZ_UCX_FRAME_BYTES);
    rz_fuzz_holds(count <= RZ_UCX_PIECE_MAX);
    for (size_t i = 0; i < header_length; i++)
        world.sum += ((const uint8_t *)header)[i];
    for (size_t i = 0; i < count; i++)
        world.sum += ((const uint8_t *)buffer)[i];
    if (world.full > 0) {
        world.full--;
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    return UCS_STATUS_PTR(UCS_OK);
}

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *parameters,
                           ucp_ep_h *endpoint)
{
    (void)worker, (void)parameters;
    *endpoint = (ucp_ep_h)(void *)&world.net;
    return UCS_OK;
}

ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h endpoint, const ucp_request_param_t *parameters)
{
    (void)endpoint, (void)parameters;
    return UCS_STATUS_PTR(UCS_OK);
}

void ucp_request_free(void *request)
{
    (void)request;
}

ucs_status_t ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address, size_t *length)
{
    (void)worker, (void)address, (void)length;
    return UCS_ERR_NO_MEMORY;
}

void ucp_worker_release_address(ucp_worker_h worker, ucp_address_t *address)
{
    (void)worker, (void)address;
}

unsigned rz_ucx_progress(struct rz_net *net)
{
    return rz_ucx_settle(net);
}

/* --- our side -----------------------------------------------------------------------------------
 */

static void broken(void *arg, rz_peer_t peer)
{
    (void)arg;
    rz_fuzz_holds(peer < world.next_peer);
}

/* A card as rz_ucx_card writes it, then changed here and there. */
static void connect_one(void)
{
    uint8_t card[64];
    struct rz_wire_writer w;
    uint64_t name = world.names[below(PEERS_MAX)];
    rz_wire_writer_init(&w, card, sizeof card);
    rz_wire_put_u32(&w, 0x58555a52u);
    rz_wire_put_u32(&w, 1);
    rz_wire_put_u64(&w, world.net.job);
    rz_wire_put_u64(&w, name);
    rz_wire_put_bytes(&w, "address", 7);
    size_t n = (size_t)(w.at - card);
    uint64_t odd = below(16);
    if (odd == 1)
        card[below(n)] ^= (uint8_t)(1u << below(8));
    if (odd == 2)
        n = below(n);
    uint8_t *copy = rz_fuzz_copy(card, n);
    rz_status_t status = rz_ucx_connect(&world.net, world.next_peer, copy, n);
    rz_fuzz_holds(odd != 2 || status != RZ_OK); /* a card that was cut is none */
    free(copy);
    world.next_peer++;
}

static void send_one(void)
{
    static const size_t sizes[] = {0, 40, RZ_UCX_EAGER_MAX, LARGE, 3 * LARGE};
    size_t bytes = sizes[below(5)];
    struct rz_fuzz_op *op = rz_fuzz_op_begin(&world.user, bytes);
    if (!op)
        return;
    rz_peer_t peer = (rz_peer_t)below(world.next_peer + 1);
    rz_fuzz_op_began(op, rz_ucx_send(&world.net, peer, op->data, bytes, &op->op));
}

/* --- their frames -------------------------------------------------------------------------------
 */

static uint64_t any_place(void)
{
    static const uint64_t places[] = {0,     1,     RZ_UCX_EAGER_MAX, RZ_UCX_EAGER_MAX + 1,
                                      LARGE, 61440, UINT64_MAX,       UINT64_MAX - 100};
    uint64_t what = below(10);
    return what < 8 ? places[what] : rz_fuzz_take(world.input, 4);
}

static void deliver(uint64_t name, enum rz_ucx_kind kind, uint64_t id, uint64_t place, size_t bytes)
{
    uint8_t header[RZ_UCX_FRAME_BYTES], *data = calloc(1, bytes);
    struct rz_wire_writer w;
    ucp_am_recv_param_t parameters = {0};
    rz_wire_writer_init(&w, header, sizeof header);
    rz_wire_put_u64(&w, name);
    rz_wire_put_u32(&w, kind);
    rz_wire_put_u64(&w, id);
    rz_wire_put_u64(&w, place);
    world.net.inside = true;
    world.handler(&world.net, header, sizeof header, data, bytes, &parameters);
    world.net.inside = false;
    rz_ucx_settle(&world.net);
    free(data);
}

/* An offer that we fetch, and pieces that go beyond it by as much as the input says. */
static void piece_too_long(void)
{
    uint64_t name = world.names[1 + below(PEERS_MAX - 1)], id = 1000 + world.user.n_ops;
    deliver(name, RZ_UCX_OFFER, id, LARGE, 0);
    rz_fuzz_use_token(&world.user);
    rz_ucx_settle(&world.net);
    deliver(name, RZ_UCX_PIECE, id, 0, LARGE - 1);
    deliver(name, RZ_UCX_PIECE, id, LARGE - 1, below(4));
}

static void frame(void)
{
    static const size_t sizes[] = {0, 16, 61440, 8560, RZ_UCX_EAGER_MAX, RZ_UCX_EAGER_MAX + 1};
    uint8_t header[RZ_UCX_FRAME_BYTES + RZ_NET_HEADER_MAX + 8] = {0};
    struct rz_wire_writer w;
    uint64_t odd = below(64);
    rz_wire_writer_init(&w, header, sizeof header);
    rz_wire_put_u64(&w, odd == 1 ? rz_fuzz_take(world.input, 8) : world.names[below(PEERS_MAX)]);
    rz_wire_put_u32(&w, odd == 2 ? (uint32_t)rz_fuzz_take(world.input, 4) : (uint32_t)below(7));
    rz_wire_put_u64(&w, odd == 3 ? rz_fuzz_take(world.input, 8) : below(6));
    rz_wire_put_u64(&w, any_place());
    size_t n = RZ_UCX_FRAME_BYTES + (odd == 4 ? below(80) : 48);
    if (odd == 5)
        n = below(RZ_UCX_FRAME_BYTES);
    n = n < sizeof header ? n : sizeof header;
    size_t bytes = sizes[below(6)];
    uint8_t *exact = rz_fuzz_copy(header, n), *data = calloc(1, bytes);
    ucp_am_recv_param_t parameters = {.recv_attr = odd == 6 ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0};
    world.net.inside = true;
    world.handler(&world.net, exact, n, data, bytes, &parameters);
    world.net.inside = false;
    free(exact);
    free(data);
}

/* --- the world ----------------------------------------------------------------------------------
 */

static void open_world(struct rz_fuzz_input *input)
{
    memset(&world, 0, sizeof world);
    world.input = input;
    world.net =
        (struct rz_net){.host = {.arg = &world.user, .arrived = rz_fuzz_arrived, .broken = broken},
                        .job = 77,
                        .name = 1,
                        .fd = -1};
    world.user = (struct rz_fuzz_user){.input = input,
                                       .token_least = RZ_UCX_EAGER_MAX + 1,
                                       .whole_max = RZ_UCX_EAGER_MAX,
                                       .fetch_max = FETCH_MAX,
                                       .fetch = rz_ucx_fetch,
                                       .drop = rz_ucx_drop,
                                       .net = &world.net};
    for (unsigned i = 0; i < PEERS_MAX; i++)
        world.names[i] = i + 1; /* the first is our own */
    rz_fuzz_holds(rz_ucx_listen(&world.net) == RZ_OK);
}

static void close_world(void)
{
    struct rz_net *net = &world.net;
    rz_fuzz_drop_tokens(&world.user);
    net->deaf = true;
    world.full = 0;
    for (rz_peer_t peer = 0; peer < world.next_peer; peer++)
        rz_ucx_disconnect(net, peer, false, RZ_ERR_PROC_FAILED);
    for (unsigned i = 0; i < 4; i++)
        rz_ucx_settle(net);
    for (size_t i = 0; i < net->buckets_count; i++)
        for (struct rz_ucx_peer *peer = net->buckets[i], *next; peer; peer = next) {
            next = peer->next_in_bucket;
            rz_ucx_peer_end(peer, RZ_ERR_CANCELLED);
        }
    rz_ucx_settle(net);
    rz_fuzz_all_ended(&world.user);
    for (size_t i = 0; i < net->buckets_count; i++)
        for (struct rz_ucx_peer *peer = net->buckets[i], *next; peer; peer = next) {
            next = peer->next_in_bucket;
            while (peer->tokens)
                rz_ucx_token_free(peer->tokens);
            free(peer);
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
        if (what < 16)
            frame();
        else if (what < 18)
            connect_one();
        else if (what < 22)
            send_one();
        else if (what < 26)
            rz_fuzz_use_token(&world.user);
        else if (what < 27)
            piece_too_long();
        else if (what < 28)
            world.full = (unsigned)below(4);
        else if (what < 29 && below(4) == 0)
            rz_ucx_disconnect(&world.net, (rz_peer_t)below(world.next_peer + 1), below(2),
                              RZ_ERR_PROC_FAILED);
        else
            rz_ucx_settle(&world.net);
    }
    close_world();
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 16 ? rz_fuzz_seed_noise(number, 32u << number % 4, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_net_ucx",
                                              .input_max = 1024,
                                              .memory_fixed = 4u << 20,
                                              .memory_factor = 64 * 1024,
                                              .seed = seed};
