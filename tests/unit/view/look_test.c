/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents of daemons: those of this user, and of another one what a job can have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view/look.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER_UID = 65534, TOO_MANY_NODES = 1025, TEXT_MAX = 1 << 16 };

static char text[TEXT_MAX];

static uint64_t job(void)
{
    return UINT64_C(0xfeed000000000000) | (uint64_t)getpid();
}

static void write_page(unsigned nodes)
{
    int n = snprintf(text, sizeof(text),
                     "{\"schema\": \"rhizome.status.2\", \"job\": \"%016" PRIx64 "\", \"node\": 0, "
                     "\"epoch\": 1, \"seconds\": 1.0, \"ranks\": [], \"processes\": [], "
                     "\"groups\": [{\"name\": \"g\"}], \"nodes\": [",
                     job());
    for (unsigned i = 0; i < nodes; i++) {
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s{\"node\": %u}", i > 0 ? "," : "", i);
    }
    snprintf(text + n, sizeof(text) - (size_t)n, "]}");
}

/* A process of that user that answers like the daemon of a job. */
static pid_t daemon_of(uid_t uid)
{
    int ready[2], listener;
    char byte;
    uint64_t number = job();
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int visitor;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if ((uid != geteuid() && setuid(uid) != 0) ||
            rz_local_listen(number, 0, &listener) != RZ_OK || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        rz_local_let_wait(listener);
        while ((visitor = accept(listener, NULL, NULL)) >= 0) {
            ssize_t heard = read(visitor, &byte, 1);
            ssize_t said = send(visitor, text, strlen(text), MSG_NOSIGNAL);
            (void)heard, (void)said;
            close(visitor);
        }
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void end_daemon(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* What is found of the job. */
static json_t *look(bool all, json_t **words)
{
    char prefix[17];
    json_t *pages = json_array();
    snprintf(prefix, sizeof(prefix), "%016" PRIx64, job());
    assert_int_equal(rz_look(prefix, all, pages), RZ_OK);
    *words = rz_look_words(pages);
    json_t *jobs = rz_look_jobs(pages);
    json_decref(pages);
    return jobs;
}

static void the_page_of_ones_own_job(void **state)
{
    json_t *words;
    (void)state;
    write_page(TOO_MANY_NODES); /* of one's own all is believed */
    pid_t child = daemon_of(geteuid());
    json_t *jobs = look(false, &words);
    assert_int_equal(json_array_size(jobs), 1);
    assert_int_equal(json_array_size(words), 0);
    assert_int_equal(rz_look_user(json_array_get(jobs, 0)), -1);
    json_decref(words);
    json_decref(jobs);
    end_daemon(child);
}

static void the_page_of_another_user(void **state)
{
    json_t *words;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (unsigned nodes = 1; nodes <= TOO_MANY_NODES; nodes += TOO_MANY_NODES - 1) {
        bool good = nodes == 1;
        write_page(nodes);
        pid_t child = daemon_of(OTHER_UID);
        json_t *jobs = look(true, &words);
        assert_int_equal(json_array_size(jobs), good);
        assert_int_equal(json_array_size(words), !good);
        if (good) {
            assert_int_equal(rz_look_user(json_array_get(jobs, 0)), OTHER_UID);
        } else {
            assert_non_null(strstr(json_string_value(json_array_get(words, 0)), "passed over"));
        }
        json_decref(words);
        json_decref(jobs);
        end_daemon(child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_ones_own_job),
        cmocka_unit_test(the_page_of_another_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
