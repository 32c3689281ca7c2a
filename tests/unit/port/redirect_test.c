/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of this program are led elsewhere, also where its tables are read-only, and no others: not
 * those of functions of other libraries that have the same name. */
#include "port/redirect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static int led;
static struct rz_redirect calls[];
pid_t other_calls_getsid(void);

static pid_t led_getppid(void)
{
    led++;
    return ((pid_t(*)(void))calls[0].was)();
}

static FILE *led_fopen(const char *path, const char *mode)
{
    led++;
    return ((FILE * (*)(const char *, const char *)) calls[1].was)(path, mode);
}

static pid_t led_getsid(pid_t pid)
{
    led += 100;
    return pid;
}

/* libc's older function of that name, as programs call it that were linked long ago. */
int old_signal(pthread_cond_t *cond);
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");

static int led_signal(pthread_cond_t *cond)
{
    (void)cond;
    led += 1000;
    return 0;
}

static pid_t (*const volatile table[])(void) = {getppid};

static struct rz_redirect calls[] = {
    {.name = "getppid", .to = (void (*)(void))led_getppid},
    {.name = "fopen", .to = (void (*)(void))led_fopen},
    {.name = "no_such_function_anywhere", .to = (void (*)(void))abort},
    {.name = "getsid", .to = (void (*)(void))led_getsid},
    {.name = "pthread_cond_signal", .to = (void (*)(void))led_signal, .version = "GLIBC_2.3.2"},
    {.name = NULL}};

static void calls_are_led(void **state)
{
    pid_t parent = getppid();
    (void)state;
    struct rz_redirects redirects = {.calls = calls};
    rz_redirect_lead(&redirects);
    assert_null(calls[2].was);
    assert_int_not_equal(redirects.loaded, 0);
    assert_int_equal(getppid(), parent);
    assert_int_equal(led, 1);
    FILE *file = fopen("/dev/null", "r");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(led, 2);
    rz_redirect_lead(&redirects); /* again: what was meant stays what it was */
    assert_int_equal(getppid(), parent);
    assert_int_equal(led, 3);
    assert_int_equal(table[0](), parent);
    assert_int_equal(led, 4);
    assert_int_equal(getsid(0), 4711); /* redirect_other.c */
    assert_int_equal(other_calls_getsid(), 4711);
    assert_int_equal(led, 4);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    assert_int_equal(old_signal(&cond), 0);
    assert_int_equal(led, 4);
    pthread_cond_signal(&cond);
    assert_int_equal(led, 1004);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_led)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
