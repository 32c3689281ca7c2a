/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures that the program has acknowledged do not make the job fail: the daemon is told of them
 * (ACKNOWLEDGED).
 */
#ifndef RZ_MPI_ACKNOWLEDGE_H
#define RZ_MPI_ACKNOWLEDGE_H

#include <stdint.h>

/* The program was told of these failures and continues: reports that to the daemon, once per
 * failure. Processes that are alive or have ended in order are skipped. */
void rz_failures_acknowledge(const uint32_t *process, uint32_t n);

#endif
