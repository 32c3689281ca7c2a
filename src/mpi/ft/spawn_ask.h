/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of a process to its daemon after failures: that processes be started in place of the
 * failed ones (REPLACE and its answer).
 */
#ifndef RZ_MPI_SPAWN_WISH_H
#define RZ_MPI_SPAWN_WISH_H

#include "mpi/engine/waiting.h"

/* Requested spawns; the caller's memory from rz_spawn_ask_ask until rz_spawn_ask_end. */
struct rz_spawn_ask {
    uint64_t first, last; /* the numbers of its questions to the daemon */
    uint64_t unanswered;
    rz_status_t status; /* once answered: RZ_OK, or the first refusal */
    bool *refused;      /* for each failed process */
    struct rz_spawn_ask *next;
};

/* The number of the process that replaces that failed one. */
uint32_t rz_spawn_after(uint32_t failed);

/*
 * Requests a replacement of each of these failed processes. The answer comes in any case, whichever
 * processes fail meanwhile, in a round of progress; our board shows the spawned processes before
 * it, which the engine may not have read yet (rz_engine_look_again). Several processes may request
 * the same spawns. MPI_ERR_NO_MEM: nothing was requested.
 */
int rz_spawn_ask_ask(struct rz_spawn_ask *request, const uint32_t *failed, uint32_t n);

static inline bool rz_spawns_answered(const struct rz_spawn_ask *request)
{
    return request->unanswered == 0;
}

void rz_spawn_ask_end(struct rz_spawn_ask *request);

#endif
