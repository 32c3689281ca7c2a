/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that another process could make wait for ten minutes return. SIGALRM ends a test that
 * waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../lingering.h"
#include "port/prompt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HANG_S = 120, LINGER_S = 600, NESTED = 5 };

static int peers[2 * NESTED], n_peers;

/* Sends a byte with a socket whose last close waits; only the message has a copy of it then. */
static void send_lingering(int to)
{
    int fd = lingering_socket(LINGER_S, &peers[n_peers++]);
    assert_true(fd >= 0);
    struct iovec byte = {"x", 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
    const struct msghdr message = {.msg_iov = &byte,
                                   .msg_iovlen = 1,
                                   .msg_control = &control,
                                   .msg_controllen = sizeof(control)};
    assert_int_equal(sendmsg(to, &message, 0), 1);
    close(fd);
}

static int prepare(void **state)
{
    (void)state;
    alarm(HANG_S);
    return rz_prompt_prepare() == RZ_OK ? 0 : -1;
}

static int forget(void **state)
{
    (void)state;
    rz_prompt_forget();
    while (n_peers > 0) {
        close(peers[--n_peers]);
    }
    alarm(0);
    return 0;
}

static void what_was_not_read_is_closed(void **state)
{
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (int i = 0; i < NESTED; i++) {
        send_lingering(pair[1]);
    }
    rz_prompt_close(pair[0]);
    close(pair[1]);
}

static void what_is_read_without_its_descriptor(void **state)
{
    int pair[2];
    char byte = 0;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    send_lingering(pair[1]);
    rz_prompt_begin();
    assert_int_equal(recv(pair[0], &byte, 1, MSG_DONTWAIT), 1);
    rz_prompt_end();
    close(pair[0]);
    close(pair[1]);
}

/* As if the owner had filled it between the look and the write. */
static void a_full_counter_is_not_waited_for(void **state)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    uint64_t most = UINT64_MAX - 1, one = 1;
    (void)state;
    assert_int_equal(write(fd, &most, sizeof(most)), sizeof(most));
    rz_prompt_begin();
    assert_int_equal(write(fd, &one, sizeof(one)), -1);
    assert_int_equal(errno, EINTR);
    rz_prompt_end();
    close(fd);
}

/* Nothing is left: no handler, no timer, no signal later. */
static void all_is_given_back(void **state)
{
    struct sigaction now;
    (void)state;
    rz_prompt_begin();
    rz_prompt_forget();
    assert_int_equal(sigaction(SIGURG, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    struct timespec moment = {.tv_nsec = 20000000};
    assert_int_equal(nanosleep(&moment, NULL), 0);
    rz_prompt_begin(); /* does nothing now */
    assert_int_equal(nanosleep(&moment, NULL), 0);
    rz_prompt_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_read_is_closed, prepare, forget),
        cmocka_unit_test_setup_teardown(what_is_read_without_its_descriptor, prepare, forget),
        cmocka_unit_test_setup_teardown(a_full_counter_is_not_waited_for, prepare, forget),
        cmocka_unit_test_setup_teardown(all_is_given_back, prepare, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
