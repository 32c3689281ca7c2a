/* SPDX-License-Identifier: BSD-3-Clause */
/* The rings of a node: what a process has written is there after it was killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/trace.h"
#include "port/clock.h"
#include "port/trace_memory.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void rings_outlive_their_process(void **state)
{
    (void)state;
    int fd;
    struct rz_trace_levels levels;
    struct rz_trace_ring *made, *read;
    rz_trace_levels_default(&levels);
    assert_int_equal(rz_trace_memory_create(5, &fd), RZ_OK);
    assert_int_equal(rz_trace_memory_rings(fd), 5);
    assert_int_equal(rz_trace_memory_map(fd, 3, false, &read), RZ_ERR_VERSION);
    assert_int_equal(rz_trace_memory_make(fd, 3, &made), RZ_OK);
    const struct rz_trace_owner owner = {.slot = 9, .incarnation = 1, .node = 4, .pid = 0};
    rz_trace_ring_make(made, &owner, &levels);
    pid_t pid = fork();
    if (pid == 0) {
        struct rz_trace_ring *own;
        if (rz_trace_memory_map(fd, 3, true, &own) == RZ_OK && rz_trace_begin(own, rz_clock_now)) {
            RZ_TRACE(INIT, 0, 0, 0);
            RZ_TRACE(ABORT, 42, 0, 0);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    rz_trace_memory_unmap(made);
    assert_int_equal(rz_trace_memory_map(fd, 3, false, &read), RZ_OK);
    struct rz_trace_event events[4];
    uint64_t from = 0;
    assert_int_equal(read->slot, 9);
    assert_int_equal(rz_trace_read(read, &from, events, 4), 2);
    assert_int_equal(events[1].event, RZ_TRACE_ABORT);
    assert_int_equal(events[1].a, 42);
    assert_true(events[0].at_ns > 0 && events[1].at_ns <= rz_clock_now());
    rz_trace_memory_unmap(read);
    close(fd);
}

static void other_memory_is_refused(void **state)
{
    (void)state;
    int fds[2];
    struct rz_trace_ring *ring;
    assert_int_equal(rz_trace_memory_rings(-1), 0);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(rz_trace_memory_rings(fds[0]), 0);
    assert_int_not_equal(rz_trace_memory_map(fds[0], 0, false, &ring), RZ_OK);
    close(fds[0]);
    close(fds[1]);
    rz_trace_memory_unmap(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rings_outlive_their_process),
                                       cmocka_unit_test(other_memory_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
