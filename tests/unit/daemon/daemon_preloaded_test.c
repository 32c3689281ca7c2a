/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that come to a host: what is whole is kept, what is not is refused in words, and nothing
 * is left; also on a disk that takes no more. */
#include "daemon/state/preloaded.h"

#include <dirent.h>
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#define BIG ((size_t)300000)

static char parent[] = "/tmp/daemon-preloaded-XXXXXX";
static struct rz_preloaded preloaded;

static int open_it(void **state)
{
    (void)state;
    rz_preloaded_open(&preloaded);
    assert_null(rz_preloaded_choose(&preloaded));
    assert_null(rz_preloaded_make(&preloaded));
    return 0;
}

/* The folder is gone, and nothing else is left. */
static int close_it(void **state)
{
    (void)state;
    rz_preloaded_close(&preloaded);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(mkdir(parent, 0700), 0);
    return 0;
}

static const char *preload(const char *name, uint32_t mode, const void *content, size_t bytes)
{
    const char *why = rz_preloaded_begin(&preloaded, name, mode, bytes);
    for (size_t at = 0; !why && at < bytes; at += 1000) {
        why = rz_preloaded_part(&preloaded, (const uint8_t *)content + at,
                                bytes - at < 1000 ? bytes - at : 1000);
    }
    return why ? why : rz_preloaded_end(&preloaded, XXH3_64bits(content, bytes));
}

static void has(const char *text, const char *part)
{
    if (!text || !strstr(text, part)) {
        fail_msg("\"%s\" is not in: %s", part, text ? text : "nothing");
    }
}

static void files_come_whole(void **state)
{
    static uint8_t content[BIG], read_back[BIG];
    char path[400];
    struct stat facts;
    (void)state;
    for (size_t i = 0; i < BIG; i++) {
        content[i] = (uint8_t)(i * 7 + i / 255);
    }
    assert_null(preload("big", 04640, content, BIG));
    assert_null(preload("empty", 0444, "", 0));
    snprintf(path, sizeof(path), "%s/big", preloaded.folder);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fread(read_back, 1, BIG, in), BIG);
    fclose(in);
    assert_memory_equal(content, read_back, BIG);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(preloaded.bytes, BIG);
    assert_int_equal(stat(preloaded.folder, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    assert_memory_equal(preloaded.folder, parent, sizeof(parent) - 1);
}

static void programs_are_found_by_their_names(void **state)
{
    char path[400];
    (void)state;
    assert_null(preload("program", 0755, "#!/bin/sh\n", 10));
    assert_null(preload("data", 0644, "1", 1));
    snprintf(path, sizeof(path), "%s/program", preloaded.folder);
    assert_string_equal(rz_preloaded_program(&preloaded, "program"), path);
    assert_string_equal(rz_preloaded_program(&preloaded, "/elsewhere/program"), path);
    assert_null(rz_preloaded_program(&preloaded, "program/other"));
    assert_null(rz_preloaded_program(&preloaded, "data"));
    assert_null(rz_preloaded_begin(&preloaded, "late", 0755, 1));
    assert_null(rz_preloaded_program(&preloaded, "late")); /* it is not whole yet */
}

static void what_is_not_whole_is_refused(void **state)
{
    (void)state;
    assert_null(rz_preloaded_begin(&preloaded, "a", 0644, 3));
    assert_null(rz_preloaded_part(&preloaded, "12", 2));
    has(rz_preloaded_end(&preloaded, XXH3_64bits("12", 2)), "a is not what was sent");
    assert_null(rz_preloaded_begin(&preloaded, "b", 0644, 3));
    assert_null(rz_preloaded_part(&preloaded, "123", 3));
    has(rz_preloaded_end(&preloaded, XXH3_64bits("124", 3)), "b is not what was sent");
    assert_null(rz_preloaded_begin(&preloaded, "c", 0644, 3));
    has(rz_preloaded_part(&preloaded, "1234", 4), "more of a file");
    has(rz_preloaded_begin(&preloaded, "d", 0644, 0), "not expected");
}

static void orders_that_make_no_sense_are_refused(void **state)
{
    static const char *const names[] = {"", ".", "..", "a/b", "/a", "../a"};
    struct rz_preloaded none;
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        has(rz_preloaded_begin(&preloaded, names[i], 0644, 1), "not expected");
    }
    has(rz_preloaded_part(&preloaded, "1", 1), "more of a file");
    has(rz_preloaded_end(&preloaded, 0), "not begun");
    assert_null(preload("twice", 0644, "1", 1));
    has(rz_preloaded_begin(&preloaded, "twice", 0644, 1), "twice (1 bytes) cannot be written");
    rz_preloaded_open(&none);
    has(rz_preloaded_begin(&none, "a", 0644, 1), "not expected");
    rz_preloaded_close(&none);
}

/* A bound of the size of files takes the place of a full disk. */
static void a_disk_that_takes_no_more(void **state)
{
    static const uint8_t content[BIG];
    struct rlimit before, small;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = BIG / 2, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const char *why = preload("big", 0644, content, BIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    has(why, "big (300000 bytes) cannot be written in ");
    has(why, "free some space, or set TMPDIR there");
}

static void a_folder_that_cannot_be_made(void **state)
{
    struct rz_preloaded other;
    char text[300];
    (void)state;
    rz_preloaded_open(&other);
    snprintf(text, sizeof(text), "%s/none", parent);
    setenv("TMPDIR", text, 1);
    assert_null(rz_preloaded_choose(&other));
    has(rz_preloaded_make(&other), "no folder can be made in ");
    rz_preloaded_close(&other);
    memset(text, 'x', sizeof(text) - 1);
    text[0] = '/';
    text[sizeof(text) - 1] = 0;
    setenv("TMPDIR", text, 1);
    has(rz_preloaded_choose(&other), "too long");
    rz_preloaded_close(&other);
    setenv("TMPDIR", parent, 1);
}

static void programs_of_another_machine_are_refused(void **state)
{
    uint8_t head[64];
    FILE *own = fopen("/proc/self/exe", "r");
    (void)state;
    assert_non_null(own);
    assert_int_equal(fread(head, 1, sizeof(head), own), sizeof(head));
    fclose(own);
    assert_null(preload("here", 0755, head, sizeof(head)));
    head[EI_NIDENT + 2] ^= 0xff;
    assert_null(preload("data", 0644, head, sizeof(head)));
    has(preload("elsewhere", 0755, head, sizeof(head)), "elsewhere is for another kind of machine");
}

/* A daemon that is killed leaves its folder, and the next one removes it, but not this one's. */
static void what_was_left_over_is_removed(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        rz_preloaded_open(&preloaded);
        _exit(rz_preloaded_choose(&preloaded) || rz_preloaded_make(&preloaded) ||
              preload("a", 0444, "1", 1));
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_null(preload("b", 0444, "2", 1));
    rz_preloaded_sweep();
    struct stat facts;
    unsigned n = 0;
    DIR *all = opendir(parent);
    assert_non_null(all);
    for (const struct dirent *entry; (entry = readdir(all));) {
        n += entry->d_name[0] != '.';
    }
    closedir(all);
    assert_int_equal(n, 1);
    assert_int_equal(stat(preloaded.folder, &facts), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_it, close_it)
    const struct CMUnitTest tests[] = {TEST(files_come_whole),
                                       TEST(programs_are_found_by_their_names),
                                       TEST(what_is_not_whole_is_refused),
                                       TEST(orders_that_make_no_sense_are_refused),
                                       TEST(a_disk_that_takes_no_more),
                                       TEST(a_folder_that_cannot_be_made),
                                       TEST(programs_of_another_machine_are_refused),
                                       TEST(what_was_left_over_is_removed)};
    if (!mkdtemp(parent)) {
        return 1;
    }
    setenv("TMPDIR", parent, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(parent) == 0 ? failed : 1;
}
