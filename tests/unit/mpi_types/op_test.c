/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined operations on every type they are for, against arithmetic on one element at a
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/coll/op.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SUM = 0x21,
    MIN,
    MAX,
    PROD,
    BAND = 0x28,
    BOR,
    BXOR,
    LAND = 0x30,
    LOR,
    LXOR,
    MINLOC = 0x38,
    MAXLOC
};

static const unsigned arithmetic[] = {SUM, MIN, MAX, PROD}, bitwise[] = {BAND, BOR, BXOR},
                      logical[] = {LAND, LOR, LXOR}, locating[] = {MINLOC, MAXLOC};

/* ---- The standard's table, by the numbers of the ABI ---- */

static const unsigned integers[] = {0x201, 0x202, 0x203, 0x208, 0x209, 0x20a, 0x20b,
                                    0x20c, 0x20d, 0x20e, 0x20f, 0x219, 0x240, 0x241,
                                    0x243, 0x244, 0x245, 0x248, 0x249, 0x250, 0x251,
                                    0x258, 0x259, 0x2c1, 0x2c9, 0x2d1, 0x2d9, 0x2e1};
static const unsigned reals[] = {0x210, 0x214, 0x21a, 0x21c, 0x220, 0x2ca, 0x2d2, 0x2da, 0x2e2};
static const unsigned complexes[] = {0x212, 0x213, 0x216, 0x217, 0x21b, 0x21d,
                                     0x224, 0x225, 0x2d3, 0x2db, 0x2e3, 0x2eb};
static const unsigned logicals[] = {0x218, 0x238, 0x239, 0x2c0, 0x2c8, 0x2d0, 0x2d8, 0x2e0};
static const unsigned pairs[] = {0x228, 0x229, 0x22a, 0x22b, 0x22c, 0x22d, 0x230, 0x231, 0x232};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define HAS(list, item) has(list, COUNT(list), item)

static bool has(const unsigned *list, size_t n, unsigned item)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == item) {
            return true;
        }
    }
    return false;
}

static bool defined(unsigned op, unsigned type)
{
    bool integer = HAS(integers, type), real = HAS(reals, type);
    bool number = integer || real || (HAS(complexes, type) && (op == SUM || op == PROD));
    return (HAS(arithmetic, op) && number) ||
           (HAS(bitwise, op) && (integer || type == 0x247 /* MPI_BYTE */)) ||
           (HAS(logical, op) && (integer || HAS(logicals, type))) ||
           (HAS(locating, op) && HAS(pairs, type));
}

static void operations_take_the_types_of_the_standard_and_no_others(void **state)
{
    (void)state;
    for (unsigned handle = 0x21; handle < 0x40; handle++) {
        struct rz_op *op = rz_op_predefined(handle);
        for (unsigned type = 0x200; type < 0x300 && op; type++) {
            struct rz_datatype *datatype = rz_datatype_predefined(type);
            if (datatype) {
                int expected = defined(handle, type) ? MPI_SUCCESS : MPI_ERR_OP;
                assert_int_equal(rz_op_check(op, datatype), expected);
                assert_true(expected == MPI_SUCCESS || rzm_error_reason(MPI_ERR_OP));
            }
        }
    }
}

/* ---- Values ---- */

enum { N = 100 };

#define CHECK_OP(op, handle, type, expression)                                                     \
    do {                                                                                           \
        struct rz_random random = {handle};                                                        \
        type a[N], b[N], got[N];                                                                   \
        for (int i = 0; i < N; i++) {                                                              \
            a[i] = (type)(int64_t)rz_random_next(&random);                                         \
            b[i] = i % 3 == 0 ? a[i] : (type)(int64_t)rz_random_next(&random);                     \
            b[i] = i % 7 == 0 ? (type)0 : b[i];                                                    \
            got[i] = b[i];                                                                         \
        }                                                                                          \
        rz_op_apply(rz_op_predefined(op), a, got, N, rz_datatype_predefined(handle));              \
        for (int i = 0; i < N; i++) {                                                              \
            type x = a[i], y = b[i], want = (type)(expression);                                    \
            assert_true(got[i] == want);                                                           \
        }                                                                                          \
    } while (0)

#define CHECK_NUMBER(handle, type)                                                                 \
    CHECK_OP(MIN, handle, type, y < x ? y : x);                                                    \
    CHECK_OP(MAX, handle, type, y > x ? y : x)
#define CHECK_INTEGER(handle, type)                                                                \
    CHECK_NUMBER(handle, type);                                                                    \
    CHECK_OP(SUM, handle, type, (uint64_t)x + (uint64_t)y);                                        \
    CHECK_OP(PROD, handle, type, (uint64_t)x *(uint64_t)y);                                        \
    CHECK_OP(BAND, handle, type, (uint64_t)x &(uint64_t)y);                                        \
    CHECK_OP(BOR, handle, type, (uint64_t)x | (uint64_t)y);                                        \
    CHECK_OP(BXOR, handle, type, (uint64_t)x ^ (uint64_t)y);                                       \
    CHECK_LOGICAL(handle, type)
#define CHECK_LOGICAL(handle, type)                                                                \
    CHECK_OP(LAND, handle, type, x &&y);                                                           \
    CHECK_OP(LOR, handle, type, x || y);                                                           \
    CHECK_OP(LXOR, handle, type, !x != !y)
#define CHECK_REAL(handle, type)                                                                   \
    CHECK_NUMBER(handle, type);                                                                    \
    CHECK_SUM(handle, type)
#define CHECK_SUM(handle, type)                                                                    \
    CHECK_OP(SUM, handle, type, x + y);                                                            \
    CHECK_OP(PROD, handle, type, x *y)

static void integers_are_computed_as_c_does(void **state)
{
    (void)state;
    CHECK_INTEGER(0x208, short);
    CHECK_INTEGER(0x209, int);
    CHECK_INTEGER(0x20a, long);
    CHECK_INTEGER(0x20b, long long);
    CHECK_INTEGER(0x20c, unsigned short);
    CHECK_INTEGER(0x20d, unsigned);
    CHECK_INTEGER(0x20e, unsigned long);
    CHECK_INTEGER(0x20f, unsigned long long);
    CHECK_INTEGER(0x243, char);
    CHECK_INTEGER(0x244, signed char);
    CHECK_INTEGER(0x245, unsigned char);
    CHECK_INTEGER(0x240, int8_t);
    CHECK_INTEGER(0x241, uint8_t);
    CHECK_INTEGER(0x248, int16_t);
    CHECK_INTEGER(0x249, uint16_t);
    CHECK_INTEGER(0x250, int32_t);
    CHECK_INTEGER(0x251, uint32_t);
    CHECK_INTEGER(0x258, int64_t);
    CHECK_INTEGER(0x259, uint64_t);
    CHECK_INTEGER(0x201, MPI_Aint);
    CHECK_INTEGER(0x202, MPI_Count);
    CHECK_INTEGER(0x203, MPI_Offset);
    CHECK_LOGICAL(0x238, bool);
    CHECK_LOGICAL(0x218, int);
    CHECK_OP(BXOR, 0x247, unsigned char, x ^ y);
}

static void reals_and_complex_numbers_are_computed_as_c_does(void **state)
{
    (void)state;
    CHECK_REAL(0x210, float);
    CHECK_REAL(0x214, double);
    CHECK_REAL(0x220, long double);
    CHECK_REAL(0x21a, float);
    CHECK_REAL(0x21c, double);
    CHECK_SUM(0x212, float _Complex);
    CHECK_SUM(0x216, double _Complex);
    CHECK_SUM(0x224, long double _Complex);
}

#define CHECK_PAIR(handle, pair)                                                                   \
    do {                                                                                           \
        pair a[9], low[9], high[9];                                                                \
        for (int i = 0; i < 9; i++) {                                                              \
            a[i] = (pair){.value = 1, .index = 4};                                                 \
            low[i] = (pair){.value = i / 3, .index = 3 + i % 3};                                   \
            high[i] = low[i];                                                                      \
        }                                                                                          \
        rz_op_apply(rz_op_predefined(MINLOC), a, low, 9, rz_datatype_predefined(handle));          \
        rz_op_apply(rz_op_predefined(MAXLOC), a, high, 9, rz_datatype_predefined(handle));         \
        for (int i = 0; i < 9; i++) {                                                              \
            int tie = 3 + i % 3 < 4 ? 3 + i % 3 : 4;                                               \
            assert_true(low[i].value == (i / 3 < 1 ? i / 3 : 1));                                  \
            assert_true(low[i].index == (i / 3 < 1 ? 3 + i % 3 : i / 3 > 1 ? 4 : tie));            \
            assert_true(high[i].value == (i / 3 > 1 ? i / 3 : 1));                                 \
            assert_true(high[i].index == (i / 3 > 1 ? 3 + i % 3 : i / 3 < 1 ? 4 : tie));           \
        }                                                                                          \
    } while (0)

static void of_equal_values_the_smaller_index_wins(void **state)
{
    (void)state;
    CHECK_PAIR(0x228, struct rz_pair_float_int);
    CHECK_PAIR(0x229, struct rz_pair_double_int);
    CHECK_PAIR(0x22a, struct rz_pair_long_int);
    CHECK_PAIR(0x22b, struct rz_pair_int_int);
    CHECK_PAIR(0x22c, struct rz_pair_short_int);
    CHECK_PAIR(0x22d, struct rz_pair_long_double_int);
    CHECK_PAIR(0x230, struct rz_pair_float_float);
    CHECK_PAIR(0x231, struct rz_pair_double_double);
    CHECK_PAIR(0x232, struct rz_pair_int_int);
}

/* ---- Those of the user ---- */

static void subtract(void *in, void *inout, int *len, MPI_Datatype *type)
{
    assert_ptr_equal(*type, MPI_INT);
    for (int i = 0; i < *len; i++) {
        ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
    }
}

static void subtract_c(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    int n = (int)*len;
    subtract(in, inout, &n, type);
}

static void the_user_s_function_gets_the_lower_ranks_first(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct rz_op *op;
        int left[2] = {10, 20}, right[2] = {1, 2}, commute = 1;
        rzm_op_create(wide ? NULL : subtract, wide ? subtract_c : NULL, 0, &op);
        assert_int_equal(rzm_reduce_local(left, right, 2, rz_datatype_predefined(0x209), op),
                         MPI_SUCCESS);
        assert_int_equal(right[0], 9);
        assert_int_equal(right[1], 18);
        rzm_op_commutative(op, &commute);
        assert_int_equal(commute, 0);
        rzm_op_free(op);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_take_the_types_of_the_standard_and_no_others),
        cmocka_unit_test(integers_are_computed_as_c_does),
        cmocka_unit_test(reals_and_complex_numbers_are_computed_as_c_does),
        cmocka_unit_test(of_equal_values_the_smaller_index_wins),
        cmocka_unit_test(the_user_s_function_gets_the_lower_ranks_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
