/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with a checkpoint file of its own: heat in a rod, written by MPI_File_write_at_all
 * every so many iterations. With the hint rz_commit the file is the old or the new one, whatever
 * fails and whenever. The program reads it wherever it begins: after a roll-back of MPIX_Reinit,
 * and when the whole job is started again, with any number of processes.
 *
 *     checkpoint_file FILE [CELLS [ITERATIONS]]              (20000, 200)
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAVE_EVERY = 10 };

static const char *path;
static long cells = 20000, iterations = 200;

/* The file: this, then all cells in their order. */
struct header {
    char kind[16];
    int64_t cells, iteration;
};

static const char kind[16] = "heat in a rod 1";

/* The part of a process, with one cell of each neighbour in front of it and behind it. */
struct part {
    int rank, size, n;
    MPI_Offset first; /* of its cells, in the order of all */
    double *now, *next;
    int64_t iteration;
};

static void give_up(const struct part *part, const char *what)
{
    fprintf(stderr, "checkpoint_file: %s %s (rank %d)\n", path, what, part->rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void need(const struct part *part, int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 64], reason[MPI_MAX_ERROR_STRING];
    int length;
    if (error != MPI_SUCCESS) {
        MPI_Error_string(error, reason, &length);
        snprintf(text, sizeof(text), "cannot be %s: %s", what, reason);
        give_up(part, text);
    }
}

/* ---- The file ---- */

static MPI_Offset place_of(MPI_Offset cell)
{
    return (MPI_Offset)sizeof(struct header) + cell * (MPI_Offset)sizeof(double);
}

static void save(const struct part *part)
{
    struct header header = {.cells = cells, .iteration = part->iteration};
    MPI_File file;
    MPI_Info info;
    memcpy(header.kind, kind, sizeof(kind));
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_commit", "true"); /* MPI_File_close makes the change, at once */
    int error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file);
    MPI_Info_free(&info);
    need(part, error, "opened");
    error = MPI_File_write_at_all(file, 0, &header, part->rank == 0 ? sizeof(header) : 0, MPI_BYTE,
                                  MPI_STATUS_IGNORE);
    need(part, error, "written");
    error = MPI_File_write_at_all(file, place_of(part->first), part->now + 1, part->n, MPI_DOUBLE,
                                  MPI_STATUS_IGNORE);
    need(part, error, "written");
    need(part, MPI_File_close(&file), "closed");
}

/* 0: there is no file. */
static int load(struct part *part)
{
    struct header header = {.cells = 0};
    MPI_File file;
    MPI_Offset bytes;
    int error, class;
    error = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_Error_class(error, &class);
    if (class == MPI_ERR_NO_SUCH_FILE) {
        return 0;
    }
    need(part, error, "opened");
    need(part, MPI_File_get_size(file, &bytes), "read");
    error = MPI_File_read_at_all(file, 0, &header, sizeof(header), MPI_BYTE, MPI_STATUS_IGNORE);
    need(part, error, "read");
    if (memcmp(header.kind, kind, sizeof(kind)) != 0 || header.cells != cells ||
        bytes != place_of(cells)) {
        give_up(part, "is not the checkpoint of a rod of this length: remove it, or name another");
    }
    error = MPI_File_read_at_all(file, place_of(part->first), part->now + 1, part->n, MPI_DOUBLE,
                                 MPI_STATUS_IGNORE);
    need(part, error, "read");
    need(part, MPI_File_close(&file), "closed");
    part->iteration = header.iteration;
    return 1;
}

/* ---- The computation ---- */

static void part_begin(struct part *part)
{
    for (int i = 1; i <= part->n; i++) {
        MPI_Offset cell = part->first + i - 1;
        part->now[i] = cell % 1000 < 10 ? 100.0 : 0.0;
    }
    part->iteration = 0;
}

/* The rod is closed to a ring. */
static void iterate(struct part *part)
{
    int left = (part->rank + part->size - 1) % part->size, right = (part->rank + 1) % part->size;
    double *now = part->now, *next = part->next;
    MPI_Sendrecv(now + 1, 1, MPI_DOUBLE, left, 0, now + part->n + 1, 1, MPI_DOUBLE, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(now + part->n, 1, MPI_DOUBLE, right, 1, now, 1, MPI_DOUBLE, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= part->n; i++) {
        next[i] = now[i] + 0.25 * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
    }
    part->now = next;
    part->next = now;
    part->iteration++;
}

static void print_result(const struct part *part)
{
    double mine = 0.0, hottest;
    uint64_t bits = 0, all;
    for (int i = 1; i <= part->n; i++) {
        uint64_t word;
        memcpy(&word, &part->now[i], sizeof(word));
        bits += (word ^ word >> 29) * (2 * (uint64_t)(part->first + i) + 1);
        mine = part->now[i] > mine ? part->now[i] : mine;
    }
    MPI_Reduce(&mine, &hottest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&bits, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (part->rank == 0) {
        printf("iterations %lld\nhottest %.17g\nbits %016llx\n", (long long)part->iteration,
               hottest, (unsigned long long)all);
    }
}

/* The restart point: entered at the start, and again after each failure. */
static int run(int argc, char **argv, MPIX_Reinit_state_t state)
{
    static struct part part; /* its memory is used again */
    (void)argc, (void)argv, (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &part.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &part.size);
    part.first = (MPI_Offset)cells * part.rank / part.size;
    part.n = (int)((MPI_Offset)cells * (part.rank + 1) / part.size - part.first);
    part.now = part.now ? part.now : malloc(((size_t)part.n + 2) * sizeof(double));
    part.next = part.next ? part.next : malloc(((size_t)part.n + 2) * sizeof(double));
    if (part.n < 1 || !part.now || !part.next) {
        give_up(&part, "is not written: more processes than cells, or no memory");
    }
    if (!load(&part)) {
        part_begin(&part);
    }
    while (part.iteration < iterations) {
        RZ_Progress_mark((uint64_t)part.iteration);
        iterate(&part);
        if (part.iteration % SAVE_EVERY == 0 || part.iteration == iterations) {
            save(&part);
        }
    }
    print_result(&part);
    return 0;
}

int main(int argc, char **argv)
{
    long *const values[2] = {&cells, &iterations};
    for (int i = 2; i < argc; i++) {
        char *end;
        long value = strtol(argv[i], &end, 10);
        if (i > 3 || *end != '\0' || value < 1 || value > 1000000000) {
            fprintf(stderr,
                    "checkpoint_file: '%s' is no number from 1 to 1000000000, or one too "
                    "many\n",
                    argv[i]);
            argc = 0;
            break;
        }
        *values[i - 2] = value;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: checkpoint_file FILE [CELLS [ITERATIONS]]\n");
        return 2;
    }
    path = argv[1];
    MPI_Init(&argc, &argv);
    MPIX_Reinit(argc, argv, run);
    MPI_Finalize();
    return 0;
}
