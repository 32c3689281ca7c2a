/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes without MPI calls: detect_compute FOLDER [alive].
 *
 * Rank 0 says RZ_Alive without end, the others only with `alive`. Each writes FOLDER/computes.RANK
 * first, and ends once FOLDER/stop is there.
 */
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static int is_there(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 2) {
        return 2;
    }
    folder = argv[1];
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int alive = rank == 0 || (argc > 2 && strcmp(argv[2], "alive") == 0);
    snprintf(path, sizeof(path), "%s/computes.%d", folder, rank);
    FILE *file = fopen(path, "w");
    if (file) {
        fclose(file);
    }
    while (!is_there("stop")) {
        if (alive) {
            RZ_Alive();
        }
        usleep(10000); /* instead of burning a processor */
    }
    MPI_Finalize();
    return 0;
}
