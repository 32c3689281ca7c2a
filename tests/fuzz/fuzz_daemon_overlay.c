/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What another machine may send to a daemon: frames before and after a peer has proved itself,
 * challenges from one that only listens, datagrams. Over loopback, for sockets are part of it.
 */
#include "daemon/overlay/overlay.h"
#include "fuzz_family.h"
#include "net/datagram/datagram.h"
#include "net/proof/proof.h"
#include "port/channel.h"
#include "port/socket.h"
#include "wire/protocol_encoding.h"

#include <event2/event.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CASE(NAME, name)                                                                           \
    case RZ_OVERLAY_##NAME: {                                                                      \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }
RZ_FUZZ_FILL(overlay, OVERLAY)

enum { NODES = 3, SELF = 0, PEER = 1, JOB = 7, NONCE = 32, TURNS = 24, WRONGS = 11 };

static const uint8_t key[RZ_JOB_KEY_BYTES] = {1, 2, 3};

static struct world {
    struct event_base *base;
    struct rz_overlay *overlay;
    struct rz_address tcp[NODES], udp[NODES];
    int listening[NODES], datagrams[NODES];
    bool proved;
    struct rz_seal seal; /* of what is sent then */
    unsigned messages, heartbeats, broken;
    uint64_t sum;
} world;

static void take_message(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    (void)arg;
    rz_fuzz_holds(world.proved && from == PEER);
    rz_fuzz_holds((unsigned)message->type < RZ_OVERLAY_TYPE_COUNT);
    rz_fuzz_holds(message->type != RZ_OVERLAY_LEAVING);
    if (message->type == RZ_OVERLAY_PROTOCOL) {
        for (uint32_t i = 0; i < message->protocol.message_length; i++) {
            world.sum += message->protocol.message[i];
        }
    }
    if (message->type == RZ_OVERLAY_PIECE) {
        for (uint32_t i = 0; i < message->piece.data_length; i++) {
            world.sum += message->piece.data[i];
        }
    }
    world.messages++;
}

static void take_heartbeat(void *arg, const struct rz_message *message, const uint64_t *items)
{
    (void)arg;
    rz_fuzz_holds(message->from < NODES && message->protocol < RZ_PROTOCOL_COUNT);
    for (uint32_t i = 0; i < message->n_items; i++) {
        world.sum += items[i];
    }
    world.heartbeats++;
}

static void take_broken(void *arg, rz_id peer)
{
    (void)arg;
    rz_fuzz_holds(peer < NODES && peer != SELF);
    world.broken++;
}

static void take_writable(void *arg, rz_id peer)
{
    (void)arg;
    rz_fuzz_holds(peer < NODES);
}

/* Loopback delivers at once; several turns, because one thing leads to another. */
static void turn(void)
{
    for (unsigned i = 0; i < 4; i++) {
        event_base_loop(world.base, EVLOOP_NONBLOCK);
    }
}

static void open_world(void)
{
    static const struct rz_address any = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_overlay_peer peers[NODES];
    memset(&world, 0, sizeof(world));
    world.base = event_base_new();
    event_base_priority_init(world.base, 2);
    if (rz_overlay_open(&world.overlay, world.base, &any) != RZ_OK) {
        abort();
    }
    for (unsigned i = 0; i < NODES; i++) {
        world.tcp[i] = world.udp[i] = any;
        world.listening[i] = world.datagrams[i] = -1;
        if (i != SELF && (rz_socket_listen(&world.tcp[i], &world.listening[i]) != RZ_OK ||
                          rz_socket_datagram(&world.udp[i], &world.datagrams[i]) != RZ_OK)) {
            abort();
        }
        peers[i] = (struct rz_overlay_peer){
            .address = any, .tcp_port = world.tcp[i].port, .udp_port = world.udp[i].port};
    }
    peers[SELF] = rz_overlay_own(world.overlay);
    world.tcp[SELF].port = peers[SELF].tcp_port;
    world.udp[SELF].port = peers[SELF].udp_port;
    struct rz_overlay_config config = {.job = JOB,
                                       .key = key,
                                       .n_nodes = NODES,
                                       .self = SELF,
                                       .peers = peers,
                                       .message = take_message,
                                       .heartbeat = take_heartbeat,
                                       .broken = take_broken,
                                       .writable = take_writable};
    rz_fuzz_holds(rz_overlay_start(world.overlay, &config) == RZ_OK);
}

static void close_world(void)
{
    rz_overlay_close(world.overlay);
    event_base_free(world.base);
    for (unsigned i = 0; i < NODES; i++) {
        if (i != SELF) {
            close(world.listening[i]);
            close(world.datagrams[i]);
        }
    }
}

/* ---- being a peer ---- */

static void send_all(int fd, const void *bytes, size_t n)
{
    /* Bytes that do not fit into the socket, or follow the end, are not sent. */
    if (n > 0 && send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        return;
    }
}

static void send_frame(int fd, const void *bytes, size_t n)
{
    uint8_t frame[2048];
    if (n + 4 > sizeof(frame)) {
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        frame[i] = (uint8_t)(n >> 8 * i);
    }
    memcpy(frame + 4, bytes, n);
    send_all(fd, frame, n + 4);
}

/* The acceptor's challenge. */
static bool read_nonce(int fd, uint8_t nonce[NONCE])
{
    uint8_t frame[128];
    struct rz_overlay_message message;
    for (unsigned i = 0; i < TURNS; i++) {
        turn();
        ssize_t n = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
        if (n > 4 && rz_overlay_decode(&message, frame + 4, (size_t)n - 4) == RZ_OK &&
            message.type == RZ_OVERLAY_CHALLENGE && message.challenge.nonce_length == NONCE) {
            memcpy(nonce, message.challenge.nonce, NONCE);
            return true;
        }
    }
    return false;
}

/* HELLO; `wrong`: one thing of it is not as it must be. */
static void say_hello(int fd, unsigned wrong)
{
    uint8_t nonce[NONCE], bound[16], proof[RZ_PROOF_BYTES], frame[512];
    struct rz_wire_writer w;
    if (!read_nonce(fd, nonce)) {
        return;
    }
    rz_wire_writer_init(&w, bound, sizeof(bound));
    rz_wire_put_u64(&w, wrong == 1 ? JOB + 1 : JOB);
    rz_wire_put_u32(&w, wrong == 2 ? 2 : PEER);
    rz_wire_put_u32(&w, wrong == 3 ? 2 : SELF);
    uint8_t derived[RZ_PROOF_KEY_BYTES];
    rz_proof_derive(key, "connections of daemons", NULL, 0, derived);
    const struct rz_proof_terms terms = {derived, nonce, nonce, bound, sizeof(bound)};
    rz_proof_make(&terms, wrong == 9 ? RZ_PROOF_ACCEPTOR : RZ_PROOF_CONNECTOR, proof);
    rz_seal_begin(&world.seal, &terms, RZ_PROOF_CONNECTOR);
    proof[0] ^= wrong == 4;
    struct rz_overlay_message hello = {.type = RZ_OVERLAY_HELLO,
                                       .hello = {.version = RZ_OVERLAY_VERSION + (wrong == 5),
                                                 .job = JOB + (wrong == 6),
                                                 .from = wrong == 7 ? NODES : PEER,
                                                 .proof = proof,
                                                 .proof_length = sizeof(proof) - (wrong == 8),
                                                 .nonce = nonce,
                                                 .nonce_length = NONCE - (wrong == 10)}};
    send_frame(fd, frame, rz_overlay_encode(&hello, frame, sizeof(frame)));
    world.proved = wrong == 0;
}

static void as_connector(struct rz_fuzz_input *input, unsigned wrong, bool prove)
{
    int fd;
    rz_status_t status = rz_socket_connect(&world.tcp[SELF], &fd);
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        return;
    }
    turn();
    if (prove) {
        say_hello(fd, wrong);
    }
    while (rz_fuzz_left(input) > 0) {
        size_t n = 1 + rz_fuzz_take(input, 1) * 4;
        const uint8_t *at = rz_fuzz_bytes(input, &n);
        if (world.proved && n > 4) {
            uint8_t sealed[2048];
            rz_seal_put(&world.seal, at + 4, n - 4, sealed);
            send_frame(fd, sealed, n - 4 + RZ_SEAL_BYTES);
        } else {
            send_all(fd, at, n);
        }
        turn();
    }
    close(fd);
    turn();
}

static void as_acceptor(struct rz_fuzz_input *input)
{
    int fd;
    for (unsigned i = 0; i < TURNS; i++) {
        turn();
        if (rz_socket_accept(world.listening[PEER], &fd, NULL) == RZ_OK) {
            send_all(fd, input->at, rz_fuzz_left(input));
            turn();
            close(fd);
            turn();
            return;
        }
    }
}

/* A datagram is delivered, once, if its seal is right, and it is a message of its sealer. */
static void as_datagram(struct rz_fuzz_input *input, bool tagged)
{
    uint8_t packet[2048];
    uint64_t items[sizeof(packet) / 8];
    struct rz_message message;
    struct rz_wire_reader r;
    size_t n = rz_fuzz_left(input);
    memcpy(packet, input->at, n);
    rz_wire_reader_init(&r, packet, n);
    uint32_t to = rz_wire_get_u32(&r), from = rz_wire_get_u32(&r);
    uint64_t number = rz_wire_get_u64(&r);
    bool good = tagged && !r.malformed && to == SELF && from != SELF && from < NODES &&
                number > 0 && n - RZ_DATAGRAM_HEADER_BYTES <= RZ_DATAGRAM_PAYLOAD_MAX &&
                rz_protocol_message_decode(&message, items, RZ_DATAGRAM_PAYLOAD_MAX / 8, r.at,
                                           (size_t)(r.end - r.at)) == RZ_OK &&
                message.from == from;
    if (tagged) {
        uint8_t derived[RZ_PROOF_KEY_BYTES];
        rz_proof_derive(key, "datagrams of daemons", NULL, 0, derived);
        crypto_auth(packet + n, packet, n, derived), n += crypto_auth_BYTES;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (rz_socket_send_to(world.datagrams[PEER], packet, n, &world.udp[SELF]) != RZ_OK) {
            return;
        }
    }
    turn();
    rz_overlay_read_heartbeats(world.overlay);
    rz_fuzz_holds(world.heartbeats == good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    unsigned way = (unsigned)rz_fuzz_below(&input, 8);
    unsigned wrong = (unsigned)rz_fuzz_below(&input, WRONGS);
    open_world();
    if (way == 0) {
        as_connector(&input, wrong, false);
    } else if (way < 4) {
        as_connector(&input, way == 1 ? wrong : 0, true);
    } else if (way < 5) {
        as_acceptor(&input);
    } else {
        as_datagram(&input, way > 5);
    }
    rz_fuzz_holds(world.messages == 0 || world.proved);
    close_world();
    return 0;
}

/* Way, what is wrong, then what is sent: frames of messages of each type, or a datagram. */
static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    struct rz_message heartbeat = {.view = 3, .from = PEER, .seq = number};
    struct rz_overlay_message message = {.type = (enum rz_overlay_type)(number - 8)};
    struct rz_random random = {number};
    uint8_t nonce[NONCE] = {5};
    bytes[0] = (uint8_t)(number < 8 ? number : 2);
    bytes[1] = (uint8_t)(number % WRONGS);
    if (number >= 5 && number < 8) {
        struct rz_wire_writer w;
        rz_wire_writer_init(&w, bytes + 2, RZ_DATAGRAM_HEADER_BYTES);
        rz_wire_put_u32(&w, SELF);
        rz_wire_put_u32(&w, PEER);
        rz_wire_put_u64(&w, 1 + number);
        return 18 + rz_protocol_message_encode(&heartbeat, NULL, bytes + 18, max - 18);
    }
    if (number < 8) {
        message.type = number == 4 ? RZ_OVERLAY_CHALLENGE : RZ_OVERLAY_GET_EP_ADDRESS;
    }
    if ((unsigned)message.type >= RZ_OVERLAY_TYPE_COUNT) {
        return 0;
    }
    fill(&message, &random);
    if (message.type == RZ_OVERLAY_CHALLENGE) {
        message.challenge = (struct rz_overlay_challenge){
            .version = RZ_OVERLAY_VERSION, .nonce = nonce, .nonce_length = NONCE};
    }
    size_t at = 2;
    bytes[at] = number != 4 ? 255 : 0;
    at += number != 4;
    size_t n = rz_overlay_encode(&message, bytes + at + 4, max - at - 4);
    for (unsigned i = 0; i < 4; i++) {
        bytes[at + i] = (uint8_t)(n >> 8 * i);
    }
    return n > 0 ? at + 4 + n : 0;
}

/* The overlay itself has three frames of the largest size, and each stream a buffer. */
const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_daemon_overlay",
                                              .input_max = 1024,
                                              .memory_fixed = 16u << 20,
                                              .memory_factor = 64,
                                              .seed = seed};
