/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standard streams of the program.
 */
#ifndef RZ_MPI_CORE_STREAMS_H
#define RZ_MPI_CORE_STREAMS_H

/*
 * What the program was started without, or has closed, of the descriptors 0 to 2 is in use from now
 * on, so that no connection of the library gets such a number, into which the program would write.
 * Reading and writing there fail as before.
 */
void rz_streams_fill(void);

/*
 * With RZ_STDOUT=line in the environment (rzrun --stdout): if stdout is a pipe with the default
 * buffer of the C library, it is written line by line from now on, so that what a process wrote
 * before its failure is not lost. A buffer that the program has set by setvbuf stays.
 */
void rz_streams_settle(void);

#endif
