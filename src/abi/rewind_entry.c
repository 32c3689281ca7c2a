/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points of rhizome/rewind.h. */
#include <rhizome/rewind.h>

#include "abi/entry.h"
#include "mpi/rewind/rewind_calls.h"

RZ_PUBLIC int RZ_Rewind_now(void)
{
    struct rz_call call = {.name = "RZ_Rewind_now"};
    if (rz_call_begin(&call)) {
        call.error = rzm_rewind_now();
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Rewind_exclude(void *address, size_t bytes)
{
    struct rz_call call = {.name = "RZ_Rewind_exclude"};
    if (rz_call_begin(&call) && rz_arg_pointer(&call, "address", address)) {
        call.error = rzm_rewind_exclude(address, bytes);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Rewind_forbid(void)
{
    struct rz_call call = {.name = "RZ_Rewind_forbid"};
    if (rz_call_begin(&call)) {
        call.error = rzm_rewind_forbid(true);
    }
    return rz_call_end(&call);
}

RZ_PUBLIC int RZ_Rewind_allow(void)
{
    struct rz_call call = {.name = "RZ_Rewind_allow"};
    if (rz_call_begin(&call)) {
        call.error = rzm_rewind_forbid(false);
    }
    return rz_call_end(&call);
}
