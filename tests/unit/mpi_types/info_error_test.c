/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects and error codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/impl.h"
#include "mpi/core/error.h"

#include <stdio.h>

static void an_info_object_keeps_order_and_values(void **state)
{
    (void)state;
    struct rz_info *info, *copy;
    char key[MPI_MAX_INFO_KEY], value[16];
    int n, flag;
    assert_int_equal(rzm_info_create(&info), MPI_SUCCESS);
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        assert_int_equal(rzm_info_set(info, key, "old"), MPI_SUCCESS);
    }
    assert_int_equal(rzm_info_set(info, "key7", "new"), MPI_SUCCESS);
    assert_int_equal(rzm_info_delete(info, "key0"), MPI_SUCCESS);
    assert_int_equal(rzm_info_delete(info, "key0"), MPI_ERR_INFO_NOKEY);
    assert_int_equal(rzm_info_dup(info, &copy), MPI_SUCCESS);
    rzm_info_free(info);
    rzm_info_get_nkeys(copy, &n);
    assert_int_equal(n, 39);
    rzm_info_get_nthkey(copy, 6, key);
    assert_string_equal(key, "key7");
    assert_int_equal(rzm_info_get_nthkey(copy, 39, key), MPI_ERR_ARG);
    rzm_info_get(copy, "key7", 2, value, &flag);
    assert_true(flag);
    assert_string_equal(value, "ne");
    rzm_info_get_valuelen(copy, "key7", &n, &flag);
    assert_int_equal(n, 3);
    rzm_info_get(copy, "key0", 2, value, &flag);
    assert_false(flag);
    rzm_info_free(copy);
}

static void get_string_tells_the_room_it_needs(void **state)
{
    (void)state;
    struct rz_info *info;
    char value[8] = "before";
    int flag, room = 0;
    rzm_info_create(&info);
    rzm_info_set(info, "key", "value");
    rzm_info_get_string(info, "key", &room, value, &flag);
    assert_int_equal(room, 6);
    assert_string_equal(value, "before");
    room = 3;
    rzm_info_get_string(info, "key", &room, value, &flag);
    assert_int_equal(room, 6);
    assert_string_equal(value, "va");
    rzm_info_get_string(info, "key", &room, value, &flag);
    assert_string_equal(value, "value");
    room = 3;
    rzm_info_get_string(info, "other", &room, value, &flag);
    assert_int_equal(room, 3);
    assert_false(flag);
    rzm_info_free(info);
}

static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    struct rz_info *info;
    char text[MPI_MAX_INFO_VAL + 1];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    rzm_info_create(&info);
    assert_int_equal(rzm_info_set(info, text, "value"), MPI_ERR_INFO_KEY);
    assert_int_equal(rzm_info_set(info, "", "value"), MPI_ERR_INFO_KEY);
    assert_int_equal(rzm_info_set(info, "key", text), MPI_ERR_INFO_VALUE);
    text[MPI_MAX_INFO_VAL - 1] = '\0';
    assert_int_equal(rzm_info_set(info, "key", text), MPI_SUCCESS);
    text[MPI_MAX_INFO_KEY - 1] = '\0';
    assert_int_equal(rzm_info_set(info, text, "value"), MPI_SUCCESS);
    rzm_info_free(info);
}

static void the_environment_can_be_read_only(void **state)
{
    (void)state;
    struct rz_info *info = rz_info_predefined(0x131), *made;
    char *arguments[] = {"program", "-n", "4", NULL}, value[64];
    int flag;
    rzm_info_get(info, "command", sizeof(value) - 1, value, &flag);
    assert_true(flag);
    assert_int_equal(rzm_info_set(info, "key", "value"), MPI_ERR_INFO);
    assert_int_equal(rzm_info_create_env(3, arguments, &made), MPI_SUCCESS);
    rzm_info_get(made, "argv", sizeof(value) - 1, value, &flag);
    assert_string_equal(value, "-n 4");
    rzm_info_free(made);
}

static void every_error_class_has_a_text(void **state)
{
    (void)state;
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    for (int code = 0; code <= MPI_ERR_LASTCODE + 1; code++) {
        bool failures = code >= MPI_ERR_PROC_FAILED && code <= MPI_ERR_REVOKED;
        bool known = code <= MPI_ERR_ABI || failures || (code > 1000 && code <= 1018) ||
                     code == MPI_ERR_LASTCODE;
        int expected = known ? MPI_SUCCESS : MPI_ERR_ARG;
        assert_int_equal(rzm_error_string(code, text, &length), expected);
        assert_int_equal(rzm_error_class(code, &class), expected);
        if (known) {
            assert_int_equal(class, code);
            assert_int_equal(strlen(text), length);
            assert_true(length > 0);
        }
    }
}

static void users_add_classes_and_codes(void **state)
{
    (void)state;
    int class, code, last = rz_error_last_used, found, length;
    char text[MPI_MAX_ERROR_STRING];
    assert_int_equal(last, MPI_ERR_LASTCODE);
    assert_int_equal(rzm_add_error_class(&class), MPI_SUCCESS);
    assert_int_equal(rzm_add_error_code(class, &code), MPI_SUCCESS);
    assert_true(class > last && code > class && rz_error_last_used == code);
    rzm_error_class(code, &found);
    assert_int_equal(found, class);
    rzm_error_string(code, text, &length);
    assert_int_equal(length, 0);
    assert_int_equal(rzm_add_error_string(code, "too warm"), MPI_SUCCESS);
    rzm_error_string(code, text, &length);
    assert_string_equal(text, "too warm");
    assert_int_equal(rzm_add_error_string(MPI_ERR_TAG, "no"), MPI_ERR_ARG);
    assert_int_equal(rzm_add_error_code(code, &found), MPI_ERR_ARG);
    assert_int_equal(rzm_add_error_code(MPI_ERR_TAG, &found), MPI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_info_object_keeps_order_and_values),
        cmocka_unit_test(get_string_tells_the_room_it_needs),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(the_environment_can_be_read_only),
        cmocka_unit_test(every_error_class_has_a_text),
        cmocka_unit_test(users_add_classes_and_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
