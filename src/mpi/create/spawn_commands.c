/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of a spawn: encodes the user's arguments as the order that the daemons read.
 */
#include "mpi/create/spawn_commands.h"

#include "mpi/engine/waiting.h"

#include "wire/spawn_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An order goes to the daemon in one message, together with what the parents pass to the
 * processes. */
#define ORDER_BYTES_MAX (RZ_LINK_MESSAGE_MAX / 2)

#define INITIAL_ERRHANDLER "RZ_INITIAL_ERRHANDLER="

/* Texts made here for the commands, freed together. */
struct keeping {
    void **kept;
    size_t n;
};

/* Keeps memory from malloc; false: the pointer was NULL, or there is no memory to keep it. */
static bool keep(struct keeping *keeping, void *memory)
{
    void **more = memory ? realloc(keeping->kept, (keeping->n + 1) * sizeof(*keeping->kept)) : NULL;
    if (!more) {
        free(memory);
        return false;
    }
    keeping->kept = more;
    more[keeping->n++] = memory;
    return true;
}

static void keep_nothing(struct keeping *keeping)
{
    for (size_t i = 0; i < keeping->n; i++) {
        free(keeping->kept[i]);
    }
    free(keeping->kept);
}

/* ---- Info keys ---- */

/* The value of a key, kept; NULL: the key is not set. */
static int value_of(struct keeping *keeping, struct rz_info *info, const char *key, char **value)
{
    *value = NULL;
    int flag = 0, length = 0;
    int error = !info ? MPI_SUCCESS : rzm_info_get_string(info, key, &length, NULL, &flag);
    if (error != MPI_SUCCESS || !flag) {
        return error;
    }
    char *text = malloc((size_t)length + 1);
    if (!keep(keeping, text)) {
        return MPI_ERR_NO_MEM;
    }
    error = rzm_info_get_string(info, key, &length, text, &flag);
    *value = error == MPI_SUCCESS ? text : NULL;
    return error;
}

/* "path": one or several directories that contain the program. A program that is in none of them,
 * or is named with a directory, is looked up as without "path". */
static int find_program(struct keeping *keeping, struct rz_info *info, const char **program)
{
    char *path, *rest = NULL;
    int error = value_of(keeping, info, "path", &path);
    if (error != MPI_SUCCESS || !path || strchr(*program, '/')) {
        return error;
    }
    for (char *at = strtok_r(path, ": \t", &rest); at; at = strtok_r(NULL, ": \t", &rest)) {
        size_t length = strlen(at) + strlen(*program) + 2;
        char *whole = malloc(length);
        if (!keep(keeping, whole)) {
            return MPI_ERR_NO_MEM;
        }
        snprintf(whole, length, "%s/%s", at, *program);
        if (access(whole, X_OK) == 0) {
            *program = whole;
            break;
        }
    }
    return MPI_SUCCESS;
}

static bool is_errhandler(const char *name)
{
    return strcmp(name, "mpi_errors_are_fatal") == 0 || strcmp(name, "mpi_errors_abort") == 0 ||
           strcmp(name, "mpi_errors_return") == 0;
}

/* "env": lines of NAME=value; also the initial error handler. */
static int environment_of(struct keeping *keeping, struct rz_info *info,
                          const char *const **environment)
{
    char *lines, *handler, *rest = NULL;
    int error = value_of(keeping, info, "env", &lines);
    error =
        error != MPI_SUCCESS ? error : value_of(keeping, info, "mpi_initial_errhandler", &handler);
    if (error != MPI_SUCCESS) {
        return error;
    }
    size_t n = 3;
    for (const char *at = lines; at && *at != '\0'; at++) {
        n += *at == '\n';
    }
    const char **entries = calloc(n, sizeof(*entries));
    if (!keep(keeping, (void *)entries)) {
        return MPI_ERR_NO_MEM;
    }
    *environment = entries;
    for (char *at = lines ? strtok_r(lines, "\n", &rest) : NULL; at;
         at = strtok_r(NULL, "\n", &rest)) {
        if (!strchr(at, '=') || *at == '=') {
            return rzm_error(MPI_ERR_INFO_VALUE, "info key env: \"%s\" is not NAME=value", at);
        }
        *entries++ = at;
    }
    if (handler && is_errhandler(handler)) {
        size_t length = sizeof(INITIAL_ERRHANDLER) + strlen(handler);
        char *entry = malloc(length);
        if (!keep(keeping, entry)) {
            return MPI_ERR_NO_MEM;
        }
        snprintf(entry, length, "%s%s", INITIAL_ERRHANDLER, handler);
        *entries = entry;
    }
    return MPI_SUCCESS;
}

/* ---- Commands ---- */

/* The program name followed by its arguments. */
static int arguments_of(struct keeping *keeping, const char *program, char *const *argv,
                        const char *const **arguments)
{
    size_t n = 0;
    while (argv && argv[n]) {
        n++;
    }
    const char **all = calloc(n + 2, sizeof(*all));
    if (!keep(keeping, (void *)all)) {
        return MPI_ERR_NO_MEM;
    }
    all[0] = program;
    for (size_t i = 0; i < n; i++) {
        all[i + 1] = argv[i];
    }
    *arguments = all;
    return MPI_SUCCESS;
}

static int command_of(struct keeping *keeping, const struct rz_spawn_arguments *arguments, int i,
                      struct rz_spawn_command *command)
{
    const char *program = arguments->commands[i];
    char *directory;
    struct rz_info *info = arguments->infos[i];
    if (*program == '\0') {
        return rzm_error(MPI_ERR_SPAWN, "the name of command %d is empty", i);
    }
    int error = value_of(keeping, info, "wdir", &directory);
    error = error != MPI_SUCCESS ? error : find_program(keeping, info, &program);
    error = error != MPI_SUCCESS ? error : environment_of(keeping, info, &command->environment);
    error = error != MPI_SUCCESS
                ? error
                : arguments_of(keeping, program, arguments->argvs ? arguments->argvs[i] : NULL,
                               &command->arguments);
    command->maxprocs = (uint32_t)arguments->maxprocs[i];
    command->directory = error == MPI_SUCCESS && directory ? directory : "";
    return error;
}

static int write_order(const struct rz_spawn_command *commands, uint32_t n, struct rz_news *order)
{
    void *bytes = malloc(ORDER_BYTES_MAX);
    if (!bytes) {
        return MPI_ERR_NO_MEM;
    }
    size_t length = rz_spawn_order_write(commands, n, bytes, ORDER_BYTES_MAX);
    if (length == 0) {
        free(bytes);
        return rzm_error(MPI_ERR_SPAWN, "the commands and their arguments have more than %d bytes",
                         ORDER_BYTES_MAX);
    }
    *order = (struct rz_news){bytes, length};
    return MPI_SUCCESS;
}

int rz_spawn_commands_write(const struct rz_spawn_arguments *arguments, struct rz_news *order,
                            uint32_t *n_processes)
{
    struct keeping keeping = {0};
    int error = MPI_SUCCESS;
    uint64_t total = 0;
    struct rz_spawn_command *commands = calloc((size_t)arguments->count, sizeof(*commands));
    if (!commands) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < arguments->count && error == MPI_SUCCESS; i++) {
        error = command_of(&keeping, arguments, i, &commands[i]);
        total += (uint64_t)arguments->maxprocs[i];
    }
    if (error == MPI_SUCCESS && rz_engine.info->alone) {
        error = rzm_error(MPI_ERR_SPAWN, "a program that was not started by rzrun cannot spawn");
    }
    if (error == MPI_SUCCESS && (total == 0 || total > rz_engine.info->n_slots)) {
        error =
            rzm_error(MPI_ERR_SPAWN, "%llu processes are requested, and the job has slots for %u",
                      (unsigned long long)total, rz_engine.info->n_slots);
    }
    error = error != MPI_SUCCESS ? error : write_order(commands, (uint32_t)arguments->count, order);
    *n_processes = (uint32_t)total;
    keep_nothing(&keeping);
    free(commands);
    return error;
}
