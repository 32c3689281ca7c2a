/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs that repair communicators ask again and again. */
#ifndef ULFM_H
#define ULFM_H

#include "check.h"

#include <unistd.h>

/* All of comm come to the same sum. */
static inline void works(MPI_Comm comm)
{
    int rank, size, sum = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
}

/* Of this process. */
static inline long resident_bytes(void)
{
    long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* Fails when it reaches that kill point of the library for the nth time; MPI_T is open. */
static inline void fail_at_point(const char *point, unsigned nth)
{
    int index, count;
    char text[512];
    MPI_T_cvar_handle handle;
    snprintf(text, sizeof(text), "%s:%u", point, nth);
    CHECK(MPI_T_cvar_get_index("RZ_KILL_AT", &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_write(handle, text) == MPI_SUCCESS);
}

#endif
