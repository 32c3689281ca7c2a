/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of the layer create (engine/hooks.h), and what its calls do at them.
 */
#ifndef RZ_MPI_CREATE_HOOKS_H
#define RZ_MPI_CREATE_HOOKS_H

#include "mpi/engine/hooks.h"

extern const struct rz_hooks rz_create_hooks;

/* ---- A setup message has arrived: not called from inside a callback of a transport ---- */

/* For MPI_Comm_connect and _accept (connect.c). True: it was answered at once, and no call will
 * take it; the caller keeps it. */
bool rz_connect_answers(const struct rz_setup_message *message);

/* Handles a message of a spawned process to its root (comm_spawn.c). True: it concerns no spawn
 * that is under way here, and was answered. */
bool rz_spawn_answers(const struct rz_setup_message *message);

/* ---- Ends ---- */

/* Closes all ports of this process and refuses the processes that wait at them: at the beginning of
 * finalize, while setup messages can still be sent (connect.c). */
void rz_connect_ports_close(void);

/* Communicators made of groups with equal members and name are numbered: forgets the numbers, at
 * the end of an epoch (comm_from_group.c). */
void rz_comm_from_group_close(void);

#endif
