/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entry points without an implementation function: the binding itself implements them.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "abi/entry.h"
#include "abi/features.h"
#include "impl_weak.h"

/* Checks that the results, including `other`, have a place. Raises the error if one has none,
 * otherwise returns success. */
static int pointer_call(const char *call_name, const char *name, const void *pointer,
                        const char *other_name, const void *other)
{
    struct rz_call call = {.name = call_name};
    if (rz_arg_pointer(&call, name, pointer)) {
        (void)rz_arg_pointer(&call, other_name, other);
    }
    return rz_call_end(&call);
}

/* ---- Initialisation and versions: allowed at any time ---- */

RZ_PUBLIC int PMPI_Initialized(int *flag)
{
    int error = pointer_call("MPI_Initialized", "flag", flag, "flag", flag);
    if (error == MPI_SUCCESS) {
        *flag = rz_world != RZ_PHASE_BEFORE;
    }
    return error;
}
RZ_TWIN(MPI_Initialized);

RZ_PUBLIC int PMPI_Finalized(int *flag)
{
    int error = pointer_call("MPI_Finalized", "flag", flag, "flag", flag);
    if (error == MPI_SUCCESS) {
        *flag = rz_world == RZ_PHASE_AFTER;
    }
    return error;
}
RZ_TWIN(MPI_Finalized);

RZ_PUBLIC int PMPI_Get_version(int *version, int *subversion)
{
    int error = pointer_call("MPI_Get_version", "version", version, "subversion", subversion);
    if (error == MPI_SUCCESS) {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    return error;
}
RZ_TWIN(MPI_Get_version);

RZ_PUBLIC int PMPI_Get_library_version(char *version, int *resultlen)
{
    int error = pointer_call("MPI_Get_library_version", "version", version, "resultlen", resultlen);
    if (error == MPI_SUCCESS) {
        *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Rhizome %s (MPI %d.%d)",
                              RZ_VERSION, MPI_VERSION, MPI_SUBVERSION);
    }
    return error;
}
RZ_TWIN(MPI_Get_library_version);

RZ_PUBLIC int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Pcontrol);

/* ---- Time: of this process; MPI_WTIME_IS_GLOBAL is false ---- */

static double seconds_of(struct timespec time)
{
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

RZ_PUBLIC double PMPI_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds_of(now);
}
RZ_TWIN(MPI_Wtime);

RZ_PUBLIC double PMPI_Wtick(void)
{
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC, &tick);
    return seconds_of(tick);
}
RZ_TWIN(MPI_Wtick);

/* ---- Addresses ---- */

RZ_PUBLIC int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    int error = pointer_call("MPI_Get_address", "address", address, "address", address);
    if (error == MPI_SUCCESS) {
        *address = (MPI_Aint)location;
    }
    return error;
}
RZ_TWIN(MPI_Get_address);

/* By unsigned arithmetic: addresses of one object may have different signs. */
RZ_PUBLIC MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}
RZ_TWIN(MPI_Aint_add);

RZ_PUBLIC MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
RZ_TWIN(MPI_Aint_diff);

/* ---- Statuses ---- */

#define RZ_STATUS_FIELD(lower, FIELD)                                                              \
    RZ_PUBLIC int PMPI_Status_get_##lower(const MPI_Status *status, int *value)                    \
    {                                                                                              \
        int result = pointer_call("MPI_Status_get_" #lower, "status", status, #lower, value);      \
        if (result == MPI_SUCCESS) {                                                               \
            *value = status->FIELD;                                                                \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    RZ_TWIN(MPI_Status_get_##lower);                                                               \
    RZ_PUBLIC int PMPI_Status_set_##lower(MPI_Status *status, int value)                           \
    {                                                                                              \
        int result = pointer_call("MPI_Status_set_" #lower, "status", status, "status", status);   \
        if (result == MPI_SUCCESS) {                                                               \
            status->FIELD = value;                                                                 \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    RZ_TWIN(MPI_Status_set_##lower)

RZ_STATUS_FIELD(source, MPI_SOURCE);
RZ_STATUS_FIELD(tag, MPI_TAG);
RZ_STATUS_FIELD(error, MPI_ERROR);

RZ_PUBLIC int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    int error = pointer_call("MPI_Status_set_cancelled", "status", status, "status", status);
    if (error == MPI_SUCCESS) {
        rz_status_set_cancelled(status, flag != 0);
    }
    return error;
}
RZ_TWIN(MPI_Status_set_cancelled);

RZ_PUBLIC int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    int error = pointer_call("MPI_Test_cancelled", "status", status, "flag", flag);
    if (error == MPI_SUCCESS) {
        *flag = rz_status_cancelled(status);
    }
    return error;
}
RZ_TWIN(MPI_Test_cancelled);

/* ---- Error handlers ---- */

RZ_PUBLIC int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    struct rz_call call = {.name = "MPI_Comm_call_errhandler"};
    struct rz_comm *comm_;
    if (rz_call_begin(&call) && rz_arg_comm(&call, "comm", comm, &comm_)) {
        rz_call_unlock(&call);
        rz_error_raise(comm_, errorcode, call.name);
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Comm_call_errhandler);

RZ_PUBLIC int PMPI_Session_call_errhandler(MPI_Session session, int errorcode)
{
    struct rz_call call = {.name = "MPI_Session_call_errhandler"};
    struct rz_session *session_;
    if (rz_call_begin(&call) && rz_arg_session(&call, "session", session, &session_)) {
        rz_call_unlock(&call);
        rz_error_raise_session(session_, errorcode, call.name);
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Session_call_errhandler);

RZ_PUBLIC int PMPI_File_call_errhandler(MPI_File fh, int errorcode)
{
    struct rz_call call = {.name = "MPI_File_call_errhandler", .of_file = true};
    struct rz_file *file = NULL;
    if (!rz_arg_file_or_null(&call, "fh", fh, &file)) {
        return rz_call_end(&call);
    }
    rz_error_raise_file(file, errorcode, call.name);
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_File_call_errhandler);

RZ_PUBLIC int PMPI_Win_call_errhandler(MPI_Win win, int errorcode)
{
    struct rz_call call = {.name = "MPI_Win_call_errhandler"};
    struct rz_win *win_ = NULL;
    if (rz_call_begin(&call) && rz_arg_win(&call, "win", win, &win_)) {
        rz_call_unlock(&call);
        rz_error_raise_win(win_, errorcode, call.name);
        return MPI_SUCCESS;
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Win_call_errhandler);

/* ---- Inquiries of the ABI ---- */

RZ_PUBLIC int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    int error = pointer_call("MPI_Abi_get_version", "abi_major", abi_major, "abi_minor", abi_minor);
    if (error == MPI_SUCCESS) {
        *abi_major = MPI_ABI_VERSION;
        *abi_minor = MPI_ABI_SUBVERSION;
    }
    return error;
}
RZ_TWIN(MPI_Abi_get_version);

RZ_PUBLIC int PMPI_Abi_get_info(MPI_Info *info)
{
    static const struct {
        const char *key;
        size_t size;
    } sizes[] = {{"mpi_aint_size", sizeof(MPI_Aint)},
                 {"mpi_count_size", sizeof(MPI_Count)},
                 {"mpi_offset_size", sizeof(MPI_Offset)}};
    MPI_Info made;
    int error = pointer_call("MPI_Abi_get_info", "info", info, "info", info);
    error = error != MPI_SUCCESS ? error : PMPI_Info_create(&made);
    for (size_t i = 0; error == MPI_SUCCESS && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char value[16];
        snprintf(value, sizeof(value), "%zu", sizes[i].size);
        error = PMPI_Info_set(made, sizes[i].key, value);
    }
    if (error == MPI_SUCCESS) {
        *info = made;
    }
    return error;
}
RZ_TWIN(MPI_Abi_get_info);

/* ---- What this build supports ---- */

RZ_PUBLIC const char *RZ_Feature(size_t i, bool *supported, const char **chapter)
{
    if (i >= rz_feature_row_count) {
        return NULL;
    }
    *supported = rz_feature_rows[i].code != NULL;
    *chapter = rz_feature_rows[i].chapter;
    return rz_feature_rows[i].name;
}
