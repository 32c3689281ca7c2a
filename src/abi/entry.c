/* SPDX-License-Identifier: BSD-3-Clause */
/* The error exits of an entry point's checks, and the checks that are too long to be inline. */
#include "abi/entry.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "abi/reinit.h"
#include "mpi/ft/restart.h"

/* The name of each kind of handle in messages, and the class of errors about it. */
static const struct {
    const char *name;
    int error_class;
} kinds[RZ_OBJECT_COUNT] = {
    [RZ_OBJECT_NONE] = {"object", MPI_ERR_ARG},
    [RZ_OBJECT_COMM] = {"communicator", MPI_ERR_COMM},
    [RZ_OBJECT_GROUP] = {"group", MPI_ERR_GROUP},
    [RZ_OBJECT_DATATYPE] = {"datatype", MPI_ERR_TYPE},
    [RZ_OBJECT_OP] = {"reduction operation", MPI_ERR_OP},
    [RZ_OBJECT_REQUEST] = {"request", MPI_ERR_REQUEST},
    [RZ_OBJECT_MATCHED] = {"message", MPI_ERR_REQUEST},
    [RZ_OBJECT_INFO] = {"info object", MPI_ERR_INFO},
    [RZ_OBJECT_ERRHANDLER] = {"error handler", MPI_ERR_ERRHANDLER},
    [RZ_OBJECT_WIN] = {"window", MPI_ERR_WIN},
    [RZ_OBJECT_FILE] = {"file", MPI_ERR_FILE},
    [RZ_OBJECT_SESSION] = {"session", MPI_ERR_SESSION},
    [RZ_OBJECT_MONITOR] = {"group monitor", MPI_ERR_ARG},
};

/* The null handle of each kind, by its number in the ABI. */
static bool is_null_handle(uintptr_t value)
{
    return value == (uintptr_t)MPI_COMM_NULL || value == (uintptr_t)MPI_GROUP_NULL ||
           value == (uintptr_t)MPI_DATATYPE_NULL || value == (uintptr_t)MPI_OP_NULL ||
           value == (uintptr_t)MPI_REQUEST_NULL || value == (uintptr_t)MPI_MESSAGE_NULL ||
           value == (uintptr_t)MPI_INFO_NULL || value == (uintptr_t)MPI_ERRHANDLER_NULL ||
           value == (uintptr_t)MPI_SESSION_NULL || value == (uintptr_t)MPI_FILE_NULL ||
           value == (uintptr_t)RZ_GROUP_MONITOR_NULL;
}

/* "array[7]", for messages. */
#define ITEM_NAME_SIZE 64
static const char *item_name(char item[ITEM_NAME_SIZE], const char *array, int64_t i)
{
    snprintf(item, ITEM_NAME_SIZE, "%s[%lld]", array, (long long)i);
    return item;
}

bool rz_call_out_of_phase(struct rz_call *call)
{
    call->error = rzm_error(MPI_ERR_OTHER, "%s",
                            rz_phase == RZ_PHASE_BEFORE ? "called before MPI_Init"
                                                        : "called after MPI_Finalize");
    return false;
}

/* The thread inside MPIX_Reinit rolls back itself, when it calls a function that communicates. */
bool rz_call_left_behind(struct rz_call *call)
{
    call->error = rz_reinit_is_here() ? MPI_SUCCESS : RZM_ROLLBACK;
    return call->error == MPI_SUCCESS;
}

bool rz_call_out_of_world(struct rz_call *call)
{
    static const char *const why[] = {
        [RZ_PHASE_BEFORE] = "called before MPI_Init",
        [RZ_PHASE_RUNNING] = "MPI is initialised already",
        [RZ_PHASE_AFTER] = "called after MPI_Finalize",
    };
    call->error = rzm_error(MPI_ERR_OTHER, "%s", why[rz_world]);
    return false;
}

/* The end of the restart point is agreed with all other processes, so MPI must still be
 * initialised. */
bool rz_call_world_may_end(struct rz_call *call)
{
    return !rz_reinit_is_open() ||
           rz_arg_refuse(call, MPI_ERR_OTHER,
                         "called inside the restart point of MPIX_Reinit, which must return first");
}

static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

void rz_init_enter(void)
{
    pthread_mutex_lock(&life);
}

void rz_init_leave(void)
{
    pthread_mutex_unlock(&life);
}

bool rz_arg_refuse(struct rz_call *call, int error_class, const char *format, ...)
{
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    call->error = rzm_error(error_class, "%s", text);
    return false;
}

bool rz_arg_bad_handle(struct rz_call *call, enum rz_object_kind kind, const char *name,
                       uintptr_t value)
{
    if (is_null_handle(value)) {
        return rz_arg_refuse(call, kinds[kind].error_class, "%s is the null handle", name);
    }
    if (kind == RZ_OBJECT_COMM &&
        (value == (uintptr_t)MPI_COMM_WORLD || value == (uintptr_t)MPI_COMM_SELF)) {
        return rz_arg_refuse(call, kinds[kind].error_class, "%s is of MPI_Init, which %s", name,
                             rz_world == RZ_PHASE_BEFORE ? "was not called" : "has ended");
    }
    bool lost = (kind == RZ_OBJECT_COMM || kind == RZ_OBJECT_REQUEST || kind == RZ_OBJECT_MATCHED ||
                 kind == RZ_OBJECT_MONITOR || kind == RZ_OBJECT_FILE) &&
                rz_ft_went_back();
    return rz_arg_refuse(call, kinds[kind].error_class,
                         "%s is not a %s, or one that was freed%s (handle %#llx)", name,
                         kinds[kind].name, lost ? ", or one from before the roll-back" : "",
                         (unsigned long long)value);
}

bool rz_arg_bad_rank(struct rz_call *call, const char *name, int rank, int peers)
{
    return rz_arg_refuse(call, MPI_ERR_RANK, "%s is %d, not in 0..%d", name, rank, peers - 1);
}

bool rz_arg_bad_message(struct rz_call *call, const struct rz_message_names *names,
                        const void *buffer, int64_t count, const struct rz_datatype *datatype)
{
    const struct rz_object *object = (const struct rz_object *)datatype;
    if (!rz_arg_not_negative(call, names->count, count, MPI_ERR_COUNT)) {
        return false;
    }
    if (object->predefined == 0 && (object->flags & RZ_DATATYPE_COMMITTED) == 0) {
        return rz_arg_refuse(call, MPI_ERR_TYPE, "%s was not committed (MPI_Type_commit)",
                             names->datatype);
    }
    if (buffer == MPI_IN_PLACE) {
        return rz_arg_refuse(call, MPI_ERR_BUFFER, "%s may not be MPI_IN_PLACE here",
                             names->buffer);
    }
    if (buffer == MPI_BOTTOM && object->predefined != 0 && count > 0) {
        return rz_arg_refuse(call, MPI_ERR_BUFFER, "%s is a null pointer while %s is %lld",
                             names->buffer, names->count, (long long)count);
    }
    /* The arguments are valid, only too large for the fast check. */
    return rz_datatype_fits(datatype, count) ||
           rz_arg_refuse(call, MPI_ERR_COUNT, "%s is %lld: so many of %s are 2^63 bytes or more",
                         names->count, (long long)count, names->datatype);
}

bool rz_arg_odd_result(struct rz_call *call, const char *name, const void *buffer, int64_t count,
                       const struct rz_datatype *datatype)
{
    if (buffer == MPI_IN_PLACE) {
        return rz_arg_refuse(call, MPI_ERR_BUFFER, "%s may not be MPI_IN_PLACE here", name);
    }
    bool predefined = ((const struct rz_object *)datatype)->predefined != 0;
    if (buffer == MPI_BOTTOM && predefined && count > 0) {
        return rz_arg_refuse(call, MPI_ERR_BUFFER, "%s is a null pointer", name);
    }
    return true;
}

bool rz_arg_packed(struct rz_call *call, const char *name, const void *buffer, int64_t size)
{
    if (buffer && buffer != MPI_IN_PLACE) {
        return true;
    }
    return !buffer ? size <= 0 || rz_arg_refuse(call, MPI_ERR_BUFFER, "%s is a null pointer", name)
                   : rz_arg_refuse(call, MPI_ERR_BUFFER, "%s may not be MPI_IN_PLACE here", name);
}

bool rz_arg_source(struct rz_call *call, const char *name, const void *buffer,
                   struct rz_counts counts, int length, const struct rz_datatype *datatype)
{
    int64_t largest = 0;
    for (int i = 0; i < length; i++) {
        int64_t count = rz_counts_at(counts, i);
        largest = count > largest ? count : largest;
    }
    return rz_arg_result(call, name, buffer, largest, datatype);
}

bool rz_arg_root(struct rz_call *call, int root, const struct rz_comm *comm, enum rz_role *role)
{
    bool inter = (((const struct rz_object *)comm)->flags & RZ_COMM_INTER) != 0;
    int peers = rz_comm_peers(comm);
    if (inter && root == MPI_ROOT) {
        *role = RZ_ROLE_ROOT;
        return true;
    }
    if (inter && root == MPI_PROC_NULL) {
        *role = RZ_ROLE_BYSTANDER;
        return true;
    }
    if (root < 0 || root >= peers) {
        return rz_arg_refuse(call, MPI_ERR_ROOT, "root is %d, not in 0..%d", root, peers - 1);
    }
    *role = !inter && root == rz_comm_rank(comm) ? RZ_ROLE_ROOT : RZ_ROLE_LEAF;
    return true;
}

bool rz_arg_neighbours(struct rz_call *call, const struct rz_comm *comm, int *indegree,
                       int *outdegree)
{
    return rz_comm_degrees(comm, indegree, outdegree) ||
           rz_arg_refuse(call, MPI_ERR_TOPOLOGY, "comm has no topology");
}

bool rz_arg_counts(struct rz_call *call, const char *name, struct rz_counts counts, int64_t length,
                   int error_class)
{
    if (!rz_arg_displs(call, name, counts, length)) {
        return false;
    }
    for (int64_t i = 0; i < length; i++) {
        int64_t count = rz_counts_at(counts, i);
        if (count < 0) {
            return rz_arg_refuse(call, error_class, "%s[%lld] is %lld, less than 0", name,
                                 (long long)i, (long long)count);
        }
    }
    return true;
}

/* Whether the side has data at the start of its buffer. */
static bool side_has_start(const struct rz_side *side, const struct rz_datatype *datatype)
{
    if (((const struct rz_object *)datatype)->predefined == 0) {
        return false;
    }
    for (int i = 0; i < side->length; i++) {
        bool at_start = !side->displs_name || rz_counts_at(side->displs, i) == 0;
        if (at_start && rz_counts_at(side->counts, i) > 0) {
            return true;
        }
    }
    return false;
}

bool rz_arg_two_sides(struct rz_call *call, const struct rz_side *sent,
                      const struct rz_datatype *sent_type, const struct rz_side *received,
                      const struct rz_datatype *received_type)
{
    return sent->buffer == MPI_BOTTOM || !side_has_start(sent, sent_type) ||
           !side_has_start(received, received_type) ||
           rz_arg_refuse(call, MPI_ERR_BUFFER, "%s is %s, too: they may not overlap",
                         received->buffer_name, sent->buffer_name);
}

/* Displacements from MPI_BOTTOM may be addresses: then the block is valid, unless its address is
 * 0. */
static const void *side_address(const struct rz_side *side, int i)
{
    static const char somewhere;
    bool absolute =
        side->buffer == MPI_BOTTOM && side->displs_name && rz_counts_at(side->displs, i) != 0;
    return absolute ? &somewhere : side->buffer;
}

bool rz_arg_side(struct rz_call *call, const struct rz_side *side, MPI_Datatype handle,
                 struct rz_datatype **datatype)
{
    if (!rz_arg_counts(call, side->counts_name, side->counts, side->length, MPI_ERR_COUNT) ||
        (side->displs_name &&
         !rz_arg_displs(call, side->displs_name, side->displs, side->length))) {
        return false;
    }
    const void *address = NULL;
    int64_t largest = 0;
    for (int i = 0; i < side->length; i++) {
        int64_t count = rz_counts_at(side->counts, i);
        bool first = count > 0 && largest == 0;
        address = first || (count > 0 && address != MPI_BOTTOM) ? side_address(side, i) : address;
        largest = count > largest ? count : largest;
    }
    address = largest == 0 ? side->buffer : address;
    const struct rz_message_names names = {side->buffer_name, side->counts_name, side->type_name};
    return rz_arg_message(call, &names, address, largest, handle, datatype);
}

bool rz_arg_side_w(struct rz_call *call, const struct rz_side *side, const MPI_Datatype *handles)
{
    if (!rz_arg_counts(call, side->counts_name, side->counts, side->length, MPI_ERR_COUNT) ||
        !rz_arg_displs(call, side->displs_name, side->displs, side->length) ||
        !rz_arg_array(call, side->type_name, handles, side->length)) {
        return false;
    }
    struct rz_message_names names = {side->buffer_name, side->counts_name, side->type_name};
    for (int i = 0; i < side->length; i++) {
        struct rz_datatype *datatype;
        const void *address = side_address(side, i);
        int64_t count = rz_counts_at(side->counts, i);
        if (!rz_arg_message(call, &names, address, count, handles[i], &datatype)) {
            char item[ITEM_NAME_SIZE];
            names.datatype = item_name(item, side->type_name, i);
            return rz_arg_message(call, &names, address, count, handles[i], &datatype);
        }
    }
    return true;
}

bool rz_arg_requests(struct rz_call *call, const char *name, const MPI_Request *requests,
                     int64_t count)
{
    if (!rz_arg_not_negative(call, "count", count, MPI_ERR_COUNT) ||
        !rz_arg_array(call, name, requests, count)) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        struct rz_request *request = rz_arg_find_request(requests[i]);
        if (!request) {
            char item[ITEM_NAME_SIZE];
            return rz_arg_bad_handle(call, RZ_OBJECT_REQUEST, item_name(item, name, i),
                                     (uintptr_t)requests[i]);
        }
        rz_call_blame(call, request);
    }
    return true;
}

bool rz_arg_comms(struct rz_call *call, const char *name, const MPI_Comm *comms, int64_t n)
{
    if (!rz_arg_array(call, name, comms, n)) {
        return false;
    }
    struct rz_comm *comm;
    for (int64_t i = 0; i < n; i++) {
        char item[ITEM_NAME_SIZE];
        if (comms[i] != MPI_COMM_NULL &&
            !rz_arg_comm(call, item_name(item, name, i), comms[i], &comm)) {
            return false;
        }
    }
    return rz_arg_comm_or_null(call, name, MPI_COMM_NULL, &comm);
}

bool rz_arg_datatypes(struct rz_call *call, const char *name, const MPI_Datatype *datatypes,
                      int64_t count)
{
    if (!rz_arg_array(call, name, datatypes, count)) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!rz_arg_find_datatype(datatypes[i])) {
            char item[ITEM_NAME_SIZE];
            return rz_arg_bad_handle(call, RZ_OBJECT_DATATYPE, item_name(item, name, i),
                                     (uintptr_t)datatypes[i]);
        }
    }
    return true;
}

static bool command_is_good(struct rz_call *call, int i, const char *command, int maxprocs,
                            MPI_Info info)
{
    char item[ITEM_NAME_SIZE];
    struct rz_info *found;
    return rz_arg_pointer(call, item_name(item, "array_of_commands", i), command) &&
           rz_arg_not_negative(call, item_name(item, "array_of_maxprocs", i), maxprocs,
                               MPI_ERR_ARG) &&
           rz_arg_info_or_null(call, item_name(item, "array_of_info", i), info, &found);
}

bool rz_arg_commands(struct rz_call *call, int count, char *const *commands, const int *maxprocs,
                     const MPI_Info *infos)
{
    if (count <= 0) {
        return rz_arg_refuse(call, MPI_ERR_COUNT, "count is %d, less than 1", count);
    }
    if (!rz_arg_pointer(call, "array_of_commands", commands) ||
        !rz_arg_pointer(call, "array_of_maxprocs", maxprocs) ||
        !rz_arg_pointer(call, "array_of_info", infos)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!command_is_good(call, i, commands[i], maxprocs[i], infos[i])) {
            return false;
        }
    }
    return true;
}
