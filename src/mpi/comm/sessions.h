/*
 * Sessions. A session is a licence to make groups of process sets, with an error handler; what is
 * made from it are groups and communicators like others. It survives a roll-back when it was made
 * before MPIX_Reinit, and ends with it when it was made inside, for it will be made again.
 */
#ifndef RZ_MPI_SESSION_H
#define RZ_MPI_SESSION_H

#include "mpi/chapter.h"

struct rz_session {
    struct rz_object object;
    struct rz_errhandler *errhandler;
    uint64_t id;                    /* from 1, never used again: groups name their session by it */
    int thread_level;               /* MPI_THREAD_* as granted */
    bool inside;                    /* made inside MPIX_Reinit */
    struct rz_session *next, *prev; /* all open ones; the free ones by next */
};

/* How many are open. */
unsigned rz_sessions_open(void);

/* The predefined communicator whose processes that process set has (0x101 WORLD, 0x102 SELF), 0:
 * none. Upper and lower case are the same. */
unsigned rz_pset_comm(const char *name);

/* At a roll-back: those made inside MPIX_Reinit end. */
void rz_sessions_rollback(void);

#endif
