/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the entry points (src/abi) and what they call (src/mpi).
 *
 * For each MPI function that the library has there is one implementation function, declared in
 * impl_calls.h: rzm_comm_dup for MPI_Comm_dup, rzm_send for both MPI_Send and MPI_Send_c. A
 * function is supported when its implementation function is linked; until then its entry point
 * reports that and returns MPI_ERR_UNSUPPORTED_OPERATION. Nothing is registered anywhere.
 *
 * What the entry point has done before the call:
 *   - The state was checked (MPI_Init was called, where that is needed), and the engine lock is
 *     held (if threads share the engine).
 *   - Handles were looked up: `struct rz_comm *` and its variants are objects of their kind that
 *     are not freed; NULL only where the call allows the null handle (an info argument, a request
 *     of MPI_REQUEST_NULL, MPI_Message of MPI_MESSAGE_NULL never).
 *   - Counts are >= 0, tags in 0..RZ_TAG_UB or MPI_ANY_TAG where allowed, ranks within the
 *     communicator (the remote group of an inter-communicator) or MPI_PROC_NULL, MPI_ANY_SOURCE,
 *     MPI_ROOT where allowed.
 *   - Datatypes of communication are committed; output pointers are not NULL.
 *   - Arguments that MPI ignores at this process (the receive side of a gather elsewhere than at
 *     the root, the datatype beside MPI_IN_PLACE) were not checked: a datatype there is NULL, a
 *     count 0, an array as the user passed it.
 *   - A status is the user's pointer: NULL is MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE.
 *
 * The arguments, in the order of MPI:
 *   - A handle in: a pointer to the object. A handle out: where to store such a pointer (its first
 *     reference becomes the user's).
 *   - A handle that the call consumes (MPI_Comm_free, MPI_Mrecv): the pointer; the entry point
 *     stores the null handle. The free functions never get a predefined object: that is an error,
 *     except for a group or error handler, where it has no effect.
 *   - The requests of MPI_Wait, MPI_Test and variants: the user's array of handles, each valid or
 *     null, which the function updates.
 *   - A count or displacement that is int in one variant and MPI_Count or MPI_Aint in the other:
 *     MPI_Count. Out: MPI_Count *, which the entry point narrows for the int variant. Arrays of
 *     them: struct rz_counts.
 *   - All others as in MPI.
 *
 * An implementation function returns MPI_SUCCESS, an error class (or code), or RZM_ROLLBACK. It
 * sets outputs on success only. It never runs an error handler, never jumps, never prints: the
 * entry point does that after the function has unwound. The first function that knows the cause of
 * an error reports it by `return rzm_error(class, "...")`.
 */
#ifndef RZ_MPI_IMPL_H
#define RZ_MPI_IMPL_H

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
struct rz_file;
struct rz_monitor; /* RZ_Group_monitor */
struct rz_win;

/* Returned by an implementation function when the job rolls back to its restart point; never
 * returned to the user. */
#define RZM_ROLLBACK (-1)

/* The largest tag, the value of the attribute MPI_TAG_UB. Negative tags are for the library's own
 * messages. */
#define RZ_TAG_UB 0x3fffffff

/* An array of counts or displacements as the user passed it: int, or 64 bits wide. */
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
 * The state of MPI in this process. The library runs while the world model is initialised (from
 * MPI_Init to MPI_Finalize) or a session is open; init_finalize.c sets these variables, and the
 * entry points read them.
 */
enum rz_phase { RZ_PHASE_BEFORE, RZ_PHASE_RUNNING, RZ_PHASE_AFTER };
extern enum rz_phase rz_phase RZ_OWN; /* of the library; reason.c */
extern enum rz_phase rz_world;        /* of the world model; reason.c */
extern unsigned rz_sessions_open;     /* how many sessions are open; reason.c */
extern int rz_world_rank; /* from the time it has joined its job on; -1: not; reason.c */

/* ---- Errors (reason.c) ---- */

/*
 * Notes the reason of an error, as one line without a newline and without the name of the call, and
 * returns error_class. The reason belongs to the calling thread until its next rzm_error();
 * MPI_Error_string and the fatal handler show it.
 */
int rzm_error(int error_class, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The reason noted last by this thread for that class, or NULL. */
const char *rzm_error_reason(int error_class);

/* The call with that name, a literal, ends with this error: from now on the call belongs to the
 * reason that it noted, if it did. For the entry point. */
void rzm_error_returned(int error_class, const char *call);

/* The call that returned that error last in this thread, or NULL. */
const char *rzm_error_call(int error_class);

/*
 * The end of a call that completes several requests, some with an error: returns MPI_ERR_IN_STATUS.
 * error: of the first request with an error; comm: the communicator of that request, with a
 * reference that the callee takes over, or NULL. The error handler of comm gets that error (MPI
 * 4.1, section 9.3.1).
 */
int rzm_error_in_status(int error, struct rz_comm *comm);

/*
 * Returns, once, the arguments of the last rzm_error_in_status in this thread; MPI_SUCCESS: there
 * was none. The caller takes over the reference to *comm, which may be NULL. For the entry point.
 */
int rzm_error_take_cause(struct rz_comm **comm);

/* The error class that the user gets for a status; RZM_ROLLBACK for RZ_ERR_ROLLBACK. Keeps the
 * noted reason. */
int rzm_status_class(rz_status_t status);

/*
 * The object of an MPI_Errhandler. core/errhandler.c makes them; the entry points run
 * them. Predefined ones (object.predefined 0x141 ARE_FATAL, 0x142 ABORT, 0x143 RETURN) have no
 * function.
 */
struct rz_errhandler {
    struct rz_object object;
    /* RZ_OBJECT_COMM, _WIN, _FILE or _SESSION; not set in a predefined one */
    enum rz_object_kind of;
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } function;
};

/* ---- Inquiries of the entry points: each is one load or a small table ---- */

/* The object of a predefined handle (a number of the ABI below 0x1000), NULL for the null handle
 * and for unknown numbers. */
extern struct rz_comm rz_comm_world, rz_comm_self;                 /* 0x101, 0x102 */
extern struct rz_datatype *const rz_datatypes_named[0x100] RZ_OWN; /* 0x201..0x2eb */
struct rz_group *rz_group_predefined(unsigned handle);             /* 0x109 EMPTY */
extern struct rz_op *const rz_ops_named[0x20] RZ_OWN;              /* 0x21..0x3d */
struct rz_info *rz_info_predefined(unsigned handle);               /* 0x131 ENV */
struct rz_errhandler *
rz_errhandler_predefined(unsigned handle); /* 0x141..0x143; valid before MPI_Init, too */
struct rz_matched *rz_matched_predefined(unsigned handle); /* 0x129 NO_PROC */

static inline struct rz_comm *rz_comm_predefined(unsigned handle)
{
    return handle == 0x101 ? &rz_comm_world : handle == 0x102 ? &rz_comm_self : NULL;
}

static inline struct rz_datatype *rz_datatype_predefined(unsigned handle)
{
    return handle - 0x200 < 0x100 ? rz_datatypes_named[handle - 0x200] : NULL;
}

static inline struct rz_op *rz_op_predefined(unsigned handle)
{
    return handle - 0x20 < 0x20 ? rz_ops_named[handle - 0x20] : NULL;
}

/* What struct rz_comm begins with. */
struct rz_comm_head {
    struct rz_object object;
    int peers; /* the size of the group that ranks refer to: remote if inter, else local */
};

static inline int rz_comm_peers(const struct rz_comm *comm)
{
    return ((const struct rz_comm_head *)comm)->peers;
}

int rz_comm_rank(const struct rz_comm *comm); /* of this process in the local group */
int rz_comm_size(const struct rz_comm *comm); /* of the local group */

/* Whether count >= 0 elements of a datatype have less than 2^63 bytes, both as data and from end to
 * end. */
bool rz_datatype_fits(const struct rz_datatype *datatype, MPI_Count count);

int rz_group_rank(const struct rz_group *group); /* of this process, or MPI_UNDEFINED */

/* The number of edges of comm's topology that enter this process, and that leave it; false: comm
 * has no topology. */
bool rz_comm_degrees(const struct rz_comm *comm, int *indegree, int *outdegree);

/* The error handler of comm; not retained. */
struct rz_errhandler *rz_comm_errhandler(struct rz_comm *comm);

/* A window: the size of its group; its communicator, which no user has a handle of; its error
 * handler; and the window of such a communicator, NULL: it is none. */
int rz_win_size(const struct rz_win *win);
struct rz_comm *rz_win_comm(const struct rz_win *win);
struct rz_errhandler *rz_win_errhandler(const struct rz_win *win);
struct rz_win *rz_comm_window(const struct rz_comm *comm);

/* The error handlers of a session, and of a file (NULL: MPI_FILE_NULL). */
struct rz_errhandler *rz_session_errhandler(struct rz_session *session);
struct rz_errhandler *rz_file_errhandler(struct rz_file *file);

/* The file whose hidden communicator this is, or NULL: errors on it are errors of the file. Of a
 * file: its hidden communicator, NULL once it is closed; whether it is closed; and the end of a
 * reference to it. */
struct rz_file *rz_comm_file(const struct rz_comm *comm);
struct rz_comm *rz_file_comm(const struct rz_file *file);
bool rz_file_is_closed(const struct rz_file *file);
void rz_file_release(struct rz_file *file);

/* The error handler for errors without an object while there is no MPI_COMM_SELF, and the first one
 * of MPI_COMM_WORLD and MPI_COMM_SELF: as set by the launcher (rzrun --initial-errhandler). */
struct rz_errhandler *rz_errhandler_initial(void);

/* The engine lock (engine.h): taken only when several threads may call MPI. */
extern bool rz_engine_shared RZ_OWN;
void rz_engine_enter(void);
void rz_engine_leave(void);

/* Whether the calling thread runs a function of the user that the library called, so that a call
 * below it has not ended. */
bool rz_engine_runs_user(void);

/*
 * If threads share the engine, with the lock held: whether the job has not rolled back since this
 * thread's last call, and is not about to. If false, the thread must be told;
 * rz_engine_thread_was_told records that it was.
 */
bool rz_engine_thread_is_current(void);
void rz_engine_thread_was_told(void);

/* The last reference was released: ends the communicator and frees it. comm.c. */
void rz_comm_free(struct rz_comm *comm);

/* Releases a reference taken by rz_object_retain; the engine lock is held. */
static inline void rz_comm_release(struct rz_comm *comm)
{
    if (rz_object_release((struct rz_object *)comm)) {
        rz_comm_free(comm);
    }
}

/* The communicator of a request, not retained; NULL when it has none. */
struct rz_comm *rz_request_comm(const struct rz_request *request);

/* The communicator of a matched message (NULL: MPI_MESSAGE_NO_PROC). */
struct rz_comm *rz_matched_comm(const struct rz_matched *matched);

/*
 * rz_monitor_comm: the communicator on which a group monitor was started last, not retained.
 * rz_monitors_untold: whether monitors have changes of which their programs were not told.
 * rz_monitors_tell() reports these, at the end of a call and without the lock, by functions of the
 * user, which may call MPI.
 */
#if RZ_GROUP
struct rz_comm *rz_monitor_comm(const struct rz_monitor *monitor);
extern _Atomic bool rz_monitors_untold RZ_OWN;
void rz_monitors_tell(void);
#endif

/* ---- Handles inside arrays: NULL for the null handle; otherwise valid ---- */

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

static inline MPI_File rz_file_handle(struct rz_file *file)
{
    return (MPI_File)rz_object_handle((struct rz_object *)file, (uintptr_t)MPI_FILE_NULL);
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

/* The empty status of MPI: any source, any tag, no bytes, not cancelled. MPI_ERROR is not
 * changed. */
static inline void rz_status_set_empty(MPI_Status *status)
{
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    rz_status_set_cancelled(status, false);
    rz_status_set_bytes(status, 0);
}

/* What a call returns that made *made (NULL: nothing) out of comm and ended with `error`. Called by
 * the entry points, so that no implementation function needs to (agree/comm_uniform.h). */
int rz_uniform_made(struct rz_comm *comm, int error, struct rz_comm **made);

/*
 * Short forms of calls whose time counts, for their most common case. They take the arguments as
 * the user passed them, unchecked, without the lock. True: the call is done, with success. False:
 * nothing has happened, and the entry point goes on as for any call; an error is found there.
 */
bool rzm_put_short(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win);
bool rzm_get_short(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win);
bool rzm_fetch_and_op_short(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                            int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win);
bool rzm_compare_and_swap_short(const void *origin_addr, const void *compare_addr,
                                void *result_addr, MPI_Datatype datatype, int target_rank,
                                MPI_Aint target_disp, MPI_Win win);
bool rzm_win_lock_short(int lock_type, int rank, int assert, MPI_Win win);
bool rzm_win_unlock_short(int rank, MPI_Win win);
bool rzm_win_flush_short(int rank, MPI_Win win);
bool rzm_waitany_short(MPI_Count count, MPI_Request *requests, int *indx, MPI_Status *status);
bool rzm_testany_short(MPI_Count count, MPI_Request *requests, int *indx, int *flag,
                       MPI_Status *status);

#include "mpi/impl_calls.h"

#endif
