/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting points: processes of one user that know a token find each other, and nothing is left. */
#include "port/channel.h"
#include "port/local_socket.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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
    const struct rz_local_name name = {.uid = geteuid(), .job = TOKEN, .node = 7};
    uid_t peer;
    assert_int_equal(rz_local_connect(&name, &fd, &peer), RZ_ERR_CLOSED);
    assert_int_equal(rz_local_list(geteuid(), false, &names, &n), RZ_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(names[i].job != TOKEN);
    }
    free(names);
    close(meeting);
}

/* ---- daemons ---- */

static size_t find(unsigned timeout_ms, struct rz_local_found *found)
{
    char prefix[17];
    snprintf(prefix, sizeof(prefix), "%016llx", (unsigned long long)TOKEN);
    assert_int_equal(rz_local_find(prefix, timeout_ms, found), RZ_OK);
    for (size_t i = 0; i < found->n; i++) {
        close(found->fds[i]);
    }
    free(found->names);
    free(found->fds);
    return found->n;
}

static void the_daemons_of_a_job_are_found(void **state)
{
    struct rz_local_found found;
    int fds[3], again;
    (void)state;
    assert_int_equal(find(1000, &found), 0);
    for (uint32_t node = 0; node < 3; node++) {
        assert_int_equal(rz_local_listen(TOKEN, node, &fds[node]), RZ_OK);
    }
    assert_int_equal(rz_local_listen(TOKEN, 1, &again), RZ_ERR_EXISTS);
    assert_int_equal(find(1000, &found), 3);
    assert_int_equal(found.jobs, 1);
    for (uint32_t node = 0; node < 3; node++) {
        close(fds[node]);
    }
}

/* Binds the name of a daemon of user `owner` as another user, and says so on a pipe; lives until it
 * is killed. full: so many others wait there that no connection can be made. */
static pid_t squat(uid_t owner, uint32_t node, bool full)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    uint64_t token = TOKEN;
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "rhizome/%u/%016llx/%u",
                         (unsigned)owner, (unsigned long long)token, node);
        socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
        bool good = setuid(65534) == 0;
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        good = good && bind(fd, (struct sockaddr *)&name, length) == 0 && listen(fd, 1) == 0;
        for (int i = 0; good && full && i < 8; i++) {
            int other = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
            (void)connect(other, (struct sockaddr *)&name, length);
        }
        _exit(good && write(ends[1], "x", 1) == 1 ? pause() : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static void release(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void a_name_proves_nothing(void **state)
{
    struct rz_local_found found;
    int fd;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    pid_t first = squat(0, 0, false), second = squat(0, 1, true);
    assert_int_equal(find(50, &found), 0);
    assert_true(found.jobs == 0 && found.taken && found.taker == 65534);
    assert_int_equal(found.taken_name.uid, 0);
    /* The daemon whose name is taken is found nevertheless. */
    assert_int_equal(rz_local_listen(TOKEN, 0, &fd), RZ_OK);
    assert_int_equal(find(50, &found), 1);
    assert_int_equal(found.jobs, 1);
    close(fd);
    release(first);
    release(second);
}

/* Root sees jobs of others; its own come first, whatever their numbers. */
static void own_jobs_come_first(void **state)
{
    struct rz_local_found found;
    int fd;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    pid_t other = squat(65534, 0, false);
    assert_int_equal(find(1000, &found), 1);
    assert_int_equal(found.jobs, 1);
    assert_int_equal(rz_local_listen(TOKEN, 3, &fd), RZ_OK);
    assert_int_equal(find(1000, &found), 1);
    assert_int_equal(found.jobs, 1);
    close(fd);
    release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_is_handed_over),
        cmocka_unit_test(a_place_is_taken_once),
        cmocka_unit_test(daemons_are_something_else),
        cmocka_unit_test(the_daemons_of_a_job_are_found),
        cmocka_unit_test(a_name_proves_nothing),
        cmocka_unit_test(own_jobs_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
