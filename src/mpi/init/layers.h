/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layers of the library that have hooks (src/mpi/README.md).
 */
#ifndef RZ_MPI_LAYERS_H
#define RZ_MPI_LAYERS_H

/* Sets the list of hooks, before the library opens. A second call has no effect. */
void rz_layers_register(void);

#endif
