/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting points: processes of one user that know a token find each other, and nothing is left. */
#include "port/channel.h"
#include "port/local_socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN (UINT64_C(0x1234567800000000) | (uint64_t)getpid())

static void a_descriptor_is_handed_over(void **state)
{
    int listener, here, ends[2], fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds = 0;
    char text[8] = "";
    size_t n = 0;
    (void)state;
    assert_int_equal(rz_meeting_listen(TOKEN, 3, &listener), RZ_OK);
    assert_int_equal(rz_local_accept(listener, &here), RZ_IN_PROGRESS);
    assert_int_equal(pipe(ends), 0);
    uint64_t token = TOKEN; /* the child has another pid */
    pid_t child = fork();
    if (child == 0) {
        int there;
        bool good = rz_meeting_connect(token, 3, 1000, &there) == RZ_OK &&
                    rz_channel_send(there, "link", 4, &ends[1], 1) == RZ_OK;
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(rz_local_accept(listener, &here), RZ_OK);
    assert_int_equal(rz_channel_receive(here, text, sizeof(text), &n, fds, &n_fds), RZ_OK);
    assert_true(n == 4 && n_fds == 1 && memcmp(text, "link", 4) == 0);
    assert_int_equal(write(fds[0], "x", 1), 1);
    assert_int_equal(read(ends[0], text, 1), 1);
    assert_int_equal(rz_channel_receive(here, text, sizeof(text), &n, fds, &n_fds), RZ_ERR_CLOSED);
    close(fds[0]);
    close(ends[0]);
    close(ends[1]);
    close(here);
    close(listener);
}

static void a_place_is_taken_once(void **state)
{
    int first, second;
    (void)state;
    assert_int_equal(rz_meeting_listen(TOKEN, 0, &first), RZ_OK);
    assert_int_equal(rz_meeting_listen(TOKEN, 0, &second), RZ_ERR_EXISTS);
    close(first);
    assert_int_equal(rz_meeting_connect(TOKEN, 0, 1000, &second), RZ_ERR_CLOSED);
    assert_int_equal(rz_meeting_listen(TOKEN, 0, &second), RZ_OK);
    close(second);
}

/* A meeting point is no daemon: rzps does not list it. */
static void daemons_are_something_else(void **state)
{
    struct rz_local_name *names;
    int meeting, fd;
    size_t n;
    (void)state;
    assert_int_equal(rz_meeting_listen(TOKEN, 7, &meeting), RZ_OK);
    assert_int_equal(rz_local_connect(geteuid(), TOKEN, 7, 1000, &fd), RZ_ERR_CLOSED);
    assert_int_equal(rz_local_list(geteuid(), false, &names, &n), RZ_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(names[i].job != TOKEN);
    }
    free(names);
    close(meeting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_is_handed_over),
        cmocka_unit_test(a_place_is_taken_once),
        cmocka_unit_test(daemons_are_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
