/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffering of the program's output.
 */
#ifndef RZ_MPI_CORE_STREAMS_H
#define RZ_MPI_CORE_STREAMS_H

/*
 * With RZ_STDOUT=line in the environment (rzrun --stdout): if stdout is a pipe with the default
 * buffer of the C library, it is written line by line from now on, so that what a process wrote
 * before its failure is not lost. A buffer that the program has set by setvbuf stays.
 */
void rz_streams_settle(void);

#endif
