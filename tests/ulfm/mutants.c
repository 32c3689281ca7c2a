/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that is wrong in one way: these stand before the calls of the real one. MUTANT says
 * which way; suite.py --mutants shows that the suite notices each.
 */
#include <mpi-ext.h>
#include <mpi.h>

static int class_of(int error)
{
    int class;
    PMPI_Error_class(error, &class);
    return class;
}

#if MUTANT == 1 /* no process is told */
static int forgive(int error)
{
    return class_of(error) == MPI_ERR_PROC_FAILED ? MPI_SUCCESS : error;
}
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    return forgive(PMPI_Recv(buffer, count, type, source, tag, comm, status));
}
#elif MUTANT == 2  /* all are told, also processes that do not need the failed ones */
int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int n_in, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    MPI_Group failed;
    int n, error = PMPI_Sendrecv(out, n_out, out_type, to, out_tag, in, n_in, in_type, from, in_tag,
                                 comm, status);
    PMPIX_Comm_get_failed(comm, &failed);
    PMPI_Group_size(failed, &n);
    PMPI_Group_free(&failed);
    return error == MPI_SUCCESS && n > 0 ? MPI_ERR_PROC_FAILED : error;
}
#elif MUTANT == 3  /* agreement does not report a failure */
int MPIX_Comm_agree(MPI_Comm comm, int *flag)
{
    int error = PMPIX_Comm_agree(comm, flag);
    return class_of(error) == MPI_ERR_PROC_FAILED ? MPI_SUCCESS : error;
}
#elif MUTANT == 4  /* agreement leaves the flag alone */
int MPIX_Comm_agree(MPI_Comm comm, int *flag)
{
    int mine = *flag, error = PMPIX_Comm_agree(comm, flag);
    *flag = mine;
    return error;
}
#elif MUTANT == 5  /* revocation stays at home */
int MPIX_Comm_revoke(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}
#elif MUTANT == 6  /* revocation goes too far */
int MPIX_Comm_revoke(MPI_Comm comm)
{
    PMPIX_Comm_revoke(MPI_COMM_WORLD);
    return PMPIX_Comm_revoke(comm);
}
#elif MUTANT == 7  /* a receive from any source ends with the first failure */
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int error = PMPI_Wait(request, status);
    return class_of(error) == MPI_ERR_PROC_FAILED_PENDING ? MPI_ERR_PROC_FAILED : error;
}
#elif MUTANT == 8  /* acknowledging does nothing */
int MPIX_Comm_ack_failed(MPI_Comm comm, int n, int *acked)
{
    (void)n;
    return PMPIX_Comm_ack_failed(comm, 0, acked);
}
#elif MUTANT == 9  /* shrink turns the order of ranks around */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *living)
{
    int rank, error;
    MPI_Comm straight;
    PMPI_Comm_rank(comm, &rank);
    error = PMPIX_Comm_shrink(comm, &straight);
    PMPI_Comm_split(straight, 0, -rank, living);
    PMPI_Comm_free(&straight);
    return error;
}
#elif MUTANT == 10 /* no process has failed */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed)
{
    MPI_Group all;
    PMPI_Comm_group(comm, &all);
    int error = PMPI_Group_incl(all, 0, NULL, failed);
    PMPI_Group_free(&all);
    return error;
}
#elif MUTANT == 11 /* a jump out of the handler is not possible: it is not called */
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)handler;
    return PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}
#elif MUTANT == 12 /* a failed process is not seen by any wildcard receive */
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int n, error;
    do {
        error = PMPI_Wait(request, status);
        PMPIX_Comm_ack_failed(MPI_COMM_WORLD, 1 << 20, &n);
    } while (class_of(error) == MPI_ERR_PROC_FAILED_PENDING);
    return error;
}
#else
int no_mutant(int error)
{
    return class_of(error);
}
#endif
