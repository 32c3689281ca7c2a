/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP transport among strangers, and in pieces of every length: raw sockets that know the
 * protocol and the key, the protocol alone, or neither. */
#include "../../patience.h"
#include "net/tcp/tcp.h"
#include "net/tcp/tcp_frame.h"
#include "port/clock.h"
#include "port/socket.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define JOB 77
#define HANG (TEST_HANG_S * RZ_SECOND)
enum { EP_ADDRESS_MAX = 128, SMALL = 300 };

static const uint8_t key[RZ_TCP_KEY_BYTES] = "the key of the job under test..";
static const uint8_t other_key[RZ_TCP_KEY_BYTES] = "the key of another job entirely";

static struct rz_net *net;
static const struct rz_net_ops *ops;
static unsigned arrivals, warnings, breaks;
static size_t last_bytes;
static uint8_t last[SMALL];
static rz_net_token_t token;

static void arrived(void *arg, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t offered)
{
    (void)arg, (void)header;
    assert_int_equal(header_bytes, 48);
    arrivals++;
    last_bytes = bytes;
    token = offered;
    if (data && bytes <= sizeof(last)) {
        memcpy(last, data, bytes);
    }
}

static void broken(void *arg, rz_peer_t peer)
{
    (void)arg, (void)peer;
    breaks++;
}

static void warn(void *arg, const char *text)
{
    (void)arg;
    assert_non_null(strstr(text, "refused"));
    warnings++;
}

static struct rz_address listens_at = {.ip = RZ_ADDRESS_LOOPBACK};

static void open_with(rz_time prove_ns)
{
    const struct rz_tcp_config config = {.self = {.job = JOB, .rank = 1, .incarnation = 1},
                                         .key = key,
                                         .address = listens_at,
                                         .prove_ns = prove_ns,
                                         .host = {NULL, arrived, broken},
                                         .warn = warn};
    arrivals = warnings = breaks = 0;
    assert_int_equal(rz_tcp_open(&config, &net, &ops), RZ_OK);
}

#define TURN_UNTIL(condition)                                                                      \
    do {                                                                                           \
        rz_time limit_ = rz_clock_now() + HANG;                                                    \
        while (!(condition)) {                                                                     \
            ops->progress(net);                                                                    \
            if (rz_clock_now() > limit_) {                                                         \
                fail_msg("hang: " #condition);                                                     \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* Where the transport listens, and its name, as its endpoint address says. */
static struct rz_address address_of(struct rz_tcp_party *party)
{
    uint8_t ep_address[EP_ADDRESS_MAX];
    size_t bytes = sizeof(ep_address);
    struct rz_wire_reader r;
    struct rz_address address;
    uint32_t length;
    assert_int_equal(ops->ep_address(net, ep_address, &bytes), RZ_OK);
    rz_wire_reader_init(&r, ep_address, bytes);
    rz_wire_get_u64(&r); /* magic, version */
    assert_int_equal(rz_wire_get_u64(&r), JOB);
    party->name = rz_wire_get_u64(&r);
    rz_wire_get_u32(&r);
    const uint8_t *ip = rz_wire_get_bytes(&r, &length);
    assert_true(rz_address_take(&address, ip, length, rz_wire_get_u32(&r)));
    party->slot = rz_wire_get_u32(&r);
    party->incarnation = rz_wire_get_u32(&r);
    assert_false(r.malformed);
    return address;
}

static int stranger(void)
{
    struct rz_tcp_party party;
    struct rz_address to = address_of(&party);
    int fd;
    rz_status_t status = rz_socket_connect(&to, &fd);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    return fd;
}

static bool is_closed(int fd)
{
    char bytes[512];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        ;
    }
    return n == 0 || (errno != EAGAIN && errno != ENOTCONN);
}

static void say(int fd, const void *bytes, size_t n)
{
    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
    ops->progress(net);
}

static void hear(int fd, void *bytes, size_t n)
{
    TURN_UNTIL(recv(fd, bytes, n, MSG_DONTWAIT | MSG_PEEK) == (ssize_t)n);
    assert_int_equal(recv(fd, bytes, n, 0), (ssize_t)n);
}

/* The connector's part up to the hello, in slices. */
static int say_hello(struct rz_tcp_shake *shake, size_t slice, uint8_t *hello)
{
    uint8_t challenge[RZ_TCP_CHALLENGE_BYTES];
    int fd = stranger();
    address_of(&shake->acceptor);
    hear(fd, challenge, sizeof(challenge));
    assert_true(rz_tcp_challenge_read(shake, challenge));
    rz_tcp_hello_write(shake, hello);
    for (size_t at = 0; at < RZ_TCP_HELLO_BYTES; at += slice) {
        say(fd, hello + at, slice < RZ_TCP_HELLO_BYTES - at ? slice : RZ_TCP_HELLO_BYTES - at);
    }
    return fd;
}

static void hear_welcome(const struct rz_tcp_shake *shake, int fd)
{
    uint8_t welcome[RZ_TCP_WELCOME_BYTES];
    hear(fd, welcome, sizeof(welcome));
    assert_true(rz_tcp_welcome_read(shake, welcome));
}

/* The connector's part with that key, in slices; hello is what it said. The welcome is proved. */
static int shake_hands(const uint8_t *with, uint64_t name, size_t slice, uint8_t *hello)
{
    struct rz_tcp_shake shake = {.key = with, .job = JOB, .connector = {name, 0, 1}};
    int fd = say_hello(&shake, slice, hello);
    if (with == key) {
        hear_welcome(&shake, fd);
    }
    return fd;
}

/* ---- frames ---- */

static void only_frames_of_ours_are_taken(void **state)
{
    static const struct {
        uint32_t kind, header, bytes, padding;
        bool good;
    } heads[] = {
        {RZ_RDV_SMALL, 0, 0, 0, true},
        {RZ_RDV_SMALL, 0, 1, RZ_TCP_LINE_BYTES - 1, true},
        {RZ_RDV_SMALL, 0, 1, RZ_TCP_LINE_BYTES, false},
        {RZ_RDV_SMALL, 0, 0, 1, false},
        {RZ_RDV_TAKE, 0, 0, 1, false},
        {RZ_RDV_PIECE, 0, 1, 1, true},
        {RZ_RDV_PIECE, 0, 1, UINT32_MAX, false},
        {RZ_RDV_SMALL, RZ_NET_HEADER_MAX, RZ_TCP_EAGER_MAX, 0, true},
        {RZ_RDV_SMALL, RZ_NET_HEADER_MAX + 1, 0, 0, false},
        {RZ_RDV_SMALL, 0, RZ_TCP_EAGER_MAX + 1, 0, false},
        {RZ_RDV_OFFER, 48, 0, 0, true},
        {RZ_RDV_OFFER, 48, 1, 0, false},
        {RZ_RDV_TAKE, 0, 0, 0, true},
        {RZ_RDV_TAKE, 1, 0, 0, false},
        {RZ_RDV_DROP, 0, 1, 0, false},
        {RZ_RDV_PIECE, 0, RZ_TCP_PIECE_MAX, 0, true},
        {RZ_RDV_PIECE, 0, RZ_TCP_PIECE_MAX + 1, 0, false},
        {RZ_RDV_PIECE, 0, 0, 0, false},
        {RZ_RDV_PIECE, 1, 1, 0, false},
        {RZ_RDV_LAST, 0, 0, 0, false},
        {RZ_RDV_KIND_COUNT, 0, 0, 0, false},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        uint8_t bytes[RZ_TCP_FRAME_BYTES];
        struct rz_rdv_frame frame = {.kind = heads[i].kind,
                                     .header_bytes = heads[i].header,
                                     .bytes = heads[i].bytes,
                                     .id = 5,
                                     .place = 6};
        uint32_t padding;
        rz_tcp_frame_encode(&frame, heads[i].padding, bytes);
        assert_int_equal(rz_tcp_frame_decode(&frame, &padding, bytes),
                         heads[i].good ? RZ_OK : RZ_ERR_MALFORMED);
        assert_int_equal(padding, heads[i].padding);
    }
}

static size_t small_frame(uint8_t *bytes, uint64_t number, size_t payload)
{
    struct rz_rdv_frame frame = {.kind = RZ_RDV_SMALL, .header_bytes = 48, .bytes = payload};
    uint32_t padding = payload > 0 ? (uint32_t)(number * 7 % RZ_TCP_LINE_BYTES) : 0;
    size_t head = RZ_TCP_FRAME_BYTES + 48 + padding;
    rz_tcp_frame_encode(&frame, padding, bytes);
    memset(bytes + RZ_TCP_FRAME_BYTES, 0, 48 + padding);
    memset(bytes + head, (int)number, payload);
    return head + payload;
}

/* Handshake and frames in slices of every length: a part of a frame is kept for the rest. */
static void slices_of_every_length_are_put_together(void **state)
{
    enum { FRAMES = 4 };
    uint8_t hello[RZ_TCP_HELLO_BYTES], stream[FRAMES * 600];
    (void)state;
    open_with(HANG);
    for (size_t slice = 1; slice <= 130; slice += slice < 40 ? 1 : 9) {
        int fd = shake_hands(key, 1000 + slice, slice, hello);
        size_t n = 0;
        for (unsigned i = 0; i < FRAMES; i++) {
            n += small_frame(stream + n, slice + i, (slice * 7 + i * 50) % SMALL);
        }
        arrivals = 0;
        for (size_t at = 0; at < n; at += slice) {
            say(fd, stream + at, slice < n - at ? slice : n - at);
        }
        TURN_UNTIL(arrivals == FRAMES);
        assert_int_equal(last_bytes, (slice * 7 + 150) % SMALL);
        for (size_t i = 0; i < last_bytes; i++) {
            assert_int_equal(last[i], (uint8_t)(slice + 3));
        }
        close(fd);
    }
    assert_int_equal(warnings, 0);
    ops->close(net);
}

static void a_stream_without_meaning_ends_alone(void **state)
{
    uint8_t hello[RZ_TCP_HELLO_BYTES], bytes[512];
    (void)state;
    open_with(HANG);
    int good = shake_hands(key, 1, 92, hello), bad = shake_hands(key, 2, 92, hello);
    memset(bytes, 0xFF, sizeof(bytes));
    say(bad, bytes, 100);
    TURN_UNTIL(is_closed(bad));
    say(good, bytes, small_frame(bytes, 9, 20));
    TURN_UNTIL(arrivals == 1);
    close(good);
    close(bad);
    ops->close(net);
}

/* ---- several streams ---- */

/* A connection with the right key as that stream of the peer; taken: it is welcomed. */
static int stream_of(uint64_t name, uint32_t stream, bool taken)
{
    struct rz_tcp_shake shake = {
        .key = key, .job = JOB, .connector = {name, 0, 1}, .stream = stream};
    uint8_t hello[RZ_TCP_HELLO_BYTES];
    int fd = say_hello(&shake, sizeof(hello), hello);
    if (taken) {
        hear_welcome(&shake, fd);
    } else {
        TURN_UNTIL(is_closed(fd));
        close(fd);
    }
    return fd;
}

static size_t piece_frame(uint8_t *bytes, size_t payload)
{
    const struct rz_rdv_frame frame = {.kind = RZ_RDV_PIECE, .id = 1, .bytes = payload};
    rz_tcp_frame_encode(&frame, 9, bytes);
    memset(bytes + RZ_TCP_FRAME_BYTES, 7, 9 + payload);
    return RZ_TCP_FRAME_BYTES + 9 + payload;
}

static void streams_join_the_first_one_of_their_peer(void **state)
{
    (void)state;
    open_with(HANG);
    stream_of(1, 1, false); /* before stream 0 */
    int first = stream_of(1, 0, true), other = stream_of(1, RZ_TCP_STREAMS_MAX - 1, true);
    stream_of(1, 0, false);
    stream_of(1, RZ_TCP_STREAMS_MAX - 1, false);
    stream_of(1, RZ_TCP_STREAMS_MAX, false);
    stream_of(1, UINT32_MAX, false);
    int last_one = stream_of(1, 1, true);
    close(other);
    close(first);
    close(last_one);
    stream_of(2, 0, true); /* left to the close */
    stream_of(2, 3, true);
    ops->close(net);
}

static void pieces_alone_go_by_other_streams(void **state)
{
    uint8_t bytes[512];
    (void)state;
    open_with(HANG);
    int first = stream_of(1, 0, true), other = stream_of(1, 1, true);
    say(other, bytes, piece_frame(bytes, 200)); /* no fetch wants it */
    say(first, bytes, small_frame(bytes, 9, 20));
    TURN_UNTIL(arrivals == 1);
    assert_false(is_closed(other));
    say(other, bytes, small_frame(bytes, 9, 20));
    TURN_UNTIL(is_closed(first) && is_closed(other)); /* the peer is broken */
    assert_int_equal(arrivals, 1);
    close(first);
    close(other);
    ops->close(net);
}

static void a_peer_is_there_as_long_as_one_stream_is(void **state)
{
    uint8_t bytes[512];
    (void)state;
    open_with(HANG);
    int first = stream_of(1, 0, true), second = stream_of(1, 1, true),
        third = stream_of(1, 2, true);
    close(second);
    say(first, bytes, small_frame(bytes, 9, 20));
    TURN_UNTIL(arrivals == 1);
    close(first);
    say(third, bytes, piece_frame(bytes, 200));
    for (int i = 0; i < 100; i++) {
        ops->progress(net);
    }
    assert_false(is_closed(third));
    close(third);
    ops->close(net);
}

static void a_wrong_number_of_streams_is_refused(void **state)
{
    static const char *const wrong[] = {"0", "9", "-1", "2x", "", "two"};
    const char *given = getenv(RZ_TCP_STREAMS_ENVIRONMENT);
    const struct rz_tcp_config config = {.self = {.job = JOB, .rank = 1, .incarnation = 1},
                                         .key = key,
                                         .address = listens_at,
                                         .host = {NULL, arrived, broken}};
    char *kept = given ? strdup(given) : NULL;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv(RZ_TCP_STREAMS_ENVIRONMENT, wrong[i], 1);
        assert_int_equal(rz_tcp_open(&config, &net, &ops), RZ_ERR_INVALID);
    }
    unsetenv(RZ_TCP_STREAMS_ENVIRONMENT);
    if (kept) {
        setenv(RZ_TCP_STREAMS_ENVIRONMENT, kept, 1);
    }
    free(kept);
}

/* ---- strangers ---- */

static void without_proof_nothing_is_read(void **state)
{
    uint8_t hello[RZ_TCP_HELLO_BYTES], again[RZ_TCP_HELLO_BYTES], bytes[512];
    (void)state;
    open_with(HANG);
    /* Noise, a frame, a hello of another key. */
    size_t n = small_frame(bytes, 1, 200);
    int fd = stranger();
    say(fd, bytes, n);
    TURN_UNTIL(is_closed(fd));
    close(fd);
    fd = shake_hands(other_key, 5, 92, hello);
    TURN_UNTIL(is_closed(fd));
    close(fd);
    /* A hello that was good for another connection. */
    fd = shake_hands(key, 6, 92, hello);
    int other = stranger();
    hear(other, again, RZ_TCP_CHALLENGE_BYTES);
    say(other, hello, sizeof(hello));
    TURN_UNTIL(is_closed(other));
    close(other);
    /* A name that is here already. */
    other = shake_hands(other_key, 6, 92, hello);
    TURN_UNTIL(is_closed(other));
    close(other);
    assert_int_equal(arrivals, 0);
    assert_int_equal(warnings, 1); /* number of bytes */
    say(fd, bytes, n);
    TURN_UNTIL(arrivals == 1);
    close(fd);
    ops->close(net);
}

static void silence_is_ended_and_not_told(void **state)
{
    (void)state;
    open_with(20 * RZ_MILLISECOND);
    int silent = stranger(), slow = stranger();
    ops->progress(net);
    say(slow, "x", 1);
    TURN_UNTIL(is_closed(silent) && is_closed(slow));
    assert_int_equal(warnings, 0);
    close(silent);
    close(slow);
    ops->close(net);
}

/* More than may be unauthenticated at a time: the oldest are closed, and one of our own gets in. */
static void a_crowd_keeps_no_friend_out(void **state)
{
    enum { CROWD = 400 };
    uint8_t hello[RZ_TCP_HELLO_BYTES], bytes[512];
    int crowd[CROWD];
    (void)state;
    open_with(HANG);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = stranger();
        ops->progress(net);
    }
    TURN_UNTIL(is_closed(crowd[0]));
    int fd = shake_hands(key, 8, 92, hello);
    say(fd, bytes, small_frame(bytes, 9, 20));
    TURN_UNTIL(arrivals == 1);
    assert_int_equal(warnings, 1);
    close(fd);
    for (unsigned i = 0; i < CROWD; i++) {
        close(crowd[i]);
    }
    ops->close(net);
}

/* A process that has got the port of a failed process learns nothing but a nonce and a proof. */
static void an_impostor_hears_nothing(void **state)
{
    static void (*const no_callback)(struct rz_net_op *, rz_status_t) = NULL;
    uint8_t ep_address[EP_ADDRESS_MAX], heard[512];
    size_t bytes = sizeof(ep_address);
    struct rz_address own = listens_at;
    struct rz_net_op op = {.done = no_callback, .header_bytes = 48};
    struct rz_tcp_shake shake = {.key = other_key, .job = JOB};
    uint8_t challenge[RZ_TCP_CHALLENGE_BYTES], welcome[RZ_TCP_WELCOME_BYTES] = {1};
    int listening, fd = -1;
    (void)state;
    assert_int_equal(rz_socket_listen(&own, &listening), RZ_OK);
    open_with(HANG);
    assert_int_equal(ops->ep_address(net, ep_address, &bytes), RZ_OK);
    ep_address[16] ^= 1;                   /* another name */
    memcpy(ep_address + 48, &own.port, 2); /* at our port */
    assert_int_equal(ops->connect(net, 0, ep_address, bytes), RZ_OK);
    assert_int_equal(ops->send(net, 0, "secret", 6, &op), RZ_IN_PROGRESS);
    TURN_UNTIL(fd >= 0 || rz_socket_accept(listening, &fd, NULL) == RZ_OK);
    rz_tcp_challenge_write(&shake, challenge);
    say(fd, challenge, sizeof(challenge));
    hear(fd, heard, RZ_TCP_HELLO_BYTES);
    say(fd, welcome, sizeof(welcome));
    TURN_UNTIL(is_closed(fd)); /* and not a byte more was said */
    assert_true(ops->withdraw(net, 0, NULL, &op));
    close(fd);
    close(listening);
    ops->close(net);
}

/* The same over IPv6, where this machine has it. */
static void handshakes_and_frames_over_ipv6(void **state)
{
    const struct rz_address ipv4 = listens_at;
    struct rz_address own;
    int fd;
    assert_int_equal(rz_address_parse("::1", &listens_at), RZ_OK);
    own = listens_at;
    if (rz_socket_listen(&own, &fd) == RZ_OK) {
        close(fd);
        slices_of_every_length_are_put_together(state);
        without_proof_nothing_is_read(state);
        an_impostor_hears_nothing(state);
    }
    listens_at = ipv4;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_frames_of_ours_are_taken),
        cmocka_unit_test(slices_of_every_length_are_put_together),
        cmocka_unit_test(a_stream_without_meaning_ends_alone),
        cmocka_unit_test(streams_join_the_first_one_of_their_peer),
        cmocka_unit_test(pieces_alone_go_by_other_streams),
        cmocka_unit_test(a_peer_is_there_as_long_as_one_stream_is),
        cmocka_unit_test(a_wrong_number_of_streams_is_refused),
        cmocka_unit_test(without_proof_nothing_is_read),
        cmocka_unit_test(silence_is_ended_and_not_told),
        cmocka_unit_test(a_crowd_keeps_no_friend_out),
        cmocka_unit_test(an_impostor_hears_nothing),
        cmocka_unit_test(handshakes_and_frames_over_ipv6),
    };
    return rz_proof_begin() == RZ_OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
