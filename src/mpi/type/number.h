/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined datatypes of the ABI, one line each, and the kind of number that each holds, for
 * reductions. Source: section 20 (application binary interface) and section 6.9.2 of MPI 5.0;
 * src/abi/tables/abi_constants.csv.
 */
#ifndef RZ_MPI_NUMBER_H
#define RZ_MPI_NUMBER_H

#include <stddef.h>
#include <wchar.h>

#include "mpi/impl.h"

/* The pairs of MPI_Type_get_value_index without a name: any value with an index of 4 or 8 bytes.
 * X(kind, struct, number of value, type of value, number of index, type of index) */
#define RZ_PAIR_OF(X, v, v_type, i, i_type)                                                        \
    X(PAIR_##v##_##i, struct rz_pair_##v##_##i, RZ_NUMBER_##v, v_type, RZ_NUMBER_##i, i_type)
#define RZ_PAIRS_OF(X, v, v_type)                                                                  \
    RZ_PAIR_OF(X, v, v_type, I32, int32_t) RZ_PAIR_OF(X, v, v_type, I64, int64_t)
#define RZ_UNNAMED_PAIRS(X)                                                                        \
    RZ_PAIRS_OF(X, I8, int8_t)                                                                     \
    RZ_PAIRS_OF(X, I16, int16_t)                                                                   \
    RZ_PAIRS_OF(X, I32, int32_t)                                                                   \
    RZ_PAIRS_OF(X, I64, int64_t)                                                                   \
    RZ_PAIRS_OF(X, U8, uint8_t)                                                                    \
    RZ_PAIRS_OF(X, U16, uint16_t)                                                                  \
    RZ_PAIRS_OF(X, U32, uint32_t)                                                                  \
    RZ_PAIRS_OF(X, U64, uint64_t)                                                                  \
    RZ_PAIRS_OF(X, F32, float)                                                                     \
    RZ_PAIRS_OF(X, F64, double)                                                                    \
    RZ_PAIRS_OF(X, FLONG, long double)

#define RZ_PAIR_NUMBER(kind, ...) RZ_NUMBER_##kind,

enum rz_number {
    RZ_NUMBER_NONE, /* no arithmetic: MPI_PACKED, MPI_WCHAR */
    RZ_NUMBER_I8,
    RZ_NUMBER_I16,
    RZ_NUMBER_I32,
    RZ_NUMBER_I64,
    RZ_NUMBER_I128,
    RZ_NUMBER_U8,
    RZ_NUMBER_U16,
    RZ_NUMBER_U32,
    RZ_NUMBER_U64,
    RZ_NUMBER_F16,
    RZ_NUMBER_F32,
    RZ_NUMBER_F64,
    RZ_NUMBER_FLONG,
    RZ_NUMBER_F128,
    RZ_NUMBER_CF16, /* complex */
    RZ_NUMBER_CF32,
    RZ_NUMBER_CF64,
    RZ_NUMBER_CFLONG,
    RZ_NUMBER_CF128,
    RZ_NUMBER_L8, /* logical: false is 0 */
    RZ_NUMBER_L16,
    RZ_NUMBER_L32,
    RZ_NUMBER_L64,
    RZ_NUMBER_L128,
    RZ_NUMBER_BYTE,
    RZ_NUMBER_PAIR_FLOAT_INT, /* value and index */
    RZ_NUMBER_PAIR_DOUBLE_INT,
    RZ_NUMBER_PAIR_LONG_INT,
    RZ_NUMBER_PAIR_INT_INT,
    RZ_NUMBER_PAIR_SHORT_INT,
    RZ_NUMBER_PAIR_LONG_DOUBLE_INT,
    RZ_NUMBER_PAIR_FLOAT_FLOAT,
    RZ_NUMBER_PAIR_DOUBLE_DOUBLE,
    RZ_UNNAMED_PAIRS(RZ_PAIR_NUMBER) RZ_NUMBER_COUNT
};

/* RZ_NUMBER_NONE for a datatype that is not predefined, with or without a number in the ABI. */
enum rz_number rz_number_of(const struct rz_datatype *datatype);

/* For messages: the name that the user has set, else the name in the standard, else "". */
const char *rz_datatype_name(const struct rz_datatype *datatype);

/* The C structs of the pair types. */
struct rz_pair_float_int {
    float value;
    int index;
};
struct rz_pair_double_int {
    double value;
    int index;
};
struct rz_pair_long_int {
    long value;
    int index;
};
struct rz_pair_int_int {
    int value;
    int index;
};
struct rz_pair_short_int {
    short value;
    int index;
};
struct rz_pair_long_double_int {
    long double value;
    int index;
};
struct rz_pair_float_float {
    float value;
    float index;
};
struct rz_pair_double_double {
    double value;
    double index;
};

#define RZ_PAIR_STRUCT(kind, pair, value_number, value_type, index_number, index_type)             \
    pair                                                                                           \
    {                                                                                              \
        value_type value;                                                                          \
        index_type index;                                                                          \
    };
RZ_UNNAMED_PAIRS(RZ_PAIR_STRUCT)

#define RZ_SIGNED(type)                                                                            \
    (sizeof(type) == 1   ? RZ_NUMBER_I8                                                            \
     : sizeof(type) == 2 ? RZ_NUMBER_I16                                                           \
     : sizeof(type) == 4 ? RZ_NUMBER_I32                                                           \
                         : RZ_NUMBER_I64)
#define RZ_UNSIGNED(type)                                                                          \
    (sizeof(type) == 1   ? RZ_NUMBER_U8                                                            \
     : sizeof(type) == 2 ? RZ_NUMBER_U16                                                           \
     : sizeof(type) == 4 ? RZ_NUMBER_U32                                                           \
                         : RZ_NUMBER_U64)

/* X(number in the ABI - 0x200, name after MPI_, bytes, alignment, enum rz_number) */
#define RZ_PLAIN_C(X, handle, name, type, number)                                                  \
    X(handle, name, sizeof(type), _Alignof(type), number)

/* clang-format off */
#define RZ_PLAIN_TYPES(X)                                                                          \
    RZ_PLAIN_C(X, 0x01, AINT, MPI_Aint, RZ_NUMBER_I64)                                             \
    RZ_PLAIN_C(X, 0x02, COUNT, MPI_Count, RZ_NUMBER_I64)                                           \
    RZ_PLAIN_C(X, 0x03, OFFSET, MPI_Offset, RZ_NUMBER_I64)                                         \
    X(0x07, PACKED, 1, 1, RZ_NUMBER_NONE)                                                          \
    RZ_PLAIN_C(X, 0x08, SHORT, short, RZ_SIGNED(short))                                            \
    RZ_PLAIN_C(X, 0x09, INT, int, RZ_SIGNED(int))                                                  \
    RZ_PLAIN_C(X, 0x0a, LONG, long, RZ_SIGNED(long))                                               \
    RZ_PLAIN_C(X, 0x0b, LONG_LONG, long long, RZ_SIGNED(long long))                                \
    RZ_PLAIN_C(X, 0x0c, UNSIGNED_SHORT, short, RZ_UNSIGNED(short))                                 \
    RZ_PLAIN_C(X, 0x0d, UNSIGNED, int, RZ_UNSIGNED(int))                                           \
    RZ_PLAIN_C(X, 0x0e, UNSIGNED_LONG, long, RZ_UNSIGNED(long))                                    \
    RZ_PLAIN_C(X, 0x0f, UNSIGNED_LONG_LONG, long long, RZ_UNSIGNED(long long))                     \
    RZ_PLAIN_C(X, 0x10, FLOAT, float, RZ_NUMBER_F32)                                               \
    RZ_PLAIN_C(X, 0x12, C_FLOAT_COMPLEX, float _Complex, RZ_NUMBER_CF32)                           \
    RZ_PLAIN_C(X, 0x13, CXX_FLOAT_COMPLEX, float _Complex, RZ_NUMBER_CF32)                         \
    RZ_PLAIN_C(X, 0x14, DOUBLE, double, RZ_NUMBER_F64)                                             \
    RZ_PLAIN_C(X, 0x16, C_DOUBLE_COMPLEX, double _Complex, RZ_NUMBER_CF64)                         \
    RZ_PLAIN_C(X, 0x17, CXX_DOUBLE_COMPLEX, double _Complex, RZ_NUMBER_CF64)                       \
    X(0x18, LOGICAL, 4, 4, RZ_NUMBER_L32)                                                          \
    X(0x19, INTEGER, 4, 4, RZ_NUMBER_I32)                                                          \
    X(0x1a, REAL, 4, 4, RZ_NUMBER_F32)                                                             \
    X(0x1b, COMPLEX, 8, 4, RZ_NUMBER_CF32)                                                         \
    X(0x1c, DOUBLE_PRECISION, 8, 8, RZ_NUMBER_F64)                                                 \
    X(0x1d, DOUBLE_COMPLEX, 16, 8, RZ_NUMBER_CF64)                                                 \
    X(0x1e, CHARACTER, 1, 1, RZ_NUMBER_NONE)                                                       \
    RZ_PLAIN_C(X, 0x20, LONG_DOUBLE, long double, RZ_NUMBER_FLONG)                                 \
    RZ_PLAIN_C(X, 0x24, C_LONG_DOUBLE_COMPLEX, long double _Complex, RZ_NUMBER_CFLONG)             \
    RZ_PLAIN_C(X, 0x25, CXX_LONG_DOUBLE_COMPLEX, long double _Complex, RZ_NUMBER_CFLONG)           \
    X(0x38, C_BOOL, 1, 1, RZ_NUMBER_L8)                                                            \
    X(0x39, CXX_BOOL, 1, 1, RZ_NUMBER_L8)                                                          \
    RZ_PLAIN_C(X, 0x3c, WCHAR, wchar_t, RZ_NUMBER_NONE)                                            \
    X(0x40, INT8_T, 1, 1, RZ_NUMBER_I8)                                                            \
    X(0x41, UINT8_T, 1, 1, RZ_NUMBER_U8)                                                           \
    RZ_PLAIN_C(X, 0x43, CHAR, char, (char)-1 < 0 ? RZ_NUMBER_I8 : RZ_NUMBER_U8)                    \
    X(0x44, SIGNED_CHAR, 1, 1, RZ_NUMBER_I8)                                                       \
    X(0x45, UNSIGNED_CHAR, 1, 1, RZ_NUMBER_U8)                                                     \
    X(0x47, BYTE, 1, 1, RZ_NUMBER_BYTE)                                                            \
    X(0x48, INT16_T, 2, 2, RZ_NUMBER_I16)                                                          \
    X(0x49, UINT16_T, 2, 2, RZ_NUMBER_U16)                                                         \
    X(0x50, INT32_T, 4, 4, RZ_NUMBER_I32)                                                          \
    X(0x51, UINT32_T, 4, 4, RZ_NUMBER_U32)                                                         \
    RZ_PLAIN_C(X, 0x58, INT64_T, int64_t, RZ_NUMBER_I64)                                           \
    RZ_PLAIN_C(X, 0x59, UINT64_T, uint64_t, RZ_NUMBER_U64)                                         \
    X(0xc0, LOGICAL1, 1, 1, RZ_NUMBER_L8)                                                          \
    X(0xc1, INTEGER1, 1, 1, RZ_NUMBER_I8)                                                          \
    X(0xc8, LOGICAL2, 2, 2, RZ_NUMBER_L16)                                                         \
    X(0xc9, INTEGER2, 2, 2, RZ_NUMBER_I16)                                                         \
    X(0xca, REAL2, 2, 2, RZ_NUMBER_F16)                                                            \
    X(0xd0, LOGICAL4, 4, 4, RZ_NUMBER_L32)                                                         \
    X(0xd1, INTEGER4, 4, 4, RZ_NUMBER_I32)                                                         \
    X(0xd2, REAL4, 4, 4, RZ_NUMBER_F32)                                                            \
    X(0xd3, COMPLEX4, 4, 2, RZ_NUMBER_CF16)                                                        \
    X(0xd8, LOGICAL8, 8, 8, RZ_NUMBER_L64)                                                         \
    X(0xd9, INTEGER8, 8, 8, RZ_NUMBER_I64)                                                         \
    X(0xda, REAL8, 8, 8, RZ_NUMBER_F64)                                                            \
    X(0xdb, COMPLEX8, 8, 4, RZ_NUMBER_CF32)                                                        \
    X(0xe0, LOGICAL16, 16, 16, RZ_NUMBER_L128)                                                     \
    X(0xe1, INTEGER16, 16, 16, RZ_NUMBER_I128)                                                     \
    X(0xe2, REAL16, 16, 16, RZ_NUMBER_F128)                                                        \
    X(0xe3, COMPLEX16, 16, 8, RZ_NUMBER_CF64)                                                      \
    X(0xeb, COMPLEX32, 32, 16, RZ_NUMBER_CF128)

/* X(number in the ABI - 0x200, name after MPI_, struct, type of value, type of index, enum rz_number) */
#define RZ_PAIR_TYPES(X)                                                                           \
    X(0x28, FLOAT_INT, struct rz_pair_float_int, float, int, RZ_NUMBER_PAIR_FLOAT_INT)             \
    X(0x29, DOUBLE_INT, struct rz_pair_double_int, double, int, RZ_NUMBER_PAIR_DOUBLE_INT)         \
    X(0x2a, LONG_INT, struct rz_pair_long_int, long, int, RZ_NUMBER_PAIR_LONG_INT)                 \
    X(0x2b, 2INT, struct rz_pair_int_int, int, int, RZ_NUMBER_PAIR_INT_INT)                        \
    X(0x2c, SHORT_INT, struct rz_pair_short_int, short, int, RZ_NUMBER_PAIR_SHORT_INT)             \
    X(0x2d, LONG_DOUBLE_INT, struct rz_pair_long_double_int, long double, int,                     \
      RZ_NUMBER_PAIR_LONG_DOUBLE_INT)                                                              \
    X(0x30, 2REAL, struct rz_pair_float_float, float, float, RZ_NUMBER_PAIR_FLOAT_FLOAT)           \
    X(0x31, 2DOUBLE_PRECISION, struct rz_pair_double_double, double, double,                       \
      RZ_NUMBER_PAIR_DOUBLE_DOUBLE)                                                                \
    X(0x32, 2INTEGER, struct rz_pair_int_int, int, int, RZ_NUMBER_PAIR_INT_INT)
/* clang-format on */

#endif
