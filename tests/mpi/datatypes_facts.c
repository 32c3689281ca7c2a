/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes: extents, huge counts, decoding, predefined types, and how wrong arguments are named.
 */
#include "check.h"

#include <mpi-ext.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void check_type(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent,
                       MPI_Count true_lb, MPI_Count true_extent)
{
    MPI_Count a, b;
    MPI_Type_size_c(type, &a);
    CHECK(a == size);
    MPI_Type_get_extent_c(type, &a, &b);
    CHECK(a == lb && b == extent);
    MPI_Type_get_true_extent_c(type, &a, &b);
    CHECK(a == true_lb && b == true_extent);
}

static void check_and_free(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent,
                           MPI_Count true_lb, MPI_Count true_extent)
{
    check_type(type, size, lb, extent, true_lb, true_extent);
    MPI_Type_free(&type);
}

static void extents(void)
{
    MPI_Datatype type, resized, outer;
    /* a struct with holes is rounded up to its largest alignment */
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                           (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &type);
    check_and_free(type, 9, 0, 16, 0, 9);
    /* negative displacements and strides */
    MPI_Type_vector(3, 1, -2, MPI_INT, &type);
    check_and_free(type, 12, -16, 20, -16, 20);
    MPI_Type_create_hvector(3, 2, -6, MPI_SHORT, &type);
    check_and_free(type, 12, -12, 16, -12, 16);
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-7, 5}, MPI_CHAR, &type);
    check_and_free(type, 2, -7, 13, -7, 13);
    /* marks stay, and are copied with each element; data may lie outside them */
    MPI_Type_create_resized(MPI_INT, -3, 10, &resized);
    check_type(resized, 4, -3, 10, 0, 4);
    MPI_Type_contiguous(3, resized, &type);
    check_type(type, 12, -3, 30, 0, 24);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){100, 0},
                           (MPI_Datatype[]){MPI_DOUBLE, type}, &outer);
    check_and_free(outer, 20, -3, 30, 0, 108);
    MPI_Type_free(&type);
    MPI_Type_create_resized(resized, 0, -4, &type);
    check_and_free(type, 4, 0, -4, 0, 4);
    MPI_Type_free(&resized);
    /* nothing in it */
    MPI_Type_contiguous(0, MPI_DOUBLE, &type);
    check_type(type, 0, 0, 0, 0, 0);
    MPI_Type_create_resized(type, 5, 8, &resized);
    check_type(resized, 0, 5, 8, 0, 0);
    MPI_Type_vector(2, 2, 3, resized, &outer);
    check_and_free(outer, 0, 5, 40, 0, 0);
    MPI_Type_free(&type);
    MPI_Type_free(&resized);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &type);
    check_and_free(type, 0, 0, 0, 0, 0);
}

static void huge_counts(void)
{
    const MPI_Count many = (MPI_Count)1 << 40;
    MPI_Datatype pair, huge, context_offset;
    MPI_Status status;
    MPI_Count wide;
    int narrow;
    MPI_Type_vector(2, 1, 3, MPI_INT, &pair); /* 8 bytes in 16 */
    MPI_Type_contiguous_c(many, pair, &huge);
    check_type(huge, 8 * many, 0, 16 * many, 0, 16 * many);
    MPI_Type_size(huge, &narrow);
    CHECK(narrow == MPI_UNDEFINED);
    MPI_Type_size_x(huge, &wide);
    CHECK(wide == 8 * many);
    memset(&status, 0, sizeof(status));
    MPI_Status_set_elements_c(&status, huge, 2 * many + 3);
    MPI_Get_elements_c(&status, huge, &wide);
    CHECK(wide == 2 * many + 3);
    MPI_Get_elements(&status, huge, &narrow);
    CHECK(narrow == MPI_UNDEFINED);
    MPI_Get_count_c(&status, huge, &wide);
    CHECK(wide == MPI_UNDEFINED);
    MPI_Status_set_elements_x(&status, huge, 6 * many);
    MPI_Get_count_c(&status, huge, &wide);
    CHECK(wide == 3);
    MPI_Pack_external_size_c("external32", 3, huge, &wide);
    CHECK(wide == 24 * many);
    MPI_Type_create_subarray_c(2, (MPI_Count[]){1 << 20, 1 << 20}, (MPI_Count[]){3, many >> 21},
                               (MPI_Count[]){5, 7}, MPI_ORDER_C, MPI_DOUBLE, &context_offset);
    check_and_free(context_offset, 3 * (many >> 18), 0, 8 * many, 8 * (5 * (many >> 20) + 7),
                   8 * (2 * (many >> 20) + (many >> 21)));
    MPI_Type_free(&huge);
    MPI_Type_create_darray_c(1000, 999, 1, (MPI_Count[]){many}, (int[]){MPI_DISTRIBUTE_CYCLIC},
                             (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){1000}, MPI_ORDER_C, pair,
                             &huge);
    check_and_free(huge, 8 * (many / 1000), 0, 16 * many, 16 * 999,
                   16 * (many / 1000 - 1) * 1000 + 16);
    MPI_Type_free(&pair);
}

/* ---- Decoding ---- */

static void contents(void)
{
    MPI_Datatype inner, outer, again, part;
    int n[3], combiner, integers[2];
    MPI_Aint addresses[2];
    MPI_Count wide[4], counts[3];
    MPI_Type_get_envelope(MPI_DOUBLE_INT, &n[0], &n[1], &n[2], &combiner);
    CHECK(n[0] == 0 && n[1] == 0 && n[2] == 0 && combiner == MPI_COMBINER_NAMED);
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_create_hvector(3, 1, 100, inner, &outer);
    part = inner;
    MPI_Type_free(&inner);
    CHECK(MPI_Type_size(part, n) == MPI_ERR_TYPE); /* the handle ended, though outer lives */
    MPI_Type_get_envelope(outer, &n[0], &n[1], &n[2], &combiner);
    CHECK(n[0] == 2 && n[1] == 1 && n[2] == 1 && combiner == MPI_COMBINER_HVECTOR);
    MPI_Type_get_contents(outer, 2, 1, 1, integers, addresses, &part);
    CHECK(integers[0] == 3 && integers[1] == 1 && addresses[0] == 100);
    CHECK(part != MPI_DATATYPE_NULL);
    MPI_Type_get_contents(outer, 2, 1, 1, integers, addresses, &again);
    MPI_Type_free(&outer);
    MPI_Type_free(&part); /* handles of their own */
    check_type(again, 8, 0, 12, 0, 12);
    MPI_Type_get_contents(again, 3, 0, 1, (int[3]){0}, NULL, &part);
    CHECK(part == MPI_INT);
    MPI_Type_free(&again);
    /* a large-count constructor tells of counts */
    MPI_Type_create_hvector_c(3, 1, 100, MPI_INT, &outer);
    MPI_Type_get_envelope_c(outer, &wide[0], &wide[1], &wide[2], &wide[3], &combiner);
    CHECK(wide[0] == 0 && wide[1] == 0 && wide[2] == 3 && wide[3] == 1);
    MPI_Type_get_contents_c(outer, 0, 0, 3, 1, NULL, NULL, counts, &part);
    CHECK(counts[0] == 3 && counts[1] == 1 && counts[2] == 100 && part == MPI_INT);
    MPI_Type_free(&outer);
}

/* A type nested deeper than fits on a stack, and a struct of one part many times. */
static void many_parts(void)
{
    enum { DEPTH = 200000, PARTS = 20000 };
    static int lengths[PARTS];
    static MPI_Aint places[PARTS];
    static MPI_Datatype types[PARTS];
    MPI_Datatype type, outer;
    MPI_Type_contiguous(2, MPI_INT, &type);
    for (int i = 0; i < DEPTH; i++) {
        MPI_Type_dup(type, &outer);
        MPI_Type_free(&type);
        type = outer;
    }
    check_type(type, 8, 0, 8, 0, 8);
    for (int i = 0; i < PARTS; i++) {
        lengths[i] = 1;
        places[i] = 16 * (MPI_Aint)i;
        types[i] = type;
    }
    MPI_Type_create_struct(PARTS, lengths, places, types, &outer);
    MPI_Type_free(&type);
    check_and_free(outer, 8 * PARTS, 0, 16 * PARTS - 8, 0, 16 * PARTS - 8);
}

/* ---- Predefined types ---- */

static void named_types(void)
{
    MPI_Datatype type, same;
    char name[MPI_MAX_OBJECT_NAME];
    int length, size, integers[2], n[3], combiner;
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    CHECK(strcmp(name, "MPI_DOUBLE") == 0 && length == 10);
    MPI_Type_get_name(MPI_LONG_DOUBLE_INT, name, &length);
    CHECK(strcmp(name, "MPI_LONG_DOUBLE_INT") == 0);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    CHECK(type == MPI_REAL8);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    CHECK(type == MPI_COMPLEX16);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    CHECK(type == MPI_INTEGER2);
    MPI_Type_match_size(MPIX_TYPECLASS_LOGICAL, 4, &type);
    CHECK(type == MPI_LOGICAL4);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
    CHECK(type == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_INT, MPI_INT, &type);
    CHECK(type == MPI_2INT);
    MPI_Type_get_value_index(MPI_C_DOUBLE_COMPLEX, MPI_INT, &type);
    CHECK(type == MPI_DATATYPE_NULL);
    MPI_Type_create_f90_real(7, MPI_UNDEFINED, &type);
    MPI_Type_create_f90_real(7, MPI_UNDEFINED, &same);
    CHECK(type == same);
    MPI_Type_size(type, &size);
    CHECK(size == 8);
    MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
    CHECK(n[0] == 2 && n[1] == 0 && n[2] == 0 && combiner == MPI_COMBINER_F90_REAL);
    MPI_Type_get_contents(type, 2, 0, 0, integers, NULL, NULL);
    CHECK(integers[0] == 7 && integers[1] == MPI_UNDEFINED);
    double in = 1.5, out = 2; /* committed, and a number for reductions */
    MPI_Reduce_local(&in, &out, 1, type, MPI_SUM);
    CHECK(out == 3.5);
    MPI_Type_create_f90_complex(6, 37, &type);
    MPI_Type_size(type, &size);
    CHECK(size == 8);
    MPI_Type_create_f90_integer(10, &type);
    MPI_Type_size(type, &size);
    CHECK(size == 8);
    MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
    CHECK(n[0] == 1 && combiner == MPI_COMBINER_F90_INTEGER);
    CHECK(MPI_Type_free(&type) == MPI_ERR_TYPE);
    MPI_Type_contiguous(2, type, &same); /* as a part it is itself */
    MPI_Type_get_contents(same, 1, 0, 1, integers, NULL, &type);
    MPI_Type_free(&same);
    MPI_Type_create_f90_integer(10, &same);
    CHECK(type == same);
}

/* A pair that no name is for: of large indices, too, the smaller one wins. */
static void unnamed_pairs(void)
{
    struct {
        float value;
        int64_t index;
    } a[2] = {{2, (int64_t)1 << 40}, {5, 6}}, b[2] = {{2, ((int64_t)1 << 40) + 1}, {4, 9}};
    MPI_Datatype type, same, parts[2];
    int n[3], combiner, size;
    MPI_Type_get_value_index(MPI_FLOAT, MPI_INT64_T, &type);
    MPI_Type_get_value_index(MPI_FLOAT, MPI_INT64_T, &same);
    CHECK(type == same && type != MPI_DATATYPE_NULL);
    check_type(type, 12, 0, 16, 0, 16);
    MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
    CHECK(n[0] == 0 && n[1] == 0 && n[2] == 2 && combiner == MPI_COMBINER_VALUE_INDEX);
    MPI_Type_get_contents(type, 0, 0, 2, NULL, NULL, parts);
    CHECK(parts[0] == MPI_FLOAT && parts[1] == MPI_INT64_T);
    CHECK(MPI_Type_free(&same) == MPI_ERR_TYPE);
    MPI_Reduce_local(a, b, 2, type, MPI_MINLOC);
    CHECK(b[0].value == 2 && b[0].index == (int64_t)1 << 40 && b[1].value == 4 && b[1].index == 9);
    MPI_Reduce_local(a, b, 2, type, MPI_MAXLOC);
    CHECK(b[0].index == (int64_t)1 << 40 && b[1].value == 5 && b[1].index == 6);
    CHECK(MPI_Reduce_local(a, b, 2, type, MPI_SUM) == MPI_ERR_OP);
    MPI_Type_get_value_index(MPI_UNSIGNED_CHAR, MPI_LONG, &type);
    MPI_Type_size(type, &size);
    CHECK(size == 9);
}

/* ---- Wrong arguments ---- */

/* That class, and a text that contains this. */
static void refused(int error, int error_class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &length);
    if (class != error_class || !strstr(text, words)) {
        fprintf(stderr, "class %d (%d expected), \"%s\" (\"%s\" expected)\n", class, error_class,
                text, words);
    }
    CHECK(class == error_class && strstr(text, words));
}

static int darray(int size, int rank, int gsize, int distrib, int darg, int places, int order)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int error = MPI_Type_create_darray(size, rank, 1, &gsize, &distrib, &darg, &places, order,
                                       MPI_INT, &type);
    if (error == MPI_SUCCESS) {
        MPI_Type_free(&type);
    }
    return error;
}

static void wrong_arrays(void)
{
    enum { DEFAULT = MPI_DISTRIBUTE_DFLT_DARG, BLOCK = MPI_DISTRIBUTE_BLOCK, C = MPI_ORDER_C };
    MPI_Datatype type;
    CHECK(darray(3, 2, 10, BLOCK, 4, 3, C) == MPI_SUCCESS);
    refused(darray(4, 2, 10, BLOCK, 4, 3, C), MPI_ERR_ARG, "size is 4");
    refused(darray(3, 3, 10, BLOCK, 4, 3, C), MPI_ERR_ARG, "rank is 3, not in 0..2");
    refused(darray(3, 2, 0, BLOCK, 4, 3, C), MPI_ERR_ARG, "array_of_gsizes[0] is 0");
    refused(darray(3, 2, 10, 99, 4, 3, C), MPI_ERR_ARG, "array_of_distribs[0] is 99");
    refused(darray(3, 2, 10, BLOCK, 3, 3, C), MPI_ERR_ARG, "array_of_dargs[0]");
    refused(darray(3, 2, 10, MPI_DISTRIBUTE_CYCLIC, 0, 3, C), MPI_ERR_ARG,
            "array_of_dargs[0] is 0");
    refused(darray(3, 2, 10, MPI_DISTRIBUTE_NONE, DEFAULT, 3, C), MPI_ERR_ARG,
            "array_of_psizes[0] is 3");
    refused(darray(0, 0, 10, BLOCK, DEFAULT, 0, C), MPI_ERR_ARG, "array_of_psizes[0] is 0");
    refused(darray(3, 2, 10, BLOCK, 4, 3, 77), MPI_ERR_ARG, "order is 77");
    refused(MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){2}, C, MPI_INT, &type),
            MPI_ERR_ARG, "array_of_subsizes[0] 3 and array_of_starts[0] 2");
    refused(MPI_Type_create_subarray(0, NULL, NULL, NULL, C, MPI_INT, &type), MPI_ERR_ARG,
            "ndims is 0");
}

static void wrong_arguments(void)
{
    MPI_Datatype type, types[2];
    MPI_Aint place = 0;
    int integers[4], n[4];
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    refused(MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL), MPI_ERR_TYPE, "predefined");
    refused(MPI_Type_get_contents(type, 2, 0, 1, integers, NULL, types), MPI_ERR_ARG,
            "max_integers is 2, but there are 3");
    refused(MPI_Type_get_contents(type, 3, 0, 0, integers, NULL, types), MPI_ERR_ARG,
            "max_datatypes is 0");
    refused(MPI_Type_get_contents(type, 3, 0, 1, NULL, NULL, types), MPI_ERR_ARG,
            "array_of_integers is a null pointer");
    MPI_Type_free(&type);
    MPI_Type_vector_c(2, 1, 2, MPI_INT, &type);
    refused(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]), MPI_ERR_TYPE,
            "MPI_Type_get_envelope_c");
    refused(MPI_Type_get_contents(type, 3, 0, 1, integers, NULL, types), MPI_ERR_TYPE,
            "MPI_Type_get_contents_c");
    refused(MPI_Type_get_value_index(type, MPI_INT, types), MPI_ERR_TYPE, "value_type");
    MPI_Type_free(&type);
    refused(MPI_Type_create_struct(2, (int[]){1, -1}, (MPI_Aint[]){0, 4},
                                   (MPI_Datatype[]){MPI_INT, MPI_INT}, &type),
            MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    refused(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4},
                                   (MPI_Datatype[]){MPI_INT, MPI_DATATYPE_NULL}, &type),
            MPI_ERR_TYPE, "array_of_types[1]");
    refused(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type), MPI_ERR_ARG, "size is 3");
    refused(MPI_Type_match_size(5, 4, &type), MPI_ERR_ARG, "typeclass is 5");
    refused(MPI_Type_create_f90_real(34, 2, &type), MPI_ERR_ARG, "p is 34");
    refused(MPI_Type_create_f90_real(3, 5000, &type), MPI_ERR_ARG, "r is 5000");
    refused(MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG,
            "both MPI_UNDEFINED");
    refused(MPI_Type_create_f90_integer(39, &type), MPI_ERR_ARG, "r is 39");
    refused(MPI_Pack_external("native", integers, 1, MPI_INT, n, 4, &place), MPI_ERR_ARG,
            "datarep is \"native\"");
    refused(MPI_Pack_external("external32", integers, 2, MPI_INT, n, 4, &place), MPI_ERR_TRUNCATE,
            "8 bytes do not fit behind position 0 of 4");
    refused(MPI_Unpack_external("external32", n, 4, &place, integers, 2, MPI_INT), MPI_ERR_TRUNCATE,
            "no 8 bytes lie behind position 0 of 4");
    refused(MPI_Unpack_external(NULL, n, 4, &place, integers, 1, MPI_INT), MPI_ERR_ARG, "datarep");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    extents();
    huge_counts();
    contents();
    many_parts();
    named_types();
    unnamed_pairs();
    wrong_arrays();
    wrong_arguments();
    MPI_Finalize();
    return 0;
}
