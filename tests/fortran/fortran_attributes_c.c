/* SPDX-License-Identifier: BSD-3-Clause */
/* C's half of fortran_attributes.F90. Procedures of Fortran have the names of gfortran. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long long wanted; /* the number of Fortran that C's functions are to get */
static int copies, deletions;

static void expect(int so, const char *what)
{
    if (!so) {
        printf("C: not so: %s\n", what);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* Whether Fortran set it as a default integer. */
static long long number_at(const void *value, int is_integer)
{
    expect((uintptr_t)value > 4096 && (uintptr_t)value % sizeof(MPI_Aint) == 0,
           "an address of a number");
    return is_integer ? *(const int *)value : *(const MPI_Aint *)value;
}

/* For Comm, Type and Win: what C reads, what C sets, and a key of C whose functions get what
 * Fortran has set. */
#define KIND(kind, Kind, Handle, type)                                                             \
    void c_##kind##_reads_(int *object, int *key, MPI_Aint *number, int *is_integer)               \
    {                                                                                              \
        void *value = NULL;                                                                        \
        int flag = 0;                                                                              \
        MPI_##Kind##_get_attr(MPI_##Handle##_fromint(*object), *key, &value, &flag);               \
        expect(flag &&number_at(value, *is_integer) == *number, #kind ": a number of Fortran");    \
    }                                                                                              \
    void c_##kind##_reads_address_(int *object, int *key, MPI_Aint *address)                       \
    {                                                                                              \
        void *value = NULL;                                                                        \
        int flag = 0;                                                                              \
        MPI_##Kind##_get_attr(MPI_##Handle##_fromint(*object), *key, &value, &flag);               \
        expect(flag && (MPI_Aint)value == *address, #kind ": an address of C");                    \
    }                                                                                              \
    void c_##kind##_sets_(int *object, int *key, MPI_Aint *address)                                \
    {                                                                                              \
        int error =                                                                                \
            MPI_##Kind##_set_attr(MPI_##Handle##_fromint(*object), *key, (void *)*address);        \
        expect(error == MPI_SUCCESS, #kind ": set by C");                                          \
    }                                                                                              \
    static int kind##_copy(type object, int key, void *extra, void *in, void *out, int *flag)      \
    {                                                                                              \
        (void)object, (void)key, (void)extra;                                                      \
        expect(number_at(in, 0) == wanted, #kind ": C's copy function gets an address");           \
        *(void **)out = in;                                                                        \
        *flag = 1;                                                                                 \
        copies++;                                                                                  \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    static int kind##_delete(type object, int key, void *value, void *extra)                       \
    {                                                                                              \
        (void)object, (void)key, (void)extra;                                                      \
        expect(number_at(value, 0) == wanted, #kind ": C's delete function gets an address");      \
        deletions++;                                                                               \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    void c_##kind##_key_(int *key, MPI_Aint *number)                                               \
    {                                                                                              \
        wanted = *number;                                                                          \
        copies = deletions = 0;                                                                    \
        MPI_##Kind##_create_keyval(kind##_copy, kind##_delete, key, NULL);                         \
    }
KIND(comm, Comm, Comm, MPI_Comm)
KIND(type, Type, Type, MPI_Datatype)
KIND(win, Win, Win, MPI_Win)

/* Numbers of calls of C's functions since the last key. */
void c_calls_(int *n_copies, int *n_deletions)
{
    *n_copies = copies;
    *n_deletions = deletions;
}
