/*
 * What a program wants to have started (MPI_Comm_spawn_multiple): a list of commands, as SPAWN
 * carries it. Written by the library, read by the daemons.
 */
#ifndef RZ_WIRE_SPAWN_ORDER_H
#define RZ_WIRE_SPAWN_ORDER_H

#include "base/status.h"

#include <rhizome/types.h>

/* One command, to be written. Texts are NULL-terminated arrays. */
struct rz_spawn_command {
    uint32_t maxprocs;              /* processes of this command */
    const char *directory;          /* where they start; "": where the job's processes start */
    const char *const *arguments;   /* the program first; found as a shell finds it */
    const char *const *environment; /* NAME=value, on top of the job's; NULL: none */
};

/* One command, as read: texts one after another, each with its NUL; they lead into the bytes read.
 */
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

/* The number of bytes written, or 0 when they do not fit. */
size_t rz_spawn_order_write(const struct rz_spawn_command *commands, uint32_t n, void *buffer,
                            size_t bytes);

/* Looks at all of it: how many commands and processes. RZ_ERR_MALFORMED: nothing of it may be used;
 * so are an order without a process, a command without a program, an environment without values. */
rz_status_t rz_spawn_order_look(const void *bytes, size_t length, uint32_t *n_commands,
                                uint32_t *n_processes);

/* Command i of an order that was looked at. */
struct rz_spawn_command_read rz_spawn_order_command(const void *bytes, size_t length, uint32_t i);

/* The command of the process with this rank in the new world: the commands' processes come one
 * after another. */
uint32_t rz_spawn_order_command_of(const void *bytes, size_t length, uint32_t index);

/* The text behind this one. */
const char *rz_spawn_text_next(const char *text);

#endif
