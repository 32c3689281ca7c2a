/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures that the program knows of do not count against it: the daemon is told (ACKNOWLEDGED). */
#ifndef RZ_MPI_ACKNOWLEDGE_H
#define RZ_MPI_ACKNOWLEDGE_H

#include <stdint.h>

/* The program has been told of these failures and goes on: says so to the daemon, once per failure.
 * Processes that live or ended in order are left out. */
void rz_failures_acknowledge(const uint32_t *process, uint32_t n);

#endif
