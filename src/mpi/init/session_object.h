/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions. A session is a licence to make groups of process sets, with an error handler; what is
 * made from it are groups and communicators like others. It survives a roll-back when it was made
 * before MPIX_Reinit, and ends with it when it was made inside, for it will be made again.
 */
#ifndef RZ_MPI_SESSION_H
#define RZ_MPI_SESSION_H

#include "mpi/chapter.h"
#include "mpi/engine/hooks.h"

struct rz_session {
    struct rz_object object;
    struct rz_errhandler *errhandler;
    uint64_t id;                    /* from 1, never used again: groups name their session by it */
    int thread_level;               /* MPI_THREAD_* as granted */
    bool inside;                    /* made inside MPIX_Reinit */
    struct rz_session *next, *prev; /* all open ones; the free ones by next */
};

/* An open session; its error handler, thread level and `inside` are the caller's to set. NULL: no
 * memory. */
struct rz_session *rz_session_new(void);

/* It ends. */
void rz_session_end(struct rz_session *session);

/* A session has ended, or did not come to be; if nothing else is open, the library does not run any
 * more. */
void rz_session_ended(void);

extern const struct rz_hooks rz_session_hooks;

#endif
