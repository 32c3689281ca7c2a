/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked for with a spawn: all texts are kept, in order, and too many are refused soon. */
#include "gateway/spawn_request.h"
#include "wire/spawn_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { MANY = 400000, MANY_S = 2 };

static rz_status_t answer;
static uint32_t asked; /* processes, of the request that was sent to the daemon */

/* In the place of the gateway's connection to its daemon. */
void rz_gateway_send(struct rz_gateway *gateway, const struct rz_gateway_message *message)
{
    (void)gateway;
    assert_int_equal(message->type, RZ_GATEWAY_SPAWN);
    assert_int_equal(message->spawn.question, 7);
    assert_true(message->spawn.commands_length > 0);
    asked = message->spawn.count;
}

static void spawned(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                    uint32_t world)
{
    (void)gateway, (void)world;
    assert_int_equal(question, 7);
    answer = status;
}

static void test_texts_are_kept_in_order(void **state)
{
    struct rz_spawn_request request = {.question = 7};
    char text[16];
    (void)state;
    struct rz_spawn_request_command *command = rz_spawn_request_add(&request);
    assert_null(command->arguments.at);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "%d", i);
        rz_spawn_request_add_text(&command->arguments, text);
        assert_null(command->arguments.at[i + 1]);
    }
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "%d", i);
        assert_string_equal(command->arguments.at[i], text);
    }
    assert_int_equal(command->arguments.n, 100);
    rz_spawn_request_clear(&request);
}

/* The gateway serves no other process in the meantime. */
static void test_too_many_texts_are_refused_soon(void **state)
{
    static struct rz_gateway_process process;
    static const struct rz_gateway_service service = {.spawned = spawned};
    struct rz_gateway gateway = {.processes = &process, .n_processes = 1, .service = &service};
    struct rz_spawn_request request = {.question = 7};
    struct rz_spawn_request_command *command = rz_spawn_request_add(&request);
    (void)state;
    clock_t begin = clock();
    rz_spawn_request_add_text(&command->arguments, "/bin/true");
    for (int i = 0; i < MANY; i++) {
        rz_spawn_request_add_text(&command->environment, "");
    }
    assert_true(clock() - begin < MANY_S * CLOCKS_PER_SEC);
    assert_true(command->environment.room <= 2 * RZ_SPAWN_TEXTS_MAX);
    answer = RZ_OK;
    rz_spawn_request_send(&gateway, &request);
    assert_int_equal(answer, RZ_ERR_INVALID);
    rz_spawn_request_clear(&request);
}

static void test_a_whole_request_is_sent(void **state)
{
    static struct rz_gateway_process process;
    struct rz_gateway gateway = {.processes = &process, .n_processes = 1};
    struct rz_spawn_request request = {.question = 7};
    (void)state;
    for (uint32_t i = 1; i <= 2; i++) {
        struct rz_spawn_request_command *command = rz_spawn_request_add(&request);
        command->maxprocs = i;
        rz_spawn_request_set_text(&command->directory, "/");
        rz_spawn_request_add_text(&command->arguments, "/bin/true");
    }
    rz_spawn_request_send(&gateway, &request);
    assert_int_equal(asked, 3);
    rz_spawn_request_clear(&request);
    assert_int_equal(request.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts_are_kept_in_order),
                                       cmocka_unit_test(test_a_whole_request_is_sent),
                                       cmocka_unit_test(test_too_many_texts_are_refused_soon)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
