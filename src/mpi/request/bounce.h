/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounce buffers (rhizome/section.h): memory that stands for the row of a section in an operation
 * with a request. The request fills it when it starts, and empties it to the section when it ends.
 * Those of one request are a list. They are copied within calls and rounds of progress, with the
 * engine lock held; no code of the user runs.
 */
#ifndef RZ_MPI_BOUNCE_H
#define RZ_MPI_BOUNCE_H

#include "mpi/type/section.h"

/* RZ_Bounce_create, _free. RZ_Bounce_bind is the request's (request.h). */
int rzm_bounce_create(const RZ_Section *section, MPI_Count count, struct rz_datatype *datatype,
                      int use, void **buffer, struct rz_bounce **bounce);
int rzm_bounce_free(struct rz_bounce **bounce);

/* Adds *bounce to the list, and sets it to NULL; MPI_ERR_ARG: it is NULL already. */
int rz_bounces_add(struct rz_bounce **bounces, struct rz_bounce **bounce);

/* A persistent request starts: fills those without partitions, and those that are to be written. */
void rz_bounces_fill(struct rz_bounce *bounces);

/* A partition is ready: fills its part. A partition has arrived: empties its part, once. */
void rz_bounces_fill_partition(struct rz_bounce *bounces, int partition);
void rz_bounces_empty_partition(struct rz_bounce *bounces, int partition);

/* The request has ended: what it has written goes to the sections. */
void rz_bounces_empty(struct rz_bounce *bounces);

void rz_bounces_free(struct rz_bounce *bounces);

#endif
