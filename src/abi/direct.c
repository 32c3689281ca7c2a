/* Entry points that need no chapter: answers that the binding itself knows. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "abi/entry.h"
#include "abi/features.h"
#include "chapter_weak.h"

/* ---- Life and versions: allowed at any time ---- */

RZ_PUBLIC int PMPI_Initialized(int *flag)
{
    *flag = rz_world != RZ_PHASE_BEFORE;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Initialized);

RZ_PUBLIC int PMPI_Finalized(int *flag)
{
    *flag = rz_world == RZ_PHASE_AFTER;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Finalized);

RZ_PUBLIC int PMPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Get_version);

RZ_PUBLIC int PMPI_Get_library_version(char *version, int *resultlen)
{
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Rhizome %s (MPI %d.%d)",
                          RZ_VERSION, MPI_VERSION, MPI_SUBVERSION);
    return MPI_SUCCESS;
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
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Get_address);

/* Through unsigned arithmetic: addresses of one object may lie on both sides of the sign. */
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

/* A status must be there to be read or set. Raises the error if not. */
static int status_call(const char *name, const void *status, const void *other)
{
    struct rz_call call = {.name = name};
    if (rz_arg_pointer(&call, "status", status)) {
        (void)rz_arg_pointer(&call, "the result", other);
    }
    return rz_call_end(&call);
}

#define RZ_STATUS_FIELD(lower, FIELD)                                                              \
    RZ_PUBLIC int PMPI_Status_get_##lower(const MPI_Status *status, int *value)                    \
    {                                                                                              \
        int result = status_call("MPI_Status_get_" #lower, status, value);                         \
        if (result == MPI_SUCCESS) {                                                               \
            *value = status->FIELD;                                                                \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    RZ_TWIN(MPI_Status_get_##lower);                                                               \
    RZ_PUBLIC int PMPI_Status_set_##lower(MPI_Status *status, int value)                           \
    {                                                                                              \
        int result = status_call("MPI_Status_set_" #lower, status, status);                        \
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
    int error = status_call("MPI_Status_set_cancelled", status, status);
    if (error == MPI_SUCCESS) {
        rz_status_set_cancelled(status, flag != 0);
    }
    return error;
}
RZ_TWIN(MPI_Status_set_cancelled);

RZ_PUBLIC int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    int error = status_call("MPI_Test_cancelled", status, flag);
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
        rz_error_raise_session(session_, NULL, errorcode, call.name);
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Session_call_errhandler);

/* ---- The ABI about itself ---- */

RZ_PUBLIC int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
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
    int error = PMPI_Info_create(&made);
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

/* Nobody has told this library about a Fortran compiler. */
RZ_PUBLIC int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Abi_get_fortran_info);

RZ_PUBLIC int PMPI_Abi_get_fortran_booleans(int logical_size, void *logical_true,
                                            void *logical_false, int *is_set)
{
    (void)logical_size;
    (void)logical_true;
    (void)logical_false;
    *is_set = 0;
    return MPI_SUCCESS;
}
RZ_TWIN(MPI_Abi_get_fortran_booleans);

static int fortran_refused(const char *name)
{
    return rz_error_raise(NULL, rzm_error(MPI_ERR_ABI, "this build knows no Fortran"), name);
}

RZ_PUBLIC int PMPI_Abi_set_fortran_info(MPI_Info info)
{
    (void)info;
    return fortran_refused("MPI_Abi_set_fortran_info");
}
RZ_TWIN(MPI_Abi_set_fortran_info);

RZ_PUBLIC int PMPI_Abi_set_fortran_booleans(int logical_size, void *logical_true,
                                            void *logical_false)
{
    (void)logical_size;
    (void)logical_true;
    (void)logical_false;
    return fortran_refused("MPI_Abi_set_fortran_booleans");
}
RZ_TWIN(MPI_Abi_set_fortran_booleans);

/* ---- What this build supports ---- */

RZ_PUBLIC const char *RZ_Feature(size_t i, bool *supported)
{
    if (i >= rz_feature_row_count) {
        return NULL;
    }
    *supported = rz_feature_rows[i].code != NULL;
    return rz_feature_rows[i].name;
}
