/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every entry point does, in the form of the generated source:
 *
 *     struct rz_call call = {.name = "MPI_Send"};
 *     if (rz_call_begin(&call) && rz_arg_comm(&call, "comm", comm, &comm_) && ...) {
 *         call.error = rzm_send(...);
 *     }
 *     return rz_call_end(&call);
 *
 * The rz_arg_* functions look a handle up or check one argument; if it is invalid they record the
 * error with the name of the argument and return false. The path without errors is inline, the rest
 * is in entry.c and raise.c.
 */
#ifndef RZ_ABI_ENTRY_H
#define RZ_ABI_ENTRY_H

#include <mpi-ext.h>

#include "mpi/impl.h"

#define RZ_PUBLIC __attribute__((visibility("default")))

/* The weak name MPI_X beside PMPI_X: a tool's MPI_X takes its place and calls PMPI_X. */
#define RZ_TWIN(name)                                                                              \
    RZ_PUBLIC extern __typeof__(P##name) name __attribute__((weak, alias("P" #name)))

/* For entry points whose time counts: the checks of their arguments are compiled into them. */
#define RZ_HOT __attribute__((flatten))

/* What an entry point with a short form (mpi/impl.h) does in all other cases. */
#define RZ_LONG __attribute__((noinline))

#define RZ_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define RZ_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

struct rz_call {
    const char *name; /* as written in the program */
    struct rz_comm
        *comm;          /* its error handler applies; NULL: that of errors without a communicator */
    struct rz_win *win; /* of a call on a window: its error handler applies */
    struct rz_session *session;    /* of a call on a session: its error handler applies */
    struct rz_file *file;          /* of a call on a file: its error handler applies */
    bool of_file;                  /* without a file: that of MPI_FILE_NULL */
    struct rz_errhandler *handler; /* given for the object to be made: has precedence */
    int error;                     /* MPI_SUCCESS, an error class or RZM_ROLLBACK */
    union {
        uint32_t holds; /* 0: the call holds nothing of these */
        struct {
            bool locked;    /* the engine lock is held */
            bool lives;     /* the initialisation lock is held */
            bool held;      /* comm was retained: a request that completes might hold the last other
                               reference */
            bool file_held; /* file was retained: the call closes it */
        };
    };
};

/* Which wildcards and special ranks a parameter accepts beside the ranks of the communicator. */
enum rz_rank_use { RZ_RANK_DEST, RZ_RANK_SOURCE };

/* The role of this process in a rooted collective. */
enum rz_role {
    RZ_ROLE_ROOT,     /* holds the root's buffer; of an intra-communicator it contributes, too */
    RZ_ROLE_LEAF,     /* contributes */
    RZ_ROLE_BYSTANDER /* MPI_PROC_NULL in an inter-communicator */
};

/* ---- Begin and end ---- */

bool rz_call_out_of_phase(struct rz_call *call);
bool rz_call_left_behind(struct rz_call *call);
bool rz_call_out_of_world(struct rz_call *call);
bool rz_call_world_may_end(struct rz_call *call);
int rz_call_finish_error(struct rz_call *call);

/* Takes the engine lock if threads share the engine. */
static inline void rz_call_lock(struct rz_call *call)
{
    if (rz_engine_shared) {
        rz_engine_enter();
        call->locked = true;
    }
}

/* As rz_call_lock, at the beginning of a call: false in a thread that must be told of a
 * roll-back. */
static inline bool rz_call_lock_first(struct rz_call *call)
{
    rz_call_lock(call);
    return !call->locked || rz_engine_thread_is_current() || rz_call_left_behind(call);
}

/* For calls that need a running MPI. */
static inline bool rz_call_begin(struct rz_call *call)
{
    return RZ_LIKELY(rz_phase == RZ_PHASE_RUNNING) ? rz_call_lock_first(call)
                                                   : rz_call_out_of_phase(call);
}

/* Held while a model (World, Sessions) begins or ends, so that threads do this one after the other:
 * MPI_Session_init may be called by any thread at any time. Taken before the engine lock. */
void rz_init_enter(void);
void rz_init_leave(void);

/* For MPI_Session_init. */
static inline bool rz_call_begin_life(struct rz_call *call)
{
    rz_init_enter();
    call->lives = true;
    rz_call_lock(call);
    return true;
}

/* For MPI_Init and MPI_Init_thread. */
static inline bool rz_call_begin_init(struct rz_call *call)
{
    rz_call_begin_life(call);
    return rz_world == RZ_PHASE_BEFORE ? true : rz_call_out_of_world(call);
}

/* For MPI_Finalize. */
static inline bool rz_call_begin_world(struct rz_call *call)
{
    rz_call_begin_life(call);
    return rz_world == RZ_PHASE_RUNNING ? rz_call_world_may_end(call) : rz_call_out_of_world(call);
}

/* For calls that MPI allows at any time: from any thread, before MPI_Init, and with any thread
 * level. */
static inline bool rz_call_begin_anytime(struct rz_call *call)
{
    rz_engine_enter();
    call->locked = true;
    return true;
}

static inline void rz_call_unlock(struct rz_call *call)
{
    if (call->file_held) {
        rz_file_release(call->file);
        call->file_held = false;
    }
    if (call->held) {
        rz_comm_release(call->comm);
        call->held = false;
    }
    if (call->locked) {
        rz_engine_leave();
        call->locked = false;
    }
    if (call->lives) {
        rz_init_leave();
        call->lives = false;
    }
}

/* Unlocks; after an error runs the error handler, after RZM_ROLLBACK does not return. */
static inline int rz_call_end(struct rz_call *call)
{
    if (RZ_LIKELY(call->error == MPI_SUCCESS)) {
        if (call->holds) {
            rz_call_unlock(call);
        }
#if RZ_GROUP
        if (RZ_UNLIKELY(atomic_load_explicit(&rz_monitors_untold, memory_order_relaxed))) {
            rz_monitors_tell();
        }
#endif
        return MPI_SUCCESS;
    }
    return rz_call_finish_error(call);
}

/* Refuses a call without an implementation function. comm: of the call, if it has one, otherwise
 * NULL. Returns an error class. */
int rz_call_unsupported(const char *name, MPI_Comm comm);

/*
 * Runs the error handler of comm (NULL: of MPI_COMM_SELF) for an error of the call with that name.
 * The engine lock is not held. Returns error, if it returns.
 */
int rz_error_raise(struct rz_comm *comm, int error, const char *name);

/* As rz_error_raise, for an error of a window, of a session, and of a file (NULL: MPI_FILE_NULL).
 */
int rz_error_raise_win(struct rz_win *win, int error, const char *name);
int rz_error_raise_session(struct rz_session *session, int error, const char *name);
int rz_error_raise_file(struct rz_file *file, int error, const char *name);

/*
 * MPI_Error_string: "MPI_Send: invalid rank: dest is 9, not in 0..3", the call and the reason if it
 * is the error that this thread's last call returned.
 */
int rz_error_string(int errorcode, char *string, int *resultlen);

/* ---- Single arguments. Each returns false after recording the error in call->error. ---- */

bool rz_arg_refuse(struct rz_call *call, int error_class, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
bool rz_arg_bad_handle(struct rz_call *call, enum rz_object_kind kind, const char *name,
                       uintptr_t value) __attribute__((cold));
bool rz_arg_bad_rank(struct rz_call *call, const char *name, int rank, int peers)
    __attribute__((cold));

/* A live user's object of that kind behind a handle outside the predefined range, or NULL. */
static inline void *rz_arg_user_object(const void *handle, enum rz_object_kind kind)
{
    bool aligned = ((uintptr_t)handle & (sizeof(void *) - 1)) == 0;
    return aligned && rz_object_is(handle, kind) ? (void *)(uintptr_t)handle : NULL;
}

#define RZ_ARG_FIND(kind, mpi_type, type, KIND)                                                    \
    static inline struct type *rz_arg_find_##kind(mpi_type handle)                                 \
    {                                                                                              \
        uintptr_t value = (uintptr_t)handle;                                                       \
        return value < RZ_HANDLE_PREDEFINED_END ? type##_predefined((unsigned)value)               \
                                                : rz_arg_user_object(handle, KIND);                \
    }

#define RZ_ARG_LOOK_UP(kind, mpi_type, type, KIND)                                                 \
    RZ_ARG_FIND(kind, mpi_type, type, KIND)                                                        \
    static inline bool rz_arg_##kind(struct rz_call *call, const char *name, mpi_type handle,      \
                                     struct type **object)                                         \
    {                                                                                              \
        *object = rz_arg_find_##kind(handle);                                                      \
        return RZ_LIKELY(*object != NULL) ||                                                       \
               rz_arg_bad_handle(call, KIND, name, (uintptr_t)handle);                             \
    }

/* Windows, requests, sessions and monitors have no predefined object but the null handle. */
static inline struct rz_win *rz_win_predefined(unsigned handle)
{
    (void)handle;
    return NULL;
}

static inline struct rz_request *rz_request_predefined(unsigned handle)
{
    (void)handle;
    return NULL;
}

static inline struct rz_session *rz_session_predefined(unsigned handle)
{
    (void)handle;
    return NULL;
}

static inline struct rz_monitor *rz_monitor_predefined(unsigned handle)
{
    (void)handle;
    return NULL;
}

static inline struct rz_file *rz_file_predefined(unsigned handle)
{
    (void)handle;
    return NULL;
}

RZ_ARG_FIND(file, MPI_File, rz_file, RZ_OBJECT_FILE)
RZ_ARG_FIND(comm, MPI_Comm, rz_comm, RZ_OBJECT_COMM)
RZ_ARG_FIND(win, MPI_Win, rz_win, RZ_OBJECT_WIN)
RZ_ARG_FIND(session, MPI_Session, rz_session, RZ_OBJECT_SESSION)
RZ_ARG_FIND(request, MPI_Request, rz_request, RZ_OBJECT_REQUEST)
RZ_ARG_LOOK_UP(group, MPI_Group, rz_group, RZ_OBJECT_GROUP)
RZ_ARG_LOOK_UP(datatype, MPI_Datatype, rz_datatype, RZ_OBJECT_DATATYPE)
RZ_ARG_LOOK_UP(op, MPI_Op, rz_op, RZ_OBJECT_OP)
RZ_ARG_FIND(monitor, RZ_Group_monitor, rz_monitor, RZ_OBJECT_MONITOR)
RZ_ARG_FIND(matched, MPI_Message, rz_matched, RZ_OBJECT_MATCHED)
RZ_ARG_LOOK_UP(info, MPI_Info, rz_info, RZ_OBJECT_INFO)
RZ_ARG_LOOK_UP(errhandler, MPI_Errhandler, rz_errhandler, RZ_OBJECT_ERRHANDLER)

/* The error handler of a call's first communicator applies. */
static inline bool rz_arg_comm(struct rz_call *call, const char *name, MPI_Comm handle,
                               struct rz_comm **comm)
{
    *comm = rz_arg_find_comm(handle);
    if (RZ_LIKELY(*comm &&
                  (((struct rz_object *)*comm)->predefined == 0 || rz_world == RZ_PHASE_RUNNING))) {
        call->comm = call->comm ? call->comm : *comm;
        return true;
    }
    return rz_arg_bad_handle(call, RZ_OBJECT_COMM, name, (uintptr_t)handle);
}

/* For a spawned process (RZ_Comm_replace), which has no communicator yet except its own
 * MPI_COMM_WORLD. */
static inline bool rz_arg_comm_or_null(struct rz_call *call, const char *name, MPI_Comm handle,
                                       struct rz_comm **comm)
{
    *comm = NULL;
    if (handle != MPI_COMM_NULL) {
        return rz_arg_comm(call, name, handle, comm);
    }
    if (!call->comm && rz_world == RZ_PHASE_RUNNING) {
        call->comm = rz_comm_predefined(0x101);
    }
    return true;
}

static inline bool rz_arg_session(struct rz_call *call, const char *name, MPI_Session handle,
                                  struct rz_session **session)
{
    *session = call->session = rz_arg_find_session(handle);
    return RZ_LIKELY(*session != NULL) ||
           rz_arg_bad_handle(call, RZ_OBJECT_SESSION, name, (uintptr_t)handle);
}

static inline bool rz_arg_win(struct rz_call *call, const char *name, MPI_Win handle,
                              struct rz_win **win)
{
    *win = call->win = rz_arg_find_win(handle);
    return RZ_LIKELY(*win != NULL) ||
           rz_arg_bad_handle(call, RZ_OBJECT_WIN, name, (uintptr_t)handle);
}

static inline bool rz_arg_win_or_null(struct rz_call *call, const char *name, MPI_Win handle,
                                      struct rz_win **win)
{
    *win = NULL;
    return handle == MPI_WIN_NULL || rz_arg_win(call, name, handle, win);
}

static inline bool rz_arg_file(struct rz_call *call, const char *name, MPI_File handle,
                               struct rz_file **file)
{
    *file = call->file = rz_arg_find_file(handle);
    return RZ_LIKELY(*file != NULL) ||
           rz_arg_bad_handle(call, RZ_OBJECT_FILE, name, (uintptr_t)handle);
}

static inline bool rz_arg_file_or_null(struct rz_call *call, const char *name, MPI_File handle,
                                       struct rz_file **file)
{
    *file = NULL;
    return handle == MPI_FILE_NULL || rz_arg_file(call, name, handle, file);
}

/* A call that closes the file reports errors to its handler even so. */
static inline bool rz_call_hold_file(struct rz_call *call, struct rz_file *file)
{
    rz_object_retain((struct rz_object *)file);
    call->file_held = true;
    return true;
}

/* A call that creates an object, not from another one of its kind, reports errors to the error
 * handler that it was given for the object. of: the kind of the object. */
static inline bool rz_call_blame_handler(struct rz_call *call, struct rz_errhandler *handler,
                                         enum rz_object_kind of)
{
    bool fit = handler->object.predefined != 0 || handler->of == of;
    call->handler = fit ? handler : NULL;
    return fit || rz_arg_refuse(call, MPI_ERR_ERRHANDLER,
                                "errhandler was made for another kind of object");
}

static inline bool rz_arg_datatype_or_null(struct rz_call *call, const char *name,
                                           MPI_Datatype handle, struct rz_datatype **datatype)
{
    *datatype = NULL;
    return handle == MPI_DATATYPE_NULL || rz_arg_datatype(call, name, handle, datatype);
}

static inline bool rz_arg_info_or_null(struct rz_call *call, const char *name, MPI_Info handle,
                                       struct rz_info **info)
{
    *info = NULL;
    return handle == MPI_INFO_NULL || rz_arg_info(call, name, handle, info);
}

/* Errors of a request, or of a matched message, belong to its communicator (NULL: none), which must
 * not end before. */
static inline void rz_call_blame_comm(struct rz_call *call, struct rz_comm *comm)
{
    if (!call->comm && (call->comm = comm) != NULL) {
        rz_object_retain((struct rz_object *)comm);
        call->held = true;
    }
}

static inline void rz_call_blame(struct rz_call *call, const struct rz_request *request)
{
    rz_call_blame_comm(call, rz_request_comm(request));
}

static inline bool rz_arg_matched(struct rz_call *call, const char *name, MPI_Message handle,
                                  struct rz_matched **matched)
{
    *matched = rz_arg_find_matched(handle);
    if (RZ_LIKELY(*matched != NULL)) {
        rz_call_blame_comm(call, rz_matched_comm(*matched));
        return true;
    }
    return rz_arg_bad_handle(call, RZ_OBJECT_MATCHED, name, (uintptr_t)handle);
}

/* Errors of a monitor belong to the communicator that it was started on. */
static inline bool rz_arg_monitor(struct rz_call *call, const char *name, RZ_Group_monitor handle,
                                  struct rz_monitor **monitor)
{
    *monitor = rz_arg_find_monitor(handle);
#if RZ_GROUP
    if (RZ_LIKELY(*monitor != NULL)) {
        rz_call_blame_comm(call, rz_monitor_comm(*monitor));
        return true;
    }
#endif
    return rz_arg_bad_handle(call, RZ_OBJECT_MONITOR, name, (uintptr_t)handle);
}

/* For a monitor that is to be started, or moved. */
static inline bool rz_arg_monitor_or_null(struct rz_call *call, const char *name,
                                          RZ_Group_monitor handle, struct rz_monitor **monitor)
{
    *monitor = NULL;
    return handle == RZ_GROUP_MONITOR_NULL || rz_arg_monitor(call, name, handle, monitor);
}

static inline bool rz_arg_request_or_null(struct rz_call *call, const char *name,
                                          MPI_Request handle, struct rz_request **request)
{
    *request = rz_arg_find_request(handle);
    if (RZ_LIKELY(*request != NULL)) {
        rz_call_blame(call, *request);
        return true;
    }
    return handle == MPI_REQUEST_NULL ||
           rz_arg_bad_handle(call, RZ_OBJECT_REQUEST, name, (uintptr_t)handle);
}

static inline bool rz_arg_request(struct rz_call *call, const char *name, MPI_Request handle,
                                  struct rz_request **request)
{
    return rz_arg_request_or_null(call, name, handle, request) &&
           (*request || rz_arg_bad_handle(call, RZ_OBJECT_REQUEST, name, (uintptr_t)handle));
}

/* Memory that the call writes or reads: not NULL. */
static inline bool rz_arg_pointer(struct rz_call *call, const char *name, const void *pointer)
{
    return RZ_LIKELY(pointer != NULL) ||
           rz_arg_refuse(call, MPI_ERR_ARG, "%s is a null pointer", name);
}

/* An array of length items: not NULL unless it is empty. */
static inline bool rz_arg_array(struct rz_call *call, const char *name, const void *array,
                                int64_t length)
{
    return RZ_LIKELY(array || length <= 0) ||
           rz_arg_refuse(call, MPI_ERR_ARG, "%s is a null pointer", name);
}

static inline bool rz_arg_not_negative(struct rz_call *call, const char *name, int64_t value,
                                       int error_class)
{
    return RZ_LIKELY(value >= 0) ||
           rz_arg_refuse(call, error_class, "%s is %lld, less than 0", name, (long long)value);
}

static inline bool rz_arg_rank(struct rz_call *call, const char *name, int rank,
                               const struct rz_comm *comm, enum rz_rank_use use)
{
    int peers = rz_comm_peers(comm);
    return RZ_LIKELY((rank >= 0 && rank < peers) || rank == MPI_PROC_NULL) ||
           (use == RZ_RANK_SOURCE && rank == MPI_ANY_SOURCE) ||
           rz_arg_bad_rank(call, name, rank, peers);
}

/* A rank in the group of win, or MPI_PROC_NULL. */
static inline bool rz_arg_win_rank(struct rz_call *call, const char *name, int rank,
                                   const struct rz_win *win)
{
    int peers = rz_win_size(win);
    return RZ_LIKELY((rank >= 0 && rank < peers) || rank == MPI_PROC_NULL) ||
           rz_arg_bad_rank(call, name, rank, peers);
}

static inline bool rz_arg_tag(struct rz_call *call, const char *name, int tag, enum rz_rank_use use)
{
    return RZ_LIKELY(tag >= 0 && tag <= RZ_TAG_UB) ||
           (use == RZ_RANK_SOURCE && tag == MPI_ANY_TAG) ||
           rz_arg_refuse(call, MPI_ERR_TAG, "%s is %d, not in 0..%d", name, tag, RZ_TAG_UB);
}

/* root, and the role of this process with regard to it. */
bool rz_arg_root(struct rz_call *call, int root, const struct rz_comm *comm, enum rz_role *role);

/* comm must have a topology; the number of its incoming and outgoing edges here. */
bool rz_arg_neighbours(struct rz_call *call, const struct rz_comm *comm, int *indegree,
                       int *outdegree);

/* An operation that may reduce: MPI_REPLACE and MPI_NO_OP are for one-sided communication only. */
static inline bool rz_arg_reducing_op(struct rz_call *call, const char *name, MPI_Op handle,
                                      struct rz_op **op)
{
    bool one_sided = handle == MPI_REPLACE || handle == MPI_NO_OP;
    return RZ_LIKELY(!one_sided)
               ? rz_arg_op(call, name, handle, op)
               : rz_arg_refuse(call, MPI_ERR_OP, "%s is for one-sided communication only", name);
}

/* A user's object that the call consumes. */
static inline bool rz_arg_not_predefined(struct rz_call *call, const char *name, const void *object,
                                         int error_class)
{
    return RZ_LIKELY(((const struct rz_object *)object)->predefined == 0) ||
           rz_arg_refuse(call, error_class, "%s is predefined and cannot be freed", name);
}

/* ---- Message arguments: buffer, count and datatype together ---- */

/* What the three are called. */
struct rz_message_names {
    const char *buffer, *count, *datatype;
};

/* Their names as constants, not written anew in each call. */
#define RZ_NAMES(...)                                                                              \
    __extension__({                                                                                \
        static const struct rz_message_names names_ = {__VA_ARGS__};                               \
        &names_;                                                                                   \
    })

bool rz_arg_bad_message(struct rz_call *call, const struct rz_message_names *names,
                        const void *buffer, int64_t count, const struct rz_datatype *datatype)
    __attribute__((cold));

/* A committed datatype, a count, and a valid buffer: NULL is MPI_BOTTOM, useful with user's
 * datatypes only. */
static inline bool rz_arg_message(struct rz_call *call, const struct rz_message_names *names,
                                  const void *buffer, int64_t count, MPI_Datatype handle,
                                  struct rz_datatype **datatype)
{
    if (!rz_arg_datatype(call, names->datatype, handle, datatype)) {
        return false;
    }
    const struct rz_object *object = (const struct rz_object *)*datatype;
    rz_assert(object != NULL);
    bool predefined = object->predefined != 0;
    bool fit = predefined || (object->flags & RZ_DATATYPE_COMMITTED) != 0;
    bool buffer_fit = buffer != MPI_IN_PLACE && (buffer != MPI_BOTTOM || !predefined || count == 0);
    bool small = count >= 0 && count <= INT32_MAX && (object->flags & RZ_DATATYPE_HUGE) == 0;
    return RZ_LIKELY(fit && buffer_fit && small) ||
           rz_arg_bad_message(call, names, buffer, count, *datatype);
}

/* The data at the target of a one-sided operation: as rz_arg_message, without a buffer. */
static inline bool rz_arg_target(struct rz_call *call, int64_t count, MPI_Datatype handle,
                                 struct rz_datatype **datatype)
{
    static const char anywhere; /* an address that is no special value */
    return rz_arg_message(call, RZ_NAMES("target_disp", "target_count", "target_datatype"),
                          &anywhere, count, handle, datatype);
}

/* A buffer that must be valid, while its count and datatype are those of another one: the result of
 * a reduction. */
bool rz_arg_odd_result(struct rz_call *call, const char *name, const void *buffer, int64_t count,
                       const struct rz_datatype *datatype);

static inline bool rz_arg_result(struct rz_call *call, const char *name, const void *buffer,
                                 int64_t count, const struct rz_datatype *datatype)
{
    return RZ_LIKELY(buffer != MPI_IN_PLACE && buffer != MPI_BOTTOM) ||
           rz_arg_odd_result(call, name, buffer, count, datatype);
}

/* Input and result must not be one buffer: MPI_IN_PLACE is to be used for that. */
static inline bool rz_arg_two_buffers(struct rz_call *call, const char *name, const void *buffer,
                                      const char *result_name, const void *result, int64_t count)
{
    return RZ_LIKELY(buffer != result || buffer == MPI_BOTTOM || count == 0) ||
           rz_arg_refuse(call, MPI_ERR_BUFFER, "%s is %s, too: use MPI_IN_PLACE for that",
                         result_name, name);
}

/* Space for packed data, of `size` bytes. */
bool rz_arg_packed(struct rz_call *call, const char *name, const void *buffer, int64_t size);

/* As rz_arg_result, for a buffer with as many items as the sum of `length` counts. */
bool rz_arg_source(struct rz_call *call, const char *name, const void *buffer,
                   struct rz_counts counts, int length, const struct rz_datatype *datatype);

/*
 * One side of a collective with an array of counts. length: the number of counts, displacements and
 * datatypes.
 */
struct rz_side {
    const char *buffer_name;
    const void *buffer;
    const char *counts_name;
    struct rz_counts counts;
    const char *displs_name; /* NULL: the call has none */
    struct rz_counts displs;
    const char *type_name;
    int length;
};

/* All blocks have one datatype. */
bool rz_arg_side(struct rz_call *call, const struct rz_side *side, MPI_Datatype handle,
                 struct rz_datatype **datatype);

/*
 * The sent and the received data must be in two buffers, even if both begin at one address. They
 * are known to overlap if both have data at that address: a block at displacement 0 of a predefined
 * datatype (others may begin elsewhere).
 */
bool rz_arg_two_sides(struct rz_call *call, const struct rz_side *sent,
                      const struct rz_datatype *sent_type, const struct rz_side *received,
                      const struct rz_datatype *received_type) __attribute__((cold));

/* Each block has a datatype of its own. */
bool rz_arg_side_w(struct rz_call *call, const struct rz_side *side, const MPI_Datatype *handles);

/* An array of counts: present, and not negative. */
bool rz_arg_counts(struct rz_call *call, const char *name, struct rz_counts counts, int64_t length,
                   int error_class);

/* An array of displacements: present. */
static inline bool rz_arg_displs(struct rz_call *call, const char *name, struct rz_counts displs,
                                 int64_t length)
{
    return rz_arg_array(call, name, displs.wide ? (const void *)displs.wide : displs.narrow,
                        length);
}

/* All handles are valid; the first live request's communicator is used for errors. Null handles are
 * allowed. */
bool rz_arg_requests(struct rz_call *call, const char *name, const MPI_Request *requests,
                     int64_t count);

/* The commands of MPI_Comm_spawn_multiple: at least one, each present, with an info object or none,
 * and processes not less than 0. */
bool rz_arg_commands(struct rz_call *call, int count, char *const *commands, const int *maxprocs,
                     const MPI_Info *infos);

/* Each a communicator or MPI_COMM_NULL. */
bool rz_arg_comms(struct rz_call *call, const char *name, const MPI_Comm *comms, int64_t n);

/* Every handle is a datatype. */
bool rz_arg_datatypes(struct rz_call *call, const char *name, const MPI_Datatype *datatypes,
                      int64_t count);

/* Whether this process accesses the buffer that it sends to (or receives from) the root. */
static inline bool rz_role_takes_part(enum rz_role role, const struct rz_comm *comm,
                                      const void *buffer)
{
    bool inter = (((const struct rz_object *)comm)->flags & RZ_COMM_INTER) != 0;
    return role == RZ_ROLE_LEAF || (role == RZ_ROLE_ROOT && !inter && buffer != MPI_IN_PLACE);
}

/* ---- Results ---- */

/* A count for a caller of the int variant: MPI_UNDEFINED when it does not fit. */
static inline int rz_narrow(MPI_Count value)
{
    return value >= INT_MIN && value <= INT_MAX ? (int)value : MPI_UNDEFINED;
}

#define RZ_NARROW(array) ((struct rz_counts){.narrow = (array)})
#define RZ_WIDE(array) ((struct rz_counts){.wide = (array)})

#endif
