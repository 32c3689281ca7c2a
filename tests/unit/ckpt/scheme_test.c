/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint schemes as the user says them. */
#include "ckpt/scheme.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *text;
    struct rz_scheme scheme;
    uint32_t nodes;
} good[] = {{"memory", {RZ_SCHEME_MEMORY, 0, 0}, 1}, {"buddy", {RZ_SCHEME_BUDDY, 0, 0}, 1},
            {"file", {RZ_SCHEME_FILE, 0, 0}, 1},     {"xor:2", {RZ_SCHEME_XOR, 1, 1}, 2},
            {"xor:32", {RZ_SCHEME_XOR, 31, 1}, 32},  {"rs:3+2", {RZ_SCHEME_RS, 3, 2}, 5},
            {"rs:1+31", {RZ_SCHEME_RS, 1, 31}, 32},  {"rs:1+1", {RZ_SCHEME_RS, 1, 1}, 2}};

static void what_is_read_is_written_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct rz_scheme scheme;
        const char *why;
        char text[RZ_SCHEME_TEXT_MAX];
        assert_true(rz_scheme_parse(good[i].text, &scheme, &why));
        assert_int_equal(scheme.kind, good[i].scheme.kind);
        assert_int_equal(scheme.data, good[i].scheme.data);
        assert_int_equal(scheme.parity, good[i].scheme.parity);
        assert_int_equal(rz_scheme_nodes(&scheme), good[i].nodes);
        assert_true(rz_scheme_valid(&scheme));
        rz_scheme_text(&scheme, text);
        assert_string_equal(text, good[i].text);
    }
}

static void anything_else_is_refused_in_words(void **state)
{
    static const char *const bad[] = {
        "",        "Buddy",    "buddy ",   "xor",      "xor:",  "xor:1",
        "xor:33",  "xor:4x",   "xor:0004", "xor:-3",   "xor:+", "xor:999999999999",
        "rs",      "rs:",      "rs:3",     "rs:3+",    "rs:+2", "rs:0+2",
        "rs:3+0",  "rs:16+17", "rs:3+2+1", "rs:3 + 2", "files", "memory:1",
        "rs:1e1+1"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct rz_scheme scheme = {.kind = RZ_SCHEME_COUNT};
        const char *why = NULL;
        assert_false(rz_scheme_parse(bad[i], &scheme, &why));
        assert_non_null(why);
        assert_int_equal(scheme.kind, RZ_SCHEME_COUNT);
    }
}

static void numbers_of_the_wire_are_looked_at(void **state)
{
    static const struct rz_scheme bad[] = {{RZ_SCHEME_COUNT, 0, 0},        {RZ_SCHEME_BUDDY, 1, 0},
                                           {RZ_SCHEME_FILE, 0, 1},         {RZ_SCHEME_XOR, 3, 2},
                                           {RZ_SCHEME_XOR, 0, 1},          {RZ_SCHEME_RS, 3, 0},
                                           {RZ_SCHEME_RS, UINT32_MAX, 33}, {RZ_SCHEME_RS, 31, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_false(rz_scheme_valid(&bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_written_again),
        cmocka_unit_test(anything_else_is_refused_in_words),
        cmocka_unit_test(numbers_of_the_wire_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
