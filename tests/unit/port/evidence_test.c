/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a connection's end proves: only what the peer's side says (an end, a reset, a refusal) is
 * RZ_ERR_CLOSED. What this side says because no way leads there is not.
 */
#include "../../patience.h"
#include "port/channel.h"
#include "port/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAME_MAX = 100 };

/* ---- simulated errors of the system: this replaces the library's read ---- */

static int fake_fd = -1, fake_error, fake_after; /* after this number of successful reads */

ssize_t read(int fd, void *buffer, size_t bytes)
{
    if (fd != fake_fd || fake_after-- > 0) {
        return syscall(SYS_read, fd, buffer, bytes);
    }
    fake_fd = -1; /* the system reports it once; then follows the end */
    errno = fake_error;
    return -1;
}

static void fail_read(int fd, int error, int after)
{
    fake_fd = fd;
    fake_error = error;
    fake_after = after;
}

static void stream_pair(struct rz_frames **a, struct rz_frames **b)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(rz_frames_open(a, fds[0], FRAME_MAX), RZ_OK);
    assert_int_equal(rz_frames_open(b, fds[1], FRAME_MAX), RZ_OK);
}

static const struct {
    int error;
    rz_status_t means;
} errors[] = {
    {ECONNRESET, RZ_ERR_CLOSED}, {ECONNREFUSED, RZ_ERR_CLOSED},  {EPIPE, RZ_ERR_CLOSED},
    {ETIMEDOUT, RZ_ERR_TIMEOUT}, {EHOSTUNREACH, RZ_ERR_TIMEOUT}, {ENETUNREACH, RZ_ERR_TIMEOUT},
    {ENETDOWN, RZ_ERR_TIMEOUT},  {EHOSTDOWN, RZ_ERR_TIMEOUT},    {EIO, RZ_ERR_TIMEOUT}};

static void each_error_proves_what_it_proves(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        struct rz_frames *a, *b;
        stream_pair(&a, &b);
        fail_read(rz_frames_fd(b), errors[i].error, 0);
        assert_int_equal(rz_frames_read(b), errors[i].means);
        rz_frames_close(a); /* a later end changes nothing, nor does writing */
        assert_int_equal(rz_frames_read(b), errors[i].means);
        assert_int_equal(rz_frames_send(b, "x", 1), errors[i].means);
        rz_frames_close(b);
    }
}

/* The system says ETIMEDOUT once, and then as if the peer had ended the stream. */
static void an_error_behind_good_bytes_is_remembered(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        struct rz_frames *a, *b;
        const void *bytes;
        size_t n;
        stream_pair(&a, &b);
        assert_int_equal(rz_frames_send(a, "last", 4), RZ_OK);
        rz_frames_close(a);
        fail_read(rz_frames_fd(b), errors[i].error, 1);
        assert_int_equal(rz_frames_read(b), RZ_OK);
        assert_true(rz_frames_next(b, &bytes, &n));
        assert_int_equal(rz_frames_read(b), errors[i].means);
        rz_frames_close(b);
    }
}

/* ---- real connections ---- */

static void await(int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};
    assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
}

static int connect_to(const struct rz_address *at)
{
    int fd;
    rz_status_t status = rz_socket_connect(at, &fd);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    return fd;
}

static void connect_pair(int *there, int *here)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    int listening;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    *there = connect_to(&at);
    await(listening, POLLIN);
    assert_int_equal(rz_socket_accept(listening, here, NULL), RZ_OK);
    await(*there, POLLOUT);
    close(listening);
}

static rz_status_t read_end(struct rz_frames *frames)
{
    await(rz_frames_fd(frames), POLLIN);
    return rz_frames_read(frames);
}

static void an_end_and_a_reset_are_proof(void **state)
{
    static const struct linger at_once = {.l_onoff = 1}; /* its close is a reset */
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        struct rz_frames *frames;
        int there, here;
        connect_pair(&there, &here);
        assert_int_equal(rz_frames_open(&frames, here, FRAME_MAX), RZ_OK);
        if (reset) {
            setsockopt(there, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        }
        close(there);
        assert_int_equal(read_end(frames), RZ_ERR_CLOSED);
        rz_frames_close(frames);
    }
}

/* Bound by no process while the listener was just closed. */
static void a_refusal_is_proof(void **state)
{
    struct rz_address at = {.ip = RZ_ADDRESS_LOOPBACK};
    struct rz_frames *frames;
    int listening, fd;
    (void)state;
    assert_int_equal(rz_socket_listen(&at, &listening), RZ_OK);
    close(listening);
    rz_status_t status = rz_socket_connect(&at, &fd);
    if (status == RZ_IN_PROGRESS) {
        assert_int_equal(rz_frames_open(&frames, fd, FRAME_MAX), RZ_OK);
        status = read_end(frames);
        rz_frames_close(frames);
    }
    assert_int_equal(status, RZ_ERR_CLOSED);
}

static void set_loopback(bool up)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

/* In a network of its own, whose only device goes away under a connection. */
static void without_a_way(void)
{
    const unsigned patience_ms = 100;
    const struct rz_address nowhere = {.ip = RZ_IPV4(10, 77, 1, 1), .port = 1};
    struct rz_frames *frames;
    int there, here, fd;
    set_loopback(true);
    connect_pair(&there, &here);
    assert_int_equal(
        setsockopt(here, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms)), 0);
    assert_int_equal(rz_frames_open(&frames, here, FRAME_MAX), RZ_OK);
    set_loopback(false);
    assert_int_equal(rz_frames_send(frames, "are you?", 8), RZ_OK);
    assert_int_equal(read_end(frames), RZ_ERR_TIMEOUT);
    assert_int_equal(rz_frames_read(frames), RZ_ERR_TIMEOUT);
    rz_frames_close(frames);
    close(there);
    rz_status_t status = rz_socket_connect(&nowhere, &fd);
    assert_true(status != RZ_OK && status != RZ_IN_PROGRESS && status != RZ_ERR_CLOSED);
}

static void no_way_is_no_proof(void **state)
{
    int status;
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
            _exit(77);
        }
        without_a_way();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip(); /* this system allows no namespaces */
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_proves_what_it_proves),
        cmocka_unit_test(an_error_behind_good_bytes_is_remembered),
        cmocka_unit_test(an_end_and_a_reset_are_proof),
        cmocka_unit_test(a_refusal_is_proof),
        cmocka_unit_test(no_way_is_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
