/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealed streams: both ends prove themselves; frames that were changed, repeated or inserted end
 * the stream. The acceptor runs in the test, the connector in a thread; an attacker between the two
 * is a relay that the test drives. */
#include "net/stream/stream.h"

#include "../../patience.h"
#include "port/clock.h"
#include "port/descriptor.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAME_MAX = 1 << 20, NODE = 7 };

static struct rz_stream_terms terms_with(uint8_t first)
{
    struct rz_stream_terms terms = {.job = 42, .node = NODE, .purpose = RZ_STREAM_ALIVE};
    memset(terms.key, 1, sizeof(terms.key));
    terms.key[0] = first;
    return terms;
}

static rz_time deadline(void)
{
    return rz_clock_now() + TEST_HANG_S * RZ_SECOND;
}

static int await_connection(int listening)
{
    int fd;
    assert_true(rz_descriptor_await(&listening, 1, TEST_HANG_MS));
    assert_int_equal(rz_socket_accept(listening, &fd, NULL), RZ_OK);
    return fd;
}

/* A connector in a thread of its own. */
struct connector {
    pthread_t thread;
    struct rz_address to;
    struct rz_stream_terms terms;
    struct rz_stream *stream;
    rz_status_t status;
};

static void *connect_thread(void *arg)
{
    struct connector *connector = arg;
    connector->status = rz_stream_connect(&connector->stream, &connector->to, &connector->terms,
                                          FRAME_MAX, deadline(), deadline());
    return NULL;
}

static void connect_to(struct connector *connector, const struct rz_address *to, uint8_t first)
{
    *connector = (struct connector){.to = *to, .terms = terms_with(first)};
    assert_int_equal(pthread_create(&connector->thread, NULL, connect_thread, connector), 0);
}

/* Proves an accepted stream; the final status. */
static rz_status_t prove(struct rz_stream *stream, uint32_t *node, enum rz_stream_purpose *purpose)
{
    const int fd = rz_stream_fd(stream);
    rz_status_t status;
    do {
        assert_true(rz_descriptor_await(&fd, 1, TEST_HANG_MS));
        status = rz_stream_prove(stream, node, purpose);
    } while (status == RZ_IN_PROGRESS);
    return status == RZ_OK ? rz_stream_welcome(stream) : status;
}

static rz_status_t next(struct rz_stream *stream, const void **bytes, size_t *n)
{
    const int fd = rz_stream_fd(stream);
    for (;;) {
        rz_status_t status = rz_stream_next(stream, bytes, n);
        if (status != RZ_IN_PROGRESS) {
            return status;
        }
        assert_true(rz_descriptor_await(&fd, 1, TEST_HANG_MS));
        status = rz_stream_read(stream);
        if (status != RZ_OK) {
            return status;
        }
    }
}

struct pair {
    int listening;
    struct connector connector;
    struct rz_stream *accepted;
};

static void pair_open(struct pair *pair)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_stream_terms terms = terms_with(1);
    uint32_t node = 0;
    enum rz_stream_purpose purpose = RZ_STREAM_MESSAGES;
    terms.node = 0; /* the connector says it */
    assert_int_equal(rz_socket_listen(&at, &pair->listening), RZ_OK);
    connect_to(&pair->connector, &at, 1);
    assert_int_equal(
        rz_stream_accept(&pair->accepted, await_connection(pair->listening), &terms, FRAME_MAX),
        RZ_OK);
    assert_int_equal(prove(pair->accepted, &node, &purpose), RZ_OK);
    assert_int_equal(node, NODE);
    assert_int_equal(purpose, RZ_STREAM_ALIVE);
    pthread_join(pair->connector.thread, NULL);
    assert_int_equal(pair->connector.status, RZ_OK);
}

static void pair_close(struct pair *pair)
{
    rz_stream_close(pair->connector.stream);
    rz_stream_close(pair->accepted);
    close(pair->listening);
}

static void frames_arrive_whole_and_in_order(void **state)
{
    struct pair pair;
    const void *bytes;
    size_t n;
    uint8_t *large = calloc(1, FRAME_MAX);
    (void)state;
    pair_open(&pair);
    large[FRAME_MAX - 1] = 9;
    assert_int_equal(rz_stream_send(pair.accepted, "one", 3), RZ_OK);
    assert_int_equal(rz_stream_send(pair.accepted, "", 0), RZ_OK);
    assert_int_equal(rz_stream_send(pair.connector.stream, large, FRAME_MAX), RZ_OK);
    assert_int_equal(next(pair.connector.stream, &bytes, &n), RZ_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "one", 3);
    assert_int_equal(next(pair.connector.stream, &bytes, &n), RZ_OK);
    assert_int_equal(n, 0);
    while (rz_stream_flush(pair.connector.stream) == RZ_IN_PROGRESS) {
        (void)rz_stream_read(pair.accepted);
    }
    assert_int_equal(next(pair.accepted, &bytes, &n), RZ_OK);
    assert_int_equal(n, FRAME_MAX);
    assert_memory_equal(bytes, large, FRAME_MAX);
    free(large);
    pair_close(&pair);
}

static void another_key_is_refused_at_both_ends(void **state)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_stream_terms terms = terms_with(1);
    struct connector connector;
    struct rz_stream *accepted;
    uint32_t node;
    enum rz_stream_purpose purpose;
    int listening;
    (void)state;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    connect_to(&connector, &at, 2);
    assert_int_equal(rz_stream_accept(&accepted, await_connection(listening), &terms, FRAME_MAX),
                     RZ_OK);
    assert_int_equal(prove(accepted, &node, &purpose), RZ_ERR_AUTHENTICATION);
    rz_stream_close(accepted);
    pthread_join(connector.thread, NULL);
    assert_int_equal(connector.status, RZ_ERR_AUTHENTICATION);
    close(listening);
}

static void a_connection_that_is_not_wanted_is_told(void **state)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_stream_terms terms = terms_with(1);
    struct connector connector;
    struct rz_stream *accepted;
    uint32_t node;
    enum rz_stream_purpose purpose;
    rz_status_t status;
    int listening;
    (void)state;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    connect_to(&connector, &at, 1);
    assert_int_equal(rz_stream_accept(&accepted, await_connection(listening), &terms, FRAME_MAX),
                     RZ_OK);
    const int fd = rz_stream_fd(accepted);
    do {
        assert_true(rz_descriptor_await(&fd, 1, TEST_HANG_MS));
        status = rz_stream_prove(accepted, &node, &purpose);
    } while (status == RZ_IN_PROGRESS);
    assert_int_equal(status, RZ_OK);
    rz_stream_refuse(accepted);
    pthread_join(connector.thread, NULL);
    assert_int_equal(connector.status, RZ_ERR_CANCELLED);
    close(listening);
}

/* A refusal without a proof says nothing: as any answer of one that does not hold the key. */
static void a_strangers_refusal_is_none(void **state)
{
    static const struct {
        uint8_t frame[4 + 33];
        size_t bytes;
    } refusals[] = {{{1}, 4 + 1}, {{33}, 4 + 33}};
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
        struct connector connector;
        uint8_t challenge[4 + 32] = {32}, hello[4 + 72];
        int listening;
        assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
        connect_to(&connector, &at, 1);
        int fd = await_connection(listening);
        assert_int_equal(write(fd, challenge, sizeof(challenge)), sizeof(challenge));
        for (size_t got = 0; got < sizeof(hello);) {
            assert_true(rz_descriptor_await(&fd, 1, TEST_HANG_MS));
            ssize_t more = read(fd, hello + got, sizeof(hello) - got);
            got += more > 0 ? (size_t)more : 0;
        }
        assert_int_equal(write(fd, refusals[i].frame, refusals[i].bytes), refusals[i].bytes);
        pthread_join(connector.thread, NULL);
        assert_int_equal(connector.status, RZ_ERR_AUTHENTICATION);
        close(fd);
        close(listening);
    }
}

/* An acceptor that does not hold the key takes any proof, and answers with one that is wrong. */
static void an_acceptor_without_the_key_is_refused(void **state)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct connector connector;
    uint8_t frame[4 + 72] = {32}, hello[4 + 72];
    int listening;
    size_t got = 0;
    (void)state;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    connect_to(&connector, &at, 1);
    int fd = await_connection(listening);
    assert_int_equal(write(fd, frame, 4 + 32), 4 + 32);
    while (got < sizeof(hello)) {
        assert_true(rz_descriptor_await(&fd, 1, TEST_HANG_MS));
        ssize_t n = read(fd, hello + got, sizeof(hello) - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    assert_int_equal(write(fd, frame, 4 + 32), 4 + 32);
    pthread_join(connector.thread, NULL);
    assert_int_equal(connector.status, RZ_ERR_AUTHENTICATION);
    close(fd);
    close(listening);
}

static void garbage_is_refused(void **state)
{
    struct rz_stream_terms terms = terms_with(1);
    static const char *const texts[] = {"GET / HTTP/1.0\r\n\r\n", "\x48\0\0\0xxxxxxxxxxxxxxxx",
                                        "\4\0\0\0abcd"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        int ends[2];
        struct rz_stream *accepted;
        uint32_t node;
        enum rz_stream_purpose purpose;
        size_t n = i == 1 ? 20 : i == 2 ? 8 : strlen(texts[i]);
        assert_int_equal(rz_descriptor_stream_pair(ends), RZ_OK);
        rz_descriptor_no_wait(ends[0]);
        assert_int_equal(rz_stream_accept(&accepted, ends[0], &terms, FRAME_MAX), RZ_OK);
        assert_int_equal(write(ends[1], texts[i], n), (ssize_t)n);
        close(ends[1]);
        rz_status_t status = prove(accepted, &node, &purpose);
        assert_true(status == RZ_ERR_MALFORMED || status == RZ_ERR_AUTHENTICATION ||
                    status == RZ_ERR_CLOSED);
        rz_stream_close(accepted);
    }
}

/* ---- An attacker between the ends ---- */

enum attack { CHANGE_A_BIT, REPEAT, OMIT, INSERT, TURN_ROUND, ATTACKS };

/* Passes n bytes on from one socket to another; returns what passed. */
static void relay(int from, int to, uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        assert_true(rz_descriptor_await(&from, 1, TEST_HANG_MS));
        ssize_t got = read(from, bytes + at, n - at);
        assert_true(got > 0);
        at += (size_t)got;
    }
    if (to >= 0) {
        assert_int_equal(write(to, bytes, n), (ssize_t)n);
    }
}

static void attack(enum attack what)
{
    enum { ONE = 4 + 5 + 16 }; /* a sealed frame of five bytes on the wire */
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_stream_terms terms = terms_with(1);
    struct connector connector;
    struct rz_stream *accepted;
    uint8_t bytes[128], first[ONE], second[ONE];
    uint32_t node;
    enum rz_stream_purpose purpose;
    int listening, ends[2];
    const void *frame;
    size_t n;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    connect_to(&connector, &at, 1);
    int victim = await_connection(listening);
    assert_int_equal(rz_descriptor_stream_pair(ends), RZ_OK);
    rz_descriptor_no_wait(ends[0]);
    assert_int_equal(rz_stream_accept(&accepted, ends[0], &terms, FRAME_MAX), RZ_OK);
    relay(ends[1], victim, bytes, 4 + 32);
    relay(victim, ends[1], bytes, 4 + 72);
    assert_int_equal(prove(accepted, &node, &purpose), RZ_OK);
    relay(ends[1], victim, bytes, 4 + 32);
    pthread_join(connector.thread, NULL);
    assert_int_equal(connector.status, RZ_OK);
    assert_int_equal(rz_stream_send(connector.stream, "frame", 5), RZ_OK);
    assert_int_equal(rz_stream_send(connector.stream, "other", 5), RZ_OK);
    relay(victim, -1, first, ONE);
    relay(victim, -1, second, ONE);
    assert_null(memmem(first, ONE, "frame", 5));
    switch (what) {
    case CHANGE_A_BIT:
        first[4 + 2] ^= 4;
        assert_int_equal(write(ends[1], first, ONE), ONE);
        break;
    case REPEAT:
        assert_int_equal(write(ends[1], first, ONE), ONE);
        assert_int_equal(next(accepted, &frame, &n), RZ_OK);
        assert_memory_equal(frame, "frame", 5);
        assert_int_equal(write(ends[1], first, ONE), ONE);
        break;
    case OMIT:
        assert_int_equal(write(ends[1], second, ONE), ONE);
        break;
    case INSERT:
        memset(bytes, 0, sizeof(bytes));
        bytes[0] = 16;
        assert_int_equal(write(ends[1], bytes, 4 + 16), 4 + 16);
        break;
    default: /* what the acceptor said comes back to it */
        assert_int_equal(rz_stream_send(accepted, "hello", 5), RZ_OK);
        relay(ends[1], ends[1], bytes, ONE);
        break;
    }
    assert_int_equal(next(accepted, &frame, &n), RZ_ERR_AUTHENTICATION);
    rz_stream_close(connector.stream);
    rz_stream_close(accepted);
    close(victim);
    close(ends[1]);
    close(listening);
}

static void what_is_not_the_next_frame_ends_the_stream(void **state)
{
    (void)state;
    for (enum attack what = 0; what < ATTACKS; what++) {
        attack(what);
    }
}

static void a_silent_or_absent_acceptor_is_noticed(void **state)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_stream_terms terms = terms_with(1);
    struct rz_stream *stream;
    int listening;
    (void)state;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    /* It listens, and says nothing. */
    assert_int_equal(rz_stream_connect(&stream, &at, &terms, FRAME_MAX, deadline(),
                                       rz_clock_now() + 50 * RZ_MILLISECOND),
                     RZ_ERR_TIMEOUT);
    close(listening);
    assert_int_equal(rz_stream_connect(&stream, &at, &terms, FRAME_MAX, deadline(), deadline()),
                     RZ_ERR_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_whole_and_in_order),
        cmocka_unit_test(another_key_is_refused_at_both_ends),
        cmocka_unit_test(a_connection_that_is_not_wanted_is_told),
        cmocka_unit_test(a_strangers_refusal_is_none),
        cmocka_unit_test(an_acceptor_without_the_key_is_refused),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(what_is_not_the_next_frame_ends_the_stream),
        cmocka_unit_test(a_silent_or_absent_acceptor_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
