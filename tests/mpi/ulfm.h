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
    long total, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

#endif
