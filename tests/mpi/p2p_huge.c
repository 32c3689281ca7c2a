/* SPDX-License-Identifier: BSD-3-Clause */
/* A message of more than 2^31 bytes arrives whole: counted in bytes, beyond int, and in elements.
 * Exit status 77: there is not enough memory here. */
#include "check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };
static const uint64_t words = (UINT64_C(1) << 28) + 12345, enough_kib = UINT64_C(8) << 20;

static int has_memory(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kib == 0 && fgets(line, sizeof(line), file)) {
        sscanf(line, "MemAvailable: %llu", &kib);
    }
    if (file) {
        fclose(file);
    }
    return kib >= enough_kib;
}

static uint64_t word_of(uint64_t i, int tag)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)tag;
}

static void sends(uint64_t *data, int tag, MPI_Count count, MPI_Datatype type)
{
    for (uint64_t i = 0; i < words; i++) {
        data[i] = word_of(i, tag);
    }
    MPI_Send_c(data, count, type, 1, tag, MPI_COMM_WORLD);
}

static void receives(uint64_t *data, int tag, MPI_Count count, MPI_Datatype type)
{
    MPI_Status status;
    MPI_Count found;
    MPI_Recv_c(data, count, type, 0, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, type, &found);
    CHECK(found == count);
    for (uint64_t i = 0; i < words; i++) {
        CHECK(data[i] == word_of(i, tag));
    }
}

int main(int argc, char **argv)
{
    int rank, here, everywhere;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    here = has_memory();
    MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (everywhere) {
        uint64_t *data = malloc(words * sizeof(*data));
        CHECK(data);
        (rank == 0 ? sends : receives)(data, 1, (MPI_Count)(words * sizeof(*data)), MPI_BYTE);
        (rank == 0 ? sends : receives)(data, 2, (MPI_Count)words, MPI_UINT64_T);
        free(data);
    }
    MPI_Finalize();
    return everywhere ? 0 : SKIPPED;
}
