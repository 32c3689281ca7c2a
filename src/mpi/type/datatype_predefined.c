/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined datatypes. */
#include "mpi/type/datatype.h"
#include "mpi/type/datatype_layout.h"
#include "mpi/type/number.h"

#include <float.h>

#define OBJECT(handle)                                                                             \
    {                                                                                              \
        .magic = RZ_OBJECT_MAGIC + RZ_OBJECT_DATATYPE, .predefined = 0x200 + (handle),             \
        .flags = RZ_DATATYPE_COMMITTED, .references = 1                                            \
    }

/* Section 14.5.2 of the standard: in external32 a long has 4 bytes, a wide character 2, a long
 * double 16. All others have their size on this machine. */
#define IS_LONG_DOUBLE(handle) ((handle) == 0x20 || (handle) == 0x24 || (handle) == 0x25)
#define EXTERNAL(handle, bytes)                                                                    \
    ((handle) == 0x0a || (handle) == 0x0e ? 4 : (handle) == 0x3c ? 2 : (bytes))
#define WAY(handle, bytes)                                                                         \
    (IS_LONG_DOUBLE(handle) && LDBL_MANT_DIG == 64 ? RZ_EXTERNAL_LONG_DOUBLE                       \
     : EXTERNAL(handle, bytes) == (bytes)          ? RZ_EXTERNAL_SAME                              \
     : (handle) == 0x0a                            ? RZ_EXTERNAL_SIGNED                            \
                                                   : RZ_EXTERNAL_UNSIGNED)
#define PARTS(number) ((number) >= RZ_NUMBER_CF16 && (number) <= RZ_NUMBER_CF128 ? 2 : 1)

_Static_assert(sizeof(long double) == 16 && (LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113),
               "a long double is x87's or IEEE binary128");

#define BASIC(handle, name_, bytes_, alignment_, number)                                           \
    [handle] = {.bytes = (bytes_),                                                                 \
                .external = EXTERNAL(handle, bytes_),                                              \
                .parts = PARTS(number),                                                            \
                .way = WAY(handle, bytes_)},

static const struct rz_basic basics[0x100] = {RZ_PLAIN_TYPES(BASIC)};

#define ROW(offset_, handle_, bytes_)                                                              \
    {                                                                                              \
        .offset = (offset_), .repeat = 1, .bytes = (bytes_), .basic = &basics[handle_]             \
    }

#define PLAIN(handle, name_, bytes, alignment_, number)                                            \
    [handle] = {.object = OBJECT(handle),                                                          \
                .size = (bytes),                                                                   \
                .extent = (bytes),                                                                 \
                .true_extent = (bytes),                                                            \
                .contiguous = true,                                                                \
                .alignment = (alignment_),                                                         \
                .elements = 1,                                                                     \
                .layout =                                                                          \
                    &(struct rz_layout){.is_row = true,                                            \
                                        .elements = 1,                                             \
                                        .external = EXTERNAL(handle, bytes),                       \
                                        .n = 1,                                                    \
                                        .pieces = (struct rz_piece[]){ROW(0, handle, bytes)}}},

/* The predefined type of one half of a pair. */
#define HALF(type)                                                                                 \
    _Generic((type){0}, short : 0x08, int : 0x09, long : 0x0a, float : 0x10, double : 0x14,        \
             long double : 0x20)
#define HALF_EXTERNAL(type) EXTERNAL(HALF(type), sizeof(type))

#define INDEX_AT(pair) offsetof(pair, index)
#define PAIR_IS_ROW(pair, value_, index_) (sizeof(value_) == INDEX_AT(pair))

#define PAIR(handle, name_, pair, value_, index_, number)                                          \
    [handle] = {                                                                                   \
        .object = OBJECT(handle),                                                                  \
        .size = sizeof(value_) + sizeof(index_),                                                   \
        .extent = sizeof(pair),                                                                    \
        .true_extent = INDEX_AT(pair) + sizeof(index_),                                            \
        .contiguous = sizeof(pair) == sizeof(value_) + sizeof(index_),                             \
        .alignment = _Alignof(pair),                                                               \
        .elements = 2,                                                                             \
        .layout = &(struct rz_layout){                                                             \
            .is_row = PAIR_IS_ROW(pair, value_, index_),                                           \
            .elements = 2,                                                                         \
            .external = HALF_EXTERNAL(value_) + HALF_EXTERNAL(index_),                             \
            .n = 2,                                                                                \
            .pieces = (struct rz_piece[]){ROW(0, HALF(value_), sizeof(value_)),                    \
                                          ROW(INDEX_AT(pair), HALF(index_), sizeof(index_))}}},

static struct rz_datatype predefined[0x100] = {RZ_PLAIN_TYPES(PLAIN) RZ_PAIR_TYPES(PAIR)};

#define PLAIN_NUMBER(handle, name_, bytes, alignment_, number) [handle] = number,
#define PAIR_NUMBER(handle, name_, pair, value_, index_, number) [handle] = number,

#define PLAIN_NAME(handle, name_, bytes, alignment_, number) [handle] = "MPI_" #name_,
#define PAIR_NAME(handle, name_, pair, value_, index_, number) [handle] = "MPI_" #name_,

static const char *const names[0x100] = {RZ_PLAIN_TYPES(PLAIN_NAME) RZ_PAIR_TYPES(PAIR_NAME)};

static const uint8_t numbers[0x100] = {RZ_PLAIN_TYPES(PLAIN_NUMBER) RZ_PAIR_TYPES(PAIR_NUMBER)};

#define PLAIN_ADDRESS(handle, name_, bytes, alignment_, number) [handle] = &predefined[handle],
#define PAIR_ADDRESS(handle, name_, pair, value_, index_, number) [handle] = &predefined[handle],

struct rz_datatype *const rz_datatypes_named[0x100] = {RZ_PLAIN_TYPES(PLAIN_ADDRESS)
                                                           RZ_PAIR_TYPES(PAIR_ADDRESS)};

struct rz_datatype *rz_datatype_of_basic(const struct rz_basic *basic)
{
    return &predefined[basic - basics];
}

enum rz_number rz_number_of(const struct rz_datatype *datatype)
{
    unsigned handle = datatype->object.predefined;
    return (enum rz_number)(handle == 0 ? datatype->number : numbers[handle - 0x200]);
}

const char *rz_datatype_name(const struct rz_datatype *datatype)
{
    if (datatype->name) {
        return datatype->name;
    }
    unsigned handle = datatype->object.predefined;
    return handle == 0 ? "" : names[handle - 0x200];
}
