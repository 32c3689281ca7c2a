/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user says of processes to be spawned, and what the daemons read of it; names of ports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/create/spawn_commands.h"
#include "mpi/engine/engine.h"
#include "mpi/create/service.h"
#include "wire/spawn_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8 };

static struct rz_link_info link_info = {.n_slots = SLOTS,
                                        .self = {.job = 0xabc, .rank = 3, .incarnation = 2}};

static int write_request(int count, char *const *commands, char ***argvs, const int *maxprocs,
                         struct rz_info **infos, struct rz_news *order, uint32_t *n)
{
    struct rz_spawn_arguments arguments = {count, commands, argvs, maxprocs, infos};
    rz_engine.info = &link_info;
    return rz_spawn_commands_write(&arguments, order, n);
}

/* One command with this info; its order is freed. */
static int with_info(const char *key, const char *value)
{
    struct rz_news order = {0};
    struct rz_info *info;
    uint32_t n;
    char *command = "program";
    assert_int_equal(rzm_info_create(&info), MPI_SUCCESS);
    assert_int_equal(rzm_info_set(info, key, value), MPI_SUCCESS);
    int error = write_request(1, &command, NULL, (int[]){1}, &info, &order, &n);
    rzm_info_free(info);
    free(order.data);
    return error;
}

static void commands_arguments_and_info_are_in_the_order(void **state)
{
    (void)state;
    struct rz_news order;
    struct rz_info *infos[2] = {NULL};
    uint32_t n, n_commands, n_processes;
    char *commands[] = {"first", "second"}, *arguments[] = {"a", "", "b c", NULL};
    char **argvs[] = {arguments, NULL};
    assert_int_equal(rzm_info_create(&infos[1]), MPI_SUCCESS);
    rzm_info_set(infos[1], "wdir", "/tmp");
    rzm_info_set(infos[1], "env", "ONE=1\nTWO=2=2\n");
    rzm_info_set(infos[1], "mpi_initial_errhandler", "mpi_errors_return");
    rzm_info_set(infos[1], "host", "elsewhere");
    assert_int_equal(write_request(2, commands, argvs, (int[]){3, 1}, infos, &order, &n),
                     MPI_SUCCESS);
    rzm_info_free(infos[1]);
    assert_int_equal(n, 4);
    assert_int_equal(rz_spawn_order_look(order.data, order.bytes, &n_commands, &n_processes),
                     RZ_OK);
    assert_int_equal(n_commands, 2);
    assert_int_equal(n_processes, 4);
    struct rz_spawn_command_read read = rz_spawn_order_command(order.data, order.bytes, 0);
    assert_int_equal(read.maxprocs, 3);
    assert_int_equal(read.n_arguments, 4);
    assert_memory_equal(read.arguments, "first\0a\0\0b c", 13);
    assert_string_equal(read.directory, "");
    assert_int_equal(read.n_environment, 0);
    read = rz_spawn_order_command(order.data, order.bytes, 1);
    assert_int_equal(read.n_arguments, 1);
    assert_string_equal(read.directory, "/tmp");
    assert_int_equal(read.n_environment, 3);
    assert_memory_equal(read.environment, "ONE=1\0TWO=2=2\0RZ_INITIAL_ERRHANDLER=mpi_errors_return",
                        54);
    free(order.data);
}

static void what_cannot_be_ordered_is_an_error(void **state)
{
    (void)state;
    struct rz_news order = {0};
    struct rz_info *none = NULL;
    uint32_t n;
    char *program = "program", *empty = "";
    assert_int_equal(write_request(1, &empty, NULL, (int[]){1}, &none, &order, &n), MPI_ERR_SPAWN);
    assert_int_equal(write_request(1, &program, NULL, (int[]){0}, &none, &order, &n),
                     MPI_ERR_SPAWN);
    assert_int_equal(write_request(1, &program, NULL, (int[]){SLOTS + 1}, &none, &order, &n),
                     MPI_ERR_SPAWN);
    assert_int_equal(n, SLOTS + 1);
    char *longest = malloc(RZ_LINK_MESSAGE_MAX);
    memset(longest, 'x', RZ_LINK_MESSAGE_MAX - 1);
    longest[RZ_LINK_MESSAGE_MAX - 1] = '\0';
    assert_int_equal(write_request(1, &longest, NULL, (int[]){1}, &none, &order, &n),
                     MPI_ERR_SPAWN);
    free(longest);
    assert_int_equal(with_info("env", "NO VALUE"), MPI_ERR_INFO_VALUE);
    assert_int_equal(with_info("env", "=value"), MPI_ERR_INFO_VALUE);
    assert_int_equal(with_info("mpi_initial_errhandler", "unheard of"), MPI_SUCCESS);
    assert_null(order.data);
}

static void a_program_is_looked_for_in_the_path_given(void **state)
{
    (void)state;
    struct rz_news order;
    struct rz_info *info;
    uint32_t n;
    char *commands[] = {"sh", "./sh", "no such program"};
    const char *found[] = {"/bin/sh", "./sh", "no such program"};
    rzm_info_create(&info);
    rzm_info_set(info, "path", "/does/not/exist:/bin");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write_request(1, &commands[i], NULL, (int[]){1}, &info, &order, &n),
                         MPI_SUCCESS);
        assert_string_equal(rz_spawn_order_command(order.data, order.bytes, 0).arguments, found[i]);
        free(order.data);
    }
    rzm_info_free(info);
}

static void the_name_of_a_port_says_whose_it_is(void **state)
{
    (void)state;
    char name[MPI_MAX_PORT_NAME], odd[2 * MPI_MAX_PORT_NAME];
    uint64_t job, number;
    uint32_t slot, incarnation;
    rz_engine.info = &link_info;
    assert_int_equal(rzm_open_port(NULL, name), MPI_SUCCESS);
    assert_true(rz_port_read(name, &job, &slot, &incarnation, &number));
    assert_int_equal(job, 0xabc);
    assert_int_equal(slot, 3);
    assert_int_equal(incarnation, 2);
    assert_true(rz_port_is_open(number));
    assert_int_equal(rz_port_number(name), number);
    snprintf(odd, sizeof(odd), "%s ", name);
    assert_false(rz_port_read(odd, &job, &slot, &incarnation, &number));
    assert_int_equal(rz_port_number(odd), 0);
    assert_false(rz_port_read("rhizome:1:2.3:", &job, &slot, &incarnation, &number));
    assert_false(rz_port_read("", &job, &slot, &incarnation, &number));
    assert_int_equal(rzm_close_port(name), MPI_SUCCESS);
    assert_int_equal(rzm_close_port(name), MPI_ERR_PORT);
    assert_int_equal(rz_port_number(name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_arguments_and_info_are_in_the_order),
        cmocka_unit_test(what_cannot_be_ordered_is_an_error),
        cmocka_unit_test(a_program_is_looked_for_in_the_path_given),
        cmocka_unit_test(the_name_of_a_port_says_whose_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
