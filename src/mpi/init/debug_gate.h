/* SPDX-License-Identifier: BSD-3-Clause */
/* A debugger that has started rzrun attaches to the ranks before they leave MPI_Init. */
#ifndef RZ_MPI_DEBUG_GATE_H
#define RZ_MPI_DEBUG_GATE_H

/* Where rzrun is being debugged (launch/mpir.h), waits until the tool has set MPIR_debug_gate. */
void rz_debug_gate_await(void);

#endif
