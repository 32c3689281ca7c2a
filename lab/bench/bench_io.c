/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective writing of one file, for any MPI:
 *
 *   bench_io [--sync] FILE MIB PATTERN [PATTERN]...
 *
 * makes the file anew for each pattern, writes about that many MiB of double, each its own number
 * in the file, with one MPI_File_write_all, checks the file, deletes it, and prints `PATTERN MIB
 * WRITE_MS WHOLE_MS`: of the slowest rank, the call, and the call with MPI_File_sync (with --sync)
 * and MPI_File_close. Opening, and setting the view, are not in it.
 *
 *   blocks     a cube, of which each rank has a block; the ranks are a grid (MPI_Dims_create)
 *   strided    rows of 64 KiB, one of each rank in turn
 *   records    records of 64 B, one of each rank in turn: of a sixteenth of the bytes
 */
#include <mpi.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 64 * 1024 / 8, RECORD = 64 / 8, RECORDS_PART = 16, CHECKED = 100000 };

static int rank, size;

/* What a rank writes: `count` doubles, in the places that the type of the view has. */
struct pattern {
    MPI_Datatype view;
    int64_t count, all; /* of this rank, of all of them */
    double *data;
};

static void refuse(const char *what, const char *word)
{
    fprintf(stderr, "bench_io: %s%s\n", what, word);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void room_for(struct pattern *pattern, int64_t count)
{
    pattern->count = count;
    pattern->data = malloc((size_t)count * sizeof(double) + 1);
    if (!pattern->data) {
        refuse("no memory", "");
    }
}

static void make_blocks(struct pattern *pattern, int64_t all)
{
    int dims[3] = {0, 0, 0}, periods[3] = {0, 0, 0}, at[3], whole[3], part[3], first[3];
    MPI_Comm grid;
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 3, at);
    MPI_Comm_free(&grid);
    int edge = (int)cbrt((double)all + 0.5);
    for (int i = 0; i < 3; i++) {
        part[i] = edge / dims[i] > 0 ? edge / dims[i] : 1;
        whole[i] = part[i] * dims[i];
        first[i] = part[i] * at[i];
    }
    pattern->all = (int64_t)whole[0] * whole[1] * whole[2];
    room_for(pattern, (int64_t)part[0] * part[1] * part[2]);
    double *next = pattern->data;
    for (int x = first[0]; x < first[0] + part[0]; x++) {
        for (int y = first[1]; y < first[1] + part[1]; y++) {
            for (int z = first[2]; z < first[2] + part[2]; z++) {
                *next++ = (double)(((int64_t)x * whole[1] + y) * whole[2] + z);
            }
        }
    }
    MPI_Type_create_subarray(3, whole, part, first, MPI_ORDER_C, MPI_DOUBLE, &pattern->view);
}

/* Rows of so many doubles, one of each rank in turn. */
static void make_turns(struct pattern *pattern, int64_t all, int row)
{
    int64_t rows = all / row / size > 0 ? all / row / size : 1;
    pattern->all = rows * row * size;
    room_for(pattern, rows * row);
    double *next = pattern->data;
    for (int64_t i = 0; i < rows; i++) {
        for (int j = 0; j < row; j++) {
            *next++ = (double)((i * size + rank) * row + j);
        }
    }
    int whole = row * size, first = row * rank;
    MPI_Type_create_subarray(1, &whole, &row, &first, MPI_ORDER_C, MPI_DOUBLE, &pattern->view);
}

static int make(struct pattern *pattern, const char *name, int64_t all)
{
    if (strcmp(name, "blocks") == 0) {
        make_blocks(pattern, all);
    } else if (strcmp(name, "strided") == 0) {
        make_turns(pattern, all, ROW);
    } else if (strcmp(name, "records") == 0) {
        make_turns(pattern, all / RECORDS_PART, RECORD);
    } else {
        return 0;
    }
    MPI_Type_commit(&pattern->view);
    return 1;
}

static double slowest_ms(double s)
{
    double all_s;
    MPI_Reduce(&s, &all_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return all_s * 1e3;
}

/* Places drawn at random, the first, and the last. */
static void check(const char *path, const struct pattern *pattern)
{
    FILE *file = fopen(path, "rb");
    uint32_t seed = 1;
    if (!file || fseek(file, 0, SEEK_END) != 0 || ftell(file) != pattern->all * 8) {
        refuse("wrong length of ", path);
        return;
    }
    for (int i = 0; i < CHECKED; i++) {
        double found = -1;
        seed = seed * 1664525U + 1013904223U; /* Numerical Recipes' generator, alike everywhere */
        int64_t at = (int64_t)(seed / 4294967296.0 * (double)pattern->all);
        at = i == 0 ? 0 : i == 1 ? pattern->all - 1 : at;
        if (fseek(file, at * 8, SEEK_SET) != 0 || fread(&found, sizeof(found), 1, file) != 1 ||
            found != (double)at) {
            refuse("wrong contents of ", path);
            break;
        }
    }
    fclose(file);
}

static void must(int error, const char *call)
{
    if (error != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(error, text, &length);
        fprintf(stderr, "bench_io: %s\n", text);
        refuse(call, " has failed");
    }
}

static void run(const char *path, const char *name, int64_t all, int syncs)
{
    struct pattern pattern;
    MPI_File file;
    MPI_Status status;
    if (!make(&pattern, name, all)) {
        refuse("there is no pattern ", name);
        return;
    }
    must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                       &file),
         "MPI_File_open");
    must(MPI_File_set_view(file, 0, MPI_DOUBLE, pattern.view, "native", MPI_INFO_NULL),
         "MPI_File_set_view");
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    must(MPI_File_write_all(file, pattern.data, (int)pattern.count, MPI_DOUBLE, &status),
         "MPI_File_write_all");
    double written = MPI_Wtime() - start;
    if (syncs) {
        must(MPI_File_sync(file), "MPI_File_sync");
    }
    must(MPI_File_close(&file), "MPI_File_close");
    double whole = MPI_Wtime() - start;
    double write_ms = slowest_ms(written), whole_ms = slowest_ms(whole);
    if (rank == 0) {
        check(path, &pattern);
        remove(path);
        printf("%s %.3f %.4f %.4f\n", name, (double)pattern.all * 8 / (1 << 20), write_ms,
               whole_ms);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&pattern.view);
    free(pattern.data);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int syncs = argc > 1 && strcmp(argv[1], "--sync") == 0;
    char **word = argv + 1 + syncs;
    if (argc < 4 + syncs || atoi(word[1]) < 1) {
        refuse("usage: bench_io [--sync] FILE MIB PATTERN...", "");
    }
    for (char **name = word + 2; *name; name++) {
        run(word[0], *name, (int64_t)atoi(word[1]) * (1 << 20) / 8, syncs);
    }
    MPI_Finalize();
    return 0;
}
