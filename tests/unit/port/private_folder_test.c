/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders of one process: a sweeper removes what was left over, and never a folder that is held,
 * also while it is being made, nor one that others gave the name. Where others could exchange a
 * folder, none is made, and none is swept. */
#include "../../patience.h"
#include "port/private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MADE 300

static char parent[] = "/tmp/private-folder-XXXXXX";
static struct rz_own_why why;

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", parent, name);
    return path;
}

/* One that is being made may have gone meanwhile. */
static void try_to_remove(const char *path)
{
    char mark[160];
    snprintf(mark, sizeof(mark), "%s/" RZ_PRIVATE_FOLDER_MARK, path);
    (void)unlink(mark);
    (void)rmdir(path);
}

static void remove_it(const char *path)
{
    struct stat facts;
    try_to_remove(path);
    assert_int_not_equal(lstat(path, &facts), 0);
}

static void sweep(void)
{
    rz_private_folder_sweep(parent, "mine-", 4, remove_it);
}

static bool exists(const char *name)
{
    struct stat facts;
    return lstat(path_of(name), &facts) == 0;
}

static void a_folder_is_kept_while_it_is_held(void **state)
{
    struct stat facts;
    int held;
    (void)state;
    assert_int_equal(rz_private_folder_make(path_of("mine-00ff"), &held, &why), RZ_OK);
    assert_int_equal(stat(path_of("mine-00ff"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    sweep();
    assert_true(exists("mine-00ff"));
    close(held);
    sweep();
    assert_false(exists("mine-00ff"));
}

static void a_holder_that_is_killed_holds_nothing(void **state)
{
    int held, ready[2];
    char byte;
    (void)state;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (rz_private_folder_make(path_of("mine-0001"), &held, &why) != RZ_OK ||
            write(ready[1], "", 1) != 1) {
            _exit(1);
        }
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    sweep();
    assert_true(exists("mine-0001"));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sweep();
    assert_false(exists("mine-0001"));
}

static void only_folders_of_this_name_are_swept(void **state)
{
    static const char *const others[] = {"mine-000", "mine-00000", "mine-000G", "mine-",
                                         "other-0000"};
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_int_equal(mkdir(path_of(others[i]), 0700), 0);
    }
    assert_int_equal(mkdir(path_of("mine-0002"), 0700), 0);
    assert_int_equal(symlink("mine-", path_of("mine-0003")), 0);
    close(open(path_of("mine-0004"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    sweep();
    assert_false(exists("mine-0002"));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_int_equal(rmdir(path_of(others[i])), 0);
    }
    assert_int_equal(unlink(path_of("mine-0003")), 0);
    assert_int_equal(unlink(path_of("mine-0004")), 0);
    rz_private_folder_sweep("/nowhere", "mine-", 4, remove_it);
}

/* What another user has moved to such a name, in a directory of a group or in one that was open to
 * all for a time. */
static void a_folder_without_the_mark_is_not_swept(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("mine-0007"), 0700), 0);
    assert_int_equal(mkdir(path_of("mine-0007/work"), 0700), 0);
    sweep();
    assert_true(exists("mine-0007/work"));
    assert_int_equal(symlink("work", path_of("mine-0007/" RZ_PRIVATE_FOLDER_MARK)), 0);
    sweep();
    assert_true(exists("mine-0007/work"));
    assert_int_equal(unlink(path_of("mine-0007/" RZ_PRIVATE_FOLDER_MARK)), 0);
    assert_int_equal(rmdir(path_of("mine-0007/work")), 0);
    assert_int_equal(rmdir(path_of("mine-0007")), 0);
}

static void where_others_could_exchange_it(void **state)
{
    int held = -1;
    (void)state;
    assert_int_equal(rz_private_folder_make(path_of("mine-0008"), &held, &why), RZ_OK);
    close(held); /* it was left over */
    held = -1;
    assert_int_equal(chmod(parent, 0777), 0);
    assert_int_equal(rz_private_folder_make(path_of("mine-0009"), &held, &why), RZ_ERR_INVALID);
    assert_non_null(strstr(why.text, "everyone may write to"));
    assert_non_null(strstr(why.text, parent));
    assert_int_equal(held, -1);
    assert_false(exists("mine-0009"));
    sweep();
    assert_true(exists("mine-0008"));
    assert_int_equal(chmod(parent, 01777), 0);
    assert_int_equal(rz_private_folder_make(path_of("mine-0009"), &held, &why), RZ_OK);
    remove_it(path_of("mine-0009"));
    close(held);
    sweep();
    assert_false(exists("mine-0008"));
    assert_int_equal(chmod(parent, 0700), 0);
}

static void a_name_that_is_taken_is_refused(void **state)
{
    int held;
    (void)state;
    assert_int_equal(rz_private_folder_make("/nowhere/mine-0000", &held, &why), RZ_ERR_SYSTEM);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(mkdir(path_of("mine-0005"), 0700), 0);
    assert_int_equal(rz_private_folder_make(path_of("mine-0005"), &held, &why), RZ_ERR_SYSTEM);
    assert_int_equal(rmdir(path_of("mine-0005")), 0);
}

static void files_are_created_once(void **state)
{
    int held, fd;
    (void)state;
    assert_int_equal(rz_private_folder_make(path_of("mine-0006"), &held, &why), RZ_OK);
    assert_int_equal(rz_private_folder_create(held, "file", &fd), RZ_OK);
    close(fd);
    assert_int_equal(rz_private_folder_create(held, "file", &fd), RZ_ERR_SYSTEM);
    assert_int_equal(unlink(path_of("mine-0006/file")), 0);
    remove_it(path_of("mine-0006"));
    close(held);
}

/* A sweeper may meet a folder between its making and its lock. */
static void folders_are_made_beside_a_sweeper(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        for (;;) {
            rz_private_folder_sweep(parent, "mine-", 4, try_to_remove);
        }
    }
    for (unsigned i = 0; i < MADE; i++) {
        char name[16], path[128];
        int held;
        snprintf(name, sizeof(name), "mine-%04x", i);
        snprintf(path, sizeof(path), "%s", path_of(name));
        assert_int_equal(rz_private_folder_make(path, &held, &why), RZ_OK);
        assert_true(exists(name));
        remove_it(path);
        close(held);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_kept_while_it_is_held),
        cmocka_unit_test(a_holder_that_is_killed_holds_nothing),
        cmocka_unit_test(only_folders_of_this_name_are_swept),
        cmocka_unit_test(a_folder_without_the_mark_is_not_swept),
        cmocka_unit_test(where_others_could_exchange_it),
        cmocka_unit_test(a_name_that_is_taken_is_refused),
        cmocka_unit_test(files_are_created_once),
        cmocka_unit_test(folders_are_made_beside_a_sweeper),
    };
    if (!mkdtemp(parent)) {
        return 1;
    }
    alarm(TEST_HANG_S);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(parent) == 0 ? failed : 1;
}
