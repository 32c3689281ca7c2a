/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name service: what one process publishes every process finds, wherever its node; names are
 * refused, taken back, and go with their process. With the argument "failure" the last rank is
 * killed (run with --on-failure continue).
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void one_publishes_all_find(void)
{
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    int publisher = size - 1;
    if (rank == publisher) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Publish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
    }
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, publisher, MPI_COMM_WORLD);
    CHECK(MPI_Lookup_name("ocean", MPI_INFO_NULL, found) == MPI_SUCCESS);
    CHECK(strcmp(found, port) == 0);
    CHECK(class_of(MPI_Lookup_name("Ocean", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
    CHECK(strcmp(found, port) == 0); /* untouched */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != publisher) {
        CHECK(class_of(MPI_Publish_name("ocean", MPI_INFO_NULL, "x")) == MPI_ERR_SERVICE);
        CHECK(class_of(MPI_Close_port(port)) == MPI_ERR_PORT);
    }
    CHECK(class_of(MPI_Unpublish_name("ocean", MPI_INFO_NULL, "x")) == MPI_ERR_SERVICE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == publisher) {
        CHECK(MPI_Unpublish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(class_of(MPI_Lookup_name("ocean", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
}

static void of_all_at_once_one_wins(int round)
{
    char service[32], mine[32], found[MPI_MAX_PORT_NAME], first[MPI_MAX_PORT_NAME];
    snprintf(service, sizeof(service), "race %d", round);
    snprintf(mine, sizeof(mine), "port of %d", rank);
    int error = MPI_Publish_name(service, MPI_INFO_NULL, mine);
    int won = error == MPI_SUCCESS, winners;
    CHECK(won || class_of(error) == MPI_ERR_SERVICE);
    MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(winners == 1);
    CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS);
    strcpy(first, found);
    MPI_Bcast(first, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(strcmp(first, found) == 0);
    CHECK(!won || strcmp(found, mine) == 0);
}

static void names_go_with_their_process(void)
{
    char found[MPI_MAX_PORT_NAME];
    int flag = 1, victim = size - 1;
    if (rank == victim) {
        CHECK(MPI_Publish_name("river", MPI_INFO_NULL, "short-lived") == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Lookup_name("river", MPI_INFO_NULL, found) == MPI_SUCCESS);
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag); /* all have looked */
    if (rank == victim) {
        raise(SIGKILL);
    }
    CHECK(MPI_Recv(&flag, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(class_of(MPI_Lookup_name("river", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag); /* all have looked */
    if (rank == 0) {
        CHECK(MPI_Publish_name("river", MPI_INFO_NULL, "another") == MPI_SUCCESS);
        printf("the name went with its process\n");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc > 1) {
        names_go_with_their_process();
    } else {
        one_publishes_all_find();
        for (int round = 0; round < 20; round++) {
            of_all_at_once_one_wins(round);
        }
    }
    MPI_Finalize();
    return 0;
}
