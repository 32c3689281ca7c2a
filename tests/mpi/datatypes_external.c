/* SPDX-License-Identifier: BSD-3-Clause */
/* external32: the bytes that the standard prescribes, and what is read back. */
#include "check.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* count elements at `in` become exactly these bytes, and the same elements again. */
static void golden(MPI_Datatype type, int count, const void *in, size_t in_bytes,
                   const unsigned char *bytes, MPI_Aint n_bytes)
{
    unsigned char packed[256], back[256] = {0};
    MPI_Aint size, position = 0;
    CHECK(MPI_Pack_external_size("external32", count, type, &size) == MPI_SUCCESS);
    CHECK(size == n_bytes);
    CHECK(MPI_Pack_external("external32", in, count, type, packed, n_bytes, &position) ==
          MPI_SUCCESS);
    CHECK(position == n_bytes && memcmp(packed, bytes, (size_t)n_bytes) == 0);
    position = 0;
    CHECK(MPI_Unpack_external("external32", packed, n_bytes, &position, back, count, type) ==
          MPI_SUCCESS);
    CHECK(position == n_bytes && memcmp(back, in, in_bytes) == 0);
}

#define GOLDEN(type, in, ...)                                                                      \
    golden(type, (int)(sizeof(in) / sizeof((in)[0])), in, sizeof(in),                              \
           (const unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__}))

static void integers(void)
{
    const char bytes[] = {1, -2, 3};
    const int16_t shorts[] = {0x1234, -2};
    const int ints[] = {1, -2, INT32_MIN};
    const long longs[] = {1, -2, INT32_MIN};
    const unsigned long unsigned_longs[] = {0x80000001};
    const int64_t wides[] = {INT64_C(0x0102030405060708)};
    const wchar_t protocol_messages[] = {L'A', 0x20ac};
    GOLDEN(MPI_CHAR, bytes, 1, 0xfe, 3);
    GOLDEN(MPI_PACKED, bytes, 1, 0xfe, 3);
    GOLDEN(MPI_BYTE, bytes, 1, 0xfe, 3);
    GOLDEN(MPI_SHORT, shorts, 0x12, 0x34, 0xff, 0xfe);
    GOLDEN(MPI_INT, ints, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe, 0x80, 0, 0, 0);
    GOLDEN(MPI_LONG, longs, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe, 0x80, 0, 0, 0);
    GOLDEN(MPI_UNSIGNED_LONG, unsigned_longs, 0x80, 0, 0, 1);
    GOLDEN(MPI_LONG_LONG, wides, 1, 2, 3, 4, 5, 6, 7, 8);
    GOLDEN(MPI_AINT, wides, 1, 2, 3, 4, 5, 6, 7, 8);
    GOLDEN(MPI_COUNT, wides, 1, 2, 3, 4, 5, 6, 7, 8);
    GOLDEN(MPI_UINT64_T, wides, 1, 2, 3, 4, 5, 6, 7, 8);
    GOLDEN(MPI_WCHAR, protocol_messages, 0, 0x41, 0x20, 0xac);
    GOLDEN(MPI_LOGICAL, ints, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe, 0x80, 0, 0, 0);
}

static void reals(void)
{
    const float floats[] = {1.0F, -2.5F};
    const double doubles[] = {1.0, -2.5};
    const double _Complex complexes[] = {1.0 - 2.5 * I};
    const float _Complex small[] = {1.0F - 2.5F * I};
    const struct {
        double value;
        int index;
    } pair[] = {{1.0, 7}};
    GOLDEN(MPI_FLOAT, floats, 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0);
    GOLDEN(MPI_DOUBLE, doubles, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0x04, 0, 0, 0, 0, 0, 0);
    GOLDEN(MPI_C_DOUBLE_COMPLEX, complexes, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0x04, 0, 0, 0, 0, 0,
           0);
    GOLDEN(MPI_C_FLOAT_COMPLEX, small, 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0);
    golden(MPI_DOUBLE_INT, 1, pair, 12,
           (const unsigned char[]){0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}, 12);
}

/* binary128 by hand: 1, -2.5, and a third to 64 bits, rounded down. */
static void long_doubles(void)
{
    long double numbers[3];
    memset(numbers, 0, sizeof(numbers));
    const long double values[3] = {1.0L, -2.5L, 1.0L / 3};
    const unsigned char bytes[48] = {
        0x3f, 0xff, [16] = 0xc0, 0x00, 0x40, [32] = 0x3f, 0xfd, 0x55,
        0x55, 0x55, 0x55,        0x55, 0x55, 0x55,        0x56,
    };
    for (int i = 0; i < 3; i++) {
        memcpy(&numbers[i], &values[i], 10); /* its padding is 0 */
    }
    if (LDBL_MANT_DIG == 64) {
        golden(MPI_LONG_DOUBLE, 3, numbers, sizeof(numbers), bytes, 48);
    }
}

static void long_double_back(const unsigned char bytes[16], long double want)
{
    long double got = 0;
    MPI_Aint position = 0;
    MPI_Unpack_external("external32", bytes, 16, &position, &got, 1, MPI_LONG_DOUBLE);
    CHECK(got == want);
}

/* Rounding to 64 bits, denormals, infinity, not a number. */
static void long_doubles_at_their_limits(void)
{
    long double got = 0;
    MPI_Aint position = 0;
    const unsigned char nan[16] = {0x7f, 0xff, [15] = 1};
    if (LDBL_MANT_DIG != 64) {
        return;
    }
    long_double_back((const unsigned char[16]){0x3f, 0xff, [9] = 1}, 1.0L); /* a tie: to even */
    long_double_back((const unsigned char[16]){0x3f, 0xff, [9] = 1, [15] = 1}, 1.0L + LDBL_EPSILON);
    long_double_back((const unsigned char[16]){0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                               0xff, 0xff, 0, 0, 0, 0, 0},
                     2.0L);
    long_double_back((const unsigned char[16]){0x7f, 0xff}, HUGE_VALL);
    long double tiny = LDBL_MIN / 4;
    unsigned char packed[16];
    MPI_Pack_external("external32", &tiny, 1, MPI_LONG_DOUBLE, packed, 16, &position);
    CHECK(packed[0] == 0 && packed[1] == 0 && packed[2] == 0x40);
    long_double_back(packed, tiny);
    /* a denormal of x87 whose leading one is set is the smallest normal number */
    position = 0;
    memset(&tiny, 0, sizeof(tiny));
    ((unsigned char *)&tiny)[7] = 0x80;
    MPI_Pack_external("external32", &tiny, 1, MPI_LONG_DOUBLE, packed, 16, &position);
    CHECK(packed[0] == 0 && packed[1] == 1 && packed[2] == 0);
    position = 0;
    MPI_Unpack_external("external32", nan, 16, &position, &got, 1, MPI_LONG_DOUBLE);
    CHECK(got != got);
}

/* A struct of several types, behind other bytes; and what does not fit. */
static void structs_and_overflow(void)
{
    struct {
        char protocol_message;
        long number;
        short twice[2];
    } in[2] = {{'a', 5, {1, 2}}, {'b', -5, {3, 4}}}, back[2] = {{0}};
    const unsigned char want[] = {'a', 0,    0,    0,    5,    0, 1, 0, 2,
                                  'b', 0xff, 0xff, 0xff, 0xfb, 0, 3, 0, 4};
    unsigned char packed[24] = {0};
    MPI_Datatype type, resized;
    MPI_Aint position = 3;
    MPI_Type_create_struct(3, (int[]){1, 1, 2}, (MPI_Aint[]){0, 8, 16},
                           (MPI_Datatype[]){MPI_CHAR, MPI_LONG, MPI_SHORT}, &type);
    MPI_Type_create_resized(type, 0, sizeof(in[0]), &resized);
    MPI_Type_commit(&resized);
    CHECK(MPI_Pack_external("external32", in, 2, resized, packed, 24, &position) == MPI_SUCCESS);
    CHECK(position == 21 && memcmp(packed + 3, want, sizeof(want)) == 0);
    position = 3;
    MPI_Unpack_external_c("external32", packed, 24, &(MPI_Count){3}, back, 2, resized);
    CHECK(back[1].protocol_message == 'b' && back[1].number == -5 && back[1].twice[1] == 4);
    MPI_Type_free(&type);
    MPI_Type_free(&resized);
    position = 0;
    const long large = 1L << 31;
    CHECK(MPI_Pack_external("external32", &large, 1, MPI_LONG, packed, 24, &position) ==
          MPI_ERR_CONVERSION);
    CHECK(MPI_Pack_external("external32", &large, 1, MPI_UNSIGNED_LONG, packed, 24, &position) ==
          MPI_SUCCESS);
    const wchar_t protocol_message = 0x1f600;
    CHECK(MPI_Pack_external("external32", &protocol_message, 1, MPI_WCHAR, packed, 24, &position) ==
          MPI_ERR_CONVERSION);
    CHECK(position == 4);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    integers();
    reals();
    long_doubles();
    long_doubles_at_their_limits();
    structs_and_overflow();
    MPI_Finalize();
    return 0;
}
