/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors while there is no MPI_COMM_SELF, and handlers that end the program, by the argument:
 * "return": before MPI_Init, between and after, started with mpi_errors_return; "sessions": the
 * same without MPI_Init; "before", "after", "twice", "fatal", "abort": the program ends with a
 * sentence.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int result, int error, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    SO(result == error);
    SO(MPI_Error_string(result, text, &length) == MPI_SUCCESS);
    if (!strstr(text, words)) {
        fprintf(stderr, "not so: \"%s\" says \"%s\"\n", text, words);
        abort();
    }
}

static void outside(const char *words)
{
    int number;
    MPI_Comm comm = MPI_COMM_SELF;
    expect(MPI_Comm_size(comm, &number), MPI_ERR_OTHER, words);
    expect(MPI_Barrier(comm), MPI_ERR_OTHER, words);
    expect(MPI_Comm_dup(comm, &comm), MPI_ERR_OTHER, words);
    expect(MPI_Type_size(MPI_INT, &number), MPI_ERR_OTHER, words);
    expect(MPI_Finalize(), MPI_ERR_OTHER, words);
    expect(MPI_Info_free(&(MPI_Info){MPI_INFO_NULL}), MPI_ERR_INFO, "info is the null handle");
    SO(comm == MPI_COMM_SELF);
}

static void returns(void)
{
    MPI_Errhandler handler;
    outside("called before MPI_Init");
    SO(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    SO(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler) == MPI_SUCCESS);
    SO(handler == MPI_ERRORS_RETURN);
    SO(MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler) == MPI_SUCCESS);
    SO(handler == MPI_ERRORS_RETURN);
    expect(MPI_Init(NULL, NULL), MPI_ERR_OTHER, "initialised already");
    expect(MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &(int){0}), MPI_ERR_OTHER,
           "initialised already");
    expect(MPI_Abort(MPI_COMM_NULL, 3), MPI_ERR_COMM, "comm is the null handle");
    SO(MPI_Finalize() == MPI_SUCCESS);
    outside("called after MPI_Finalize");
    expect(MPI_Init(NULL, NULL), MPI_ERR_OTHER, "called after MPI_Finalize");
}

static void sessions_only(void)
{
    MPI_Session session;
    int number;
    SO(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    expect(MPI_Type_size(MPI_DATATYPE_NULL, &number), MPI_ERR_TYPE, "datatype");
    expect(MPI_Comm_size(MPI_COMM_WORLD, &number), MPI_ERR_COMM, "of MPI_Init");
    SO(MPI_Session_finalize(&session) == MPI_SUCCESS);
    expect(MPI_Session_finalize(&session), MPI_ERR_OTHER, "MPI_Session_finalize");
}

static void ends(const char *what)
{
    int number;
    if (strcmp(what, "before") == 0) {
        MPI_Comm_size(MPI_COMM_SELF, &number);
    }
    MPI_Init(NULL, NULL);
    if (strcmp(what, "twice") == 0) {
        MPI_Init(NULL, NULL);
    } else if (strcmp(what, "fatal") == 0) {
        MPI_Send(&number, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
    } else if (strcmp(what, "abort") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ABORT);
        MPI_Send(&number, -1, MPI_INT, 0, 5, MPI_COMM_SELF);
    }
    MPI_Finalize();
    MPI_Comm_size(MPI_COMM_SELF, &number);
    printf("it did not end\n");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "return") == 0) {
        returns();
    } else if (strcmp(what, "sessions") == 0) {
        sessions_only();
    } else {
        ends(what);
    }
    return 0;
}
