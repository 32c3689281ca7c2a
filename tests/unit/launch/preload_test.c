/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files --preload brings: programs, the libraries that are not the system's, named files; two
 * of one name are refused, and a file that changes is noticed. */
#include "launch/preload.h"

#include "outcome/exit_codes.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LIBRARY "libpreload_test_library.so"

static char folder[] = "/tmp/launch-preload-XXXXXX";

/* A path in the folder, one of several that are in use at a time. */
static const char *in(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *content, unsigned mode)
{
    FILE *out = fopen(in(name), "w");
    assert_non_null(out);
    fputs(content, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(in(name), mode), 0);
}

/* One program, no more than two named files. */
static int collect(struct rz_preload *preload, const char *program, const char *own,
                   const char *file_1, const char *file_2)
{
    char *words[] = {(char *)program, NULL};
    const struct rz_context context = {.program = words};
    *preload = (struct rz_preload){.programs = program != NULL};
    if (file_1) {
        rz_texts_add(&preload->names, file_1);
    }
    if (file_2) {
        rz_texts_add(&preload->names, file_2);
    }
    return rz_preload_collect(preload, &context, 1, own);
}

static void a_program_comes_with_its_own_libraries(void **state)
{
    struct rz_preload preload;
    struct stat facts;
    (void)state;
    assert_int_equal(collect(&preload, TEST_PROGRAM, NULL, NULL, NULL), 0);
    assert_int_equal(preload.n, 2);
    assert_string_equal(preload.files[0].path, TEST_PROGRAM);
    assert_string_equal(preload.files[0].name, "preload_test_program");
    assert_int_equal(preload.files[0].mode & 0111, 0111);
    assert_string_equal(preload.files[1].name, LIBRARY);
    assert_int_equal(stat(TEST_LIBRARY, &facts), 0);
    assert_int_equal(preload.files[1].bytes, facts.st_size);
    assert_int_equal(rz_preload_bytes(&preload), preload.files[0].bytes + facts.st_size);
    rz_preload_close(&preload);
}

static void libraries_that_all_hosts_have_stay(void **state)
{
    struct rz_preload preload;
    char own[sizeof(TEST_LIBRARY)] = TEST_LIBRARY;
    (void)state;
    *strrchr(own, '/') = 0;
    char *real = realpath(own, NULL);
    assert_non_null(real);
    assert_int_equal(collect(&preload, TEST_PROGRAM, real, NULL, NULL), 0);
    assert_int_equal(preload.n, 1);
    rz_preload_close(&preload);
    free(real);
}

static void a_library_is_found_as_the_ranks_find_it(void **state)
{
    struct rz_preload preload;
    char text[256];
    (void)state;
    assert_int_equal(symlink(TEST_LIBRARY, in(LIBRARY)), 0);
    snprintf(text, sizeof(text), "LD_LIBRARY_PATH=%s", folder);
    char *words[] = {(char *)TEST_PROGRAM, NULL};
    struct rz_context context = {.program = words};
    rz_texts_add(&context.environment, text);
    preload = (struct rz_preload){.programs = true};
    assert_int_equal(rz_preload_collect(&preload, &context, 1, NULL), 0);
    assert_int_equal(preload.n, 2);
    assert_string_equal(preload.files[1].path, in(LIBRARY));
    rz_preload_close(&preload);
    rz_texts_clear(&context.environment);
    assert_int_equal(unlink(in(LIBRARY)), 0);
}

static void scripts_and_data_come_alone(void **state)
{
    struct rz_preload preload;
    char read_back[4] = "";
    (void)state;
    put("script", "#!/bin/sh\n", 0755);
    put("data", "1234", 0640);
    assert_int_equal(collect(&preload, in("script"), NULL, in("data"), in("script")), 0);
    assert_int_equal(preload.n, 2);
    assert_int_equal(preload.files[1].mode, 0640);
    assert_true(rz_preload_read(&preload.files[1], 1, read_back, 3));
    assert_string_equal(read_back, "234");
    assert_false(rz_preload_read(&preload.files[1], 1, read_back, 4));
    rz_preload_close(&preload);
    assert_int_equal(collect(&preload, NULL, NULL, in("data"), NULL), 0);
    assert_int_equal(preload.n, 1);
    rz_preload_close(&preload);
    assert_int_equal(unlink(in("script")), 0);
    assert_int_equal(unlink(in("data")), 0);
}

static void two_files_of_one_name(void **state)
{
    struct rz_preload preload;
    (void)state;
    assert_int_equal(mkdir(in("a"), 0700), 0);
    assert_int_equal(mkdir(in("b"), 0700), 0);
    put("a/x", "1", 0644);
    put("b/x", "2", 0644);
    assert_int_equal(collect(&preload, NULL, NULL, in("a/x"), in("b/x")), RZ_EXIT_BAD_LINE);
    rz_preload_close(&preload);
    put("b/x", "1", 0644);
    assert_int_equal(collect(&preload, NULL, NULL, in("a/x"), in("b/x")), 0);
    assert_int_equal(preload.n, 1);
    rz_preload_close(&preload);
    unlink(in("a/x"));
    unlink(in("b/x"));
    assert_int_equal(rmdir(in("a")), 0);
    assert_int_equal(rmdir(in("b")), 0);
}

static void what_is_no_file(void **state)
{
    struct rz_preload preload;
    (void)state;
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    const char *const names[] = {in("none"), in("none/none"), folder, in("pipe"), ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_int_equal(collect(&preload, NULL, NULL, names[i], NULL), RZ_EXIT_BAD_LINE);
        rz_preload_close(&preload);
    }
    assert_int_equal(unlink(in("pipe")), 0);
}

static void a_file_that_changes(void **state)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct rz_preload preload;
    char byte;
    (void)state;
    put("data", "1234", 0644);
    assert_int_equal(collect(&preload, NULL, NULL, in("data"), NULL), 0);
    assert_true(rz_preload_unchanged(&preload.files[0]));
    put("new", "5678", 0644);
    assert_int_equal(rename(in("new"), in("data")), 0); /* the open one stays as it was */
    assert_true(rz_preload_unchanged(&preload.files[0]));
    assert_true(rz_preload_read(&preload.files[0], 0, &byte, 1));
    assert_int_equal(byte, '1');
    rz_preload_close(&preload);
    assert_int_equal(collect(&preload, NULL, NULL, in("data"), NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, in("data"), times, 0), 0);
    assert_false(rz_preload_unchanged(&preload.files[0]));
    rz_preload_close(&preload);
    assert_int_equal(collect(&preload, NULL, NULL, in("data"), NULL), 0);
    assert_int_equal(truncate(in("data"), 0), 0);
    assert_false(rz_preload_unchanged(&preload.files[0]));
    assert_false(rz_preload_read(&preload.files[0], 0, &byte, 1));
    rz_preload_close(&preload);
    assert_int_equal(unlink(in("data")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_comes_with_its_own_libraries),
        cmocka_unit_test(libraries_that_all_hosts_have_stay),
        cmocka_unit_test(a_library_is_found_as_the_ranks_find_it),
        cmocka_unit_test(scripts_and_data_come_alone),
        cmocka_unit_test(two_files_of_one_name),
        cmocka_unit_test(what_is_no_file),
        cmocka_unit_test(a_file_that_changes),
    };
    unsetenv("LD_LIBRARY_PATH");
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) == 0 ? failed : 1;
}
