/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of what the smallest build leaves out: each prints its error, and the program goes on. */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>

static void show(const char *class, int is_it, int error)
{
    char words[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, words, &length);
    printf("%s: %s\n", is_it ? class : "another error", words);
}

int main(int argc, char **argv)
{
    RZ_Group_monitor monitor;
    MPI_Info info;
    int error, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    error = RZ_Group_monitor_start(MPI_COMM_WORLD, MPI_INFO_NULL, NULL, NULL, &monitor);
    MPI_Error_class(error, &class);
    show("MPI_ERR_UNSUPPORTED_OPERATION", class == MPI_ERR_UNSUPPORTED_OPERATION, error);

    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_agree", "twophase");
    error = MPI_Comm_set_info(MPI_COMM_WORLD, info);
    MPI_Error_class(error, &class);
    show("MPI_ERR_INFO_VALUE", class == MPI_ERR_INFO_VALUE, error);
    MPI_Info_free(&info);
    return MPI_Finalize();
}
