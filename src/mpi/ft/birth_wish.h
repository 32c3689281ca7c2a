/*
 * What a process asks of its daemon after deaths: that processes be started in place of the dead
 * (REPLACE, answered by BORN), and that deaths which the program knows of do not count against it
 * (ACKNOWLEDGED).
 */
#ifndef RZ_MPI_BIRTH_WISH_H
#define RZ_MPI_BIRTH_WISH_H

#include "mpi/core/engine.h"

/* Births that were asked for; memory of the caller from rz_birth_wish_ask until rz_birth_wish_end.
 */
struct rz_birth_wish {
    uint64_t first, last; /* the numbers of its questions */
    uint64_t unanswered;
    rz_status_t status; /* once answered: RZ_OK, or the first refusal */
    bool *refused;      /* [of each dead] */
    struct rz_birth_wish *next;
};

/* The process that comes in place of that dead one, as its number. */
uint32_t rz_birth_after(uint32_t dead);

/*
 * Asks for one in place of each of these dead. The answer is sure, whoever dies meanwhile, and
 * comes from inside the progress of the engine; who was born stands on our board before it, which
 * the engine may not have looked at since (rz_engine_look_again). Asking for births that others
 * asked for, too, is harmless. MPI_ERR_NO_MEM: nothing was asked.
 */
int rz_birth_wish_ask(struct rz_birth_wish *wish, const uint32_t *dead, uint32_t n);

static inline bool rz_births_answered(const struct rz_birth_wish *wish)
{
    return wish->unanswered == 0;
}

void rz_birth_wish_end(struct rz_birth_wish *wish);

/* The program has been told of these deaths and goes on: says so to the daemon, once per death.
 * Those who live or ended in order are left out. */
void rz_deaths_acknowledge(const uint32_t *process, uint32_t n);

#endif
