/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and reduction operations. */
#include "arguments.h"

#include "check.h"

#include <stdint.h>

static void rows_predefined(void)
{
    MPI_Datatype number;
    ROW(MPI_ERR_TYPE, "MPI_Type_free", "datatype", MPI_Type_free(&(MPI_Datatype){MPI_INT}));
    ROW(MPI_ERR_TYPE, "MPI_Type_free", "datatype", MPI_Type_free(&(MPI_Datatype){MPI_FLOAT_INT}));
    ROW(MPI_ERR_OP, "MPI_Op_free", "op", MPI_Op_free(&(MPI_Op){MPI_SUM}));
    CHECK(MPI_Type_create_f90_integer(4, &number) == MPI_SUCCESS);
    ROW(MPI_ERR_TYPE, "MPI_Type_free", "datatype", MPI_Type_free(&number));
    ROW(MPI_ERR_TYPE, "MPI_Type_get_contents", "datatype",
        MPI_Type_get_contents(MPI_INT, 1, 1, 1, out.numbers, out.aints, out.types));
    ROW(MPI_ERR_ARG, "MPI_Type_get_contents", "max_integers",
        MPI_Type_get_contents(good.datatype, 0, 1, 1, out.numbers, out.aints, out.types));
    ROW(MPI_ERR_ARG, "MPI_Type_get_contents", "max_datatypes",
        MPI_Type_get_contents(good.datatype, 1, 1, 0, out.numbers, out.aints, out.types));
    ROW(MPI_ERR_ARG, "MPI_Type_match_size", "size",
        MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_match_size", "typeclass", MPI_Type_match_size(77, 4, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_f90_real", "p",
        MPI_Type_create_f90_real(999, 2, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_f90_complex", "r",
        MPI_Type_create_f90_complex(3, 99999, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_f90_integer", "r",
        MPI_Type_create_f90_integer(99, &out.datatype));
    ROW(MPI_ERR_TYPE, "MPI_Type_get_value_index", "value_type",
        MPI_Type_get_value_index(good.datatype, MPI_INT, &out.datatype));
    ROW(MPI_ERR_TYPE, "MPI_Type_get_value_index", "index_type",
        MPI_Type_get_value_index(MPI_INT, good.datatype, &out.datatype));
}

static void rows_arrays(void)
{
    int four[] = {4, 4}, zero[] = {0, 0}, three[] = {3, 3}, five[] = {5, 1}, none[] = {-1, 0};
    int block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, odd[] = {77, 77};
    int free_choice[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, two[] = {2, 2};
    ROW(MPI_ERR_ARG, "MPI_Type_create_subarray", "ndims",
        MPI_Type_create_subarray(0, four, three, zero, MPI_ORDER_C, MPI_INT, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_subarray", "array_of_subsizes",
        MPI_Type_create_subarray(2, four, five, zero, MPI_ORDER_C, MPI_INT, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_subarray", "array_of_starts",
        MPI_Type_create_subarray(2, four, three, three, MPI_ORDER_C, MPI_INT, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_subarray", "array_of_starts",
        MPI_Type_create_subarray(2, four, three, none, MPI_ORDER_C, MPI_INT, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_subarray", "order",
        MPI_Type_create_subarray(2, four, three, zero, 77, MPI_INT, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_darray", "rank",
        MPI_Type_create_darray(4, 4, 2, four, block, free_choice, two, MPI_ORDER_C, MPI_INT,
                               &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_darray", "size",
        MPI_Type_create_darray(5, 0, 2, four, block, free_choice, two, MPI_ORDER_C, MPI_INT,
                               &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_darray", "array_of_gsizes",
        MPI_Type_create_darray(4, 0, 2, zero, block, free_choice, two, MPI_ORDER_C, MPI_INT,
                               &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_darray", "array_of_distribs",
        MPI_Type_create_darray(4, 0, 2, four, odd, free_choice, two, MPI_ORDER_C, MPI_INT,
                               &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_darray", "array_of_dargs",
        MPI_Type_create_darray(4, 0, 2, four, block, zero, two, MPI_ORDER_C, MPI_INT,
                               &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_darray", "array_of_psizes",
        MPI_Type_create_darray(4, 0, 2, four, block, free_choice, zero, MPI_ORDER_C, MPI_INT,
                               &out.datatype));
}

static void rows_too_large(void)
{
    ROW(MPI_ERR_COUNT, "MPI_Type_contiguous_c", "",
        MPI_Type_contiguous_c(INT64_MAX / 2, MPI_INT, &out.datatype));
    ROW(MPI_ERR_COUNT, "MPI_Type_vector_c", "",
        MPI_Type_vector_c(INT64_MAX / 4, 1, 8, MPI_INT, &out.datatype));
    ROW(MPI_ERR_ARG, "MPI_Type_create_resized_c", "extent",
        MPI_Type_create_resized_c(MPI_INT, INT64_MAX, INT64_MAX, &out.datatype));
}

void rows_type(void)
{
    rows_predefined();
    rows_arrays();
    rows_too_large();
    MPI_Status status = {0};
    ROW(MPI_ERR_COUNT, "MPI_Status_set_elements", "count",
        MPI_Status_set_elements(&status, MPI_INT, -1));
}
