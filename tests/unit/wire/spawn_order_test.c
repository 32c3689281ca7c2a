/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders to spawn: read as written; what is cut, or names nothing to run, is refused. */
#include "wire/spawn_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const worker[] = {"worker", "-v", "", "a b", NULL};
static const char *const helper[] = {"/bin/helper", NULL};
static const char *const settings[] = {"A=1", "B=", NULL};
static const char *const valueless[] = {"A", NULL};
static const char *const nameless[] = {"=1", NULL};
static const char *const nothing[] = {NULL};
static const char *const empty[] = {"", NULL};

static void what_was_written_is_read(void **state)
{
    const struct rz_spawn_command list[3] = {
        {3, "", worker, NULL}, {0, "/tmp", helper, settings}, {2, "/", helper, NULL}};
    uint8_t buffer[512];
    uint32_t n_commands, n;
    (void)state;
    size_t bytes = rz_spawn_order_write(list, 3, buffer, sizeof(buffer));
    assert_true(bytes > 0);
    assert_int_equal(rz_spawn_order_look(buffer, bytes, &n_commands, &n), RZ_OK);
    assert_int_equal(n_commands, 3);
    assert_int_equal(n, 5);
    struct rz_spawn_command_read read = rz_spawn_order_command(buffer, bytes, 0);
    assert_int_equal(read.maxprocs, 3);
    assert_string_equal(read.directory, "");
    assert_int_equal(read.n_arguments, 4);
    assert_int_equal(read.n_environment, 0);
    const char *text = read.arguments;
    for (uint32_t i = 0; i < 4; i++, text = rz_spawn_text_next(text)) {
        assert_string_equal(text, worker[i]);
    }
    read = rz_spawn_order_command(buffer, bytes, 1);
    assert_string_equal(read.directory, "/tmp");
    assert_string_equal(read.environment, "A=1");
    assert_string_equal(rz_spawn_text_next(read.environment), "B=");
    const uint32_t command_of[5] = {0, 0, 0, 2, 2}; /* the one in between starts none */
    for (uint32_t index = 0; index < 5; index++) {
        assert_int_equal(rz_spawn_order_command_of(buffer, bytes, index), command_of[index]);
    }
}

static void every_cut_is_refused(void **state)
{
    const struct rz_spawn_command list[2] = {{1, "", worker, settings}, {2, "/", helper, NULL}};
    uint8_t buffer[512];
    uint32_t n_commands, n;
    (void)state;
    size_t bytes = rz_spawn_order_write(list, 2, buffer, sizeof(buffer));
    for (size_t cut = 0; cut < bytes; cut++) {
        uint8_t *block =
            malloc(cut + 1); /* of exactly this number of bytes: checked by the sanitizer */
        assert_non_null(block);
        memcpy(block, buffer, cut);
        assert_int_equal(rz_spawn_order_look(block, cut, &n_commands, &n), RZ_ERR_MALFORMED);
        assert_int_equal(rz_spawn_order_write(list, 2, block, cut), 0);
        free(block);
    }
    buffer[bytes] = 0;
    assert_int_equal(rz_spawn_order_look(buffer, bytes + 1, &n_commands, &n), RZ_ERR_MALFORMED);
}

static void refused(struct rz_spawn_command command)
{
    uint8_t buffer[256];
    uint32_t n_commands, n;
    size_t bytes = rz_spawn_order_write(&command, 1, buffer, sizeof(buffer));
    assert_true(bytes > 0);
    assert_int_equal(rz_spawn_order_look(buffer, bytes, &n_commands, &n), RZ_ERR_MALFORMED);
}

static void what_no_process_can_run_is_refused(void **state)
{
    (void)state;
    refused((struct rz_spawn_command){1, "", nothing, NULL});
    refused((struct rz_spawn_command){1, "", empty, NULL});
    refused((struct rz_spawn_command){1, "", helper, valueless});
    refused((struct rz_spawn_command){1, "", helper, nameless});
    refused((struct rz_spawn_command){0, "", helper, NULL});          /* no process in all */
    refused((struct rz_spawn_command){UINT32_MAX, "", helper, NULL}); /* more than can be counted */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_written_is_read),
                                       cmocka_unit_test(every_cut_is_refused),
                                       cmocka_unit_test(what_no_process_can_run_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
