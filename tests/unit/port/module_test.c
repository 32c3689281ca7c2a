/* SPDX-License-Identifier: BSD-3-Clause */
/* A module is loaded from the path that the environment names, but not where the program has other
 * rights than its user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/module.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "RZ_TEST_MODULE"
#define NAMED "/nowhere/named.so"
#define OTHER_UID 65534

static const char *reason(void)
{
    const char *why = NULL;
    assert_null(rz_module_entry("rhizome-none.so", VARIABLE, "entry", 1, &why));
    return why;
}

static void what_the_environment_names(void **state)
{
    (void)state;
    setenv(VARIABLE, NAMED, 1);
    assert_non_null(strstr(reason(), NAMED));
    unsetenv(VARIABLE);
    assert_null(strstr(reason(), NAMED));
    assert_non_null(strstr(reason(), "rhizome-none.so"));
}

/* A copy of this program that runs as its owner, another user. False: this system has none. */
static bool copy_of_another_user(char *path)
{
    struct statvfs system;
    struct stat own;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
    bool made = from >= 0 && to >= 0 && fstat(from, &own) == 0 &&
                sendfile(to, from, NULL, (size_t)own.st_size) == own.st_size &&
                fchown(to, OTHER_UID, OTHER_UID) == 0 && fchmod(to, 04755) == 0 &&
                fstatvfs(to, &system) == 0 && !(system.f_flag & ST_NOSUID);
    close(from);
    close(to);
    return made;
}

static void not_with_the_rights_of_another_user(void **state)
{
    char path[] = "/tmp/module-test-XXXXXX";
    int status = 0;
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root makes files of others */
    }
    bool made = copy_of_another_user(path);
    pid_t child = made ? fork() : -1;
    if (child == 0) {
        setenv(VARIABLE, NAMED, 1);
        execl(path, path, "reason", NULL);
        _exit(2);
    }
    if (child > 0) {
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    unlink(path);
    if (!made) {
        skip(); /* nosuid */
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* the copy */
        const char *why = NULL;
        rz_module_entry("rhizome-none.so", VARIABLE, "entry", 1, &why);
        /* No search for leaks: it would trace this process, which the system forbids here. */
        _exit(geteuid() == OTHER_UID && why && !strstr(why, NAMED) ? 0 : 1);
    }
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_environment_names),
        cmocka_unit_test(not_with_the_rights_of_another_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
