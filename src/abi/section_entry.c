/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points of rhizome/section.h. */
#include <rhizome/section.h>

#include "abi/entry.h"
#include "mpi/request/bounce.h"
#include "mpi/request/request.h"

RZ_PUBLIC int RZ_Type_create_section(const RZ_Section *section, MPI_Count count,
                                     MPI_Datatype datatype, MPI_Datatype *newtype)
{
    struct rz_call call = {.name = "RZ_Type_create_section"};
    struct rz_datatype *datatype_, *made;
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "section", section) &&
        rz_arg_not_negative(&call, "count", count, MPI_ERR_COUNT) &&
        rz_arg_datatype(&call, "datatype", datatype, &datatype_) &&
        rz_arg_pointer(&call, "newtype", newtype)) {
        call.error = rzm_type_create_section(section, count, datatype_, &made);
        if (call.error == MPI_SUCCESS) {
            *newtype = rz_datatype_handle(made);
        }
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Bounce_create(const RZ_Section *section, MPI_Count count, MPI_Datatype datatype,
                               int use, void **buffer, RZ_Bounce *bounce)
{
    struct rz_call call = {.name = "RZ_Bounce_create"};
    struct rz_datatype *datatype_;
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "section", section) &&
        rz_arg_not_negative(&call, "count", count, MPI_ERR_COUNT) &&
        rz_arg_datatype(&call, "datatype", datatype, &datatype_) &&
        rz_arg_pointer(&call, "buffer", buffer) && rz_arg_pointer(&call, "bounce", bounce)) {
        call.error = rzm_bounce_create(section, count, datatype_, use, buffer, bounce);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Bounce_bind(RZ_Bounce *bounce, MPI_Request request)
{
    struct rz_call call = {.name = "RZ_Bounce_bind"};
    struct rz_request *request_;
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "bounce", bounce) &&
        rz_arg_request(&call, "request", request, &request_)) {
        call.error = rzm_bounce_bind(bounce, request_);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Bounce_free(RZ_Bounce *bounce)
{
    struct rz_call call = {.name = "RZ_Bounce_free"};
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "bounce", bounce)) {
        call.error = rzm_bounce_free(bounce);
    }
    return rz_call_end(&call);
}
