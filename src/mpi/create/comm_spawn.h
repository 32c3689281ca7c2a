/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver of messages of spawned processes, for MPI_Comm_spawn.
 */
#ifndef RZ_MPI_COMM_SPAWN_H
#define RZ_MPI_COMM_SPAWN_H

#include <stdbool.h>

struct rz_setup_message;

/* Handles a message of a spawned process to its root. True: it concerns no spawn that is under way
 * here, and was answered. Not called from inside a callback of a transport. */
bool rz_spawn_answers(const struct rz_setup_message *message);

#endif
