/* SPDX-License-Identifier: BSD-3-Clause */
/* The scratch folder of a job: a name that is taken is refused, whatever has it, and nothing is
 * removed through it; a name is never the same twice. */
#include "daemon/state/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static bool exists(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0;
}

static void no_name_comes_twice(void **state)
{
    char one[RZ_SCRATCH_PATH_MAX], other[RZ_SCRATCH_PATH_MAX];
    (void)state;
    rz_scratch_choose(one, 77, 1);
    rz_scratch_choose(other, 77, 1);
    assert_string_not_equal(one, other);
    assert_memory_equal(one, "/dev/shm/rhizome-77-1-", strlen("/dev/shm/rhizome-77-1-"));
}

static void a_name_that_is_taken_is_refused(void **state)
{
    char path[RZ_SCRATCH_PATH_MAX], kept[RZ_SCRATCH_PATH_MAX + 8];
    struct stat facts;
    (void)state;
    rz_scratch_choose(path, 77, 1);
    assert_int_equal(rz_scratch_make(path), RZ_OK);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    errno = 0;
    assert_int_equal(rz_scratch_make(path), RZ_ERR_SYSTEM); /* a folder */
    assert_int_equal(errno, EEXIST);
    rz_scratch_remove(path);
    assert_false(exists(path));

    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(rz_scratch_make(path), RZ_ERR_SYSTEM); /* a file */
    rz_scratch_remove(path);
    assert_true(exists(path)); /* it is no folder of a job */
    assert_int_equal(unlink(path), 0);

    snprintf(kept, sizeof(kept), "%s-kept", path);
    assert_int_equal(mkdir(kept, 0700), 0);
    assert_int_equal(symlink(kept, path), 0);
    assert_int_equal(rz_scratch_make(path), RZ_ERR_SYSTEM); /* a link to a folder */
    rz_scratch_remove(path);
    assert_true(exists(kept));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/shm/rhizome-nowhere", path), 0);
    assert_int_equal(rz_scratch_make(path), RZ_ERR_SYSTEM); /* a link to nothing */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(kept), 0);
}

/* Only root can give a folder away. */
static void a_folder_of_another_user_stays(void **state)
{
    char path[RZ_SCRATCH_PATH_MAX];
    (void)state;
    rz_scratch_choose(path, 77, 1);
    assert_int_equal(rz_scratch_make(path), RZ_OK);
    if (chown(path, 54321, 54321) != 0) {
        rz_scratch_remove(path);
        skip();
    }
    assert_int_equal(rz_scratch_make(path), RZ_ERR_SYSTEM);
    rz_scratch_remove(path);
    assert_true(exists(path));
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_comes_twice),
        cmocka_unit_test(a_name_that_is_taken_is_refused),
        cmocka_unit_test(a_folder_of_another_user_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
