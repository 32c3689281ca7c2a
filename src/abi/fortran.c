/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a Fortran binding on top of this library registers, and queries: MPI 5.0, "Fortran Type
 * Registration". The first successful call of each kind counts, later ones get MPI_ERR_ABI. All may
 * be called at any time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/entry.h"
#include "impl_weak.h"

enum { VALUE_MAX = 16, LOGICAL_MAX = 16 };

/* As registered, until the process ends; under the engine lock. */
static struct rz_info *fortran_info;
static struct {
    int size; /* 0: not registered */
    unsigned char true_[LOGICAL_MAX], false_[LOGICAL_MAX];
} logical;

/* MPI_INTEGER and its like have the sizes of src/mpi/type/number.h, whatever a compiler says. */
static const struct {
    const char *key;
    int size;
} sizes[] = {{"mpi_logical_size", 4},
             {"mpi_integer_size", 4},
             {"mpi_real_size", 4},
             {"mpi_double_precision_size", 8}};

/* Whether the sizes in info are those of this library. */
static bool sizes_fit(struct rz_call *call, struct rz_info *info)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char value[VALUE_MAX] = "", *end;
        int room = sizeof(value), flag = 0;
        call->error = rzm_info_get_string(info, sizes[i].key, &room, value, &flag);
        if (call->error != MPI_SUCCESS) {
            return false;
        }
        if (flag && (strtol(value, &end, 10) != sizes[i].size || end == value || *end != '\0')) {
            return rz_arg_refuse(call, MPI_ERR_ABI, "%s is %s, and in this library %d",
                                 sizes[i].key, value, sizes[i].size);
        }
    }
    return true;
}

RZ_PUBLIC int PMPI_Abi_set_fortran_info(MPI_Info info)
{
    struct rz_call call = {.name = "MPI_Abi_set_fortran_info"};
    struct rz_info *info_;
    if (rz_call_begin_anytime(&call) && rz_arg_info(&call, "info", info, &info_)) {
        if (fortran_info) {
            rz_arg_refuse(&call, MPI_ERR_ABI, "Fortran's types were set before");
        } else if (sizes_fit(&call, info_)) {
            call.error = rzm_info_dup(info_, &fortran_info);
        }
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Abi_set_fortran_info);

RZ_PUBLIC int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
    struct rz_call call = {.name = "MPI_Abi_get_fortran_info"};
    struct rz_info *copy = NULL;
    if (rz_call_begin_anytime(&call) && rz_arg_pointer(&call, "info", info)) {
        if (fortran_info) {
            call.error = rzm_info_dup(fortran_info, &copy);
        }
        if (call.error == MPI_SUCCESS) {
            *info = rz_object_handle((struct rz_object *)copy, (uintptr_t)MPI_INFO_NULL);
        }
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Abi_get_fortran_info);

static bool logical_arguments(struct rz_call *call, int size, const void *true_, const void *false_)
{
    if (size < 1 || size > LOGICAL_MAX || (size & (size - 1)) != 0) {
        return rz_arg_refuse(call, MPI_ERR_ARG, "logical_size is %d, not 1, 2, 4, 8 or 16", size);
    }
    return rz_arg_pointer(call, "logical_true", true_) &&
           rz_arg_pointer(call, "logical_false", false_);
}

RZ_PUBLIC int PMPI_Abi_set_fortran_booleans(int logical_size, void *logical_true,
                                            void *logical_false)
{
    struct rz_call call = {.name = "MPI_Abi_set_fortran_booleans"};
    if (rz_call_begin_anytime(&call) &&
        logical_arguments(&call, logical_size, logical_true, logical_false)) {
        if (logical.size != 0) {
            rz_arg_refuse(&call, MPI_ERR_ABI, "Fortran's booleans were set before");
        } else if (memcmp(logical_true, logical_false, (size_t)logical_size) == 0) {
            rz_arg_refuse(&call, MPI_ERR_ARG, "logical_true and logical_false are the same");
        } else {
            memcpy(logical.true_, logical_true, (size_t)logical_size);
            memcpy(logical.false_, logical_false, (size_t)logical_size);
            logical.size = logical_size;
        }
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Abi_set_fortran_booleans);

RZ_PUBLIC int PMPI_Abi_get_fortran_booleans(int logical_size, void *logical_true,
                                            void *logical_false, int *is_set)
{
    struct rz_call call = {.name = "MPI_Abi_get_fortran_booleans"};
    if (rz_call_begin_anytime(&call) &&
        logical_arguments(&call, logical_size, logical_true, logical_false) &&
        rz_arg_pointer(&call, "is_set", is_set)) {
        *is_set = logical.size == logical_size;
        if (*is_set) {
            memcpy(logical_true, logical.true_, (size_t)logical_size);
            memcpy(logical_false, logical.false_, (size_t)logical_size);
        }
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPI_Abi_get_fortran_booleans);
