/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that computes is interrupted in the program's own code and nowhere else, and nothing of
 * that stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/clock.h"
#include "port/nudge.h"
#include "port/text.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define NUMBER (SIGRTMIN + 11)

static _Atomic uint64_t word;
static _Atomic uint64_t seen; /* the requested thread is, where it has not seen the word */
static atomic_uint n_taken;
static jmp_buf back;
static bool leave;
static volatile uint64_t sink;

static bool due(void)
{
    return atomic_load(&word) > atomic_load(&seen);
}

static void taken(void)
{
    atomic_fetch_add(&n_taken, 1);
    atomic_store(&seen, atomic_load(&word));
    if (leave) {
        longjmp(back, 1);
    }
}

static const struct rz_nudge_config config = {.word = &word, .due = due, .taken = taken};

static rz_status_t open_with(int number)
{
    struct rz_nudge_config with = config;
    with.signal = number;
    return rz_nudge_open(&with);
}

static void *change_word(void *arg)
{
    (void)arg;
    atomic_fetch_add(&word, 1);
    rz_nudge_wake(&word);
    return NULL;
}

static void want(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, change_word, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* No library is called here. */
static void compute_until_taken(unsigned n)
{
    while (atomic_load(&n_taken) < n) {
        sink = sink * 3 + 1;
    }
}

static void the_programs_code_is_known(void **state)
{
    (void)state;
    assert_int_equal(rz_text_look(), RZ_OK);
    assert_true(rz_text_holds((uintptr_t)compute_until_taken));
    assert_false(rz_text_holds((uintptr_t)dlsym(RTLD_NEXT, "malloc")));
    assert_false(rz_text_holds((uintptr_t)&word));
    assert_false(rz_text_defines("malloc"));
    assert_false(rz_text_defines("no_such_function"));
}

static void a_computation_is_interrupted_and_left(void **state)
{
    (void)state;
    assert_int_equal(open_with(NUMBER), RZ_OK);
    leave = true;
    for (volatile unsigned i = 1; i <= 50; i++) {
        if (setjmp(back) == 0) {
            want();
            compute_until_taken(UINT32_MAX);
        }
        assert_int_equal(atomic_load(&n_taken), i);
    }
    leave = false;
    want();
    compute_until_taken(51);
    rz_nudge_close();
}

static void on_user(int number)
{
    unsigned before = atomic_load(&n_taken);
    (void)number;
    want();
    for (rz_time end = rz_clock_now() + 20 * RZ_MILLISECOND; rz_clock_now() < end;) {
        for (int i = 0; i < 100000; i++) {
            sink = sink * 3 + 1;
        }
    }
    assert_int_equal(atomic_load(&n_taken), before);
}

static void a_handler_of_the_program_is_not_left(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_user};
    assert_int_equal(open_with(NUMBER), RZ_OK);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    raise(SIGUSR1);
    compute_until_taken(1); /* and comes as soon as it has returned */
    signal(SIGUSR1, SIG_DFL);
    rz_nudge_close();
}

static void what_is_blocked_does_not_come_and_does_not_stay(void **state)
{
    (void)state;
    sigset_t set, pending;
    assert_int_equal(open_with(NUMBER), RZ_OK);
    sigemptyset(&set);
    sigaddset(&set, NUMBER);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    want();
    do { /* until it waits for us */
        sigpending(&pending);
    } while (sigismember(&pending, NUMBER) != 1);
    rz_nudge_close();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* would end us */
    sigpending(&pending);
    assert_int_equal(sigismember(&pending, NUMBER), 0);
    assert_int_equal(atomic_load(&n_taken), 0);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    assert_int_equal(open_with(SIGKILL), RZ_ERR_INVALID);
    assert_int_equal(open_with(1000), RZ_ERR_INVALID);
    signal(NUMBER, on_user);
    assert_int_equal(open_with(NUMBER), RZ_ERR_EXISTS);
    signal(NUMBER, SIG_DFL);
    assert_int_equal(open_with(NUMBER), RZ_OK);
    rz_nudge_close();
    struct sigaction now;
    sigaction(NUMBER, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_DFL);
}

static int begin(void **state)
{
    (void)state;
    atomic_store(&n_taken, 0);
    atomic_store(&seen, atomic_load(&word));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_programs_code_is_known, begin),
        cmocka_unit_test_setup(a_computation_is_interrupted_and_left, begin),
        cmocka_unit_test_setup(a_handler_of_the_program_is_not_left, begin),
        cmocka_unit_test_setup(what_is_blocked_does_not_come_and_does_not_stay, begin),
        cmocka_unit_test_setup(what_cannot_be_is_said, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
