/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process continues from the image of a rank's memory. The daemon has started the program
 * anew. Before its main function begins, this process joins the job, asks the daemon for the image,
 * and becomes what the image says: a process that stands in the call in which the image was saved
 * (rewind_snapshot.h). If there is no image the program runs from its start.
 */
#ifndef RZ_MPI_REWIND_RESTORE_H
#define RZ_MPI_REWIND_RESTORE_H

#include "link/link.h"

/* MPI_Init: as rz_link_open; a process that found no image has joined already. */
rz_status_t rz_restore_open_link(struct rz_link **link);

/* This process is another one that has the memory of the one that was saved: joins it to its job in
 * place of that one, and waits until all ranks have been restored. Ends the process if that is
 * impossible. */
void rz_restore_wake(void);

#endif
