/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is cut to its mark, and no other file is. */
#include "port/file_mark.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/file_mark.XXXXXX", path[64], other[64];

static void append(const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct rz_file_mark mark_now(char name[RZ_FILE_PATH_BYTES])
{
    struct rz_file_mark mark;
    int fd = open(path, O_RDONLY);
    assert_true(rz_file_mark_take(fd, &mark, name));
    close(fd);
    return mark;
}

static long length(void)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void what_was_appended_is_cut(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("before");
    struct rz_file_mark mark = mark_now(name);
    assert_string_equal(mark.path, path);
    assert_int_equal(mark.bytes, 6);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    append("after");
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_CUT);
    assert_int_equal(length(), 11);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), 6);
    assert_int_equal(truncate(path, 3), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_int_equal(length(), 3);
    unlink(path);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
}

static void what_was_created_is_removed(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("");
    struct rz_file_mark mark = mark_now(name);
    mark.flags |= RZ_FILE_CREATED;
    append("text");
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), -1);
}

/* Also if it is longer again. */
static void what_was_emptied_is_lost(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("");
    struct rz_file_mark mark = mark_now(name);
    mark.flags |= RZ_FILE_EMPTIED;
    append("text");
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_LOST);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_LOST);
    assert_int_equal(length(), 4);
    unlink(path);
}

/* Another one is made while the first one is there, so that it has another inode. */
static void another_file_is_left_alone(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("one");
    struct rz_file_mark mark = mark_now(name);
    assert_int_equal(rename(path, other), 0);
    append("another");
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_ANOTHER);
    mark.flags |= RZ_FILE_CREATED; /* then there was no file of that name */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    mark.flags = RZ_FILE_LOCAL;
    mark.host++; /* another host has a file of that name */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    mark.flags = 0; /* a file system that both reach */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_ANOTHER);
    assert_int_equal(length(), 7);
    unlink(path);
    unlink(other);
}

static void of_several_hosts_the_device_has_another_number(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("one");
    struct rz_file_mark mark = mark_now(name);
    append("two");
    mark.device++;
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_ANOTHER);
    mark.host++, mark.flags = 0;
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), 3);
    unlink(path);
}

static void what_was_created_and_is_gone_needs_nothing(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    (void)state;
    append("one");
    struct rz_file_mark mark = mark_now(name);
    uint64_t host = rz_file_mark_host();
    mark.flags |= RZ_FILE_LOCAL;
    unlink(path);
    assert_false(rz_file_mark_is_gone(&mark, host)); /* it was there before */
    append("two");
    mark = mark_now(name);
    mark.flags |= RZ_FILE_CREATED | RZ_FILE_LOCAL;
    assert_false(rz_file_mark_is_gone(&mark, host));
    unlink(path);
    assert_int_equal(rz_file_mark_is_gone(&mark, host), mark.made_ns != 0);
    assert_false(rz_file_mark_is_gone(&mark, host + 1));
    append("three"); /* another one, perhaps with the same inode */
    assert_int_equal(rz_file_mark_is_gone(&mark, host), mark.made_ns != 0);
    mark.flags &= ~(uint32_t)RZ_FILE_LOCAL;
    assert_false(rz_file_mark_is_gone(&mark, host));
    unlink(path);
}

/* Only as its maker leaves it that ends before it knows the descriptor. */
static void what_was_wanted_is_removed_if_it_is_new(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    struct rz_file_mark mark;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = 0}};
    (void)state;
    int home = open(folder, O_RDONLY | O_DIRECTORY);
    assert_true(rz_file_mark_want(home, "file", &mark, name));
    assert_string_equal(mark.path, path);
    assert_true(rz_file_mark_want(home, "./file", &mark, name));
    assert_string_equal(mark.path, path);
    assert_true(rz_file_mark_want(AT_FDCWD, path, &mark, name));
    assert_string_equal(mark.path, path);
    close(home);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED); /* it was not made */
    append("");
    assert_int_equal(rz_file_mark_restore(&mark, false), RZ_FILE_CUT);
    assert_int_equal(length(), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_CUT);
    assert_int_equal(length(), -1);
    append("text"); /* somebody has written to it */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_int_equal(truncate(path, 0), 0);
    times[1].tv_sec = (time_t)(mark.made_ns / 1000000000) - 3600; /* it was there before */
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    times[1].tv_sec += 7200; /* or came later */
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    unlink(path);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    unlink(path);
    append("");
    mark.flags |= RZ_FILE_LOCAL;
    mark.host++; /* another host has a file of that name */
    assert_int_equal(rz_file_mark_restore(&mark, true), RZ_FILE_AS_MARKED);
    assert_true(rz_file_mark_is_gone(&mark, rz_file_mark_host()));
    unlink(path);
}

static void what_cannot_be_made_is_not_wanted(void **state)
{
    char name[RZ_FILE_PATH_BYTES], longest[RZ_FILE_PATH_BYTES + 2];
    struct rz_file_mark mark;
    (void)state;
    assert_false(rz_file_mark_want(AT_FDCWD, "/no/such/folder/file", &mark, name));
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    assert_false(rz_file_mark_want(AT_FDCWD, longest, &mark, name));
    longest[RZ_FILE_PATH_BYTES - 1] = '\0'; /* the longest that fits */
    assert_true(rz_file_mark_want(AT_FDCWD, longest, &mark, name));
    assert_string_equal(name, longest);
}

static void what_has_no_end_has_no_mark(void **state)
{
    char name[RZ_FILE_PATH_BYTES];
    struct rz_file_mark mark;
    int ends[2], null = open("/dev/null", O_WRONLY), status = open("/proc/self/comm", O_WRONLY);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_false(rz_file_mark_take(ends[1], &mark, name));
    assert_false(rz_file_mark_take(null, &mark, name));
    assert_false(rz_file_mark_take(status, &mark, name));
    append("");
    int removed = open(path, O_WRONLY);
    unlink(path);
    assert_false(rz_file_mark_take(removed, &mark, name));
    close(ends[0]), close(ends[1]), close(null), close(status), close(removed);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/file", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_appended_is_cut),
        cmocka_unit_test(what_was_created_is_removed),
        cmocka_unit_test(what_was_emptied_is_lost),
        cmocka_unit_test(another_file_is_left_alone),
        cmocka_unit_test(of_several_hosts_the_device_has_another_number),
        cmocka_unit_test(what_was_created_and_is_gone_needs_nothing),
        cmocka_unit_test(what_was_wanted_is_removed_if_it_is_new),
        cmocka_unit_test(what_cannot_be_made_is_not_wanted),
        cmocka_unit_test(what_has_no_end_has_no_mark),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
