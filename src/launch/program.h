/* SPDX-License-Identifier: BSD-3-Clause */
/* The program to run: found, executable, and not linked against another MPI. */
#ifndef RZ_LAUNCH_PROGRAM_H
#define RZ_LAUNCH_PROGRAM_H

#include <rhizome/types.h>

/*
 * Finds name (unless it holds a slash: in the directories of `first`, like PATH, where it is not
 * NULL; in PATH) in `directory`, where its processes start ("": where rzrun does), then in rzrun's
 * own, and writes its path, which begins with a slash. 0, or RZ_EXIT_NOT_FOUND or
 * RZ_EXIT_NOT_EXECUTABLE with *why.
 */
int rz_program_find(const char *name, const char *first, const char *directory, char *path,
                    size_t path_max, const char **why);

/* How the processes of a program find each other, by the library that it requests. */
enum rz_program_mpi {
    RZ_PROGRAM_PLAIN, /* it is linked to none that is known */
    RZ_PROGRAM_OWN,   /* it is linked to this MPI library */
    RZ_PROGRAM_PMIX,  /* Open MPI, or libpmix itself */
    RZ_PROGRAM_PMI1   /* MPICH and what is derived from it */
};

/*
 * Writes the name of the library that the answer is due to, unless that is RZ_PROGRAM_PLAIN: one
 * that the program requests or, by what the loader lists with this LD_LIBRARY_PATH (NULL: rzrun's
 * own), one behind those. Only looks at ELF files; a script is not followed.
 */
enum rz_program_mpi rz_program_mpi(const char *path, const char *library_path, char *library,
                                   size_t library_max);

/*
 * The same of a command line: where its program (words[0], a path) is plain, as `env` or `valgrind`
 * are, the first other word decides that is the path of a program linked to an MPI.
 */
enum rz_program_mpi rz_program_words_mpi(char *const *words, const char *library_path,
                                         char *library, size_t library_max);

/* The same of the name of a library; RZ_PROGRAM_PLAIN: it is of no MPI that is known. */
enum rz_program_mpi rz_program_library_mpi(const char *library);

/* The library of the MPI ABI that programs are linked to. */
#define RZ_PROGRAM_LIBRARY "libmpi_abi.so.1"

/*
 * Whether the program requests RZ_PROGRAM_LIBRARY and the loader finds none for it: neither by the
 * program's own paths nor by LD_LIBRARY_PATH (library_path, or rzrun's own where that is NULL) nor
 * in the system. A script is not followed.
 */
bool rz_program_lacks_library(const char *path, const char *library_path);

/* A library that the loader finds: the name that is requested, where it is, and the folder of the
 * loader itself (NULL: unknown). */
typedef void (*rz_program_library_fn)(void *arg, const char *name, const char *path,
                                      const char *loader_folder);

/* Calls on_library for each shared library that the loader would load for the program here, with
 * this LD_LIBRARY_PATH (NULL: rzrun's own). None for a static program or a script, nor for one that
 * the loader here cannot load. */
void rz_program_libraries(const char *path, const char *library_path,
                          rz_program_library_fn on_library, void *arg);

#endif
