/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs and bindings ask of the headers before they use ULFM, each in its own way. Nothing
 * here runs: it compiles, as C and as C++, or it does not.
 */
#include <mpi.h>
#ifndef MPI_ERR_PROC_FAILED
#error "mpi.h alone has no MPI_ERR_PROC_FAILED"
#endif
#ifndef MPI_ERR_PROC_FAILED_PENDING
#error "mpi.h alone has no MPI_ERR_PROC_FAILED_PENDING"
#endif
#ifndef MPI_ERR_REVOKED
#error "mpi.h alone has no MPI_ERR_REVOKED"
#endif

#include <mpi-ext.h>
#include <mpi-ext.h>
#if !defined(OMPI_HAVE_MPI_EXT) || !OMPI_HAVE_MPI_EXT
#error "OMPI_HAVE_MPI_EXT"
#endif
#if !defined(OMPI_HAVE_MPI_EXT_FTMPI) || !OMPI_HAVE_MPI_EXT_FTMPI
#error "OMPI_HAVE_MPI_EXT_FTMPI"
#endif
#if !defined(MPIX_ERR_PROC_FAILED) || !defined(MPIX_ERR_REVOKED) ||                                \
    !defined(MPIX_ERR_PROC_FAILED_PENDING) || !defined(MPIX_FT) || !defined(MPI_FT)
#error "an MPIX_ macro"
#endif
/* A program that uses these expects the rest of that MPI, too. */
#if defined(OPEN_MPI) || defined(MPICH) || defined(MPICH_VERSION)
#error "this is neither"
#endif

/* The classes are constants, and not those of others. */
static int kind(int class_of_error)
{
    switch (class_of_error) {
    case MPIX_ERR_PROC_FAILED:
        return 1;
    case MPIX_ERR_PROC_FAILED_PENDING:
        return 2;
    case MPIX_ERR_REVOKED:
        return 3;
    case MPI_ERR_PENDING:
        return 4;
    case MPI_ERR_LASTCODE:
        return 5;
    default:
        return 0;
    }
}

/* Signatures, as pointers that take nothing else. */
static int (*const of_comm[])(MPI_Comm) = {MPIX_Comm_revoke, MPIX_Comm_failure_ack,
                                           PMPIX_Comm_revoke, PMPIX_Comm_failure_ack};
static int (*const of_group[])(MPI_Comm,
                               MPI_Group *) = {MPIX_Comm_get_failed, MPIX_Comm_failure_get_acked,
                                               PMPIX_Comm_get_failed, PMPIX_Comm_failure_get_acked};
static int (*const of_flag[])(MPI_Comm, int *) = {MPIX_Comm_is_revoked, MPIX_Comm_agree,
                                                  PMPIX_Comm_is_revoked, PMPIX_Comm_agree};
static int (*const of_new[])(MPI_Comm, MPI_Comm *) = {MPIX_Comm_shrink, PMPIX_Comm_shrink};
static int (*const of_number[])(MPI_Comm, int, int *) = {MPIX_Comm_ack_failed};
static int (*const of_request[])(MPI_Comm, int *, MPI_Request *) = {MPIX_Comm_iagree};
static int (*const of_both[])(MPI_Comm, MPI_Comm *, MPI_Request *) = {MPIX_Comm_ishrink};

int main(void)
{
    return !(kind(0) == 0 && of_comm[0] && of_group[0] && of_flag[0] && of_new[0] && of_number[0] &&
             of_request[0] && of_both[0]);
}
