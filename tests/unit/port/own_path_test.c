/* SPDX-License-Identifier: BSD-3-Clause */
/* What is this user's alone, and what is not: owners, modes, links and `..` on the way, and folders
 * in which others could exchange what is ours. */
#include "port/own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_USER 54321

static char folder[] = "/tmp/own-path-XXXXXX";
static struct rz_own_why why;

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* Whatever the umask. */
static void make_folder(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(path_of(name), 0700), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static void make_file(const char *name, mode_t mode)
{
    int fd = open(path_of(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static rz_status_t walk(const char *path, bool ours)
{
    int fd = -1;
    why.text[0] = 0;
    rz_status_t status = rz_own_walk(path, ours, &fd, &why);
    assert_int_equal(status == RZ_OK, fd >= 0);
    assert_true(status == RZ_OK || why.text[0]);
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static int open_folder(void)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(at >= 0);
    return at;
}

static void modes_of_the_last_folder(void **state)
{
    (void)state;
    make_folder("own", 0700);
    make_folder("read", 0755);
    make_folder("group", 0770);
    make_folder("all", 01777);
    assert_int_equal(walk(path_of("own"), true), RZ_OK);
    assert_int_equal(walk(path_of("read"), true), RZ_OK);
    assert_int_equal(walk(path_of("group"), true), RZ_ERR_INVALID);
    assert_non_null(strstr(why.text, "others may write to"));
    assert_non_null(strstr(why.text, "0770"));
    assert_int_equal(walk(path_of("group"), false), RZ_OK); /* it is trusted: SECURITY.md */
    assert_int_equal(walk(path_of("all"), true), RZ_ERR_INVALID);
    assert_int_equal(walk(path_of("all"), false), RZ_OK); /* sticky: fit to hold what is ours */
    assert_int_equal(walk(path_of("none"), true), RZ_ERR_NOT_FOUND);
    assert_int_equal(walk(path_of("none/below"), false), RZ_ERR_NOT_FOUND);
}

static void a_part_of_the_way_that_others_can_write(void **state)
{
    (void)state;
    make_folder("open", 0777);
    make_folder("open/below", 0700);
    make_folder("sticky", 01777);
    make_folder("sticky/below", 0700);
    assert_int_equal(walk(path_of("open/below"), true), RZ_ERR_INVALID);
    assert_non_null(strstr(why.text, "everyone may write to"));
    assert_non_null(strstr(why.text, "/open and exchange"));
    assert_int_equal(walk(path_of("sticky/below"), true), RZ_OK);
    assert_int_equal(walk(path_of("open/../sticky/below"), true), RZ_ERR_INVALID);
    assert_int_equal(walk(path_of("sticky/../sticky/./below/"), true), RZ_OK);
    assert_int_equal(walk(path_of("sticky/below/../../open/below"), true), RZ_ERR_INVALID);
}

static void links_on_the_way(void **state)
{
    (void)state;
    make_folder("target", 0700);
    make_folder("wide", 0777);
    make_folder("wide/inner", 0700);
    assert_int_equal(symlink("target", path_of("link")), 0);
    assert_int_equal(symlink("/tmp/../tmp", path_of("absolute")), 0);
    assert_int_equal(symlink("wide/inner", path_of("through")), 0);
    assert_int_equal(symlink("round", path_of("round")), 0);
    make_file("file", 0600);
    assert_int_equal(walk(path_of("link"), true), RZ_OK);
    assert_int_equal(walk(path_of("absolute"), false), RZ_OK);
    assert_int_equal(walk(path_of("through"), true), RZ_ERR_INVALID); /* as the way itself */
    assert_int_not_equal(walk(path_of("round"), true), RZ_OK);
    assert_int_equal(walk(path_of("file"), true), RZ_ERR_NOT_FOUND);
    assert_int_equal(walk(path_of("file/below"), true), RZ_ERR_NOT_FOUND);
}

static void no_link_is_followed_below(void **state)
{
    int at = open_folder(), fd = -1;
    struct stat facts;
    (void)state;
    make_folder("real", 0700);
    make_file("victim", 0600);
    assert_int_equal(symlink("real", path_of("to-folder")), 0);
    assert_int_equal(symlink("victim", path_of("to-file")), 0);
    assert_int_equal(symlink("victim", path_of("to-create")), 0);
    assert_int_equal(rz_own_enter(at, path_of("to-folder"), true, &fd, &why), RZ_ERR_INVALID);
    assert_non_null(strstr(why.text, "symbolic link"));
    assert_int_equal(rz_own_open(at, path_of("to-file"), true, &fd, &why), RZ_ERR_INVALID);
    assert_int_equal(rz_own_open(at, path_of("to-file"), false, &fd, &why), RZ_ERR_INVALID);
    assert_int_equal(fd, -1);
    /* The link goes, and what it named stays as it was. */
    assert_int_equal(rz_own_create(at, path_of("to-create"), &fd, &why), RZ_OK);
    assert_int_equal(write(fd, "new", 3), 3);
    close(fd);
    assert_int_equal(lstat(path_of("to-create"), &facts), 0);
    assert_true(S_ISREG(facts.st_mode));
    assert_int_equal(facts.st_size, 3);
    assert_int_equal(stat(path_of("victim"), &facts), 0);
    assert_int_equal(facts.st_size, 0);
    close(at);
}

static void modes_of_what_is_made(void **state)
{
    static const mode_t masks[] = {0, 0077};
    int at = open_folder(), fd;
    struct stat facts;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        mode_t before = umask(masks[i]);
        char name[32];
        snprintf(name, sizeof(name), "made-%zu", i);
        assert_int_equal(rz_own_enter(at, path_of(name), true, &fd, &why), RZ_OK);
        assert_int_equal(fstat(fd, &facts), 0);
        assert_int_equal(facts.st_mode & 07777, 0700);
        close(fd);
        snprintf(name, sizeof(name), "created-%zu", i);
        assert_int_equal(rz_own_create(at, path_of(name), &fd, &why), RZ_OK);
        assert_int_equal(fstat(fd, &facts), 0);
        assert_int_equal(facts.st_mode & 07777, 0600);
        close(fd);
        umask(before);
    }
    assert_int_equal(rz_own_enter(at, path_of("absent"), false, &fd, &why), RZ_ERR_NOT_FOUND);
    assert_int_equal(rz_own_open(at, path_of("absent"), false, &fd, &why), RZ_ERR_NOT_FOUND);
    make_file("plain", 0600);
    assert_int_equal(rz_own_enter(at, path_of("plain"), true, &fd, &why), RZ_ERR_SYSTEM);
    make_file("shared", 0666);
    assert_int_equal(rz_own_open(at, path_of("shared"), false, &fd, &why), RZ_ERR_INVALID);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(rz_own_open(at, path_of("pipe"), false, &fd, &why), RZ_OK); /* at once */
    close(fd);
    close(at);
}

/* Only root can give a file away. */
static void what_belongs_to_others(void **state)
{
    int at = open_folder(), fd = -1;
    (void)state;
    make_folder("theirs", 0700);
    make_folder("theirs/ours", 0700);
    make_file("their-file", 0600);
    assert_int_equal(symlink("own", path_of("their-link")), 0);
    if (chown(path_of("theirs"), OTHER_USER, OTHER_USER) != 0) {
        close(at);
        skip();
    }
    assert_int_equal(chown(path_of("their-file"), OTHER_USER, OTHER_USER), 0);
    assert_int_equal(lchown(path_of("their-link"), OTHER_USER, OTHER_USER), 0);
    assert_int_equal(walk(path_of("theirs"), true), RZ_ERR_INVALID);
    assert_non_null(strstr(why.text, "belongs to uid 54321"));
    assert_int_equal(walk(path_of("theirs/ours"), true), RZ_ERR_INVALID);
    assert_int_equal(walk(path_of("theirs/.."), false), RZ_ERR_INVALID);
    assert_int_equal(walk(path_of("their-link"), true), RZ_ERR_INVALID);
    assert_int_equal(rz_own_enter(at, path_of("theirs"), true, &fd, &why), RZ_ERR_INVALID);
    assert_int_equal(rz_own_open(at, path_of("their-file"), true, &fd, &why), RZ_ERR_INVALID);
    assert_int_equal(fd, -1);
    close(at);
}

static void names_that_are_too_long(void **state)
{
    char path[8192];
    (void)state;
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = 0;
    assert_int_equal(walk(path, true), RZ_ERR_SYSTEM);
    path[0] = '/';
    path[1000] = 0;
    assert_int_equal(walk(path, true), RZ_ERR_SYSTEM);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_of_the_last_folder),
        cmocka_unit_test(a_part_of_the_way_that_others_can_write),
        cmocka_unit_test(links_on_the_way),
        cmocka_unit_test(no_link_is_followed_below),
        cmocka_unit_test(modes_of_what_is_made),
        cmocka_unit_test(what_belongs_to_others),
        cmocka_unit_test(names_that_are_too_long),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
