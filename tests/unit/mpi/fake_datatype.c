/* Two datatypes for tests of the engine: MPI_BYTE, and pairs of bytes with a gap between them. */
#include "fake_datatype.h"

static struct rz_datatype byte_type = {
    .object = {.magic = RZ_OBJECT_MAGIC + RZ_OBJECT_DATATYPE, .references = 1},
    .size = 1,
    .extent = 1,
    .true_extent = 1,
    .contiguous = true};

struct rz_datatype fake_gaps = {
    .object = {.magic = RZ_OBJECT_MAGIC + RZ_OBJECT_DATATYPE, .references = 1},
    .size = 2,
    .extent = 4,
    .true_extent = 3};

struct rz_datatype *rz_datatype_predefined(unsigned handle)
{
    (void)handle;
    return &byte_type;
}

void rz_datatype_pack(const struct rz_datatype *datatype, MPI_Count count, const void *user,
                      void *packed)
{
    const char *from = user;
    char *to = packed;
    for (MPI_Count i = 0; i < count; i++) {
        to[2 * i] = from[4 * i];
        to[2 * i + 1] = from[4 * i + 2];
    }
    (void)datatype;
}

void rz_datatype_unpack(const struct rz_datatype *datatype, MPI_Count count, const void *packed,
                        MPI_Count bytes, void *user)
{
    const char *from = packed;
    char *to = user;
    for (MPI_Count i = 0; i < bytes; i++) {
        to[4 * (i / 2) + 2 * (i % 2)] = from[i];
    }
    (void)datatype;
    (void)count;
}

void rz_datatype_release(struct rz_datatype *datatype)
{
    datatype->object.references--;
}
