/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole or not at all: the old file stays until the new one is complete, nothing
 * else is in the folder meanwhile, and what is no regular file is written in place. */
#include "port/outfile.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/outfile-test-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

static void has(const char *wanted)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    assert_int_equal(n, strlen(wanted));
    assert_string_equal(text, wanted);
}

static int entries(void)
{
    int n = 0;
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    while (readdir(stream)) {
        n++;
    }
    closedir(stream);
    return n - 2;
}

static void a_file_is_replaced_at_its_end(void **state)
{
    struct rz_outfile out;
    const char *why = NULL;
    (void)state;
    put("old");
    assert_true(rz_outfile_open(&out, path, &why));
    fputs("new and longer", out.file);
    fflush(out.file);
    has("old");
    assert_true(rz_outfile_close(&out, true, &why));
    has("new and longer");
    assert_int_equal(entries(), 1);
}

static void what_is_not_good_leaves_nothing(void **state)
{
    struct rz_outfile out;
    const char *why = NULL;
    (void)state;
    put("old");
    assert_true(rz_outfile_open(&out, path, &why));
    fputs("half", out.file);
    assert_false(rz_outfile_close(&out, false, &why));
    has("old");
    assert_int_equal(entries(), 1);
}

static void a_full_device_is_told(void **state)
{
    struct rz_outfile out;
    const char *why = NULL;
    struct stat facts;
    (void)state;
    assert_true(rz_outfile_open(&out, "/dev/full", &why));
    fputs("text", out.file);
    assert_false(rz_outfile_close(&out, true, &why));
    assert_string_equal(why, "cannot write '/dev/full': No space left on device");
    assert_int_equal(stat("/dev/full", &facts), 0);
    assert_true(S_ISCHR(facts.st_mode));
}

static void a_link_is_followed_and_stays(void **state)
{
    struct rz_outfile out;
    const char *why = NULL;
    char name[80];
    struct stat facts;
    (void)state;
    put("old");
    snprintf(name, sizeof(name), "%s/link", folder);
    assert_int_equal(symlink("file", name), 0);
    assert_true(rz_outfile_open(&out, name, &why));
    fputs("new", out.file);
    assert_true(rz_outfile_close(&out, true, &why));
    has("new");
    assert_int_equal(lstat(name, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    unlink(name);
}

static void a_folder_that_is_not_there_is_told(void **state)
{
    struct rz_outfile out;
    const char *why = NULL;
    char name[80], wanted[160];
    (void)state;
    snprintf(name, sizeof(name), "%s/none/file", folder);
    snprintf(wanted, sizeof(wanted), "cannot write '%s': No such file or directory", name);
    assert_false(rz_outfile_open(&out, name, &why));
    assert_string_equal(why, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_at_its_end),
        cmocka_unit_test(what_is_not_good_leaves_nothing),
        cmocka_unit_test(a_full_device_is_told),
        cmocka_unit_test(a_link_is_followed_and_stays),
        cmocka_unit_test(a_folder_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
