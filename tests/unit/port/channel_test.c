/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams with descriptors, framed streams, sockets. */
#include "port/channel.h"
#include "port/socket.h"

#include "../../patience.h"
#include "base/random.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void not_blocking(int fd)
{
    assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void datagrams_carry_descriptors(void **state)
{
    (void)state;
    int pair[2], sent[RZ_CHANNEL_FDS_MAX], got[RZ_CHANNEL_FDS_MAX];
    char buffer[64];
    size_t n;
    unsigned n_fds = 99;
    assert_int_equal(rz_channel_pair(pair), RZ_OK);
    not_blocking(pair[0]);
    not_blocking(pair[1]);
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, got, &n_fds),
                     RZ_IN_PROGRESS);
    for (unsigned i = 0; i < RZ_CHANNEL_FDS_MAX; i++) {
        sent[i] = dup(pair[0]);
    }
    assert_int_equal(rz_channel_send(pair[0], "seven!", 7, sent, RZ_CHANNEL_FDS_MAX), RZ_OK);
    assert_int_equal(rz_channel_send(pair[0], "x", 1, NULL, 0), RZ_OK);
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, got, &n_fds), RZ_OK);
    assert_int_equal(n, 7);
    assert_string_equal(buffer, "seven!");
    assert_int_equal(n_fds, RZ_CHANNEL_FDS_MAX);
    for (unsigned i = 0; i < RZ_CHANNEL_FDS_MAX; i++) {
        assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
        close(got[i]);
        close(sent[i]);
    }
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, got, &n_fds), RZ_OK);
    assert_int_equal(n, 1);
    assert_int_equal(n_fds, 0);
    close(pair[0]);
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, got, &n_fds),
                     RZ_ERR_CLOSED);
    assert_int_equal(rz_channel_send(pair[1], "x", 1, NULL, 0), RZ_ERR_CLOSED);
    close(pair[1]);
}

/* Linux reports such an end before it gives out what is queued. */
static void what_was_sent_by_a_peer_that_left_messages_unread_is_read(void **state)
{
    (void)state;
    int pair[2];
    char buffer[64];
    size_t n;
    assert_int_equal(rz_channel_pair(pair), RZ_OK);
    assert_int_equal(rz_channel_send(pair[0], "one", 3, NULL, 0), RZ_OK);
    assert_int_equal(rz_channel_send(pair[0], "bye", 3, NULL, 0), RZ_OK);
    assert_int_equal(rz_channel_send(pair[1], "unread", 6, NULL, 0), RZ_OK);
    close(pair[0]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, NULL, NULL),
                         RZ_OK);
        assert_memory_equal(buffer, i == 0 ? "one" : "bye", 3);
    }
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, NULL, NULL),
                     RZ_ERR_CLOSED);
    close(pair[1]);
}

static void too_long_datagrams_leave_no_descriptor_behind(void **state)
{
    (void)state;
    int pair[2], fd, next;
    char buffer[16], large[64] = {0};
    size_t n;
    assert_int_equal(rz_channel_pair(pair), RZ_OK);
    fd = dup(0);
    assert_int_equal(rz_channel_send(pair[0], large, sizeof(large), &fd, 1), RZ_OK);
    close(fd);
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, &fd, NULL),
                     RZ_ERR_MALFORMED);
    next = dup(0);
    assert_int_equal(next, fd); /* the lowest number is free again */
    close(next);
    close(pair[0]);
    close(pair[1]);
}

static void a_full_channel_does_not_block(void **state)
{
    (void)state;
    int pair[2];
    static char large[60000];
    assert_int_equal(rz_channel_pair(pair), RZ_OK);
    not_blocking(pair[0]);
    rz_status_t status = RZ_OK;
    for (unsigned i = 0; i < 1000 && status == RZ_OK; i++) {
        status = rz_channel_send(pair[0], large, sizeof(large), NULL, 0);
    }
    assert_int_equal(status, RZ_IN_PROGRESS);
    close(pair[0]);
    close(pair[1]);
}

static void stream_pair(struct rz_frames **a, struct rz_frames **b, uint32_t frame_max)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(rz_frames_open(a, fds[0], frame_max), RZ_OK);
    assert_int_equal(rz_frames_open(b, fds[1], frame_max), RZ_OK);
}

static void frames_arrive_whole_and_in_order(void **state)
{
    (void)state;
    enum { FRAMES = 2000, MAX = 300000 };
    struct rz_frames *a, *b;
    stream_pair(&a, &b, MAX);
    struct rz_random random = {.state = 3};
    unsigned char *data = malloc(MAX);
    unsigned sent = 0, got = 0;
    while (got < FRAMES) {
        if (sent < FRAMES && rz_frames_queued(a) < 1 << 20) {
            size_t n = rz_random_below(&random, sent % 50 ? 200 : MAX + 1);
            memset(data, (int)sent, n);
            assert_int_equal(rz_frames_send(a, data, n), RZ_OK);
            sent++;
        }
        rz_status_t status = rz_frames_flush(a);
        assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
        assert_int_equal(status == RZ_IN_PROGRESS, rz_frames_want_write(a));
        assert_int_equal(rz_frames_read(b), RZ_OK);
        const void *bytes;
        size_t n;
        while (rz_frames_next(b, &bytes, &n)) {
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(((const unsigned char *)bytes)[i], got % 256);
            }
            got++;
        }
    }
    assert_int_equal(sent, got);
    free(data);
    rz_frames_close(a);
    assert_int_equal(rz_frames_read(b), RZ_ERR_CLOSED);
    assert_int_equal(rz_frames_send(b, "", 0), RZ_ERR_CLOSED);
    rz_frames_close(b);
}

static void what_came_before_the_end_is_read(void **state)
{
    (void)state;
    struct rz_frames *a, *b;
    const void *bytes;
    size_t n;
    stream_pair(&a, &b, 100);
    assert_int_equal(rz_frames_send(a, "last", 4), RZ_OK);
    rz_frames_close(a);
    assert_int_equal(rz_frames_read(b), RZ_OK);
    assert_true(rz_frames_next(b, &bytes, &n));
    assert_int_equal(n, 4);
    assert_false(rz_frames_next(b, &bytes, &n));
    assert_int_equal(rz_frames_read(b), RZ_ERR_CLOSED);
    rz_frames_close(b);
}

static void a_frame_that_is_too_long_is_malformed(void **state)
{
    (void)state;
    struct rz_frames *a, *b;
    stream_pair(&a, &b, 100);
    /* One good frame, one lie, whatever comes with it in one read. */
    static const unsigned char lie[] = {1, 0, 0, 0, 'x', 101, 0, 0, 0};
    assert_int_equal(write(rz_frames_fd(a), lie, sizeof(lie)), sizeof(lie));
    assert_int_equal(rz_frames_read(b), RZ_ERR_MALFORMED);
    rz_frames_close(a);
    rz_frames_close(b);
}

static void await(int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};
    assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
}

static void connections_begin_and_are_refused(void **state)
{
    (void)state;
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK}, from;
    int listening, there, here;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    assert_true(at.port != 0);
    assert_int_equal(rz_socket_accept(listening, &here, NULL), RZ_IN_PROGRESS);
    rz_status_t status = rz_socket_connect(&at, &there);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    await(there, POLLOUT);
    assert_int_equal(rz_socket_connected(there), RZ_OK);
    await(listening, POLLIN);
    assert_int_equal(rz_socket_accept(listening, &here, &from), RZ_OK);
    assert_int_equal(from.ip, RZ_ADDRESS_LOOPBACK);
    assert_true(fcntl(here, F_GETFL) & O_NONBLOCK);
    close(here);
    close(there);
    close(listening);
    status = rz_socket_connect(&at, &there);
    if (status == RZ_IN_PROGRESS) {
        await(there, POLLOUT);
        status = rz_socket_connected(there);
        close(there);
    }
    assert_int_equal(status, RZ_ERR_CLOSED);
}

static void datagram_sockets_send_and_receive(void **state)
{
    (void)state;
    struct rz_address a = {.ip = RZ_ADDRESS_LOOPBACK}, b = {.ip = RZ_ADDRESS_LOOPBACK + 1}, from;
    int at_a, at_b;
    char buffer[8];
    size_t n;
    assert_int_equal(rz_socket_datagram(&a, &at_a), RZ_OK);
    assert_int_equal(rz_socket_datagram(&b, &at_b), RZ_OK);
    assert_int_equal(rz_socket_receive_from(at_b, buffer, sizeof(buffer), &n, &from),
                     RZ_IN_PROGRESS);
    assert_int_equal(rz_socket_send_to(at_a, "beat", 4, &b), RZ_OK);
    assert_int_equal(rz_socket_send_to(at_a, "123456789", 9, &b), RZ_OK);
    await(at_b, POLLIN);
    assert_int_equal(rz_socket_receive_from(at_b, buffer, sizeof(buffer), &n, &from), RZ_OK);
    assert_int_equal(n, 4);
    assert_int_equal(from.port, a.port);
    await(at_b, POLLIN);
    assert_int_equal(rz_socket_receive_from(at_b, buffer, sizeof(buffer), &n, &from),
                     RZ_ERR_TRUNCATE);
    close(at_a);
    close(at_b);
}

static void addresses_are_read_and_written(void **state)
{
    (void)state;
    struct rz_address address;
    char text[RZ_ADDRESS_TEXT];
    assert_int_equal(rz_address_parse("127.0.0.3:65535", &address), RZ_OK);
    assert_string_equal(rz_address_text(&address, text), "127.0.0.3:65535");
    assert_int_equal(rz_address_parse("255.255.255.255", &address), RZ_OK);
    assert_int_equal(address.port, 0);
    static const char *const wrong[] = {"",         "1.2.3",     "256.1.1.1",     "1.2.3.4:",
                                        "1.2.3.4x", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:1 "};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(rz_address_parse(wrong[i], &address), RZ_ERR_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_carry_descriptors),
        cmocka_unit_test(what_was_sent_by_a_peer_that_left_messages_unread_is_read),
        cmocka_unit_test(too_long_datagrams_leave_no_descriptor_behind),
        cmocka_unit_test(a_full_channel_does_not_block),
        cmocka_unit_test(frames_arrive_whole_and_in_order),
        cmocka_unit_test(what_came_before_the_end_is_read),
        cmocka_unit_test(a_frame_that_is_too_long_is_malformed),
        cmocka_unit_test(connections_begin_and_are_refused),
        cmocka_unit_test(datagram_sockets_send_and_receive),
        cmocka_unit_test(addresses_are_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
