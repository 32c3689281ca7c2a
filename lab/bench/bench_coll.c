/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls by length, for any MPI:
 *
 *   bench_coll [--pin CPU,CPU,...] [--ms MILLISECONDS] [--rounds N] [--sizes BYTES,...]
 *              [--operations NAME,...] [--memory MIB] [--algorithms]
 *
 * prints a line for each measurement, `OPERATION ALGORITHM BYTES ROUND VALUE`: one call on all
 * ranks, that of the slowest rank, in microseconds. BYTES: of the vector or message; of what each
 * rank gives to each other for allgather and alltoall, where it is not measured if all parts
 * together are longer than 4 MiB; with --memory, if the buffers of all ranks together are longer
 * than MIB.
 *
 * ALGORITHM is `-`, what the library chooses. With --algorithms, on Rhizome, also each algorithm of
 * the operation, in turns in each round; what it cannot do is done by the one that it chooses.
 */
#define _GNU_SOURCE
#include "bench_pin.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, TIMES_MAX = 1 << 20, SIZES_MAX = 32, LONGEST = 4 << 20 };

static int rank, size;
static double target_s = 0.01, memory_mib;
static const char *wanted; /* operations; NULL: all */
static char *out, *in;

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int bytes)
{
    MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(int bytes)
{
    MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(int bytes)
{
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(int bytes)
{
    MPI_Reduce_scatter_block(out, in, bytes / 8 / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(int bytes)
{
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(int bytes)
{
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static const struct operation {
    const char *name;
    void (*call)(int bytes);
    int any_length, parts; /* of how many buffers the length is that of a part, one for each rank */
} operations[] = {
    {"barrier", barrier, 0, 0},
    {"bcast", bcast, 1, 0},
    {"reduce", reduce, 1, 0},
    {"allreduce", allreduce, 1, 0},
    {"reduce_scatter", reduce_scatter, 1, 0},
    {"allgather", allgather, 1, 1},
    {"alltoall", alltoall, 1, 2},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static const char *const names[] = {"-",        "tree",   "flat",    "dissemination",
                                    "doubling", "direct", "halving", "ring",
                                    "bruck",    "chain",  "scatter", "leaders"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static MPI_T_cvar_handle rules;

/* Written alike at all ranks, between operations. Returns whether it is one of the operation. */
static int choose(const char *operation, const char *algorithm)
{
    char text[64] = "";
    if (strcmp(algorithm, "-") != 0) {
        snprintf(text, sizeof(text), "%s=%s", operation, algorithm);
    }
    return MPI_T_cvar_write(rules, text) == MPI_SUCCESS;
}

/* The number of calls that fills the time, the same at all ranks. They fill it twice, for the first
 * calls may take long once. */
static int count(const struct operation *operation, int bytes)
{
    double slowest = 0;
    int n = 1, filled = 0;
    while (filled < 2 && n < TIMES_MAX) {
        double start = MPI_Wtime();
        for (int i = 0; i < n; i++) {
            operation->call(bytes);
        }
        double spent = MPI_Wtime() - start;
        MPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        filled = slowest >= target_s / 2 ? filled + 1 : 0;
        n *= filled ? 1 : 2;
    }
    return n;
}

static double timed(const struct operation *operation, int bytes, int n, int warm_up)
{
    double slowest = 0;
    for (int i = 0; i < warm_up; i++) {
        operation->call(bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        operation->call(bytes);
    }
    double spent = MPI_Wtime() - start;
    MPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest / n * 1e6;
}

static void measure(const struct operation *operation, int bytes, int rounds, int all)
{
    size_t filled = (size_t)bytes * (operation->parts == 2 ? (size_t)size : 1);
    memset(out, 0, filled); /* pages of its own, not that of zeros */
    int n = count(operation, bytes);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < (all ? NAMES : 1); i++) {
            if (all && !choose(operation->name, names[i])) {
                continue;
            }
            double us = timed(operation, bytes, n, all ? WARM_UP : 0); /* count() has called it */
            if (rank == 0) {
                printf("%s %s %d %d %.4f\n", operation->name, names[i], bytes, round, us);
            }
        }
        if (all) {
            choose(operation->name, "-");
        }
    }
    fflush(stdout);
}

static int read_sizes(char *text, int *sizes)
{
    int n = 0;
    for (char *word = strtok(text, ","); word && n < SIZES_MAX; word = strtok(NULL, ",")) {
        sizes[n] = atoi(word);
        n += sizes[n] > 0 && sizes[n] <= LONGEST;
    }
    return n;
}

/* The text is a name, or names with commas between them. */
static int is_wanted(const char *name)
{
    size_t length = strlen(name);
    const char *word = wanted;
    while (word && (strncmp(word, name, length) != 0 || (word[length] && word[length] != ','))) {
        word = strchr(word, ',');
        word = word ? word + 1 : NULL;
    }
    return !wanted || word;
}

/* Bytes of the longer buffer of a rank. */
static double longer_buffer(const struct operation *operation, int bytes)
{
    return (double)bytes * (operation->parts ? size : 1);
}

static int has_memory(const struct operation *operation, int bytes)
{
    double longer = longer_buffer(operation, bytes);
    double both = longer + (operation->parts == 1 ? bytes : longer);
    return memory_mib > 0 ? both * size <= memory_mib * 1048576
                          : !operation->parts || longer <= LONGEST;
}

/* Pages that are not used take no memory. */
static size_t room_needed(const int *sizes, int n_sizes)
{
    double longest = LONGEST;
    for (int i = 0; i < OPERATIONS; i++) {
        for (int j = 0; j < n_sizes; j++) {
            double longer = longer_buffer(&operations[i], sizes[j]);
            if (longer > longest && has_memory(&operations[i], sizes[j])) {
                longest = longer;
            }
        }
    }
    return (size_t)longest;
}

static void open_rules(void)
{
    int provided, index, length;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        MPI_T_cvar_get_index("RZ_COLL", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &rules, &length) != MPI_SUCCESS) {
        fprintf(stderr, "bench_coll: this library has no RZ_COLL\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    const char *cpus = NULL;
    int sizes[SIZES_MAX] = {8, 4096, 65536, 1048576}, n_sizes = 4, rounds = 3, all = 0;
    MPI_Init(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--pin") == 0) {
            cpus = value;
        } else if (strcmp(argv[i], "--ms") == 0) {
            target_s = atof(value) / 1e3;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            rounds = atoi(value);
        } else if (strcmp(argv[i], "--sizes") == 0) {
            n_sizes = read_sizes(argv[i + 1], sizes);
        } else if (strcmp(argv[i], "--operations") == 0) {
            wanted = argv[i + 1];
        } else if (strcmp(argv[i], "--memory") == 0) {
            memory_mib = atof(value);
        } else if (strcmp(argv[i], "--algorithms") == 0) {
            all = 1;
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t room = room_needed(sizes, n_sizes);
    out = calloc(room, 1);
    in = calloc(room, 1);
    if (!out || !in || (cpus && !bench_pin(cpus, rank))) {
        fprintf(stderr, "bench_coll: no memory, or processors that do not exist\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (all) {
        open_rules();
    }
    for (int i = 0; i < OPERATIONS; i++) {
        for (int j = 0; j < (operations[i].any_length ? n_sizes : 1); j++) {
            int bytes = operations[i].any_length ? sizes[j] : 0;
            if (is_wanted(operations[i].name) && has_memory(&operations[i], bytes)) {
                measure(&operations[i], bytes, rounds, all);
            }
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
