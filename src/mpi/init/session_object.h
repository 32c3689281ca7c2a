/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions. A session allows its owner to make groups of process sets, and has an error handler;
 * groups and communicators made from it are like others. A session that was made before MPIX_Reinit
 * survives a roll-back; one that was made inside ends with it, since the program will make it
 * again.
 */
#ifndef RZ_MPI_SESSION_H
#define RZ_MPI_SESSION_H

#include "mpi/impl.h"
#include "mpi/engine/hooks.h"

struct rz_session {
    struct rz_object object;
    struct rz_errhandler *errhandler;
    uint64_t id;      /* counted from 1, never used again: groups refer to their session by it */
    int thread_level; /* MPI_THREAD_* as granted */
    bool inside;      /* made inside MPIX_Reinit */
    struct rz_session *next, *prev; /* list of all open sessions; free ones are linked by next */
};

/* A new open session; the caller sets error handler, thread level and `inside`. NULL: no memory. */
struct rz_session *rz_session_new(void);

/* Ends the session. */
void rz_session_end(struct rz_session *session);

/* A session has ended, or could not be opened; if no session or other model is open, the library
 * runs no more. */
void rz_session_ended(void);

extern const struct rz_hooks rz_session_hooks;

#endif
