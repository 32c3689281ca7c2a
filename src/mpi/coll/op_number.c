/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of the predefined operations: one function for each operation and kind of number
 * (section 6.9.2 of the standard). Integers wrap around. MPI_CHAR and the other character types of
 * C count as integers, and logical operations accept every integer type: more than the standard
 * requires, but programs use it.
 */
#include "mpi/coll/op.h"

#include <stdint.h>

/* x: operand of the lower ranks, y: of the higher ones */
#define FUNCTION(name, type, expression)                                                           \
    static void name(const void *in, void *inout, MPI_Count n)                                     \
    {                                                                                              \
        const type *restrict a = in;                                                               \
        type *restrict b = inout;                                                                  \
        for (MPI_Count i = 0; i < n; i++) {                                                        \
            type x = a[i], y = b[i];                                                               \
            b[i] = (type)(expression);                                                             \
        }                                                                                          \
    }

/* X(kind, type, unsigned type wide enough for wrap-around) */
#define INTEGERS_64(X)                                                                             \
    X(I8, int8_t, uint64_t)                                                                        \
    X(I16, int16_t, uint64_t)                                                                      \
    X(I32, int32_t, uint64_t)                                                                      \
    X(I64, int64_t, uint64_t)                                                                      \
    X(U8, uint8_t, uint64_t)                                                                       \
    X(U16, uint16_t, uint64_t)                                                                     \
    X(U32, uint32_t, uint64_t)                                                                     \
    X(U64, uint64_t, uint64_t)
#define LOGICALS_64(X)                                                                             \
    X(L8, uint8_t, uint64_t)                                                                       \
    X(L16, uint16_t, uint64_t)                                                                     \
    X(L32, uint32_t, uint64_t)                                                                     \
    X(L64, uint64_t, uint64_t)
#define BYTES(X) X(BYTE, uint8_t, uint64_t)

/* X(kind, type) */
#define REALS_C(X)                                                                                 \
    X(F32, float)                                                                                  \
    X(F64, double)                                                                                 \
    X(FLONG, long double)
#define COMPLEXES_C(X)                                                                             \
    X(CF32, float _Complex)                                                                        \
    X(CF64, double _Complex)                                                                       \
    X(CFLONG, long double _Complex)

/* Types that not every compiler has. A type without arithmetic can still be sent. */
#ifdef __SIZEOF_INT128__
#define INTEGERS(X) INTEGERS_64(X) X(I128, __int128, unsigned __int128)
#define LOGICALS(X) LOGICALS_64(X) X(L128, unsigned __int128, unsigned __int128)
#else
#define INTEGERS(X) INTEGERS_64(X)
#define LOGICALS(X) LOGICALS_64(X)
#endif
#ifdef __FLT16_MAX__
#define REALS_16(X) X(F16, _Float16)
#define COMPLEXES_16(X) X(CF16, _Complex _Float16)
#else
#define REALS_16(X)
#define COMPLEXES_16(X)
#endif
#ifdef __SIZEOF_FLOAT128__
#ifdef __clang__ /* clang knows the type, but not its name in C */
#define FLOAT_128 __float128
#else
#define FLOAT_128 _Float128
#endif
#elif __LDBL_MANT_DIG__ == 113 /* arm64: long double is this type, and there is no other macro */
#define FLOAT_128 long double
#endif
#ifdef FLOAT_128
#define REALS_128(X) X(F128, FLOAT_128)
#define COMPLEXES_128(X) X(CF128, _Complex FLOAT_128)
#else
#define REALS_128(X)
#define COMPLEXES_128(X)
#endif
#define REALS(X) REALS_C(X) REALS_16(X) REALS_128(X)
#define COMPLEXES(X) COMPLEXES_C(X) COMPLEXES_16(X) COMPLEXES_128(X)

/* X(kind, struct) */
#define PAIRS(X)                                                                                   \
    X(PAIR_FLOAT_INT, struct rz_pair_float_int)                                                    \
    X(PAIR_DOUBLE_INT, struct rz_pair_double_int)                                                  \
    X(PAIR_LONG_INT, struct rz_pair_long_int)                                                      \
    X(PAIR_INT_INT, struct rz_pair_int_int)                                                        \
    X(PAIR_SHORT_INT, struct rz_pair_short_int)                                                    \
    X(PAIR_LONG_DOUBLE_INT, struct rz_pair_long_double_int)                                        \
    X(PAIR_FLOAT_FLOAT, struct rz_pair_float_float)                                                \
    X(PAIR_DOUBLE_DOUBLE, struct rz_pair_double_double)                                            \
    RZ_UNNAMED_PAIRS(X)

/* ---- The functions ---- */

#define INTEGER_FUNCTIONS(kind, type, wrap)                                                        \
    FUNCTION(sum_##kind, type, (wrap)x + (wrap)y)                                                  \
    FUNCTION(prod_##kind, type, (wrap)x *(wrap)y)                                                  \
    FUNCTION(min_##kind, type, x < y ? x : y)                                                      \
    FUNCTION(max_##kind, type, x > y ? x : y)                                                      \
    LOGICAL_FUNCTIONS(kind, type, wrap)                                                            \
    BYTE_FUNCTIONS(kind, type, wrap)

#define LOGICAL_FUNCTIONS(kind, type, wrap)                                                        \
    FUNCTION(land_##kind, type, x != 0 && y != 0)                                                  \
    FUNCTION(lor_##kind, type, x != 0 || y != 0)                                                   \
    FUNCTION(lxor_##kind, type, (x != 0) != (y != 0))

#define BYTE_FUNCTIONS(kind, type, wrap)                                                           \
    FUNCTION(band_##kind, type, x &y)                                                              \
    FUNCTION(bor_##kind, type, x | y)                                                              \
    FUNCTION(bxor_##kind, type, x ^ y)

#define REAL_FUNCTIONS(kind, type)                                                                 \
    FUNCTION(sum_##kind, type, x + y)                                                              \
    FUNCTION(prod_##kind, type, x *y)                                                              \
    FUNCTION(min_##kind, type, x < y ? x : y)                                                      \
    FUNCTION(max_##kind, type, x > y ? x : y)

#define COMPLEX_FUNCTIONS(kind, type)                                                              \
    FUNCTION(sum_##kind, type, x + y)                                                              \
    FUNCTION(prod_##kind, type, x *y)

/* Of equal values the smaller index. Only value and index are written: padding between them is the
 * user's. */
#define PAIR_FUNCTION(name, pair, wins)                                                            \
    static void name(const void *in, void *inout, MPI_Count n)                                     \
    {                                                                                              \
        const pair *restrict a = in;                                                               \
        pair *restrict b = inout;                                                                  \
        for (MPI_Count i = 0; i < n; i++) {                                                        \
            bool same = a[i].value == b[i].value && a[i].index < b[i].index;                       \
            if (a[i].value wins b[i].value || same) {                                              \
                b[i].value = a[i].value;                                                           \
                b[i].index = a[i].index;                                                           \
            }                                                                                      \
        }                                                                                          \
    }
#define PAIR_FUNCTIONS(kind, pair, ...)                                                            \
    PAIR_FUNCTION(minloc_##kind, pair, <)                                                          \
    PAIR_FUNCTION(maxloc_##kind, pair, >)

INTEGERS(INTEGER_FUNCTIONS)
LOGICALS(LOGICAL_FUNCTIONS)
BYTES(BYTE_FUNCTIONS)
REALS(REAL_FUNCTIONS)
COMPLEXES(COMPLEX_FUNCTIONS)
PAIRS(PAIR_FUNCTIONS)

/* ---- The tables ---- */

#define SUM(kind, ...) [RZ_NUMBER_##kind] = sum_##kind,
#define PROD(kind, ...) [RZ_NUMBER_##kind] = prod_##kind,
#define MIN(kind, ...) [RZ_NUMBER_##kind] = min_##kind,
#define MAX(kind, ...) [RZ_NUMBER_##kind] = max_##kind,
#define LAND(kind, ...) [RZ_NUMBER_##kind] = land_##kind,
#define LOR(kind, ...) [RZ_NUMBER_##kind] = lor_##kind,
#define LXOR(kind, ...) [RZ_NUMBER_##kind] = lxor_##kind,
#define BAND(kind, ...) [RZ_NUMBER_##kind] = band_##kind,
#define BOR(kind, ...) [RZ_NUMBER_##kind] = bor_##kind,
#define BXOR(kind, ...) [RZ_NUMBER_##kind] = bxor_##kind,
#define MINLOC(kind, ...) [RZ_NUMBER_##kind] = minloc_##kind,
#define MAXLOC(kind, ...) [RZ_NUMBER_##kind] = maxloc_##kind,

const rz_op_table_t rz_op_tables[0x20] = {
    [0x01] = {INTEGERS(SUM) REALS(SUM) COMPLEXES(SUM)},
    [0x02] = {INTEGERS(MIN) REALS(MIN)},
    [0x03] = {INTEGERS(MAX) REALS(MAX)},
    [0x04] = {INTEGERS(PROD) REALS(PROD) COMPLEXES(PROD)},
    [0x08] = {INTEGERS(BAND) BYTES(BAND)},
    [0x09] = {INTEGERS(BOR) BYTES(BOR)},
    [0x0a] = {INTEGERS(BXOR) BYTES(BXOR)},
    [0x10] = {INTEGERS(LAND) LOGICALS(LAND)},
    [0x11] = {INTEGERS(LOR) LOGICALS(LOR)},
    [0x12] = {INTEGERS(LXOR) LOGICALS(LXOR)},
    [0x18] = {PAIRS(MINLOC)},
    [0x19] = {PAIRS(MAXLOC)},
};
