/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Pack_external and variants: follows the layout of a type, and converts each row by its basic
 * type.
 */
#include "mpi/type/datatype.h"
#include "mpi/type/datatype_layout.h"
#include "mpi/type/type_external.h"

/* ---- Numbers ---- */

static uint64_t load_big(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | from[i];
    }
    return value;
}

static void store_big(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = bytes; i-- > 0; value >>= 8) {
        to[i] = (unsigned char)value;
    }
}

/* Reads an integer of 4 or 8 bytes in this machine's byte order. */
static uint64_t load_here(const char *from, size_t bytes)
{
    uint64_t value = 0;
    uint32_t half;
    if (bytes == sizeof(value)) {
        memcpy(&value, from, sizeof(value));
        return value;
    }
    rz_assert(bytes == sizeof(half));
    memcpy(&half, from, sizeof(half));
    return half;
}

static void store_here(char *to, uint64_t value, size_t bytes)
{
    uint32_t half = (uint32_t)value;
    memcpy(to, bytes == sizeof(value) ? (void *)&value : (void *)&half, bytes);
}

static bool pack_integer(const struct rz_basic *basic, const char *user, unsigned char *external)
{
    uint64_t value = load_here(user, basic->bytes);
    unsigned bits = 8U * basic->external;
    bool fits = basic->way == RZ_EXTERNAL_UNSIGNED
                    ? value >> bits == 0
                    : (int64_t)value >= -(INT64_C(1) << (bits - 1)) &&
                          (int64_t)value < INT64_C(1) << (bits - 1);
    store_big(external, value, basic->external);
    return fits;
}

static void unpack_integer(const struct rz_basic *basic, const unsigned char *external, char *user)
{
    uint64_t value = load_big(external, basic->external);
    unsigned unused = 64U - 8U * basic->external;
    if (basic->way == RZ_EXTERNAL_SIGNED) {
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    }
    store_here(user, value, basic->bytes);
}

/*
 * The long double of x86 (little-endian: 64 bits of mantissa including the leading one, then sign
 * and exponent) and IEEE binary128 (the same sign and exponent, then 112 bits of mantissa without
 * the leading one).
 */
#define LEADING_ONE (UINT64_C(1) << 63)
#define EXPONENT_MASK 0x7fff

static void pack_long_double(const char *user, unsigned char *external)
{
    uint64_t mantissa;
    uint16_t head;
    memcpy(&mantissa, user, sizeof(mantissa));
    memcpy(&head, user + 8, sizeof(head));
    if ((head & EXPONENT_MASK) == 0 && (mantissa & LEADING_ONE) != 0) {
        head++; /* a denormal that was rounded up to the smallest normal number */
    }
    mantissa &= ~LEADING_ONE;
    store_big(external, head, 2);
    store_big(external + 2, mantissa >> 15, 6);
    store_big(external + 8, mantissa << 49, 8);
}

/* Rounds to the nearest, ties to even. */
static void unpack_long_double(const unsigned char *external, char *user)
{
    uint16_t head = (uint16_t)load_big(external, 2);
    uint64_t high = load_big(external + 2, 6), low = load_big(external + 8, 8);
    uint64_t mantissa = high << 15 | low >> 49;
    uint64_t rest = low << 15; /* the bits that do not fit, from the highest one down */
    bool special = (head & EXPONENT_MASK) == EXPONENT_MASK;
    if (special) {
        bool number = mantissa == 0 && rest == 0;
        mantissa |= number ? 0 : LEADING_ONE >> 1; /* a NaN must remain one */
    } else if (rest > LEADING_ONE || (rest == LEADING_ONE && (mantissa & 1) != 0)) {
        mantissa++;
    }
    if ((mantissa & LEADING_ONE) != 0 && !special) { /* rounded up to the next power of two */
        mantissa = 0;
        head++;
    }
    mantissa |= (head & EXPONENT_MASK) != 0 ? LEADING_ONE : 0;
    memset(user, 0, 16);
    memcpy(user, &mantissa, sizeof(mantissa));
    memcpy(user + 8, &head, sizeof(head));
}

/* ---- Rows ---- */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OTHER_ORDER(bits, value) __builtin_bswap##bits(value)
#else
#define OTHER_ORDER(bits, value) (value)
#endif

/* Copies n numbers with reversed byte order. */
#define COPY_SWAPPED(bits)                                                                         \
    static void copy_swapped_##bits(char *to, const char *from, size_t n)                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint##bits##_t value;                                                                  \
            memcpy(&value, from + i * sizeof(value), sizeof(value));                               \
            value = OTHER_ORDER(bits, value);                                                      \
            memcpy(to + i * sizeof(value), &value, sizeof(value));                                 \
        }                                                                                          \
    }
COPY_SWAPPED(16)
COPY_SWAPPED(32)
COPY_SWAPPED(64)

static void copy_swapped_128(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++, to += 16, from += 16) {
        char halves[16];
        copy_swapped_64(halves, from, 2);
        bool swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        memcpy(to, halves + (swap ? 8 : 0), 8);
        memcpy(to + 8, halves + (swap ? 0 : 8), 8);
    }
}

static void copy_same(const struct rz_basic *basic, char *to, const char *from, MPI_Count n)
{
    size_t parts = (size_t)n * basic->parts;
    switch (basic->bytes / basic->parts) {
    case 1:
        memcpy(to, from, parts);
        break;
    case 2:
        copy_swapped_16(to, from, parts);
        break;
    case 4:
        copy_swapped_32(to, from, parts);
        break;
    case 8:
        copy_swapped_64(to, from, parts);
        break;
    default:
        copy_swapped_128(to, from, parts);
    }
}

/* Converts a row of n basic elements. False: a value does not fit. */
static bool row_copy(const struct rz_basic *basic, MPI_Count n, char *user, char *external,
                     bool packing)
{
    size_t parts = (size_t)n * basic->parts;
    size_t here = (size_t)basic->bytes / basic->parts;
    size_t there = (size_t)basic->external / basic->parts;
    bool fits = true;
    if (basic->way == RZ_EXTERNAL_SAME) {
        copy_same(basic, packing ? external : user, packing ? user : external, n);
        return true;
    }
    for (size_t i = 0; i < parts; i++, user += here, external += there) {
        unsigned char *bytes = (unsigned char *)external;
        if (basic->way == RZ_EXTERNAL_LONG_DOUBLE) {
            packing ? pack_long_double(user, bytes) : unpack_long_double(bytes, user);
        } else if (packing) {
            fits = pack_integer(basic, user, bytes) && fits;
        } else {
            unpack_integer(basic, bytes, user);
        }
    }
    return fits;
}

static bool layout_copy(const struct rz_layout *layout, char *user, char **external, bool packing)
{
    bool fits = true;
    for (size_t i = 0; i < layout->n; i++) {
        const struct rz_piece *piece = &layout->pieces[i];
        for (MPI_Count k = 0; k < piece->repeat; k++) {
            char *at = user + piece->offset + k * piece->stride;
            if (piece->child) {
                fits = layout_copy(piece->child, at, external, packing) && fits;
                continue;
            }
            MPI_Count n = piece->bytes / piece->basic->bytes;
            fits = row_copy(piece->basic, n, at, *external, packing) && fits;
            *external += n * piece->basic->external;
        }
    }
    return fits;
}

static int copy_external(const struct rz_datatype *datatype, MPI_Count count, char *user,
                         char *external, bool packing)
{
    bool fits = true;
    if (datatype->size == 0) {
        return MPI_SUCCESS;
    }
    for (MPI_Count i = 0; i < count; i++) {
        fits =
            layout_copy(datatype->layout, user + i * datatype->extent, &external, packing) && fits;
    }
    return fits ? MPI_SUCCESS
                : rzm_error(MPI_ERR_CONVERSION,
                            "a number is too large for external32 (a long has 4 bytes there, a "
                            "wide character 2)");
}

MPI_Count rz_external_size(const struct rz_datatype *datatype)
{
    return datatype->layout->external;
}

int rz_external_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user,
                     void *external)
{
    return copy_external(datatype, count, (char *)(uintptr_t)user, external, true);
}

int rz_external_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *external,
                       void *user)
{
    return copy_external(datatype, count, user, (char *)(uintptr_t)external, false);
}

/* ---- MPI_Pack_external and variants ---- */

static int external_bytes(const char *datarep, MPI_Count count, const struct rz_datatype *datatype,
                          MPI_Count *bytes)
{
    if (!datarep) {
        return rzm_error(MPI_ERR_ARG, "datarep is a null pointer");
    }
    if (strcmp(datarep, "external32") != 0) {
        return rzm_error(MPI_ERR_ARG, "datarep is \"%.40s\", not \"external32\"", datarep);
    }
    if (__builtin_mul_overflow(rz_external_size(datatype), count, bytes)) {
        return rzm_error(MPI_ERR_COUNT, "that much data does not fit 63 bits");
    }
    return MPI_SUCCESS;
}

int rzm_pack_external(const char *datarep, const void *inbuf, MPI_Count incount,
                      struct rz_datatype *datatype, void *outbuf, MPI_Count outsize,
                      MPI_Count *position)
{
    MPI_Count bytes = 0;
    int error = external_bytes(datarep, incount, datatype, &bytes);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (*position < 0 || *position > outsize || bytes > outsize - *position) {
        return rzm_error(MPI_ERR_TRUNCATE, "%lld bytes do not fit behind position %lld of %lld",
                         (long long)bytes, (long long)*position, (long long)outsize);
    }
    error = rz_external_pack(datatype, incount, inbuf, (char *)outbuf + *position);
    if (error == MPI_SUCCESS) {
        *position += bytes;
    }
    return error;
}

int rzm_unpack_external(const char datarep[], const void *inbuf, MPI_Count insize,
                        MPI_Count *position, void *outbuf, MPI_Count outcount,
                        struct rz_datatype *datatype)
{
    MPI_Count bytes = 0;
    int error = external_bytes(datarep, outcount, datatype, &bytes);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (*position < 0 || *position > insize || bytes > insize - *position) {
        return rzm_error(MPI_ERR_TRUNCATE, "no %lld bytes lie behind position %lld of %lld",
                         (long long)bytes, (long long)*position, (long long)insize);
    }
    error = rz_external_unpack(datatype, outcount, (const char *)inbuf + *position, outbuf);
    if (error == MPI_SUCCESS) {
        *position += bytes;
    }
    return error;
}

int rzm_pack_external_size(const char *datarep, MPI_Count incount, struct rz_datatype *datatype,
                           MPI_Count *size)
{
    return external_bytes(datarep, incount, datatype, size);
}
