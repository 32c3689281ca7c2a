/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the entry points (src/abi) and the chapters of the library (src/mpi).
 *
 * For each MPI function that the library has there is one chapter function, declared in
 * chapter_calls.h: MPI_Comm_dup is served by rzm_comm_dup, MPI_Send and MPI_Send_c both by
 * rzm_send. A function is supported when its chapter function is linked; until then its entry point
 * says so and returns MPI_ERR_UNSUPPORTED_OPERATION. Nothing is registered anywhere.
 *
 * What the entry point has done before it calls:
 *   the state was checked (MPI_Init done where needed), the engine lock is held (if threads share
 * the engine); handles were looked up: `struct rz_comm *` and variants are living objects of their
 * kind, NULL only where the call allows the null handle (an info argument, a request of
 * MPI_REQUEST_NULL, MPI_Message of MPI_MESSAGE_NULL never); counts are >= 0, tags in 0..RZ_TAG_UB
 * or MPI_ANY_TAG where allowed, ranks within the communicator (the remote group of an
 * inter-communicator) or MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_ROOT where allowed; datatypes of
 * communication are committed; output pointers are not NULL; arguments that MPI ignores at this
 * process (the receive side of a gather elsewhere than at the root, the type beside MPI_IN_PLACE)
 * were not looked at: a datatype there is NULL, a count 0, an array as the user gave it. Statuses
 * are the user's pointer: NULL is MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE.
 *
 * How arguments look: same order as in MPI;
 *   a handle in: pointer to the object; a handle out: where to put such a pointer (its first
 * reference becomes the user's); a handle that the call consumes (MPI_Comm_free, MPI_Mrecv): the
 * pointer; the entry point stores the null handle. The free functions never see a predefined
 * object: that is an error, except of a group or error handler, where it does nothing; the requests
 * of MPI_Wait and MPI_Test and variants: the user's array of handles, each valid or null, which
 * the chapter updates; a count or displacement that is int in one variant and MPI_Count or MPI_Aint
 * in the other: MPI_Count; out: MPI_Count *, and the entry point narrows it for the int variant;
 * arrays of them: struct rz_counts; all else as in MPI.
 *
 * What a chapter function returns: MPI_SUCCESS, an error class (or code), or RZM_ROLLBACK. It sets
 * outputs on success only. It never runs an error handler, never jumps, never prints: the entry
 * point does, after the chapter has unwound. Who first knows a cause tells it by `return
 * rzm_error(class, "...")`.
 */
#ifndef RZ_MPI_CHAPTER_H
#define RZ_MPI_CHAPTER_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <mpi-ext.h>

#include "base/status.h"
#include "mpi/core/object.h"

struct rz_comm;
struct rz_group;
struct rz_datatype;
struct rz_op;
struct rz_request;
struct rz_matched; /* MPI_Message: a message matched by a probe */
struct rz_info;
struct rz_errhandler;
struct rz_session;
struct rz_monitor; /* RZ_Group_monitor */

/* Returned by a chapter function when the job goes back to its restart point; never seen by the
 * user. */
#define RZM_ROLLBACK (-1)

/* The largest tag, the value of the attribute MPI_TAG_UB. Negative tags are for the library's own
 * messages. */
#define RZ_TAG_UB 0x3fffffff

/* An array of counts or displacements as the user gave it: int, or 64 bits wide. */
struct rz_counts {
    const int *narrow;
    const int64_t *wide;
};

static inline int64_t rz_counts_at(struct rz_counts counts, MPI_Count i)
{
    return counts.wide ? counts.wide[i] : counts.narrow[i];
}

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t) && sizeof(MPI_Count) == sizeof(int64_t),
               "one wide view serves MPI_Aint and MPI_Count");

/*
 * Where this process is in its MPI life. The library runs while the world model does (from MPI_Init
 * to MPI_Finalize) or a session is open; both are kept by init_finalize.c and read by the entry
 * points.
 */
enum rz_phase { RZ_PHASE_BEFORE, RZ_PHASE_RUNNING, RZ_PHASE_AFTER };
extern enum rz_phase rz_phase;    /* of the library; reason.c */
extern enum rz_phase rz_world;    /* of the world model; reason.c */
extern unsigned rz_sessions_open; /* how many sessions are open; reason.c */

/* ---- Errors (reason.c) ---- */

/*
 * Note why, as one line without a newline and without the name of the call, and return error_class.
 * The reason belongs to the calling thread until its next rzm_error(); MPI_Error_string and the
 * fatal handler show it.
 */
int rzm_error(int error_class, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The reason noted last by this thread for that class, or NULL. */
const char *rzm_error_reason(int error_class);

/*
 * The call of that name, a literal, ends with this error: from now on it belongs to the reason that
 * the call noted, if it did. Of the entry point.
 */
void rzm_error_returned(int error_class, const char *call);

/* The call that returned that error last in this thread, or NULL. */
const char *rzm_error_call(int error_class);

/*
 * The end of a call that completes several requests, some with an error: returns MPI_ERR_IN_STATUS.
 * error: of the first request that has one; comm: the communicator of that request, a reference of
 * which is handed over, or NULL. Their error handler gets that error (MPI 4.1, section 9.3.1).
 */
int rzm_error_in_status(int error, struct rz_comm *comm);

/*
 * What rzm_error_in_status told last in this thread, once; MPI_SUCCESS: nothing. The caller owns
 * the reference of *comm, which may be NULL. Of the entry point.
 */
int rzm_error_take_cause(struct rz_comm **comm);

/* The error class that the user sees for a status; RZM_ROLLBACK for RZ_ERR_ROLLBACK. Keeps the
 * noted reason. */
int rzm_status_class(rz_status_t status);

/*
 * What MPI_Errhandler stands for. The errhandler chapter makes them; the entry points run them.
 * Predefined ones (object.predefined 0x141 ARE_FATAL, 0x142 ABORT, 0x143 RETURN) have no function.
 */
struct rz_errhandler {
    struct rz_object object;
    enum rz_object_kind of; /* RZ_OBJECT_COMM, _WIN, _FILE or _SESSION; not of a predefined one */
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } function;
};

/* ---- What the entry points ask of the chapters: each is one load or a small table ---- */

/* The object of a predefined handle (a number of the ABI below 0x1000), NULL for the null handle
 * and for unknown numbers. */
struct rz_comm *rz_comm_predefined(unsigned handle);         /* 0x101 WORLD, 0x102 SELF */
struct rz_group *rz_group_predefined(unsigned handle);       /* 0x109 EMPTY */
struct rz_datatype *rz_datatype_predefined(unsigned handle); /* 0x201..0x2eb */
struct rz_op *rz_op_predefined(unsigned handle);             /* 0x21..0x3d */
struct rz_info *rz_info_predefined(unsigned handle);         /* 0x131 ENV */
struct rz_errhandler *
rz_errhandler_predefined(unsigned handle); /* 0x141..0x143; valid before MPI_Init, too */
struct rz_matched *rz_matched_predefined(unsigned handle); /* 0x129 NO_PROC */

int rz_comm_rank(const struct rz_comm *comm); /* of this process in the local group */
int rz_comm_size(const struct rz_comm *comm); /* of the local group */
int rz_comm_peers(
    const struct rz_comm *comm); /* the group that ranks refer to: remote if inter, else local */

/* Whether so many of a datatype (count >= 0) are less than 2^63 bytes, in all and from end to end.
 */
bool rz_datatype_fits(const struct rz_datatype *datatype, MPI_Count count);

int rz_group_rank(const struct rz_group *group); /* of this process, or MPI_UNDEFINED */

/* How many edges of its topology come in to this process and go out of it; false: it has none. */
bool rz_comm_degrees(const struct rz_comm *comm, int *indegree, int *outdegree);

/* The handler in force on comm; not retained. */
struct rz_errhandler *rz_comm_errhandler(struct rz_comm *comm);

/* The same of a session, and of MPI_FILE_NULL. */
struct rz_errhandler *rz_session_errhandler(struct rz_session *session);
struct rz_errhandler *rz_file_errhandler(void);

/* That of errors which belong to no object while there is no MPI_COMM_SELF, and the first one of
 * MPI_COMM_WORLD and MPI_COMM_SELF: as the launcher was told (rzrun --initial-errhandler). */
struct rz_errhandler *rz_errhandler_initial(void);

/* The engine lock (engine.h): taken only when several threads may call MPI. */
extern bool rz_engine_shared;
void rz_engine_enter(void);
void rz_engine_leave(void);

/* Whether the calling thread runs a function of the user that the library called: below it is a
 * call that has not ended. */
bool rz_engine_runs_user(void);

/* With threads that share the engine, the lock held: whether the job has not gone back to its
 * restart point since this thread's last call, and is not about to. Then it must be told. */
bool rz_engine_thread_is_current(void);
void rz_engine_thread_was_told(void);

/* Give back a reference taken by rz_object_retain; the engine lock is held. */
void rz_comm_release(struct rz_comm *comm);

/* The communicator a request belongs to, not retained; NULL when it belongs to none. */
struct rz_comm *rz_request_comm(const struct rz_request *request);

/* The same of a matched message (NULL: MPI_MESSAGE_NO_PROC). */
struct rz_comm *rz_matched_comm(const struct rz_matched *matched);

/* The communicator that a group monitor was started on last, not retained; and whether monitors
 * have changes that their programs were not told: rz_monitors_tell() does, at the end of a call,
 * the lock not held, by functions of the user, which may call MPI. */
#if RZ_GROUP
struct rz_comm *rz_monitor_comm(const struct rz_monitor *monitor);
extern _Atomic bool rz_monitors_untold;
void rz_monitors_tell(void);
#endif

/* ---- Handles inside arrays: NULL for the null handle; else valid, for the entry looked ---- */

static inline struct rz_request *rz_request_of(MPI_Request handle)
{
    return (uintptr_t)handle < RZ_HANDLE_PREDEFINED_END ? NULL : (struct rz_request *)handle;
}

static inline struct rz_comm *rz_comm_of(MPI_Comm handle)
{
    return (uintptr_t)handle < RZ_HANDLE_PREDEFINED_END
               ? rz_comm_predefined((unsigned)(uintptr_t)handle)
               : (struct rz_comm *)handle;
}

static inline struct rz_info *rz_info_of(MPI_Info handle)
{
    return (uintptr_t)handle < RZ_HANDLE_PREDEFINED_END
               ? rz_info_predefined((unsigned)(uintptr_t)handle)
               : (struct rz_info *)handle;
}

static inline struct rz_datatype *rz_datatype_of(MPI_Datatype handle)
{
    return (uintptr_t)handle < RZ_HANDLE_PREDEFINED_END
               ? rz_datatype_predefined((unsigned)(uintptr_t)handle)
               : (struct rz_datatype *)handle;
}

/* The user's handle of an object, for callbacks (attribute copy, user operations) and arrays. */
static inline MPI_Comm rz_comm_handle(struct rz_comm *comm)
{
    return (MPI_Comm)rz_object_handle((struct rz_object *)comm, (uintptr_t)MPI_COMM_NULL);
}

static inline MPI_Session rz_session_handle(struct rz_session *session)
{
    return (MPI_Session)rz_object_handle((struct rz_object *)session, (uintptr_t)MPI_SESSION_NULL);
}

static inline MPI_Datatype rz_datatype_handle(struct rz_datatype *datatype)
{
    return (MPI_Datatype)rz_object_handle((struct rz_object *)datatype,
                                          (uintptr_t)MPI_DATATYPE_NULL);
}

static inline MPI_Request rz_request_handle(struct rz_request *request)
{
    return (MPI_Request)rz_object_handle((struct rz_object *)request, (uintptr_t)MPI_REQUEST_NULL);
}

/* ---- MPI_Status: what MPI_internal holds. [0] cancelled; [1],[2] number of bytes received ---- */

static inline void rz_status_set_bytes(MPI_Status *status, int64_t bytes)
{
    memcpy(&status->MPI_internal[1], &bytes, sizeof(bytes));
}

static inline int64_t rz_status_bytes(const MPI_Status *status)
{
    int64_t bytes;
    memcpy(&bytes, &status->MPI_internal[1], sizeof(bytes));
    return bytes;
}

static inline void rz_status_set_cancelled(MPI_Status *status, bool cancelled)
{
    status->MPI_internal[0] = cancelled;
}

static inline bool rz_status_cancelled(const MPI_Status *status)
{
    return status->MPI_internal[0] != 0;
}

/* The empty status of MPI: any source, any tag, nothing received, not cancelled. MPI_ERROR is left
 * as it is. */
static inline void rz_status_set_empty(MPI_Status *status)
{
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    rz_status_set_cancelled(status, false);
    rz_status_set_bytes(status, 0);
}

/*
 * After a call that made *made (NULL: nothing) out of comm and returned `error`: what it returns.
 * Entry points ask it, so that no chapter function needs to (agree/comm_uniform.h).
 */
int rz_uniform_made(struct rz_comm *comm, int error, struct rz_comm **made);

#include "mpi/chapter_calls.h"

#endif
