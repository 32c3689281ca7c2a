/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process asks of its daemon after failures: that processes be started in place of the
 * failed ones (REPLACE and its answer).
 */
#ifndef RZ_MPI_SPAWN_WISH_H
#define RZ_MPI_SPAWN_WISH_H

#include "mpi/engine/waiting.h"

/* Spawns that were asked for; memory of the caller from rz_spawn_ask_ask until rz_spawn_ask_end.
 */
struct rz_spawn_ask {
    uint64_t first, last; /* the numbers of its questions */
    uint64_t unanswered;
    rz_status_t status; /* once answered: RZ_OK, or the first refusal */
    bool *refused;      /* [of each failed] */
    struct rz_spawn_ask *next;
};

/* The process that comes in place of that failed one, as its number. */
uint32_t rz_spawn_after(uint32_t failed);

/*
 * Asks for one in place of each of these failed. The answer is sure, whoever fails meanwhile, and
 * comes from inside the progress of the engine; who was spawned stands on our board before it,
 * which the engine may not have looked at since (rz_engine_look_again). Asking for spawns that
 * others asked for, too, is harmless. MPI_ERR_NO_MEM: nothing was asked.
 */
int rz_spawn_ask_ask(struct rz_spawn_ask *wish, const uint32_t *failed, uint32_t n);

static inline bool rz_spawns_answered(const struct rz_spawn_ask *wish)
{
    return wish->unanswered == 0;
}

void rz_spawn_ask_end(struct rz_spawn_ask *wish);

#endif
