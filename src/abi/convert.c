/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as integers, for languages that cannot hold a pointer: MPI_X_toint and MPI_X_fromint. */
#include "abi/entry.h"

/* A predefined handle is its number in the ABI; a user's object is numbered at the first
 * request. */
static int handle_to_int(const void *handle, enum rz_object_kind kind, uintptr_t null_handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value < RZ_HANDLE_PREDEFINED_END) {
        return (int)value;
    }
    struct rz_object *object = rz_arg_user_object(handle, kind);
    if (!object) {
        return (int)null_handle;
    }
    struct rz_call call = {0};
    rz_call_lock(&call);
    int32_t number = rz_object_number(object);
    rz_call_unlock(&call);
    return number != 0 ? number : (int)null_handle;
}

static void *handle_from_int(int number, enum rz_object_kind kind, uintptr_t null_handle)
{
    if (number >= 0 && (uintptr_t)number < RZ_HANDLE_PREDEFINED_END) {
        return (void *)(uintptr_t)number;
    }
    struct rz_call call = {0};
    rz_call_lock(&call);
    struct rz_object *object = rz_object_by_number(number, kind);
    rz_call_unlock(&call);
    return rz_object_handle(object, null_handle);
}

#define RZ_CONVERT(name, type, kind, null_handle)                                                  \
    RZ_PUBLIC int PMPI_##name##_toint(type handle)                                                 \
    {                                                                                              \
        return handle_to_int(handle, kind, (uintptr_t)null_handle);                                \
    }                                                                                              \
    RZ_TWIN(MPI_##name##_toint);                                                                   \
    RZ_PUBLIC type PMPI_##name##_fromint(int number)                                               \
    {                                                                                              \
        return (type)handle_from_int(number, kind, (uintptr_t)null_handle);                        \
    }                                                                                              \
    RZ_TWIN(MPI_##name##_fromint)

RZ_CONVERT(Comm, MPI_Comm, RZ_OBJECT_COMM, MPI_COMM_NULL);
RZ_CONVERT(Errhandler, MPI_Errhandler, RZ_OBJECT_ERRHANDLER, MPI_ERRHANDLER_NULL);
RZ_CONVERT(File, MPI_File, RZ_OBJECT_FILE, MPI_FILE_NULL);
RZ_CONVERT(Group, MPI_Group, RZ_OBJECT_GROUP, MPI_GROUP_NULL);
RZ_CONVERT(Info, MPI_Info, RZ_OBJECT_INFO, MPI_INFO_NULL);
RZ_CONVERT(Message, MPI_Message, RZ_OBJECT_MATCHED, MPI_MESSAGE_NULL);
RZ_CONVERT(Op, MPI_Op, RZ_OBJECT_OP, MPI_OP_NULL);
RZ_CONVERT(Request, MPI_Request, RZ_OBJECT_REQUEST, MPI_REQUEST_NULL);
RZ_CONVERT(Session, MPI_Session, RZ_OBJECT_SESSION, MPI_SESSION_NULL);
RZ_CONVERT(Type, MPI_Datatype, RZ_OBJECT_DATATYPE, MPI_DATATYPE_NULL);
RZ_CONVERT(Win, MPI_Win, RZ_OBJECT_WIN, MPI_WIN_NULL);
