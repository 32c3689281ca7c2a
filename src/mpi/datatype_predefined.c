/* The predefined datatypes. */
#include "mpi/datatype_layout.h"
#include "mpi/number.h"

#define OBJECT(handle)                                                                             \
    {                                                                                              \
        .magic = RZ_OBJECT_MAGIC + RZ_OBJECT_DATATYPE, .predefined = 0x200 + (handle),             \
        .flags = RZ_DATATYPE_COMMITTED, .references = 1                                            \
    }

#define ROW(offset_, bytes_)                                                                       \
    {                                                                                              \
        .offset = (offset_), .repeat = 1, .bytes = (bytes_), .unit = (bytes_)                      \
    }

#define PLAIN(handle, name_, bytes, alignment_, number)                                            \
    [handle] = {.object = OBJECT(handle),                                                          \
                .size = (bytes),                                                                   \
                .extent = (bytes),                                                                 \
                .true_extent = (bytes),                                                            \
                .contiguous = true,                                                                \
                .alignment = (alignment_),                                                         \
                .elements = 1,                                                                     \
                .layout = &(struct rz_layout){                                                     \
                    .is_row = true, .n = 1, .pieces = (struct rz_piece[]){ROW(0, bytes)}}},

#define INDEX_AT(pair) offsetof(pair, index)
#define PAIR_IS_ROW(pair, value_, index_) (sizeof(value_) == INDEX_AT(pair))

#define PAIR(handle, name_, pair, value_, index_, number)                                          \
    [handle] = {.object = OBJECT(handle),                                                          \
                .size = sizeof(value_) + sizeof(index_),                                           \
                .extent = sizeof(pair),                                                            \
                .true_extent = INDEX_AT(pair) + sizeof(index_),                                    \
                .contiguous = sizeof(pair) == sizeof(value_) + sizeof(index_),                     \
                .alignment = _Alignof(pair),                                                       \
                .elements = 2,                                                                     \
                .layout = &(struct rz_layout){                                                     \
                    .is_row = PAIR_IS_ROW(pair, value_, index_),                                   \
                    .n = 2,                                                                        \
                    .pieces = (struct rz_piece[]){ROW(0, sizeof(value_)),                          \
                                                  ROW(INDEX_AT(pair), sizeof(index_))}}},

static struct rz_datatype predefined[0x100] = {RZ_PLAIN_TYPES(PLAIN) RZ_PAIR_TYPES(PAIR)};

#define PLAIN_NUMBER(handle, name_, bytes, alignment_, number) [handle] = number,
#define PAIR_NUMBER(handle, name_, pair, value_, index_, number) [handle] = number,

#define PLAIN_NAME(handle, name_, bytes, alignment_, number) [handle] = "MPI_" #name_,
#define PAIR_NAME(handle, name_, pair, value_, index_, number) [handle] = "MPI_" #name_,

static const char *const names[0x100] = {RZ_PLAIN_TYPES(PLAIN_NAME) RZ_PAIR_TYPES(PAIR_NAME)};

static const uint8_t numbers[0x100] = {RZ_PLAIN_TYPES(PLAIN_NUMBER) RZ_PAIR_TYPES(PAIR_NUMBER)};

struct rz_datatype *rz_datatype_predefined(unsigned handle)
{
    unsigned i = handle - 0x200;
    return i < 0x100 && predefined[i].object.magic != 0 ? &predefined[i] : NULL;
}

enum rz_number rz_number_of(const struct rz_datatype *datatype)
{
    unsigned handle = datatype->object.predefined;
    return handle == 0 ? RZ_NUMBER_NONE : (enum rz_number)numbers[handle - 0x200];
}

const char *rz_datatype_name(const struct rz_datatype *datatype)
{
    if (datatype->name != NULL) {
        return datatype->name;
    }
    unsigned handle = datatype->object.predefined;
    return handle == 0 ? "" : names[handle - 0x200];
}
