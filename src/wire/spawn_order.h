/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of MPI_Comm_spawn_multiple: a list of commands, as in SPAWN. The library writes it,
 * the daemons read it. */
#ifndef RZ_WIRE_SPAWN_ORDER_H
#define RZ_WIRE_SPAWN_ORDER_H

#include "base/status.h"

#include <rhizome/types.h>

/* A command to be written. Texts are NULL-terminated arrays. */
struct rz_spawn_command {
    uint32_t maxprocs;              /* processes of this command */
    const char *directory;          /* the working directory; "": that of the job's processes */
    const char *const *arguments;   /* the program first; searched as a shell does */
    const char *const *environment; /* NAME=value, added to the job's environment; NULL: none */
};

/* A command that was read: texts one after another, each with its NUL; the pointers refer to the
 * input. */
struct rz_spawn_command_read {
    uint32_t maxprocs;
    const char *directory;
    const char *arguments; /* of n_arguments texts, at least one */
    uint32_t n_arguments;
    const char *environment;
    uint32_t n_environment;
};

#define RZ_SPAWN_COMMANDS_MAX 4096u
#define RZ_SPAWN_TEXTS_MAX 65536u /* arguments of one command; entries of its environment */

/* Returns the number of bytes written, or 0 if they do not fit. */
size_t rz_spawn_order_write(const struct rz_spawn_command *commands, uint32_t n, void *buffer,
                            size_t bytes);

/* Checks the whole order, and returns the numbers of commands and processes. RZ_ERR_MALFORMED: the
 * order must not be used; also if it has no process, a command without a program, or an environment
 * entry without a value. */
rz_status_t rz_spawn_order_look(const void *bytes, size_t length, uint32_t *n_commands,
                                uint32_t *n_processes);

/* Returns command i of an order that was checked. */
struct rz_spawn_command_read rz_spawn_order_command(const void *bytes, size_t length, uint32_t i);

/* The command of the process with this rank in the new world: the commands' processes come one
 * after another. */
uint32_t rz_spawn_order_command_of(const void *bytes, size_t length, uint32_t index);

/* The text that follows this one. */
const char *rz_spawn_text_next(const char *text);

#endif
