/* The program to run: found, executable, and not linked against another MPI. */
#ifndef RZ_LAUNCH_PROGRAM_H
#define RZ_LAUNCH_PROGRAM_H

#include <rhizome/types.h>

/*
 * Finds name as the shell would (in PATH unless it holds a slash) and writes its path. 0, or
 * RZ_EXIT_NOT_FOUND or RZ_EXIT_NOT_EXECUTABLE with *why.
 */
int rz_program_find(const char *name, char *path, size_t path_max, const char **why);

/*
 * Whether the program asks for the library of another MPI (then each process would think it is
 * alone): writes that library's name. Only looks at ELF files; a script is not followed.
 */
bool rz_program_of_another_mpi(const char *path, char *library, size_t library_max);

#endif
