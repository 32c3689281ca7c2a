/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overlay among friends and strangers: overlays in one loop, and raw sockets that know the
 * protocol, the key, or neither.
 */
#include "../../patience.h"
#include "overlay_sides.h"

#include "net/datagram/datagram.h"
#include "net/proof/proof.h"
#include "port/socket.h"
#include "wire/cursor.h"
#include "wire/protocol_encoding.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NONCE = 32 };
static const uint8_t other_key[RZ_JOB_KEY_BYTES] = "the key of another job entirely";

/* prove_ns: the bound for peers that do not authenticate; 0: the usual one. */
static void start_side(unsigned i, const uint8_t *with, rz_time prove_ns)
{
    struct rz_overlay_config config = side_config(i);
    config.key = with;
    config.prove_ns = prove_ns;
    config.lost = on_broken;
    assert_int_equal(rz_overlay_start(side[i].overlay, &config), RZ_OK);
}

static int setup(void **state)
{
    (void)state;
    open_sides();
    return 0;
}

static void run_for(rz_time ns)
{
    for (rz_time end = rz_clock_now() + ns; rz_clock_now() < end; poll(NULL, 0, 1)) {
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
}

static void say(unsigned from, uint32_t rank)
{
    struct rz_overlay_message message = {.type = RZ_OVERLAY_GET_EP_ADDRESS,
                                         .get_ep_address = {.rank = rank}};
    rz_overlay_send(side[from].overlay, 1 - from, &message);
}

static void beat(unsigned from)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_RING, .from = from, .seq = 1};
    rz_overlay_send_protocol(side[from].overlay, 1 - from, &message, NULL, true);
}

/* ---- strangers with raw sockets ---- */

static int stranger_to(unsigned i)
{
    struct rz_address to = rz_address_at(&sides_at, peers[i].tcp_port);
    int fd;
    rz_status_t status = rz_socket_connect(&to, &fd);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
    return fd;
}

static bool is_closed(int fd)
{
    char byte[512];
    ssize_t got;
    while ((got = recv(fd, byte, sizeof(byte), MSG_DONTWAIT)) > 0) {
        ;
    }
    return got == 0 || errno != EAGAIN;
}

static void send_frame(int fd, const struct rz_overlay_message *message)
{
    uint8_t frame[512];
    size_t n = rz_overlay_encode(message, frame + 4, sizeof(frame) - 4);
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, frame, 4);
    rz_wire_put_u32(&w, (uint32_t)n);
    assert_int_equal(send(fd, frame, n + 4, MSG_NOSIGNAL), (ssize_t)n + 4);
}

/* The next frame; pointers stay valid until the next call. */
static void receive_frame(int fd, struct rz_overlay_message *message)
{
    static uint8_t frame[512];
    struct rz_wire_reader r;
    RUN_UNTIL(recv(fd, frame, 4, MSG_DONTWAIT | MSG_PEEK) == 4);
    assert_int_equal(recv(fd, frame, 4, 0), 4);
    rz_wire_reader_init(&r, frame, 4);
    uint32_t n = rz_wire_get_u32(&r);
    assert_true(n <= sizeof(frame));
    RUN_UNTIL(recv(fd, frame, n, MSG_DONTWAIT | MSG_PEEK) == (ssize_t)n);
    assert_int_equal(recv(fd, frame, n, 0), (ssize_t)n);
    assert_int_equal(rz_overlay_decode(message, frame, n), RZ_OK);
}

/* As overlay_private.h says it; with: the key of a job. */
static void make_terms(const uint8_t *with, const uint8_t *challenge, const uint8_t *answer,
                       struct rz_proof_terms *terms)
{
    static uint8_t bound[16], derived[RZ_PROOF_KEY_BYTES];
    struct rz_wire_writer w;
    rz_proof_derive(with, "connections of daemons", NULL, 0, derived);
    rz_wire_writer_init(&w, bound, sizeof(bound));
    rz_wire_put_u64(&w, JOB);
    rz_wire_put_u32(&w, 1);
    rz_wire_put_u32(&w, 0);
    *terms = (struct rz_proof_terms){derived, challenge, answer, bound, sizeof(bound)};
}

/* Of the last one answered. */
static uint8_t last_challenge[NONCE];

static void answer_challenge(int fd, const uint8_t *with, const uint8_t *nonce, uint8_t *proof)
{
    struct rz_overlay_message message;
    receive_frame(fd, &message);
    assert_int_equal(message.type, RZ_OVERLAY_CHALLENGE);
    memcpy(last_challenge, message.challenge.nonce, NONCE);
    if (with) {
        struct rz_proof_terms terms;
        make_terms(with, last_challenge, nonce, &terms);
        rz_proof_make(&terms, RZ_PROOF_CONNECTOR, proof);
    }
    message = (struct rz_overlay_message){.type = RZ_OVERLAY_HELLO,
                                          .hello = {.version = RZ_OVERLAY_VERSION,
                                                    .job = JOB,
                                                    .from = 1,
                                                    .proof = proof,
                                                    .proof_length = RZ_PROOF_BYTES,
                                                    .nonce = nonce,
                                                    .nonce_length = NONCE}};
    send_frame(fd, &message);
}

/* ---- the tests ---- */

static void friends_meet(void **state)
{
    (void)state;
    start_side(0, key, 0);
    start_side(1, key, 0);
    say(0, 1);
    say(1, 1);
    beat(0);
    RUN_UNTIL(side[0].messages == 1 && side[1].messages == 1 && side[1].heartbeats == 1);
    const struct rz_overlay_refusals *refused = rz_overlay_refusals(side[0].overlay);
    assert_int_equal(refused->connections + refused->strangers + refused->datagrams, 0);
    assert_int_equal(side[0].broken + side[1].broken, 0);
}

/* Each connection is closed at once, and counted; nothing is handed up. */
static void noise_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } noise[] = {{"GET / HTTP/1.1\r\n\r\n", 18},
                 {"\xFF\xFF\xFF\xFF", 4}, /* a frame of 4 GiB is announced */
                 {"\x01\x01\x00\x00", 4}, /* of 257 bytes: too long for a stranger */
                 {"\x08\x00\x00\x00\x63\0\0\0\0\0\0\0", 12}, /* of a type that there is not */
                 {"\x00\x00\x00\x00", 4}};                   /* empty */
    (void)state;
    start_side(0, key, 60 * RZ_SECOND); /* patience would close them, too */
    for (unsigned i = 0; i < sizeof(noise) / sizeof(*noise); i++) {
        int fd = stranger_to(0);
        assert_int_equal(send(fd, noise[i].bytes, noise[i].n, MSG_NOSIGNAL), (ssize_t)noise[i].n);
        RUN_UNTIL(is_closed(fd));
        close(fd);
        assert_int_equal(rz_overlay_refusals(side[0].overlay)->connections, i + 1);
        assert_int_equal(rz_overlay_refusals(side[0].overlay)->unproved, i + 1);
    }
    close(stranger_to(0)); /* what goes away without a word was not refused */
    RUN_UNTIL(rz_overlay_refusals(side[0].overlay)->connections ==
              sizeof(noise) / sizeof(*noise) + 1);
    assert_int_equal(rz_overlay_refusals(side[0].overlay)->unproved,
                     sizeof(noise) / sizeof(*noise));
    assert_int_equal(side[0].messages + side[0].broken, 0);
}

static void time_is_over(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    *(bool *)arg = true;
}

/* The connection waits in the system's queue, and the loop for better times: it does not spin. */
static void without_a_descriptor_the_loop_rests(void **state)
{
    struct rlimit before, tight;
    bool over = false;
    unsigned turns = 0;
    (void)state;
    start_side(0, key, 0);
    run_for(10 * RZ_MILLISECOND);
    int fd = stranger_to(0), lowest = dup(fd);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    struct event *timer = event_new(base, -1, 0, time_is_over, &over);
    event_add(timer, &(struct timeval){.tv_usec = 200000});
    while (!over) {
        event_base_loop(base, EVLOOP_ONCE);
        turns++;
    }
    event_free(timer);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_in_range(turns, 1, 100);
    char challenge;
    RUN_UNTIL(recv(fd, &challenge, 1, MSG_DONTWAIT | MSG_PEEK) == 1);
    close(fd);
}

/* A message that would be good from a friend is not looked at before HELLO. */
static void nothing_is_parsed_before_the_proof(void **state)
{
    (void)state;
    start_side(0, key, 0);
    int fd = stranger_to(0);
    struct rz_overlay_message message = {.type = RZ_OVERLAY_FENCED, .fenced = {.reason = "no"}};
    send_frame(fd, &message);
    RUN_UNTIL(is_closed(fd));
    close(fd);
    assert_int_equal(side[0].messages, 0);
    assert_int_equal(rz_overlay_refusals(side[0].overlay)->connections, 1);
}

static void another_key_opens_nothing(void **state)
{
    (void)state;
    start_side(0, key, 0);
    start_side(1, other_key, 0);
    say(1, 1);
    beat(1);
    RUN_UNTIL(rz_overlay_refusals(side[0].overlay)->connections > 0 &&
              rz_overlay_refusals(side[0].overlay)->datagrams > 0);
    assert_int_equal(side[0].messages + side[0].heartbeats, 0);
}

static void the_acceptor_proves_itself_and_a_recorded_hello_is_worth_nothing(void **state)
{
    uint8_t proof[RZ_PROOF_BYTES], expected[RZ_PROOF_BYTES], nonce[NONCE] = "of the test";
    struct rz_overlay_message message;
    (void)state;
    start_side(0, key, 0);
    int fd = stranger_to(0);
    answer_challenge(fd, key, nonce, proof);
    receive_frame(fd, &message);
    assert_int_equal(message.type, RZ_OVERLAY_WELCOME);
    struct rz_proof_terms terms;
    make_terms(key, last_challenge, nonce, &terms);
    rz_proof_make(&terms, RZ_PROOF_ACCEPTOR, expected);
    assert_int_equal(message.welcome.proof_length, sizeof(expected));
    assert_memory_equal(message.welcome.proof, expected, sizeof(expected));
    int again = stranger_to(0);
    answer_challenge(again, NULL, nonce, proof); /* what was recorded on the first */
    RUN_UNTIL(is_closed(again));
    assert_int_equal(rz_overlay_refusals(side[0].overlay)->connections, 1);
    close(again);
    close(fd);
}

/* Each purpose has a key of its own: with the job's, or with that of datagrams, no connection
 * begins; and what this daemon proves as the acceptor is no proof of a connector. */
static void keys_of_other_purposes_open_nothing(void **state)
{
    uint8_t of_datagrams[RZ_PROOF_KEY_BYTES], nonce[NONCE] = "of the test", proof[RZ_PROOF_BYTES];
    (void)state;
    start_side(0, key, 0);
    rz_proof_derive(key, "datagrams of daemons", NULL, 0, of_datagrams);
    for (unsigned way = 0; way < 3; way++) {
        struct rz_overlay_message message;
        struct rz_proof_terms terms;
        int fd = stranger_to(0);
        receive_frame(fd, &message);
        memcpy(last_challenge, message.challenge.nonce, NONCE);
        make_terms(key, last_challenge, nonce, &terms);
        terms.key = way == 0 ? key : way == 1 ? of_datagrams : terms.key;
        rz_proof_make(&terms, way == 2 ? RZ_PROOF_ACCEPTOR : RZ_PROOF_CONNECTOR, proof);
        message = (struct rz_overlay_message){.type = RZ_OVERLAY_HELLO,
                                              .hello = {.version = RZ_OVERLAY_VERSION,
                                                        .job = JOB,
                                                        .from = 1,
                                                        .proof = proof,
                                                        .proof_length = RZ_PROOF_BYTES,
                                                        .nonce = nonce,
                                                        .nonce_length = NONCE}};
        send_frame(fd, &message);
        RUN_UNTIL(is_closed(fd));
        close(fd);
        assert_int_equal(rz_overlay_refusals(side[0].overlay)->connections, way + 1);
    }
}

static void send_sealed(int fd, struct rz_seal *seal, const struct rz_overlay_message *message,
                        unsigned spoil)
{
    uint8_t plain[256], frame[4 + 256 + RZ_SEAL_BYTES];
    size_t n = rz_overlay_encode(message, plain, sizeof(plain)) + RZ_SEAL_BYTES;
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, frame, 4);
    rz_wire_put_u32(&w, (uint32_t)n);
    rz_seal_put(seal, plain, n - RZ_SEAL_BYTES, frame + 4);
    if (spoil < n) {
        frame[4 + spoil] ^= 1;
    }
    assert_int_equal(send(fd, frame, n + 4, MSG_NOSIGNAL), (ssize_t)n + 4);
}

/* After the proof frames are sealed: one that was changed, repeated, left out or sent in plain text
 * ends the connection and is not looked at. */
static void a_frame_that_is_not_the_next_one_ends_the_connection(void **state)
{
    enum { CHANGED, REPEATED, LEFT_OUT, PLAIN, WAYS };
    const struct rz_overlay_message pong = {.type = RZ_OVERLAY_PONG};
    uint8_t proof[RZ_PROOF_BYTES], nonce[NONCE] = "of the test";
    (void)state;
    start_side(0, key, 0);
    for (unsigned way = 0; way < WAYS; way++) {
        struct rz_overlay_message message;
        struct rz_proof_terms terms;
        struct rz_seal seal;
        unsigned before = side[0].messages;
        int fd = stranger_to(0);
        answer_challenge(fd, key, nonce, proof);
        receive_frame(fd, &message);
        make_terms(key, last_challenge, nonce, &terms);
        rz_seal_begin(&seal, &terms, RZ_PROOF_CONNECTOR);
        send_sealed(fd, &seal, &pong, UINT32_MAX);
        RUN_UNTIL(side[0].messages == before + 1);
        if (way == REPEATED) {
            seal.frames--;
        }
        if (way == LEFT_OUT) {
            seal.frames++;
        }
        if (way == PLAIN) {
            send_frame(fd, &pong);
        } else {
            send_sealed(fd, &seal, &pong, way == CHANGED ? 2 : UINT32_MAX);
        }
        RUN_UNTIL(is_closed(fd));
        close(fd);
        assert_int_equal(side[0].messages, before + 1);
    }
}

/* A process that has got the port of a failed daemon learns nothing. */
static void an_impostor_hears_nothing(void **state)
{
    uint8_t zeros[NONCE] = {0};
    struct rz_overlay_message message;
    struct rz_address own = sides_at;
    int listening, fd = -1;
    (void)state;
    assert_int_equal(rz_socket_listen(&own, &listening), RZ_OK);
    peers[1].tcp_port = own.port;
    start_side(0, key, 0);
    say(0, 1);
    RUN_UNTIL(fd >= 0 || rz_socket_accept(listening, &fd, NULL) == RZ_OK);
    message = (struct rz_overlay_message){
        .type = RZ_OVERLAY_CHALLENGE,
        .challenge = {.version = RZ_OVERLAY_VERSION, .nonce = zeros, .nonce_length = NONCE}};
    send_frame(fd, &message);
    receive_frame(fd, &message);
    assert_int_equal(message.type, RZ_OVERLAY_HELLO);
    message = (struct rz_overlay_message){.type = RZ_OVERLAY_WELCOME,
                                          .welcome = {.proof = zeros, .proof_length = NONCE}};
    send_frame(fd, &message);
    RUN_UNTIL(rz_overlay_refusals(side[0].overlay)->strangers == 1);
    run_for(20 * RZ_MILLISECOND);
    char byte;
    assert_true(recv(fd, &byte, 1, MSG_DONTWAIT) <= 0); /* GET_EP_ADDRESS stays where it is */
    assert_int_equal(side[0].broken, 0);                /* and no failure was proved */
    close(fd);
    fd = -1; /* a stranger in the middle may have spoken: it is tried again */
    RUN_UNTIL(fd >= 0 || rz_socket_accept(listening, &fd, NULL) == RZ_OK);
    close(fd);
    close(listening);
}

static void a_process_that_says_nothing_or_too_slowly_is_closed(void **state)
{
    (void)state;
    start_side(0, key, 50 * RZ_MILLISECOND);
    int silent = stranger_to(0), slow = stranger_to(0);
    RUN_UNTIL(is_closed(silent) && (send(slow, "\x10", 1, MSG_NOSIGNAL) < 0 || is_closed(slow)));
    assert_int_equal(rz_overlay_refusals(side[0].overlay)->connections, 2);
    close(silent);
    close(slow);
}

static void a_crowd_of_strangers_keeps_no_friend_out(void **state)
{
    enum { CROWD = 300 };
    int fd[CROWD];
    (void)state;
    start_side(0, key, 60 * RZ_SECOND);
    for (unsigned i = 0; i < CROWD; i++) {
        fd[i] = stranger_to(0);
        run_for(0);
    }
    RUN_UNTIL(is_closed(fd[0])); /* the oldest are closed */
    start_side(1, key, 0);
    say(1, 1);
    RUN_UNTIL(side[0].messages == 1);
    assert_true(rz_overlay_refusals(side[0].overlay)->connections >= CROWD - 256);
    for (unsigned i = 0; i < CROWD; i++) {
        close(fd[i]);
    }
}

static void datagrams_count_once(void **state)
{
    struct rz_datagrams *friend;
    struct rz_address own = sides_at, to = own;
    struct rz_message message = {.protocol = RZ_PROTOCOL_RING, .from = 1, .seq = 1};
    uint8_t bytes[RZ_PROTOCOL_HEADER_BYTES], packet[RZ_DATAGRAM_MAX], derived[RZ_PROOF_KEY_BYTES];
    int fd;
    (void)state;
    start_side(0, key, 0);
    const struct rz_overlay_refusals *refused = rz_overlay_refusals(side[0].overlay);
    to.port = peers[0].udp_port;
    assert_int_equal(rz_socket_datagram(&own, &fd), RZ_OK);
    rz_proof_derive(key, "datagrams of daemons", NULL, 0, derived);
    assert_int_equal(rz_datagrams_open(&friend, NODES, 1, derived), RZ_OK);
    assert_int_equal(rz_protocol_message_encode(&message, NULL, bytes, sizeof(bytes)),
                     sizeof(bytes));
    size_t n = rz_datagram_seal(friend, 0, bytes, sizeof(bytes), packet);
    assert_int_equal(rz_socket_send_to(fd, packet, n, &to), RZ_OK);
    RUN_UNTIL(side[0].heartbeats == 1);
    assert_int_equal(rz_socket_send_to(fd, packet, n, &to), RZ_OK);
    RUN_UNTIL(refused->repeated == 1);
    assert_int_equal(rz_socket_send_to(fd, "garbage", 7, &to), RZ_OK);
    packet[20] ^= 1;
    assert_int_equal(rz_socket_send_to(fd, packet, n, &to), RZ_OK);
    RUN_UNTIL(refused->datagrams == 2);
    message.from = 0; /* claims another identity */
    assert_int_equal(rz_protocol_message_encode(&message, NULL, bytes, sizeof(bytes)),
                     sizeof(bytes));
    n = rz_datagram_seal(friend, 0, bytes, sizeof(bytes), packet);
    assert_int_equal(rz_socket_send_to(fd, packet, n, &to), RZ_OK);
    run_for(20 * RZ_MILLISECOND);
    assert_int_equal(side[0].heartbeats, 1);
    rz_datagrams_close(friend);
    close(fd);
}

/* ---- faults on purpose ---- */

static void inject(enum rz_inject what, uint64_t amount)
{
    const uint32_t nodes[] = {1};
    for (unsigned i = 0; i < NODES; i++) {
        if (side[i].overlay) {
            assert_int_equal(rz_overlay_inject(side[i].overlay, what, nodes, 1, amount), RZ_OK);
        }
    }
}

static void behind_a_cut_everything_waits_and_nothing_breaks(void **state)
{
    (void)state;
    start_side(0, key, 0);
    start_side(1, key, 0);
    say(0, 1);
    RUN_UNTIL(side[1].messages == 1);
    inject(RZ_INJECT_CUT, 1);
    for (uint32_t rank = 2; rank <= 100; rank++) {
        say(0, rank);
    }
    beat(0);
    assert_true(rz_overlay_queued(side[0].overlay, 1) > 0);
    run_for(20 * RZ_MILLISECOND);
    assert_int_equal(side[1].messages, 1);
    assert_int_equal(side[1].heartbeats, 0);
    inject(RZ_INJECT_HEAL, 1);
    say(0, 101);
    RUN_UNTIL(side[1].messages == 101);
    assert_true(side[1].in_order);
    assert_int_equal(side[1].heartbeats, 0); /* it was lost */
    assert_int_equal(side[0].broken + side[1].broken, 0);
}

static void a_failure_behind_a_cut_shows_when_it_is_healed(void **state)
{
    (void)state;
    start_side(0, key, 0);
    start_side(1, key, 0);
    say(1, 1);
    RUN_UNTIL(side[0].messages == 1);
    inject(RZ_INJECT_CUT, 1);
    rz_overlay_close(side[1].overlay);
    side[1].overlay = NULL;
    run_for(20 * RZ_MILLISECOND);
    assert_int_equal(side[0].broken, 0);
    inject(RZ_INJECT_HEAL, 1);
    RUN_UNTIL(side[0].broken == 1);
}

static void a_delay_is_kept_and_the_order_too(void **state)
{
    (void)state;
    start_side(0, key, 0);
    start_side(1, key, 0);
    inject(RZ_INJECT_DELAY, 50 * RZ_MILLISECOND);
    rz_time begin = rz_clock_now();
    for (uint32_t rank = 1; rank <= 50; rank++) {
        say(0, rank);
    }
    inject(RZ_INJECT_DELAY, 0);
    say(0, 51);
    RUN_UNTIL(side[1].messages == 51);
    assert_true(rz_clock_now() - begin >= 50 * RZ_MILLISECOND);
    assert_true(side[1].in_order);
}

/* A daemon that is fenced while it is cut off learns of it afterwards. */
static void a_fenced_peer_is_told_after_the_cut(void **state)
{
    (void)state;
    start_side(0, key, 0);
    start_side(1, key, 0);
    inject(RZ_INJECT_CUT, 1);
    rz_overlay_fence(side[0].overlay, 1);
    run_for(20 * RZ_MILLISECOND);
    assert_int_equal(side[1].messages, 0);
    inject(RZ_INJECT_HEAL, 1);
    RUN_UNTIL(side[1].messages == 1); /* FENCED */
    say(1, 1);
    beat(1);
    run_for(20 * RZ_MILLISECOND);
    assert_int_equal(side[0].messages + side[0].heartbeats, 0); /* it is not listened to */
}

/* ---- over IPv6 ---- */

/* Where this machine has none, the tests are repeated over IPv4. */
static int setup_ipv6(void **state)
{
    struct rz_address any;
    int fd;
    assert_int_equal(rz_address_parse("::1", &any), RZ_OK);
    const struct rz_address ipv6 = any;
    if (rz_socket_listen(&any, &fd) == RZ_OK) {
        close(fd);
        sides_at = ipv6;
    }
    return setup(state);
}

static int teardown_ipv6(void **state)
{
    sides_at = (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK};
    return teardown(state);
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define IPV6_TEST(name) cmocka_unit_test_setup_teardown(name, setup_ipv6, teardown_ipv6)
    const struct CMUnitTest tests[] = {
        TEST(friends_meet),
        TEST(noise_is_refused),
        TEST(without_a_descriptor_the_loop_rests),
        TEST(nothing_is_parsed_before_the_proof),
        TEST(another_key_opens_nothing),
        TEST(keys_of_other_purposes_open_nothing),
        TEST(the_acceptor_proves_itself_and_a_recorded_hello_is_worth_nothing),
        TEST(a_frame_that_is_not_the_next_one_ends_the_connection),
        TEST(an_impostor_hears_nothing),
        TEST(a_process_that_says_nothing_or_too_slowly_is_closed),
        TEST(a_crowd_of_strangers_keeps_no_friend_out),
        TEST(datagrams_count_once),
        TEST(behind_a_cut_everything_waits_and_nothing_breaks),
        TEST(a_failure_behind_a_cut_shows_when_it_is_healed),
        TEST(a_delay_is_kept_and_the_order_too),
        TEST(a_fenced_peer_is_told_after_the_cut),
        IPV6_TEST(friends_meet),
        IPV6_TEST(noise_is_refused),
        IPV6_TEST(an_impostor_hears_nothing),
        IPV6_TEST(datagrams_count_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
