/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of open sessions, and what a roll-back does to them.
 */
#include "mpi/init/session_object.h"

#include "mpi/core/errhandler.h"

#include <stdlib.h>

static struct rz_session *open_first, *free_first;
static uint64_t last_id;

void rz_session_ended(void)
{
    if (rz_sessions_open == 0 && rz_world != RZ_PHASE_RUNNING) {
        rz_phase = RZ_PHASE_AFTER;
    }
}

/* The memory of sessions is never freed: a stale handle reads an ended session. */
struct rz_session *rz_session_new(void)
{
    struct rz_session *session = free_first;
    if (session) {
        free_first = session->next;
    } else if ((session = malloc(sizeof(*session))) == NULL) {
        return NULL;
    }
    rz_object_init(&session->object, RZ_OBJECT_SESSION, 0);
    session->id = ++last_id;
    session->prev = NULL;
    session->next = open_first;
    if (open_first) {
        open_first->prev = session;
    }
    open_first = session;
    rz_sessions_open++;
    return session;
}

void rz_session_end(struct rz_session *session)
{
    bool last = rz_object_release(&session->object);
    rz_assert(last);
    rz_errhandler_release(session->errhandler);
    *(session->prev ? &session->prev->next : &open_first) = session->next;
    if (session->next) {
        session->next->prev = session->prev;
    }
    session->next = free_first;
    free_first = session;
    rz_sessions_open--;
    rz_session_ended();
}

/* At a roll-back: sessions that were made inside MPIX_Reinit end. */
static void roll_back(void)
{
    struct rz_session *next;
    for (struct rz_session *session = open_first; session; session = next) {
        next = session->next;
        if (session->inside) {
            rz_session_end(session);
        }
    }
}

const struct rz_hooks rz_session_hooks = {.discard = roll_back};
