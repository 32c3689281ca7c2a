/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_f2c and its variants as symbols, for programs that look for them without mpi.h: a
 * configure script that asks the linker, a binding of another language that asks dlsym. Programs in
 * C get the inline functions of rhizome/f2c.h, and so run with any library of the ABI.
 */
#ifndef RZ_STRICT_ABI
#define RZ_STRICT_ABI /* the inline functions have the same names */
#endif
#include <string.h>

#include "abi/entry.h"

typedef int MPI_Fint;

#define F2C(name, type)                                                                            \
    RZ_PUBLIC type PMPI_##name##_f2c(MPI_Fint f)                                                   \
    {                                                                                              \
        return PMPI_##name##_fromint(f);                                                           \
    }                                                                                              \
    RZ_TWIN(MPI_##name##_f2c);                                                                     \
    RZ_PUBLIC MPI_Fint PMPI_##name##_c2f(type handle)                                              \
    {                                                                                              \
        return PMPI_##name##_toint(handle);                                                        \
    }                                                                                              \
    RZ_TWIN(MPI_##name##_c2f)

F2C(Comm, MPI_Comm);
F2C(Errhandler, MPI_Errhandler);
F2C(File, MPI_File);
F2C(Group, MPI_Group);
F2C(Info, MPI_Info);
F2C(Message, MPI_Message);
F2C(Op, MPI_Op);
F2C(Request, MPI_Request);
F2C(Session, MPI_Session);
F2C(Type, MPI_Datatype);
F2C(Win, MPI_Win);

/* Fortran's constants, where its library is there: a status that is ignored. */
extern int rz_mpif_status_[] __attribute__((weak));
extern int rz_mpif_statuses_[] __attribute__((weak));
extern int rz_mpif_status_f08_[] __attribute__((weak));
extern int rz_mpif_statuses_f08_[] __attribute__((weak));

static bool f2c_is_status(const void *status)
{
    return status && status != rz_mpif_status_ && status != rz_mpif_statuses_ &&
           status != rz_mpif_status_f08_ && status != rz_mpif_statuses_f08_;
}

/* A status has one layout in C and in all ways of Fortran. */
static int f2c_copy(const void *from, void *to)
{
    if (!f2c_is_status(from) || !f2c_is_status(to)) {
        return MPI_ERR_ARG;
    }
    memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}

#define F2C_STATUS(name)                                                                           \
    RZ_PUBLIC int PMPI_Status_##name(const void *from, void *to)                                   \
    {                                                                                              \
        return f2c_copy(from, to);                                                                 \
    }                                                                                              \
    RZ_TWIN(MPI_Status_##name)

F2C_STATUS(f2c);
F2C_STATUS(c2f);
F2C_STATUS(f082c);
F2C_STATUS(c2f08);
F2C_STATUS(f2f08);
F2C_STATUS(f082f);
