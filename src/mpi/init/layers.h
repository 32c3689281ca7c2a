/* SPDX-License-Identifier: BSD-3-Clause */
/* The layers of the library (src/mpi/README.md), as far as they hear of events. */
#ifndef RZ_MPI_LAYERS_H
#define RZ_MPI_LAYERS_H

/* Before the library opens. Harmless again. */
void rz_layers_register(void);

#endif
