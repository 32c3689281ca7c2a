/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon to which files are preloaded before the job: its processes run from there, and the
 * folder is gone at each end: of the job, of the daemon, of the keeper, of the launcher, of a
 * refusal. */
#include "fake_launcher.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#define SCRIPT                                                                                     \
    "#!/bin/sh\necho \"${0##*/} $1 $(cat $RZ_PRELOAD_DIR/data) ${LD_LIBRARY_PATH#$RZ_PRELOAD_DIR}" \
    " ${PWD#$RZ_PRELOAD_DIR}.\"\n"

static char parent[] = "/tmp/daemon-preload-XXXXXX";

static unsigned in_parent(void)
{
    unsigned n = 0;
    DIR *all = opendir(parent);
    assert_non_null(all);
    for (const struct dirent *entry; (entry = readdir(all));) {
        n += entry->d_name[0] != '.';
    }
    closedir(all);
    return n;
}

static void begin(struct fake_job *job, const char *name, uint32_t mode, size_t bytes)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_FILE_BEGIN, .file_begin = {.name = name, .mode = mode, .bytes = bytes}};
    fake_send(job, 0, &message);
}

static void part(struct fake_job *job, const char *content, size_t bytes)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_FILE_PART,
        .file_part = {.data = (const uint8_t *)content, .data_length = (uint32_t)bytes}};
    fake_send(job, 0, &message);
}

static void end(struct fake_job *job, uint64_t checksum)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_FILE_END,
                                              .file_end = {.checksum = checksum}};
    fake_send(job, 0, &message);
}

static void await_taken(struct fake_job *job, uint64_t bytes, uint32_t files)
{
    struct fake_message *m = fake_await(job, RZ_LAUNCH_FILES_TAKEN);
    assert_int_equal(m->message.files_taken.bytes, bytes);
    assert_int_equal(m->message.files_taken.files, files);
    free(m);
}

/* A script and a file of data are there. */
static void start_with_files(struct fake_job *job)
{
    size_t n = strlen(SCRIPT);
    fake_start(job, 1);
    begin(job, "script", 0755, n);
    part(job, SCRIPT, 10);
    await_taken(job, 10, 0);
    part(job, &SCRIPT[10], n - 10);
    await_taken(job, n, 0);
    end(job, XXH3_64bits(SCRIPT, n));
    await_taken(job, n, 1);
    begin(job, "data", 0400, 4);
    part(job, "1234", 4);
    end(job, XXH3_64bits("1234", 4));
    await_taken(job, n + 4, 1);
    await_taken(job, n + 4, 2);
    assert_int_equal(in_parent(), 1);
}

static void processes_run_what_was_preloaded(void **state)
{
    static const char *const program[] = {"/nowhere/script", "word", NULL};
    static const char *const environment[] = {"LD_LIBRARY_PATH=/mine", NULL};
    struct fake_job job;
    char text[FAKE_TEXT_MAX];
    (void)state;
    start_with_files(&job);
    job.environment = environment;
    fake_run(&job, 2, program);
    fake_await_exit(&job, 0, 0, true, false);
    fake_await_exit(&job, 1, 0, true, false);
    fake_output(&job, 1, 1, text);
    assert_memory_equal(text, "script word 1234 :/mine ", 24);
    fake_end(&job, 0);
    assert_int_equal(in_parent(), 0);
}

static void other_programs_run_as_ever(void **state)
{
    static const char *const program[] = {"sh", "-c", "echo up", NULL};
    struct fake_job job;
    (void)state;
    start_with_files(&job);
    fake_run(&job, 1, program);
    fake_await_exit(&job, 0, 0, true, false);
    fake_end(&job, 0);
    assert_int_equal(in_parent(), 0);
}

static void the_folder_goes_with_a_process_that_is_killed(void **state)
{
    static const char *const program[] = {"sh", "-c", "sleep 1000 & setsid sleep 1000 & wait",
                                          NULL};
    (void)state;
    for (unsigned victim = 0; victim < 6; victim++) {
        struct fake_job job;
        start_with_files(&job);
        if (victim >= 3) {
            fake_run(&job, 1, program);
            free(fake_await(&job, RZ_LAUNCH_STARTED));
        }
        if (victim % 3 == 0) {
            kill(job.node[0].daemon, SIGKILL);
        } else if (victim % 3 == 1) {
            kill(job.node[0].keeper, SIGKILL);
        } else {
            fake_vanish(&job);
        }
        fake_assert_nothing_left("victim");
        fake_free(&job);
        assert_int_equal(in_parent(), 0);
    }
}

static void what_fails_is_refused_in_words(void **state)
{
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    begin(&job, "data", 0644, 4);
    part(&job, "1234", 4);
    end(&job, 0);
    struct fake_message *m = fake_await(&job, RZ_LAUNCH_REFUSED);
    assert_non_null(strstr(m->message.refused.reason, "data is not what was sent"));
    free(m);
    fake_assert_nothing_left("refusal");
    fake_free(&job);
    assert_int_equal(in_parent(), 0);
}

static void no_file_comes_after_the_job(void **state)
{
    static const char *const program[] = {"sleep", "1000", NULL};
    struct fake_job job;
    (void)state;
    fake_start(&job, 1);
    fake_run(&job, 1, program);
    free(fake_await(&job, RZ_LAUNCH_STARTED));
    begin(&job, "data", 0644, 4);
    free(fake_await(&job, RZ_LAUNCH_REFUSED));
    fake_assert_nothing_left("refusal");
    fake_free(&job);
    assert_int_equal(in_parent(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_run_what_was_preloaded),
        cmocka_unit_test(other_programs_run_as_ever),
        cmocka_unit_test(the_folder_goes_with_a_process_that_is_killed),
        cmocka_unit_test(what_fails_is_refused_in_words),
        cmocka_unit_test(no_file_comes_after_the_job),
    };
    if (!mkdtemp(parent)) {
        return 1;
    }
    setenv("TMPDIR", parent, 1);
    fake_adopt();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(parent) == 0 ? failed : 1;
}
