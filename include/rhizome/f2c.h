/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles and statuses of Fortran: MPI_Fint, MPI_Comm_f2c, MPI_Comm_c2f and their counterparts,
 * which the header of the standard ABI leaves out. A handle is the integer of MPI_Comm_toint
 * (MPI 5.0, section 20.4), and a status is the C status, word by word, as the ABI lays both out; so
 * this header works with any library of the ABI. mpi.h includes it, unless RZ_STRICT_ABI is
 * defined.
 *
 * All functions here are inline: nothing is linked, and a Fortran binding with functions of these
 * names keeps them. All are thread-safe. Also for C of 1990.
 */
#ifndef RHIZOME_F2C_H
#define RHIZOME_F2C_H

#include <mpi.h>

#ifdef __GNUC__
#pragma GCC system_header /* C's casts are not to be warned of in C++ */
#endif

/** A default INTEGER of Fortran; define RZ_FINT before the inclusion where that is another type. */
#ifndef RZ_FINT
#define RZ_FINT int
#endif
typedef RZ_FINT MPI_Fint;

/** TYPE(MPI_Status) of the module mpi_f08. */
typedef struct MPI_F08_status {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

/** Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE: variables of libmpifort_abi, and NULL where
 * it is not linked. */
#ifdef __GNUC__
#ifdef __cplusplus
extern "C" {
#endif
extern int rz_mpif_status_[] __attribute__((weak));
extern int rz_mpif_statuses_[] __attribute__((weak));
extern int rz_mpif_status_f08_[] __attribute__((weak));
extern int rz_mpif_statuses_f08_[] __attribute__((weak));
#ifdef __cplusplus
}
#endif
#define MPI_F_STATUS_IGNORE ((MPI_Fint *)(void *)rz_mpif_status_)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *)(void *)rz_mpif_statuses_)
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)(void *)rz_mpif_status_f08_)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)(void *)rz_mpif_statuses_f08_)
#define RZ_F2C_INLINE static __inline__
#else
#define MPI_F_STATUS_IGNORE ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *)0)
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)0)
#define RZ_F2C_INLINE static inline
#endif

/* The C handle of f (the null handle, if there is none of that number), and the number of a C
 * handle. */
#define RZ_F2C(name, type)                                                                         \
    RZ_F2C_INLINE type MPI_##name##_f2c(MPI_Fint f)                                                \
    {                                                                                              \
        return MPI_##name##_fromint((int)f);                                                       \
    }                                                                                              \
    RZ_F2C_INLINE MPI_Fint MPI_##name##_c2f(type handle)                                           \
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
RZ_F2C_INLINE int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int i;
    if (!f_status || f_status == MPI_F_STATUS_IGNORE || f_status == MPI_F_STATUSES_IGNORE ||
        !c_status) { /* MPI_STATUS_IGNORE */
        return MPI_ERR_ARG;
    }
    c_status->MPI_SOURCE = (int)f_status[0];
    c_status->MPI_TAG = (int)f_status[1];
    c_status->MPI_ERROR = (int)f_status[2];
    for (i = 0; i < 5; i++) {
        c_status->MPI_internal[i] = (int)f_status[3 + i];
    }
    return MPI_SUCCESS;
}

/** Copies a C status to a Fortran status; parameters and errors as of MPI_Status_f2c. */
RZ_F2C_INLINE int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int i;
    if (!c_status || !f_status || f_status == MPI_F_STATUS_IGNORE ||
        f_status == MPI_F_STATUSES_IGNORE) {
        return MPI_ERR_ARG;
    }
    f_status[0] = (MPI_Fint)c_status->MPI_SOURCE;
    f_status[1] = (MPI_Fint)c_status->MPI_TAG;
    f_status[2] = (MPI_Fint)c_status->MPI_ERROR;
    for (i = 0; i < 5; i++) {
        f_status[3 + i] = (MPI_Fint)c_status->MPI_internal[i];
    }
    return MPI_SUCCESS;
}

/** Copies a status of mpi_f08 to a C status; parameters and errors as of MPI_Status_f2c. */
RZ_F2C_INLINE int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    if (f08_status == MPI_F08_STATUS_IGNORE || f08_status == MPI_F08_STATUSES_IGNORE) {
        return MPI_ERR_ARG;
    }
    return MPI_Status_f2c((const MPI_Fint *)(const void *)f08_status, c_status);
}

/** Copies a C status to a status of mpi_f08; parameters and errors as of MPI_Status_f2c. */
RZ_F2C_INLINE int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    if (f08_status == MPI_F08_STATUS_IGNORE || f08_status == MPI_F08_STATUSES_IGNORE) {
        return MPI_ERR_ARG;
    }
    return MPI_Status_c2f(c_status, (MPI_Fint *)(void *)f08_status);
}

/** Copies a status of mpif.h or the module mpi to one of mpi_f08; errors as of MPI_Status_f2c. */
RZ_F2C_INLINE int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    MPI_Status status;
    int error = MPI_Status_f2c(f_status, &status);
    return error ? error : MPI_Status_c2f08(&status, f08_status);
}

/** Copies a status of mpi_f08 to one of mpif.h or the module mpi; errors as of MPI_Status_f2c. */
RZ_F2C_INLINE int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    MPI_Status status;
    int error = MPI_Status_f082c(f08_status, &status);
    return error ? error : MPI_Status_c2f(&status, f_status);
}

#undef RZ_F2C_INLINE
#endif
