/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files have what was written in a time that was rolled back; and what was in small ones at
 * the snapshot comes back. */
#include "mpi/rewind/state_files.h"
#include "mpi/rewind/undone_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static struct stat file_of(ino_t inode, uint64_t written_ns)
{
    return (struct stat){.st_ino = inode,
                         .st_dev = 7,
                         .st_mtim = {(time_t)(written_ns / S), (long)(written_ns % S)}};
}

static bool has(uint64_t written_ns)
{
    struct stat st = file_of(1, written_ns);
    return rz_undone_has(&st);
}

static void a_time_has_a_begin_and_an_end(void **state)
{
    (void)state;
    assert_false(has(100 * S + 5));
    rz_undone_add(100 * S + 4, 102 * S + 9, false);
    assert_false(has(100 * S + 4));
    assert_true(has(100 * S + 5));
    assert_true(has(102 * S + 8));
    assert_false(has(102 * S + 9));
    assert_true(has(100 * S)); /* whole seconds: it may have been later */
    assert_false(has(99 * S));
    assert_true(rz_undone_made(101 * S + 1));
    assert_false(rz_undone_made(0));
}

/* Beyond the bound nothing is taken for right that is not. */
static void many_times(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        rz_undone_add((200 + 2 * i) * S + 1, (201 + 2 * i) * S, false);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        assert_true(has((200 + 2 * i) * S + S / 2 + 1));
    }
    assert_true(has(100 * S + 5));
    assert_false(has(201 * S + S / 2)); /* between the first ones */
    assert_false(has(5000 * S + 1));
}

static void files_that_are_open(void **state)
{
    struct stat one = file_of(1, 0), two = file_of(2, 0);
    (void)state;
    assert_false(atomic_load(&rz_undone_any_open));
    rz_undone_open(&one);
    rz_undone_open(&one);
    assert_true(rz_undone_is_open(&one) && !rz_undone_is_open(&two));
    rz_undone_emptied(&two);
    assert_true(atomic_load(&rz_undone_any_open));
    rz_undone_emptied(&one);
    assert_false(atomic_load(&rz_undone_any_open) || rz_undone_is_open(&one));
    one.st_size = 100;
    rz_undone_open(&one);
    rz_undone_written(&one, 50, 100);
    rz_undone_written(&one, 0, 99);
    assert_true(rz_undone_is_open(&one));
    rz_undone_written(&one, 99, 110); /* all that it had is written anew */
    assert_false(rz_undone_is_open(&one));
}

/* One that has no place counts by its time. */
static void more_files_are_open(void **state)
{
    (void)state;
    for (ino_t i = 10; i < 2000; i++) {
        struct stat more = file_of(i, 0);
        rz_undone_open(&more);
    }
    struct stat late = file_of(1999, 101 * S + 1), written_again = file_of(1999, 103 * S + 1);
    assert_true(rz_undone_is_open(&late) && !rz_undone_is_open(&written_again));
}

static void streams_that_are_open(void **state)
{
    struct stat st, other = file_of(1, 0);
    (void)state;
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    rz_undone_stream(fd, &st);
    assert_true(rz_undone_is_stream(fd, &st));
    st.st_dev++; /* of another host */
    assert_true(rz_undone_is_stream(fd, &st));
    assert_false(rz_undone_is_stream(fd, &other) || rz_undone_is_stream(fd + 1, &st));
    rz_undone_forget_streams();
    assert_true(rz_undone_is_stream(fd, &st));
    close(fd);
    rz_undone_forget_streams();
    assert_false(rz_undone_is_stream(fd, &st));
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_has(const char *path, const char *want)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, file), strlen(want));
    fclose(file);
    assert_string_equal(text, want);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

static void small_files_come_back(void **state)
{
    static const char *const names[] = {"changed", "as-it-was", "gone", "longer"};
    char folder[] = "/tmp/undone.XXXXXX", path[4][64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 4; i++) {
        const struct timespec old[2] = {{.tv_sec = 1000 + i, .tv_nsec = 5},
                                        {.tv_sec = 1000 + i, .tv_nsec = 5}};
        snprintf(path[i], sizeof(path[i]), "%s/%s", folder, names[i]);
        put(path[i], names[i]);
        assert_int_equal(utimensat(AT_FDCWD, path[i], old, 0), 0);
        rz_state_files_note(path[i]);
        rz_state_files_note(path[i]);
    }
    rz_state_files_keep();
    put(path[0], "another");
    put(path[3], "longer than it was");
    assert_int_equal(unlink(path[2]), 0);
    rz_state_files_restore(now_ns() | 1);
    for (int i = 0; i < 4; i++) {
        struct stat st;
        assert_has(path[i], names[i]);
        assert_int_equal(stat(path[i], &st), 0);
        assert_int_equal(st.st_mtim.tv_sec, 1000 + i);
        unlink(path[i]);
    }
    rmdir(folder);
}

/* Of which file a name was when the process was saved. */
static void names_of_files(void **state)
{
    char folder[] = "/tmp/undone.XXXXXX", path[64], none[64], name[64];
    struct stat st;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a", folder);
    snprintf(none, sizeof(none), "%s/none", folder);
    assert_false(rz_undone_was_of_another(path, 1, 2)); /* nothing is known */
    rz_undone_name(path, 1, 2);
    assert_false(rz_undone_was_of_another(path, 1, 2) || rz_undone_was_of_another(path, 1, 0));
    assert_true(rz_undone_was_of_another(path, 1, 3) && rz_undone_was_of_another(path, 4, 2));
    put(path, "a");
    rz_undone_name(none, 5, 6);
    rz_undone_look_at_names();
    assert_int_equal(stat(path, &st), 0);
    assert_false(rz_undone_was_of_another(path, st.st_ino, 0));
    assert_true(rz_undone_was_of_another(path, st.st_ino + 1, 0));
    assert_true(rz_undone_was_of_another(none, 5, 6)); /* it is gone */
    for (int i = 0; i < RZ_UNDONE_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "%s/%d", folder, i);
        rz_undone_name(name, 7, 8);
    }
    assert_false(rz_undone_was_of_another(name, 9, 10)); /* there was no place */
    assert_true(rz_undone_was_of_another(path, 9, 10));
    unlink(path);
    rmdir(folder);
}

static bool wrong(const char *path, uint64_t inode, uint64_t renamed_s, enum rz_undone_use use)
{
    struct rz_file_mark mark = {.path = path, .inode = inode, .made_ns = 5 * S + 1};
    struct stat st = file_of(inode, 6 * S + 1);
    st.st_size = RZ_FILE_CONTENT_MAX + 1;
    st.st_ctim = (struct timespec){(time_t)renamed_s, 1};
    return rz_undone_wrong_file(&mark, &st, use);
}

/* Within 101 s renames were undone, within 51 s they were not. */
static void files_with_names_of_others(void **state)
{
    static const enum rz_undone_use uses[] = {RZ_UNDONE_READ, RZ_UNDONE_OVERWRITTEN,
                                              RZ_UNDONE_RENAMED};
    char known[] = "/tmp/undone.XXXXXX";
    struct stat st;
    int fd = mkstemp(known);
    char calm[64] = "/tmp/undone.XXXXXX";
    const struct timespec long_ago[2] = {{.tv_sec = 40}, {.tv_sec = 40}};
    (void)state;
    assert_true(mkdtemp(calm) && utimensat(AT_FDCWD, calm, long_ago, 0) == 0);
    strcat(calm, "/f");
    assert_true(fd >= 0 && ftruncate(fd, RZ_FILE_CONTENT_MAX + 1) == 0 && fstat(fd, &st) == 0);
    rz_undone_add(50 * S, 52 * S, true);
    rz_undone_name(known, 1, 0);
    rz_undone_look_at_names();
    rz_undone_name(known, st.st_ino, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_true(wrong(known, st.st_ino + 1, 101, uses[i]));
        assert_true(wrong(known, st.st_ino + 1, 51, uses[i]));
        assert_false(wrong(known, st.st_ino, 51, uses[i]));
        assert_false(wrong(known, st.st_ino + 1, 103, uses[i]));
        assert_true(wrong("/unknown", 1, 51, uses[i])); /* its folder has changed since */
        assert_false(wrong("/unknown", 1, 101, uses[i]));
        assert_false(wrong(calm, 1, 51, uses[i])); /* nothing was renamed in its folder */
    }
    calm[strlen(calm) - 2] = '\0';
    assert_int_equal(rmdir(calm), 0);
    rz_undone_look_for_missing();
    assert_false(atomic_load(&rz_undone_any_missing) || rz_undone_is_missing(known));
    assert_true(unlink(known) == 0 && close(fd) == 0);
    rz_undone_look_for_missing();
    rz_undone_look_at_names(); /* the next image knows it, too */
    assert_true(atomic_load(&rz_undone_any_missing) && rz_undone_is_missing(known));
    rz_undone_found(known); /* another one is there */
    assert_false(rz_undone_is_missing(known) || rz_undone_is_missing("/unknown"));
}

/* What was written or made in such a time is written again. Its names are right at last, if those
 * of the old files are. */
static void files_of_such_a_time(void **state)
{
    struct rz_file_mark mark = {.path = "/made", .inode = 1, .made_ns = 51 * S + 1};
    struct stat st = file_of(1, 51 * S + 2);
    (void)state;
    st.st_size = RZ_FILE_CONTENT_MAX + 1;
    st.st_ctim = st.st_mtim;
    assert_false(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_READ) ||
                 rz_undone_wrong_file(&mark, &st, RZ_UNDONE_OVERWRITTEN));
    assert_true(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_RENAMED));
    rz_undone_name("/made", 2, 0);
    assert_true(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_RENAMED));
    mark.made_ns = 101 * S + 1;
    st.st_ctim.tv_sec = 101;
    assert_false(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_RENAMED));
    assert_true(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_READ));
    mark.made_ns = 5 * S + 1;
    assert_false(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_OVERWRITTEN));
    st.st_size = RZ_FILE_CONTENT_MAX;
    assert_false(rz_undone_wrong_file(&mark, &st, RZ_UNDONE_RENAMED));
}

/* One beyond the bound is left alone; those that are gone make room. */
static void more_files_than_are_kept(void **state)
{
    char folder[] = "/tmp/undone.XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    rz_state_files_keep(); /* those of other tests are gone */
    for (int i = 0; i <= RZ_STATE_FILES_MAX; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        put(path, "old");
        rz_state_files_note(path);
    }
    rz_state_files_keep();
    for (int i = 0; i <= RZ_STATE_FILES_MAX; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        put(path, "new");
    }
    rz_state_files_restore(now_ns() | 1);
    for (int i = 0; i <= RZ_STATE_FILES_MAX; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        assert_has(path, i == RZ_STATE_FILES_MAX ? "new" : "old");
        unlink(path);
    }
    rz_state_files_keep();
    snprintf(path, sizeof(path), "%s/again", folder);
    put(path, "again");
    rz_state_files_note(path);
    rz_state_files_keep();
    unlink(path);
    rz_state_files_restore(now_ns() | 1);
    assert_has(path, "again");
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_has_a_begin_and_an_end),
        cmocka_unit_test(files_that_are_open),
        cmocka_unit_test(more_files_are_open),
        cmocka_unit_test(streams_that_are_open),
        cmocka_unit_test(small_files_come_back),
        cmocka_unit_test(more_files_than_are_kept),
        cmocka_unit_test(files_with_names_of_others),
        cmocka_unit_test(files_of_such_a_time),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(many_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
