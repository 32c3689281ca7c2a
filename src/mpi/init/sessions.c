/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls on sessions: init and finalize, process sets, error handlers, buffers for buffered
 * sends.
 */
#include "mpi/init/session_object.h"

#include "mpi/agree/comm_info.h"
#include "mpi/p2p/send_buffer.h"
#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/core/errhandler.h"
#include "mpi/init/init_finalize.h"
#include "mpi/monitor/monitors.h"
#include "mpi/request/request.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Init and finalize ---- */

static const char *const levels[] = {
    [MPI_THREAD_SINGLE] = "MPI_THREAD_SINGLE",
    [MPI_THREAD_FUNNELED] = "MPI_THREAD_FUNNELED",
    [MPI_THREAD_SERIALIZED] = "MPI_THREAD_SERIALIZED",
    [MPI_THREAD_MULTIPLE] = "MPI_THREAD_MULTIPLE",
};
#define N_LEVELS ((int)(sizeof(levels) / sizeof(levels[0])))

/* Reads the requested thread level; all levels are supported, so it is granted. */
static int read_thread_level(struct rz_info *info, int *level)
{
    char value[32];
    int there = 0;
    *level = MPI_THREAD_MULTIPLE;
    int error = !info ? MPI_SUCCESS
                      : rzm_info_get(info, "thread_level", (int)sizeof(value) - 1, value, &there);
    if (error != MPI_SUCCESS || !there) {
        return error;
    }
    for (int i = 0; i < N_LEVELS; i++) {
        if (levels[i] && strcmp(value, levels[i]) == 0) {
            *level = i;
            return MPI_SUCCESS;
        }
    }
    return rzm_error(MPI_ERR_INFO_VALUE, "thread_level is \"%s\", not one of MPI_THREAD_*", value);
}

int rzm_session_init(struct rz_info *info, struct rz_errhandler *errhandler,
                     struct rz_session **session)
{
    int level;
    int error = read_thread_level(info, &level);
    error = error != MPI_SUCCESS ? error : rz_init_session_begins();
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_session *made = rz_session_new();
    if (!made) {
        rz_session_ended();
        return MPI_ERR_NO_MEM;
    }
    rz_errhandler_retain(errhandler);
    made->errhandler = errhandler;
    made->thread_level = level;
    made->inside = rz_engine.reinit_open;
    *session = made;
    return MPI_SUCCESS;
}

int rzm_session_finalize(struct rz_session *session)
{
    int error = rz_engine_begin();
    bool last = rz_sessions_open == 1 && rz_world != RZ_PHASE_RUNNING;
    error = error != MPI_SUCCESS
                ? error
                : rz_init_all_sent("MPI_Session_finalize", last ? RZ_SESSION_ANY : session->id);
    if (error == MPI_SUCCESS) {
        rz_send_buffer_owner_ends(RZ_BUFFER_OF_SESSION, session->id);
        rz_session_end(session);
    }
    return error;
}

/* ---- Process sets ---- */

/* Makes a group of a process set: of a predefined communicator, or of a monitor's latest view.
 * *group NULL: there is no such set. */
static int pset_group(const char *name, struct rz_group **group)
{
    const struct rz_comm *comm = rz_comm_predefined(rz_process_set_comm(name));
    if (comm) {
        *group = rz_group_new(comm->group->size, comm->group->process);
        return *group ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    bool found;
    *group = rz_monitors_pset(name, &found);
    return *group || !found ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int rzm_session_get_num_psets(struct rz_session *session, struct rz_info *info, int *npset_names)
{
    (void)session;
    (void)info;
    *npset_names = RZ_PROCESS_SETS + rz_monitors_count();
    return MPI_SUCCESS;
}

int rzm_session_get_nth_pset(struct rz_session *session, struct rz_info *info, int n, int *pset_len,
                             char *pset_name)
{
    (void)session;
    (void)info;
    int all = RZ_PROCESS_SETS + rz_monitors_count();
    if (n < 0 || n >= all) {
        return rzm_error(MPI_ERR_ARG, "n is %d, not in 0..%d", n, all - 1);
    }
    if (*pset_len < 0 || (*pset_len > 0 && !pset_name)) {
        return rzm_error(MPI_ERR_ARG, "pset_len is %d and pset_name %s", *pset_len,
                         pset_name ? "is there" : "a null pointer");
    }
    char name[MPI_MAX_PSET_NAME_LEN];
    if (n < RZ_PROCESS_SETS) {
        snprintf(name, sizeof(name), "%s", rz_process_sets[n]);
    } else {
        snprintf(name, sizeof(name), RZ_MONITOR_PSET "%s", rz_monitors_name(n - RZ_PROCESS_SETS));
    }
    if (*pset_len > 0) {
        snprintf(pset_name, (size_t)*pset_len, "%s", name);
    }
    *pset_len = (int)strlen(name) + 1;
    return MPI_SUCCESS;
}

/* Makes an info object of these pairs of key and value. */
static int info_of(const char *pairs[][2], int n, struct rz_info **info)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        error = rzm_info_set(made, pairs[i][0], pairs[i][1]);
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *info = made;
    return MPI_SUCCESS;
}

int rzm_session_get_pset_info(struct rz_session *session, const char *pset_name,
                              struct rz_info **info)
{
    (void)session;
    struct rz_group *group;
    int error = pset_group(pset_name, &group);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!group) {
        return rzm_error(MPI_ERR_ARG, "pset_name is \"%s\", no process set", pset_name);
    }
    char size[16];
    snprintf(size, sizeof(size), "%d", group->size);
    rz_group_release(group);
    const char *pairs[][2] = {{"mpi_size", size}};
    return info_of(pairs, 1, info);
}

int rzm_session_get_info(struct rz_session *session, struct rz_info **info_used)
{
    const char *pairs[][2] = {{"thread_level", levels[session->thread_level]},
                              {"mpi_memory_alloc_kinds", RZ_MEMORY_KINDS}};
    return info_of(pairs, 2, info_used);
}

int rzm_group_from_session_pset(struct rz_session *session, const char *pset_name,
                                struct rz_group **newgroup)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_group *made;
    error = pset_group(pset_name, &made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (made) { /* no such set: no error, as the standard requires */
        made->session = session->id;
    }
    *newgroup = made;
    return MPI_SUCCESS;
}

/* ---- Error handlers ---- */

struct rz_errhandler *rz_session_errhandler(struct rz_session *session)
{
    return session->errhandler;
}

int rzm_session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn,
                                  struct rz_errhandler **errhandler)
{
    int error = rz_errhandler_new(RZ_OBJECT_SESSION, errhandler);
    if (error == MPI_SUCCESS) {
        (*errhandler)->function.session = session_errhandler_fn;
    }
    return error;
}

int rzm_session_set_errhandler(struct rz_session *session, struct rz_errhandler *errhandler)
{
    return rz_errhandler_set(&session->errhandler, RZ_OBJECT_SESSION, errhandler);
}

int rzm_session_get_errhandler(struct rz_session *session, struct rz_errhandler **errhandler)
{
    rz_errhandler_retain(session->errhandler);
    *errhandler = session->errhandler;
    return MPI_SUCCESS;
}

/* ---- Buffers for buffered sends ---- */

int rzm_session_attach_buffer(struct rz_session *session, void *buffer, MPI_Count size)
{
    return rz_send_buffer_attach(RZ_BUFFER_OF_SESSION, session->id, buffer, size);
}

int rzm_session_detach_buffer(struct rz_session *session, void *buffer_addr, MPI_Count *size)
{
    return rz_buffered_detach(RZ_BUFFER_OF_SESSION, session->id, "MPI_Session_detach_buffer",
                              buffer_addr, size);
}

int rzm_session_flush_buffer(struct rz_session *session)
{
    return rz_buffered_flush(RZ_BUFFER_OF_SESSION, session->id, "MPI_Session_flush_buffer");
}

int rzm_session_iflush_buffer(struct rz_session *session, struct rz_request **request)
{
    return rz_buffered_iflush(RZ_BUFFER_OF_SESSION, session->id, request);
}
