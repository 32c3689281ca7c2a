/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program writes, where rzrun asks for it line by line. */
#ifndef RZ_MPI_CORE_STREAMS_H
#define RZ_MPI_CORE_STREAMS_H

/*
 * With RZ_STDOUT=line in the environment (rzrun --stdout): stdout, where it is a pipe with the
 * buffer that the C library gives it, is written line by line from now on, so that what a process
 * said before its failure is heard. What the program has chosen by setvbuf stays.
 */
void rz_streams_settle(void);

#endif
