/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounce buffers: memory that stands for the row of a section while a request uses it. */
#include "mpi/request/bounce.h"

#include "mpi/type/datatype_shape.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

struct rz_bounce {
    struct rz_bounce *next; /* of the same request */
    RZ_Section section;
    MPI_Count count;
    struct rz_datatype *datatype; /* retained */
    int use;
    char *memory, *row; /* row: stands for the start of the section's row */
    bool *emptied;      /* [count], with partitions */
};

static bool bounce_has_partitions(const struct rz_bounce *bounce)
{
    return bounce->use & RZ_BOUNCE_PARTITIONS;
}

static void bounce_copy(struct rz_bounce *bounce, MPI_Count first, MPI_Count n,
                        enum rz_section_way way)
{
    rz_section_copy(&bounce->section, bounce->datatype, first, n, bounce->row, way);
}

/* Memory for the bytes of the row that count items touch; its address has the alignment that that
 * of the whole row would have. */
static bool bounce_memory(struct rz_bounce *bounce)
{
    MPI_Count first = 0, last = -1;
    (void)rz_shape_reach(bounce->datatype, bounce->count, &first, &last);
    MPI_Count before = first % ALIGNMENT;
    size_t bytes = (size_t)(before + last - first + 1);
    bytes = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    bounce->memory = aligned_alloc(ALIGNMENT, bytes);
    bounce->emptied =
        bounce_has_partitions(bounce) ? calloc((size_t)bounce->count + 1, sizeof(bool)) : NULL;
    bounce->row = bounce->memory ? bounce->memory - (first - before) : NULL;
    return bounce->memory && (bounce->emptied || !bounce_has_partitions(bounce));
}

static void bounce_end(struct rz_bounce *bounce)
{
    rz_datatype_release(bounce->datatype);
    free(bounce->memory);
    free(bounce->emptied);
    free(bounce);
}

int rzm_bounce_create(const RZ_Section *section, MPI_Count count, struct rz_datatype *datatype,
                      int use, void **buffer, struct rz_bounce **bounce)
{
    int way = use & ~RZ_BOUNCE_PARTITIONS;
    int error = rz_section_check(section, count, datatype);
    if (error == MPI_SUCCESS && way != RZ_BOUNCE_READ && way != RZ_BOUNCE_WRITE) {
        error =
            rzm_error(MPI_ERR_ARG, "use is %d, neither RZ_BOUNCE_READ nor RZ_BOUNCE_WRITE", use);
    }
    struct rz_bounce *made = error == MPI_SUCCESS ? calloc(1, sizeof(*made)) : NULL;
    if (!made) {
        return error != MPI_SUCCESS ? error : MPI_ERR_NO_MEM;
    }
    *made =
        (struct rz_bounce){.section = *section, .count = count, .datatype = datatype, .use = use};
    rz_datatype_retain(datatype);
    if (!bounce_memory(made)) {
        bounce_end(made);
        return MPI_ERR_NO_MEM;
    }
    bounce_copy(made, 0, count, RZ_SECTION_TO_ROW);
    *buffer = made->row;
    *bounce = made;
    return MPI_SUCCESS;
}

static int bounce_check(const struct rz_bounce *bounce)
{
    return bounce ? MPI_SUCCESS : rzm_error(MPI_ERR_ARG, "bounce is RZ_BOUNCE_NULL");
}

int rz_bounces_add(struct rz_bounce **bounces, struct rz_bounce **bounce)
{
    int error = bounce_check(*bounce);
    if (error == MPI_SUCCESS) {
        (*bounce)->next = *bounces;
        *bounces = *bounce;
        *bounce = NULL;
    }
    return error;
}

int rzm_bounce_free(struct rz_bounce **bounce)
{
    int error = bounce_check(*bounce);
    if (error == MPI_SUCCESS) {
        bounce_end(*bounce);
        *bounce = NULL;
    }
    return error;
}

/* ---- When the request starts and ends ---- */

void rz_bounces_fill(struct rz_bounce *bounces)
{
    for (struct rz_bounce *bounce = bounces; bounce; bounce = bounce->next) {
        if (bounce_has_partitions(bounce)) {
            memset(bounce->emptied, 0, (size_t)bounce->count * sizeof(bool));
        }
        if (!bounce_has_partitions(bounce) || bounce->use & RZ_BOUNCE_WRITE) {
            bounce_copy(bounce, 0, bounce->count, RZ_SECTION_TO_ROW);
        }
    }
}

void rz_bounces_fill_partition(struct rz_bounce *bounces, int partition)
{
    for (struct rz_bounce *bounce = bounces; bounce; bounce = bounce->next) {
        bounce_copy(bounce, partition, 1, RZ_SECTION_TO_ROW);
    }
}

static void bounce_empty_partition(struct rz_bounce *bounce, int partition)
{
    if (!bounce->emptied[partition]) {
        bounce_copy(bounce, partition, 1, RZ_SECTION_FROM_ROW);
        bounce->emptied[partition] = true;
    }
}

void rz_bounces_empty_partition(struct rz_bounce *bounces, int partition)
{
    for (struct rz_bounce *bounce = bounces; bounce; bounce = bounce->next) {
        if (bounce->use & RZ_BOUNCE_WRITE) {
            bounce_empty_partition(bounce, partition);
        }
    }
}

void rz_bounces_empty(struct rz_bounce *bounces)
{
    for (struct rz_bounce *bounce = bounces; bounce; bounce = bounce->next) {
        if (!(bounce->use & RZ_BOUNCE_WRITE)) {
            continue;
        }
        if (!bounce_has_partitions(bounce)) {
            bounce_copy(bounce, 0, bounce->count, RZ_SECTION_FROM_ROW);
            continue;
        }
        for (int i = 0; i < (int)bounce->count; i++) {
            bounce_empty_partition(bounce, i);
        }
    }
}

void rz_bounces_free(struct rz_bounce *bounces)
{
    while (bounces) {
        struct rz_bounce *next = bounces->next;
        bounce_end(bounces);
        bounces = next;
    }
}
