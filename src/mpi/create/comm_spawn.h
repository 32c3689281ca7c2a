/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of MPI_Comm_spawn that hears from spawned processes. */
#ifndef RZ_MPI_COMM_SPAWN_H
#define RZ_MPI_COMM_SPAWN_H

#include <stdbool.h>

struct rz_setup_message;

/* A spawned process tells its root something. True: no call that spawns here is concerned any more;
 * it was answered. Not from inside a callback of a transport. */
bool rz_spawn_answers(const struct rz_setup_message *message);

#endif
