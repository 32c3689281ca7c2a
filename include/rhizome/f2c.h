/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles of Fortran: MPI_Fint, MPI_Comm_f2c, MPI_Comm_c2f and their counterparts, which the
 * standard ABI leaves to a Fortran library. A handle is the integer of MPI_Comm_toint (MPI 5.0,
 * section 20.4), and a status is the C status, word by word, as the ABI lays both out; so this
 * header works with any library of the ABI. A program that needs these names includes it, or is
 * compiled with
 *
 *     mpicc -include rhizome/f2c.h ...
 *
 * All functions here are inline: nothing is linked, and a Fortran binding with functions of these
 * names keeps them. All are thread-safe.
 */
#ifndef RHIZOME_F2C_H
#define RHIZOME_F2C_H

#include <mpi.h>

#include <string.h>

/** A default INTEGER of Fortran; define RZ_FINT before the inclusion where that is another type. */
#ifndef RZ_FINT
#define RZ_FINT int
#endif
typedef RZ_FINT MPI_Fint;

/** The values of Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE for the functions of this
 * header. */
#define MPI_F_STATUS_IGNORE ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *)0)

/* The C handle of f (the null handle, if there is none of that number), and the number of a C
 * handle. */
#define RZ_F2C(name, type)                                                                         \
    static inline type MPI_##name##_f2c(MPI_Fint f)                                                \
    {                                                                                              \
        return MPI_##name##_fromint((int)f);                                                       \
    }                                                                                              \
    static inline MPI_Fint MPI_##name##_c2f(type handle)                                           \
    {                                                                                              \
        return (MPI_Fint)MPI_##name##_toint(handle);                                               \
    }

RZ_F2C(Comm, MPI_Comm)
RZ_F2C(Errhandler, MPI_Errhandler)
RZ_F2C(File, MPI_File)
RZ_F2C(Group, MPI_Group)
RZ_F2C(Info, MPI_Info)
RZ_F2C(Message, MPI_Message)
RZ_F2C(Op, MPI_Op)
RZ_F2C(Request, MPI_Request)
RZ_F2C(Session, MPI_Session)
RZ_F2C(Type, MPI_Datatype)
RZ_F2C(Win, MPI_Win)
#undef RZ_F2C

/**
 * Copies a Fortran status to a C status.
 *
 * @param f_status MPI_F_STATUS_SIZE integers, owned by the caller.
 * @param c_status the result, owned by the caller.
 * @return MPI_SUCCESS; MPI_ERR_ARG if f_status is one of the IGNOREs, which cannot be converted; no
 *   error handler is called.
 */
static inline int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int words[MPI_F_STATUS_SIZE];
    if (f_status == MPI_F_STATUS_IGNORE || c_status == MPI_STATUS_IGNORE) {
        return MPI_ERR_ARG;
    }
    for (int i = 0; i < MPI_F_STATUS_SIZE; i++) {
        words[i] = (int)f_status[i];
    }
    memcpy(c_status, words, sizeof(words));
    return MPI_SUCCESS;
}

/** Copies a C status to a Fortran status; parameters and errors as of MPI_Status_f2c. */
static inline int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int words[MPI_F_STATUS_SIZE];
    if (c_status == MPI_STATUS_IGNORE || f_status == MPI_F_STATUS_IGNORE) {
        return MPI_ERR_ARG;
    }
    memcpy(words, c_status, sizeof(words));
    for (int i = 0; i < MPI_F_STATUS_SIZE; i++) {
        f_status[i] = (MPI_Fint)words[i];
    }
    return MPI_SUCCESS;
}

#endif
