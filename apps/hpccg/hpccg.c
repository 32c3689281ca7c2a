/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conjugate gradient on a 27-point operator, like the Mantevo mini-application HPCCG 1.0: diagonal
 * 27, off-diagonal -1, exact solution 1, blocks of NX x NY x NZ points stacked in z, one per rank;
 * per iteration one exchange of boundary planes, one product with the operator, two dot products.
 * No preconditioner.
 *
 *   hpccg NX NY NZ [--iterations N] [--checkpoint-every K] [--method M] ... (see usage below)
 *
 * prints `iterations N` and `residual X` (17 digits). Under Rhizome it survives the loss of
 * processes and nodes, in one of the ways of apps/recovery: it continues from the last complete
 * checkpoint, with the same bits as without a failure. Compiled against another MPI it is the plain
 * program.
 */
#include "recovery.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a checkpoint must hold, besides the vectors. */
struct progress {
    uint64_t iteration; /* iterations completed */
    double rtrans;      /* square of the residual norm */
};

/* One rank's block. Vectors with halo have a plane below and one above their nz planes. */
struct solver {
    int nx, ny, nz, rank, size;
    size_t plane, points;
    double *x, *r, *b, *q;
    double *p; /* with halo */
    struct progress progress;
};

static struct {
    int nx, ny, nz;
    uint64_t iterations_max;
} options = {.iterations_max = 150};

static struct solver solver; /* keeps its value over a return to the begin of the loop */
static double seconds;       /* since the last one */

static double *vector(size_t n)
{
    double *v = calloc(n, sizeof(*v));
    if (!v) {
        recovery_fail("no memory for %zu numbers; choose a smaller block", n);
    }
    return v;
}

/* The number of points among the 27 around (i, j, k) that exist, itself left out. */
static int neighbours(const struct solver *s, int i, int j, int64_t k_global)
{
    int64_t nz_global = (int64_t)s->nz * s->size;
    int in_x = 1 + (i > 0) + (i < s->nx - 1);
    int in_y = 1 + (j > 0) + (j < s->ny - 1);
    int in_z = 1 + (k_global > 0) + (k_global < nz_global - 1);
    return in_x * in_y * in_z - 1;
}

static void solver_open(struct solver *s)
{
    MPI_Comm_rank(recovery_world(), &s->rank);
    MPI_Comm_size(recovery_world(), &s->size);
    if (!s->x) {
        s->nx = options.nx, s->ny = options.ny, s->nz = options.nz;
        s->plane = (size_t)s->nx * (size_t)s->ny;
        s->points = s->plane * (size_t)s->nz;
        s->x = vector(s->points);
        s->r = vector(s->points);
        s->b = vector(s->points);
        s->q = vector(s->points);
        s->p = vector(s->points + 2 * s->plane);
    }
    for (int k = 0; k < s->nz; k++) {
        for (int j = 0; j < s->ny; j++) {
            for (int i = 0; i < s->nx; i++) {
                s->b[(size_t)k * s->plane + (size_t)j * (size_t)s->nx + (size_t)i] =
                    27.0 - neighbours(s, i, j, (int64_t)s->rank * s->nz + k);
            }
        }
    }
}

/* Boundary planes of p to and from the blocks below and above; beyond the ends of the stack the
 * halo stays 0. */
static void exchange_planes(struct solver *s)
{
    int below = s->rank > 0 ? s->rank - 1 : MPI_PROC_NULL;
    int above = s->rank < s->size - 1 ? s->rank + 1 : MPI_PROC_NULL;
    int n = (int)s->plane;
    double *first = s->p + s->plane, *last = s->p + s->points;
    MPI_Comm world = recovery_world();
    MPI_Request requests[4];
    MPI_Irecv(s->p, n, MPI_DOUBLE, below, 1, world, &requests[0]);
    MPI_Irecv(s->p + s->points + s->plane, n, MPI_DOUBLE, above, 2, world, &requests[1]);
    MPI_Isend(last, n, MPI_DOUBLE, above, 1, world, &requests[2]);
    MPI_Isend(first, n, MPI_DOUBLE, below, 2, world, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The sum of the 3 x 3 x 3 cube around a point, in a fixed order; missing points count 0. */
static double cube_sum(const struct solver *s, const double *centre, int i, int j)
{
    double sum = 0.0;
    for (int dk = -1; dk <= 1; dk++) {
        for (int dj = j > 0 ? -1 : 0; dj <= (j < s->ny - 1 ? 1 : 0); dj++) {
            const double *row = centre + dk * (ptrdiff_t)s->plane + dj * (ptrdiff_t)s->nx;
            if (i > 0) {
                sum += row[-1];
            }
            sum += row[0];
            if (i < s->nx - 1) {
                sum += row[1];
            }
        }
    }
    return sum;
}

/* q = A p: 27 on the diagonal, -1 beside it, so A p = 28 p - (sum of the cube). */
static void apply_operator(struct solver *s)
{
    for (int k = 0; k < s->nz; k++) {
        for (int j = 0; j < s->ny; j++) {
            for (int i = 0; i < s->nx; i++) {
                size_t at = (size_t)k * s->plane + (size_t)j * (size_t)s->nx + (size_t)i;
                const double *centre = s->p + s->plane + at;
                s->q[at] = 28.0 * *centre - cube_sum(s, centre, i, j);
            }
        }
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double mine = 0.0, all;
    for (size_t i = 0; i < n; i++) {
        mine += a[i] * b[i];
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, recovery_world());
    return all;
}

/* x = 0, r = b, p = r. */
static void begin(struct solver *s)
{
    memset(s->x, 0, s->points * sizeof(*s->x));
    memcpy(s->r, s->b, s->points * sizeof(*s->r));
    memset(s->p, 0, (s->points + 2 * s->plane) * sizeof(*s->p));
    memcpy(s->p + s->plane, s->r, s->points * sizeof(*s->r));
    s->progress = (struct progress){.rtrans = dot(s->r, s->r, s->points)};
}

static void iterate(struct solver *s)
{
    double *p = s->p + s->plane;
    exchange_planes(s);
    apply_operator(s);
    double alpha = s->progress.rtrans / dot(p, s->q, s->points);
    for (size_t i = 0; i < s->points; i++) {
        s->x[i] += alpha * p[i];
        s->r[i] -= alpha * s->q[i];
    }
    double rtrans = dot(s->r, s->r, s->points), beta = rtrans / s->progress.rtrans;
    for (size_t i = 0; i < s->points; i++) {
        p[i] = s->r[i] + beta * p[i];
    }
    s->progress.rtrans = rtrans;
    s->progress.iteration++;
}

static void resume_or_begin(struct solver *s)
{
    recovery_protect(0, &s->progress, sizeof(s->progress));
    recovery_protect(1, s->x, s->points * sizeof(*s->x));
    recovery_protect(2, s->r, s->points * sizeof(*s->r));
    recovery_protect(3, s->p + s->plane, s->points * sizeof(*s->p));
    memset(s->p, 0, (s->points + 2 * s->plane) * sizeof(*s->p)); /* the halo beyond the ends is 0 */
    if (!recovery_restore()) {
        begin(s);
    }
}

static bool at_end(const struct solver *s)
{
    return s->progress.iteration >= options.iterations_max || s->progress.rtrans == 0.0;
}

static int solve(void)
{
    struct solver *s = &solver;
    solver_open(s);
    double start = MPI_Wtime();
    resume_or_begin(s);
    while (!at_end(s)) {
        recovery_mark(s->progress.iteration);
        iterate(s);
        if (!at_end(s)) {
            recovery_checkpoint(s->progress.iteration);
        }
    }
    seconds = MPI_Wtime() - start;
    return 0;
}

static void print_result(const struct solver *s)
{
    if (recovery_rank() != 0) {
        return;
    }
    printf("iterations %llu\nresidual %.17g\n", (unsigned long long)s->progress.iteration,
           sqrt(s->progress.rtrans));
    fprintf(stderr, "hpccg: %.3f s since the last start\n", seconds);
    fflush(stdout);
}

static void usage(void)
{
    fprintf(stderr,
            "usage: hpccg NX NY NZ [options]\n"
            "  NX NY NZ              points of each rank's block, 1 to 4096 each\n"
            "  --iterations N        iterations of the solver (150)\n"
            "%s"
            "Without --method there is a checkpoint every 10 iterations.\n",
            recovery_usage);
    exit(2);
}

static uint64_t number(const char *text, uint64_t low, uint64_t high)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (!*text || *end || *text == '-' || value < low || value > high) {
        fprintf(stderr, "hpccg: '%s' is not a number from %llu to %llu\n", text,
                (unsigned long long)low, (unsigned long long)high);
        usage();
    }
    return value;
}

static void parse(int argc, char **argv)
{
    int *dimensions[3] = {&options.nx, &options.ny, &options.nz}, given = 0;
    recovery_open(&(struct recovery_defaults){.program = "hpccg", .checkpoint_every = 10});
    for (int i = 1; i < argc; i++) {
        enum recovery_taken taken = recovery_option(argv[i], argv[i + 1], true);
        if (taken == RECOVERY_WRONG) {
            exit(2);
        }
        if (taken == RECOVERY_TAKEN) {
            i++;
        } else if (strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
            options.iterations_max = number(argv[++i], 1, 1000000000);
        } else if (argv[i][0] != '-' && given < 3) {
            *dimensions[given++] = (int)number(argv[i], 1, 4096);
        } else {
            usage();
        }
    }
    if (given != 3) {
        usage();
    }
    recovery_iterations(options.iterations_max);
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    MPI_Init(&argc, &argv);
    int result = recovery_run(argc, argv, solve);
    print_result(&solver);
    MPI_Finalize();
    return result;
}
