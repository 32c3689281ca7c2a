/* SPDX-License-Identifier: BSD-3-Clause */
/* The early report: failures, clean ends, slots used again. */
#include "../../patience.h"
#include "port/clock.h"
#include "port/process.h"
#include "port/watch.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* How a child continues once it holds its slot; then it ends or waits to be killed. */
typedef void (*conduct_t)(struct rz_watch_held *held);

static void conduct_wait(struct rz_watch_held *held)
{
    (void)held;
    for (;;) {
        pause();
    }
}

static void conduct_release(struct rz_watch_held *held)
{
    rz_watch_release(held);
    _exit(0);
}

static void conduct_exit(struct rz_watch_held *held)
{
    (void)held;
    _exit(3);
}

static void conduct_main_thread_ends(struct rz_watch_held *held)
{
    (void)held;
    pthread_exit(NULL); /* the process lives on in its helper thread */
}

static void conduct_exec(struct rz_watch_held *held)
{
    (void)held;
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
    _exit(9);
}

struct child {
    pid_t pid;
    int ready; /* readable: it holds its slot */
};

static struct child start(struct rz_watch *watch, uint32_t slot, conduct_t conduct)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t parent = getpid();
    struct child child = {.pid = fork(), .ready = ready[0]};
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        struct rz_watch_held *held;
        if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK ||
            rz_watch_hold(&held, rz_watch_page_fd(watch), slot) != RZ_OK) {
            _exit(8);
        }
        if (write(ready[1], "", 1) != 1) {
            _exit(7);
        }
        conduct(held);
        _exit(6);
    }
    close(ready[1]);
    return child;
}

static void await_ready(const struct child *child)
{
    char byte;
    assert_int_equal(read(child->ready, &byte, 1), 1);
    close(child->ready);
}

/* The next end, which must come and be about slot. */
static enum rz_watch_end await_end(struct rz_watch *watch, uint32_t slot)
{
    uint32_t found;
    enum rz_watch_end end;
    rz_time at;
    while (!rz_watch_take(watch, &found, &end, &at)) {
        struct pollfd polled = {.fd = rz_watch_event_fd(watch), .events = POLLIN};
        assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
    }
    assert_int_equal(found, slot);
    assert_true(at <= rz_clock_now());
    return end;
}

static bool nothing_to_take(struct rz_watch *watch)
{
    uint32_t slot;
    enum rz_watch_end end;
    rz_time at;
    return !rz_watch_take(watch, &slot, &end, &at);
}

static void an_end_is_told(conduct_t conduct, int signal, enum rz_watch_end expected)
{
    struct rz_watch *watch;
    uint32_t slot;
    assert_int_equal(rz_watch_open(&watch, 3), RZ_OK);
    assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
    struct child child = start(watch, slot, conduct);
    await_ready(&child);
    if (signal) {
        kill(child.pid, signal);
    }
    assert_int_equal(await_end(watch, slot), expected);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    assert_true(nothing_to_take(watch));
    rz_watch_slot_close(watch, slot);
    rz_watch_close(watch);
}

static void a_kill_is_a_failure(void **state)
{
    (void)state;
    an_end_is_told(conduct_wait, SIGKILL, RZ_WATCH_FAILED);
}

static void an_exit_without_release_is_a_failure(void **state)
{
    (void)state;
    an_end_is_told(conduct_exit, 0, RZ_WATCH_FAILED);
}

static void a_release_is_a_clean_end(void **state)
{
    (void)state;
    an_end_is_told(conduct_release, 0, RZ_WATCH_CLEAN);
}

static void an_exec_gives_the_slot_up(void **state)
{
    (void)state;
    an_end_is_told(conduct_exec, 0, RZ_WATCH_FAILED);
}

static void the_end_of_the_main_thread_is_no_failure(void **state)
{
    (void)state;
    struct rz_watch *watch;
    uint32_t slot;
    assert_int_equal(rz_watch_open(&watch, 1), RZ_OK);
    assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
    struct child child = start(watch, slot, conduct_main_thread_ends);
    await_ready(&child);
    struct pollfd polled = {.fd = rz_watch_event_fd(watch), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 100),
                     0); /* the absence of an event cannot be awaited otherwise */
    kill(child.pid, SIGKILL);
    assert_int_equal(await_end(watch, slot), RZ_WATCH_FAILED);
    waitpid(child.pid, NULL, 0);
    rz_watch_close(watch);
}

static void the_report_does_not_wait_for_the_teardown(void **state)
{
    (void)state;
    /* Not a figure, but a property: the report is there while the child cannot be reaped yet. */
    struct rz_watch *watch;
    uint32_t slot;
    size_t bytes = (size_t)512 << 20;
    unsigned before_reap = 0, rounds = 5;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, bytes);
    assert_int_equal(rz_watch_open(&watch, 1), RZ_OK);
    for (unsigned i = 0; i < rounds; i++) {
        assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
        struct child child = start(watch, slot, conduct_wait);
        await_ready(&child);
        kill(child.pid, SIGKILL);
        assert_int_equal(await_end(watch, slot), RZ_WATCH_FAILED);
        before_reap += waitpid(child.pid, NULL, WNOHANG) == 0;
        waitpid(child.pid, NULL, 0);
        rz_watch_slot_close(watch, slot);
    }
    munmap(memory, bytes);
    rz_watch_close(watch);
    print_message("%u of %u reports came before the child could be reaped\n", before_reap, rounds);
}

static void many_children_are_watched_by_several_waiters(void **state)
{
    (void)state;
    enum { SLOTS = 260 }; /* three groups */
    static struct child children[SLOTS];
    struct rz_watch *watch;
    uint32_t slot;
    assert_int_equal(rz_watch_open(&watch, SLOTS), RZ_OK);
    for (unsigned i = 0; i < SLOTS; i++) {
        assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
        assert_int_equal(slot, i);
        children[i] = start(watch, slot, i % 5 == 4 ? conduct_release : conduct_wait);
    }
    assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_ERR_NO_MEMORY);
    unsigned failed = 0, clean = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        await_ready(&children[i]);
        kill(children[i].pid, SIGKILL);
    }
    while (failed + clean < SLOTS) {
        enum rz_watch_end end;
        rz_time at;
        struct pollfd polled = {.fd = rz_watch_event_fd(watch), .events = POLLIN};
        assert_int_equal(poll(&polled, 1, TEST_HANG_MS), 1);
        while (rz_watch_take(watch, &slot, &end, &at)) {
            failed += end == RZ_WATCH_FAILED;
            clean += end == RZ_WATCH_CLEAN;
            /* A child that releases may be killed before it does. */
            assert_true(end == RZ_WATCH_FAILED || slot % 5 == 4);
        }
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        waitpid(children[i].pid, NULL, 0);
    }
    rz_watch_close(watch);
}

static void a_used_slot_tells_nothing_of_its_last_child(void **state)
{
    (void)state;
    struct rz_watch *watch;
    uint32_t slot;
    assert_int_equal(rz_watch_open(&watch, 1), RZ_OK);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
        struct child child = start(watch, slot, i % 3 == 0 ? conduct_release : conduct_wait);
        /* Killed before, while and after it locks; its end is not taken, as when the pidfd came
         * first. */
        if (i % 3 != 1) {
            await_ready(&child);
        } else {
            close(child.ready);
        }
        if (i % 3 != 0) {
            kill(child.pid, SIGKILL);
        }
        waitpid(child.pid, NULL, 0);
        rz_watch_slot_close(watch, slot);
        assert_true(nothing_to_take(watch));
        assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
        child = start(watch, slot, conduct_release);
        await_ready(&child);
        assert_int_equal(await_end(watch, slot), RZ_WATCH_CLEAN);
        waitpid(child.pid, NULL, 0);
        rz_watch_slot_close(watch, slot);
    }
    rz_watch_close(watch);
}

static void wrong_slots_are_refused(void **state)
{
    (void)state;
    struct rz_watch *watch;
    struct rz_watch_held *held, *again;
    uint32_t slot;
    assert_int_equal(rz_watch_open(&watch, 1), RZ_OK);
    assert_int_equal(rz_watch_slot_open(watch, &slot), RZ_OK);
    assert_int_equal(rz_watch_hold(&held, rz_watch_page_fd(watch), 100000), RZ_ERR_INVALID);
    assert_int_equal(rz_watch_hold(&held, rz_watch_page_fd(watch), slot), RZ_OK);
    assert_int_equal(rz_watch_hold(&again, rz_watch_page_fd(watch), slot), RZ_ERR_INVALID);
    rz_watch_release(held);
    assert_int_equal(await_end(watch, slot), RZ_WATCH_CLEAN);
    rz_watch_close(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_is_a_failure),
        cmocka_unit_test(an_exit_without_release_is_a_failure),
        cmocka_unit_test(a_release_is_a_clean_end),
        cmocka_unit_test(an_exec_gives_the_slot_up),
        cmocka_unit_test(the_end_of_the_main_thread_is_no_failure),
        cmocka_unit_test(the_report_does_not_wait_for_the_teardown),
        cmocka_unit_test(many_children_are_watched_by_several_waiters),
        cmocka_unit_test(a_used_slot_tells_nothing_of_its_last_child),
        cmocka_unit_test(wrong_slots_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
