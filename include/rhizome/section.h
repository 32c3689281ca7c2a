/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections of arrays as buffers of MPI: for bindings of languages whose arrays have strides.
 *
 * A section is what Fortran's a(1,:), numpy's a[0, :] or Julia's view are: elements of one size, at
 * a stride in each dimension. Its elements one behind the other, the first dimension fastest, are
 * its row. No memory holds the row; a datatype moves along it all the same: its displacements are
 * places in the row (MPI 5.0, section 19.1.12, of mpi_f08).
 *
 * There are two ways to pass a section to MPI:
 *
 * - A call with one count and one datatype gets the first element, 1, and the datatype that
 *   RZ_Type_create_section has made. Nothing is copied.
 * - A call with a request, and several counts or an operation, gets a buffer that holds the row: a
 *   bounce buffer. It belongs to the request, which copies when it begins and ends:
 *
 *       RZ_Bounce_create(&section, n, MPI_INT, RZ_BOUNCE_WRITE, &buffer, &bounce);
 *       MPI_Iallreduce(MPI_IN_PLACE, buffer, n, MPI_INT, MPI_SUM, comm, &request);
 *       RZ_Bounce_bind(&bounce, request);
 *
 * All functions are called between MPI_Init and MPI_Finalize and return MPI_SUCCESS or an MPI error
 * class, through the error handler of MPI_COMM_SELF. Any thread may call them.
 */
#ifndef RHIZOME_SECTION_H
#define RHIZOME_SECTION_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RZ_SECTION_RANK_MAX 15

typedef struct RZ_Section {
    void *base; /* the first element */
    MPI_Count element_bytes;
    int rank;                               /* 1 to RZ_SECTION_RANK_MAX */
    MPI_Count extents[RZ_SECTION_RANK_MAX]; /* how many elements, in each dimension */
    MPI_Aint strides[RZ_SECTION_RANK_MAX];  /* in bytes, to the next element; may be negative */
} RZ_Section;

typedef struct rz_bounce *RZ_Bounce;
#define RZ_BOUNCE_NULL ((RZ_Bounce)0)

/* What the call does with the section; what it writes it may read as well. */
#define RZ_BOUNCE_READ 1
#define RZ_BOUNCE_WRITE 2
/* Added to one of these, for MPI_Psend_init and MPI_Precv_init: each item is a partition. */
#define RZ_BOUNCE_PARTITIONS 4

/**
 * Makes a datatype of a section: one item of it, at the first element, is what `count` items of
 * `datatype` are at the start of the section's row.
 *
 * The new datatype is not committed, and does not depend on the old one. Its basic datatypes are
 * the same, in the same order.
 *
 * @param section the section; not kept.
 * @param count how many.
 * @param datatype any datatype: its displacements are places in the row.
 * @param newtype the result, to be freed by MPI_Type_free.
 * @return MPI_SUCCESS; MPI_ERR_COUNT: this is more than the section has; MPI_ERR_TYPE: an item,
 * such as one MPI_DOUBLE, would lie across two elements; MPI_ERR_ARG: a bad section;
 * MPI_ERR_NO_MEM.
 */
int RZ_Type_create_section(const RZ_Section *section, MPI_Count count, MPI_Datatype datatype,
                           MPI_Datatype *newtype);

/**
 * Makes a buffer that stands for a section in a call with a request, and copies the data to it.
 *
 * @param section not kept, but its elements must stay valid until the request has ended.
 * @param count how many items of `datatype`, from the start of the row, the call may touch. No
 * others are copied.
 * @param datatype of these items; one of MPI_Type_create_struct, if the call has several
 *   displacements.
 * @param use RZ_BOUNCE_READ or RZ_BOUNCE_WRITE; for partitions, with RZ_BOUNCE_PARTITIONS.
 * @param buffer the address to be passed to MPI in the place of the section's.
 * @param bounce the result, for RZ_Bounce_bind or RZ_Bounce_free.
 * @return MPI_SUCCESS; MPI_ERR_COUNT: this is more than the section has; MPI_ERR_ARG: a bad section
 *   or use; MPI_ERR_NO_MEM.
 */
int RZ_Bounce_create(const RZ_Section *section, MPI_Count count, MPI_Datatype datatype, int use,
                     void **buffer, RZ_Bounce *bounce);

/**
 * Gives the buffer to the request that uses it, at once after the call that has made the request.
 *
 * From then on the request copies: from the section whenever a persistent request is started, or a
 * partition is ready; to it when the request has ended, or a partition has arrived. The buffer ends
 * with the request, however that ends. If the job rolls back nothing is copied.
 *
 * @param bounce becomes RZ_BOUNCE_NULL.
 * @param request may have ended already.
 * @return MPI_SUCCESS; MPI_ERR_REQUEST: no request, and the buffer stays; MPI_ERR_ARG.
 */
int RZ_Bounce_bind(RZ_Bounce *bounce, MPI_Request request);

/**
 * Frees a buffer that no request has got: the call that was to use it has failed.
 *
 * @param bounce becomes RZ_BOUNCE_NULL.
 * @return MPI_SUCCESS; MPI_ERR_ARG.
 */
int RZ_Bounce_free(RZ_Bounce *bounce);

#ifdef __cplusplus
}
#endif

#endif
