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
#include <sys/resource.h>
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

static void a_lack_of_descriptors_is_no_fault_of_the_sender(void **state)
{
    (void)state;
    int pair[2], got[RZ_CHANNEL_FDS_MAX], sent;
    char buffer[16];
    size_t n;
    unsigned n_fds;
    struct rlimit before, none;
    assert_int_equal(rz_channel_pair(pair), RZ_OK);
    assert_false(rz_channel_brings_fds(pair[1]));
    assert_int_equal(rz_channel_send(pair[0], "plain", 6, NULL, 0), RZ_OK);
    assert_false(rz_channel_brings_fds(pair[1]));
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, got, &n_fds), RZ_OK);
    sent = dup(0);
    assert_int_equal(rz_channel_send(pair[0], "with", 5, &sent, 1), RZ_OK);
    close(sent); /* the lowest number that is free */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)sent;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool brings = rz_channel_brings_fds(pair[1]);
    rz_status_t status = rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, got, &n_fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(brings);
    assert_int_equal(status, RZ_ERR_NO_DESCRIPTORS);
    close(pair[0]);
    close(pair[1]);
}

static void more_descriptors_than_a_datagram_may_have_are_malformed(void **state)
{
    (void)state;
    int pair[2], next, fds[RZ_CHANNEL_FDS_MAX + 1];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(fds))];
    } control = {.room = {0}};
    char buffer[16];
    size_t n;
    struct iovec vector = {.iov_base = buffer, .iov_len = 1};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    assert_int_equal(rz_channel_pair(pair), RZ_OK);
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        fds[i] = 0;
    }
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
    assert_int_equal(sendmsg(pair[0], &message, 0), 1);
    assert_int_equal(rz_channel_receive(pair[1], buffer, sizeof(buffer), &n, fds, NULL),
                     RZ_ERR_MALFORMED);
    next = dup(0);
    assert_int_equal(next, pair[1] + 1); /* none is left behind */
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

/* Of IPv4, and of IPv6 where this machine has it. */
static unsigned loopbacks(struct rz_address at[2])
{
    struct rz_address ipv6;
    int fd;
    at[0] = (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK};
    assert_int_equal(rz_address_parse("::1", &at[1]), RZ_OK);
    ipv6 = at[1];
    if (rz_socket_listen(&ipv6, &fd) != RZ_OK) {
        return 1;
    }
    close(fd);
    return 2;
}

/* Listens at `at`, connects to `to`, whose port is not known yet. */
static void connect_once(struct rz_address at, struct rz_address to)
{
    struct rz_address from, own;
    int listening, there, here;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    assert_true(at.port != 0);
    to.port = at.port;
    assert_int_equal(rz_socket_accept(listening, &here, NULL), RZ_IN_PROGRESS);
    rz_status_t status = rz_socket_connect(&to, &there);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    await(there, POLLOUT);
    assert_int_equal(rz_socket_connected(there), RZ_OK);
    await(listening, POLLIN);
    assert_int_equal(rz_socket_accept(listening, &here, &from), RZ_OK);
    assert_int_equal(rz_socket_own(there, &own), RZ_OK);
    assert_true(rz_address_same_ip(&from, &to) && rz_address_same_ip(&own, &to));
    assert_int_equal(from.port, own.port);
    assert_true(fcntl(here, F_GETFL) & O_NONBLOCK);
    close(here);
    close(there);
    close(listening);
    status = rz_socket_connect(&to, &there);
    if (status == RZ_IN_PROGRESS) {
        await(there, POLLOUT);
        status = rz_socket_connected(there);
        close(there);
    }
    assert_int_equal(status, RZ_ERR_CLOSED);
}

static void connections_begin_and_are_refused(void **state)
{
    struct rz_address at[2];
    (void)state;
    for (unsigned i = loopbacks(at); i-- > 0;) {
        connect_once(at[i], at[i]);
    }
}

/* The address of zeros is each address of this machine, of both families. */
static void one_socket_listens_in_both_families(void **state)
{
    struct rz_address to[2];
    (void)state;
    for (unsigned i = loopbacks(to); i-- > 0;) {
        connect_once((struct rz_address){.port = 0}, to[i]);
    }
}

/* Sends from a to b; both get a port. */
static void send_datagrams(struct rz_address a, struct rz_address b, const struct rz_address *to)
{
    struct rz_address from;
    int at_a, at_b;
    char buffer[8];
    size_t n;
    assert_int_equal(rz_socket_datagram(&a, &at_a), RZ_OK);
    assert_int_equal(rz_socket_datagram(&b, &at_b), RZ_OK);
    const struct rz_address there = rz_address_at(to, b.port);
    assert_int_equal(rz_socket_receive_from(at_b, buffer, sizeof(buffer), &n, &from),
                     RZ_IN_PROGRESS);
    assert_int_equal(rz_socket_send_to(at_a, "beat", 4, &there), RZ_OK);
    assert_int_equal(rz_socket_send_to(at_a, "123456789", 9, &there), RZ_OK);
    await(at_b, POLLIN);
    assert_int_equal(rz_socket_receive_from(at_b, buffer, sizeof(buffer), &n, &from), RZ_OK);
    assert_int_equal(n, 4);
    assert_int_equal(from.port, a.port);
    assert_true(rz_address_same_family(&from, to));
    await(at_b, POLLIN);
    assert_int_equal(rz_socket_receive_from(at_b, buffer, sizeof(buffer), &n, &from),
                     RZ_ERR_TRUNCATE);
    close(at_a);
    close(at_b);
}

static void datagram_sockets_send_and_receive(void **state)
{
    const struct rz_address any = {.port = 0}, other = {.ip = RZ_IPV4(127, 0, 0, 2)};
    struct rz_address at[2];
    (void)state;
    send_datagrams(other, (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK},
                   &(struct rz_address){.ip = RZ_ADDRESS_LOOPBACK});
    for (unsigned i = loopbacks(at); i-- > 0;) {
        send_datagrams(at[i], at[i], &at[i]);
        send_datagrams(any, at[i], &at[i]); /* a socket of both families sends to either */
        send_datagrams(at[i], any, &at[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_carry_descriptors),
        cmocka_unit_test(what_was_sent_by_a_peer_that_left_messages_unread_is_read),
        cmocka_unit_test(too_long_datagrams_leave_no_descriptor_behind),
        cmocka_unit_test(a_lack_of_descriptors_is_no_fault_of_the_sender),
        cmocka_unit_test(more_descriptors_than_a_datagram_may_have_are_malformed),
        cmocka_unit_test(a_full_channel_does_not_block),
        cmocka_unit_test(frames_arrive_whole_and_in_order),
        cmocka_unit_test(what_came_before_the_end_is_read),
        cmocka_unit_test(a_frame_that_is_too_long_is_malformed),
        cmocka_unit_test(connections_begin_and_are_refused),
        cmocka_unit_test(one_socket_listens_in_both_families),
        cmocka_unit_test(datagram_sockets_send_and_receive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
