/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a rank, for any MPI:
 *
 *   bench_memory
 *
 * prints `pss MEAN LARGEST`: the proportional set size of all ranks in KiB, after an all-to-all of
 * 8 bytes, while all of them are there. A page that k processes map counts 1/k in each.
 *
 * Compiled with BENCH_WITHOUT_MPI, it is the same program without MPI: `bench_memory N` starts N
 * processes and prints the same of these.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BENCH_WITHOUT_MPI
#include <sys/wait.h>
#else
#include <mpi.h>
#endif

/* KiB; negative: the kernel does not say. */
static double pss_kib(long pid)
{
    char path[64], line[256];
    double kib = -1;
    snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "Pss:", 4) == 0) {
            kib = strtod(line + 4, NULL);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return kib;
}

static int print(double sum, double largest, int n)
{
    printf("pss %.1f %.1f\n", sum / n, largest);
    return largest < 0;
}

#ifdef BENCH_WITHOUT_MPI

enum { N_MAX = 4096 };

/* A process tells that it is there, and stays until the first one has closed its end. */
static int stay(int there, int end)
{
    char none;
    return write(there, "", 1) != 1 || read(end, &none, 1) != 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0, there[2], end[2];
    static pid_t pids[N_MAX];
    double sum = 0, largest = -1;
    if (argc > 3) {
        return stay(atoi(argv[2]), atoi(argv[3]));
    }
    if (n < 1 || n > N_MAX || pipe(there) || pipe(end)) {
        return 2;
    }
    for (int i = 0; i < n; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            char there_text[16], end_text[16];
            close(there[0]);
            close(end[1]);
            snprintf(there_text, sizeof(there_text), "%d", there[1]);
            snprintf(end_text, sizeof(end_text), "%d", end[0]);
            execl("/proc/self/exe", argv[0], "-", there_text, end_text, (char *)NULL);
            _exit(1);
        }
    }
    close(there[1]);
    close(end[0]);
    char token;
    for (int i = 0; i < n && read(there[0], &token, 1) == 1; i++) {
    }
    for (int i = 0; i < n; i++) {
        double kib = pss_kib(pids[i]);
        sum += kib;
        largest = kib > largest ? kib : largest;
    }
    close(end[1]);
    while (wait(NULL) > 0) {
    }
    return print(sum, largest, n);
}

#else

int main(int argc, char **argv)
{
    int rank, size, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = calloc((size_t)size, 8), *in = calloc((size_t)size, 8);
    if (!out || !in) {
        fprintf(stderr, "bench_memory: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Alltoall(out, 8, MPI_BYTE, in, 8, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double kib = pss_kib(getpid()), sum = 0, largest = 0;
    MPI_Reduce(&kib, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&kib, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* none ends while another one reads */
    if (rank == 0) {
        failed = print(sum, largest, size);
    }
    fflush(stdout);
    free(out);
    free(in);
    MPI_Finalize();
    return failed;
}

#endif
