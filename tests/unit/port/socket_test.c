/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP connections within this machine: how both ends are set. */
#include "port/descriptor.h"
#include "port/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { HANG_MS = 60000 };

static void is_tuned(int fd)
{
    char algorithm[16] = "";
    socklen_t bytes = sizeof(algorithm);
    int on = 0;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, &bytes), 0);
    assert_string_equal(algorithm, "reno");
    bytes = sizeof(on);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &bytes), 0);
    assert_int_equal(on, 1);
}

/* Whatever the system's algorithm is: one that paces costs much, and there is no network. */
static void nothing_is_paced_within_a_machine(void **state)
{
    struct rz_address address = {.ip = RZ_IPV4(127, 0, 1, 9)}, from;
    int listening, connecting, accepted;
    (void)state;
    assert_int_equal(rz_socket_listen(&address, &listening), RZ_OK);
    rz_status_t status = rz_socket_connect(&address, &connecting);
    assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
    rz_descriptor_await(&listening, 1, HANG_MS);
    assert_int_equal(rz_socket_accept(listening, &accepted, &from), RZ_OK);
    assert_true(rz_address_is_loopback(&from));
    is_tuned(connecting);
    is_tuned(accepted);
    close(accepted);
    close(connecting);
    close(listening);
}

/* A device that is down is tried by tests/launch/loopback_test.py. */
static void whether_an_address_reaches_itself(void **state)
{
    const struct rz_address own = {.ip = RZ_IPV4(127, 0, 1, 9), .port = 1},
                            none = {.ip = RZ_IPV4(192, 0, 2, 1)};
    (void)state;
    assert_int_equal(rz_socket_reaches(&own, HANG_MS), RZ_OK); /* at any free port */
    assert_int_equal(rz_socket_reaches(&none, HANG_MS), RZ_ERR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_paced_within_a_machine),
                                       cmocka_unit_test(whether_an_address_reaches_itself)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
