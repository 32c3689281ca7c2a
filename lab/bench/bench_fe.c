/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A finite-element program like MiniFE that loses a process and continues (local failure, local
 * recovery), for any MPI with ULFM:
 *
 *   bench_fe [ELEMENTS [LAYERS [ITERATIONS]]]
 *
 * Laplace's equation on trilinear hexahedra, zero on the boundary, by conjugate gradients; each
 * place has LAYERS layers of ELEMENTS x ELEMENTS. All ranks but the last have a place; the last one
 * is a spare. At a third of the iterations the process in the middle fails. The others revoke,
 * shrink, and put the spare in its place by a split; it takes the solution as its neighbour last
 * had it, and all restart from there. Prints `noticed`, `shrunk`, `repaired` and `resumed RANKS
 * MS`: from the kill until the last survivor has its error; from there until the last has the
 * shrunken communicator, and that of all places; from the kill until the last is iterating again;
 * and `error RANKS X`, the distance from the solution.
 */
#include "bench_dates.h"

#include <math.h>

enum { COPY_EVERY = 5, SPARE = -1 };

static struct {
    int elements, layers, iterations;
} options = {12, 2, 120};

/* Vectors have all nodes of the place, those of both its outer planes included. */
struct mesh {
    int nx; /* nodes along x and y */
    size_t plane, n;
    double stiffness[8][8];
    double *x, *r, *p, *q, *b, *exact, *copy; /* copy: of the place below */
};

static struct {
    struct mesh mesh;
    struct bench_dates *dates;
    MPI_Comm all, work;
    int me, size, place, places, failed; /* me: rank at the start; failed: the repair is done */
    long long noticed, shrunk, repaired, resumed;
} job;

static _Noreturn void give_up(const char *why, int code)
{
    fprintf(stderr, "bench_fe: rank %d: %s returned class %d\n", job.me, why, bench_class(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* ---- Elements ---- */

/* Derivatives of a node's trilinear function at a point of the unit cube. */
static void gradient(int node, const double at[3], double out[3])
{
    for (int d = 0; d < 3; d++) {
        out[d] = 1;
        for (int e = 0; e < 3; e++) {
            int high = node >> e & 1;
            double value = high ? at[e] : 1 - at[e];
            out[d] *= e == d ? (high ? 1 : -1) : value;
        }
    }
}

/* The stiffness of a cube, by Gauss' rule of two points in each direction. */
static void make_stiffness(struct mesh *mesh)
{
    const double points[2] = {0.5 - 0.5 / sqrt(3), 0.5 + 0.5 / sqrt(3)};
    memset(mesh->stiffness, 0, sizeof(mesh->stiffness));
    for (int g = 0; g < 8; g++) {
        double at[3] = {points[g & 1], points[g >> 1 & 1], points[g >> 2 & 1]}, of[8][3];
        for (int i = 0; i < 8; i++) {
            gradient(i, at, of[i]);
        }
        for (int i = 0; i < 8; i++) {
            for (int j = 0; j < 8; j++) {
                for (int d = 0; d < 3; d++) {
                    mesh->stiffness[i][j] += of[i][d] * of[j][d] / 8;
                }
            }
        }
    }
}

static size_t node_of(const struct mesh *mesh, int x, int y, int z)
{
    return (size_t)z * mesh->plane + (size_t)(y * mesh->nx + x);
}

static void add_element(struct mesh *mesh, int x, int y, int z, const double *in, double *out)
{
    size_t node[8];
    for (int i = 0; i < 8; i++) {
        node[i] = node_of(mesh, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2 & 1));
    }
    for (int i = 0; i < 8; i++) {
        double sum = 0;
        for (int j = 0; j < 8; j++) {
            sum += mesh->stiffness[i][j] * in[node[j]];
        }
        out[node[i]] += sum;
    }
}

static int on_boundary(const struct mesh *mesh, int x, int y, int z)
{
    int top = job.places * options.layers, z_global = job.place * options.layers + z;
    return x == 0 || y == 0 || x == mesh->nx - 1 || y == mesh->nx - 1 || z_global == 0 ||
           z_global == top;
}

static void clear_boundary(struct mesh *mesh, double *v)
{
    for (int z = 0; z <= options.layers; z++) {
        for (int y = 0; y < mesh->nx; y++) {
            for (int x = 0; x < mesh->nx; x++) {
                if (on_boundary(mesh, x, y, z)) {
                    v[node_of(mesh, x, y, z)] = 0;
                }
            }
        }
    }
}

/* ---- Communication; all return an MPI error code ---- */

/* Adds the values of the places below and above on the planes shared with this one. */
static int share_planes(struct mesh *mesh, double *v)
{
    static double *from;
    int n = (int)mesh->plane, code = MPI_SUCCESS;
    from = from ? from : malloc(2 * mesh->plane * sizeof(*from));
    double *low = v, *high = v + (size_t)options.layers * mesh->plane;
    int below = job.place > 0 ? job.place - 1 : MPI_PROC_NULL;
    int above = job.place < job.places - 1 ? job.place + 1 : MPI_PROC_NULL;
    memset(from, 0, 2 * mesh->plane * sizeof(*from));
    code = MPI_Sendrecv(high, n, MPI_DOUBLE, above, 1, from, n, MPI_DOUBLE, below, 1, job.work,
                        MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) {
        code = MPI_Sendrecv(low, n, MPI_DOUBLE, below, 2, from + n, n, MPI_DOUBLE, above, 2,
                            job.work, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++) {
        low[i] += from[i];
        high[i] += from[n + i];
    }
    return code;
}

static int apply(struct mesh *mesh, const double *in, double *out)
{
    memset(out, 0, mesh->n * sizeof(*out));
    for (int z = 0; z < options.layers; z++) {
        for (int y = 0; y < options.elements; y++) {
            for (int x = 0; x < options.elements; x++) {
                add_element(mesh, x, y, z, in, out);
            }
        }
    }
    int code = share_planes(mesh, out);
    clear_boundary(mesh, out);
    return code;
}

/* A shared plane counts at the place above it. */
static int dot(const struct mesh *mesh, const double *a, const double *b, double *all)
{
    double mine = 0;
    for (size_t i = 0; i < mesh->n - mesh->plane; i++) {
        mine += a[i] * b[i];
    }
    return MPI_Allreduce(&mine, all, 1, MPI_DOUBLE, MPI_SUM, job.work);
}

/* Each place keeps the solution of the one below; that of the last is kept by the first. */
static int keep_copies(struct mesh *mesh)
{
    int above = (job.place + 1) % job.places, below = (job.place + job.places - 1) % job.places;
    return MPI_Sendrecv(mesh->x, (int)mesh->n, MPI_DOUBLE, above, 3, mesh->copy, (int)mesh->n,
                        MPI_DOUBLE, below, 3, job.work, MPI_STATUS_IGNORE);
}

/* ---- The solver ---- */

static double *vector(size_t n)
{
    double *v = calloc(n, sizeof(*v));
    if (!v) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return v;
}

static void mesh_make(struct mesh *mesh)
{
    if (!mesh->x) {
        mesh->nx = options.elements + 1;
        mesh->plane = (size_t)(mesh->nx * mesh->nx);
        mesh->n = mesh->plane * (size_t)(options.layers + 1);
        double **vectors[] = {&mesh->x, &mesh->r,     &mesh->p,   &mesh->q,
                              &mesh->b, &mesh->exact, &mesh->copy};
        for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
            *vectors[i] = vector(mesh->n);
        }
        make_stiffness(mesh);
    }
}

/* The right-hand side that has the given solution. */
static int mesh_load(struct mesh *mesh)
{
    for (size_t i = 0; i < mesh->n; i++) {
        mesh->exact[i] =
            1 + 0.5 * sin((double)(i + (size_t)job.place * options.layers * mesh->plane));
    }
    clear_boundary(mesh, mesh->exact);
    return apply(mesh, mesh->exact, mesh->b);
}

/* From the current solution: r = b - A x, p = r. */
static int begin(struct mesh *mesh, double *rr)
{
    int code = apply(mesh, mesh->x, mesh->q);
    for (size_t i = 0; i < mesh->n; i++) {
        mesh->p[i] = mesh->r[i] = mesh->b[i] - mesh->q[i];
    }
    return code != MPI_SUCCESS ? code : dot(mesh, mesh->r, mesh->r, rr);
}

static int iterate(struct mesh *mesh, double *rr)
{
    double pq, next;
    int code = apply(mesh, mesh->p, mesh->q);
    if (code != MPI_SUCCESS || (code = dot(mesh, mesh->p, mesh->q, &pq)) != MPI_SUCCESS) {
        return code;
    }
    double alpha = pq > 0 ? *rr / pq : 0;
    for (size_t i = 0; i < mesh->n; i++) {
        mesh->x[i] += alpha * mesh->p[i];
        mesh->r[i] -= alpha * mesh->q[i];
    }
    code = dot(mesh, mesh->r, mesh->r, &next);
    if (code != MPI_SUCCESS) {
        return code;
    }
    double beta = *rr > 0 ? next / *rr : 0;
    for (size_t i = 0; i < mesh->n; i++) {
        mesh->p[i] = mesh->r[i] + beta * mesh->p[i];
    }
    *rr = next;
    return MPI_SUCCESS;
}

static int solve(struct mesh *mesh)
{
    double rr = 0;
    mesh_make(mesh);
    int code = mesh_load(mesh), victim = !job.failed && job.place == job.places / 2;
    code = code != MPI_SUCCESS ? code : begin(mesh, &rr);
    if (job.failed && code == MPI_SUCCESS) {
        job.resumed = bench_now();
    }
    for (int i = 0; code == MPI_SUCCESS && i < options.iterations; i++) {
        if (victim && i == options.iterations / 3) {
            job.dates->killed = bench_now();
            kill(getpid(), SIGKILL);
        }
        code = iterate(mesh, &rr);
        if (code == MPI_SUCCESS && i % COPY_EVERY == 0) {
            code = keep_copies(mesh);
        }
    }
    return code;
}

/* ---- Repair ---- */

/* The places of all processes, by rank in `all`, and the empty one. */
static int find_lost(void)
{
    int size, taken[BENCH_RANKS_MAX] = {0}, places[BENCH_RANKS_MAX];
    MPI_Comm_size(job.all, &size);
    int code = MPI_Allgather(&job.place, 1, MPI_INT, places, 1, MPI_INT, job.all);
    if (code != MPI_SUCCESS) {
        give_up("MPI_Allgather", code);
    }
    for (int i = 0; i < size; i++) {
        if (places[i] != SPARE) {
            taken[places[i]] = 1;
        }
    }
    for (int i = 0; i < job.places; i++) {
        if (!taken[i]) {
            return i;
        }
    }
    return SPARE;
}

static void give_copy(struct mesh *mesh, int lost)
{
    int keeper = (lost + 1) % job.places;
    if (job.place == keeper) {
        MPI_Send(mesh->copy, (int)mesh->n, MPI_DOUBLE, lost, 4, job.work);
    }
    if (job.place == lost) {
        MPI_Recv(mesh->x, (int)mesh->n, MPI_DOUBLE, keeper, 4, job.work, MPI_STATUS_IGNORE);
    }
}

static void repair(void)
{
    MPI_Comm whole;
    job.noticed = bench_now();
    MPIX_Comm_revoke(job.all);
    if (job.work != MPI_COMM_NULL) {
        MPIX_Comm_revoke(job.work);
    }
    int code = MPIX_Comm_shrink(job.all, &whole);
    if (code != MPI_SUCCESS) {
        give_up("MPIX_Comm_shrink", code);
    }
    job.shrunk = bench_now();
    job.all = whole;
    int lost = find_lost();
    job.place = job.place == SPARE ? lost : job.place;
    code = MPI_Comm_split(whole, job.place == SPARE ? MPI_UNDEFINED : 0, job.place, &job.work);
    if (code != MPI_SUCCESS) {
        give_up("MPI_Comm_split", code);
    }
    job.repaired = bench_now();
    job.failed = 1;
}

/* Interrupted by the revocation, because no process ever sends. */
static int wait_as_spare(void)
{
    int nothing;
    return MPI_Recv(&nothing, 1, MPI_INT, 0, 5, job.all, MPI_STATUS_IGNORE);
}

/* ---- Times ---- */

static double latest_ms(long long mine, long long since)
{
    long long all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_MAX, job.work);
    return (double)(all - since) / 1e6;
}

static void show(const struct mesh *mesh)
{
    double worst = 0, all = 0;
    long long killed = job.dates->killed;
    for (size_t i = 0; i < mesh->n; i++) {
        worst = fmax(worst, fabs(mesh->x[i] - mesh->exact[i]));
    }
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, job.work);
    double noticed = latest_ms(job.noticed, killed), shrunk = latest_ms(job.shrunk, killed);
    double repaired = latest_ms(job.repaired, killed), resumed = latest_ms(job.resumed, killed);
    if (job.place == 0) {
        printf("noticed %d %.4f\nshrunk %d %.4f\nrepaired %d %.4f\nresumed %d %.4f\n"
               "error %d %.3g\n",
               job.size, noticed, job.size, shrunk - noticed, job.size, repaired - noticed,
               job.size, resumed, job.size, all);
    }
    fflush(stdout);
    MPI_Barrier(job.work);
}

int main(int argc, char **argv)
{
    int *const numbers[] = {&options.elements, &options.layers, &options.iterations};
    for (int i = 1; i < argc; i++) {
        if (i > 3 || (*numbers[i - 1] = atoi(argv[i])) < 1 || *numbers[i - 1] > 10000) {
            fprintf(stderr, "usage: bench_fe [ELEMENTS [LAYERS [ITERATIONS]]]\n");
            return 2;
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.me);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    if (job.size < 3) {
        fprintf(stderr, "bench_fe: it wants three ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    job.dates = bench_dates_of_world(argv[0]);
    job.places = job.size - 1;
    job.place = job.me < job.places ? job.me : SPARE;
    MPI_Comm_dup(MPI_COMM_WORLD, &job.all);
    MPI_Comm_split(job.all, job.place == SPARE ? MPI_UNDEFINED : 0, job.place, &job.work);
    int lost = job.places / 2, code = job.place == SPARE ? wait_as_spare() : solve(&job.mesh);
    if (code == MPI_SUCCESS) {
        give_up("the solver before the failure", code);
    }
    repair();
    mesh_make(&job.mesh);
    give_copy(&job.mesh, lost);
    code = solve(&job.mesh);
    if (code != MPI_SUCCESS) {
        give_up("the solver after the repair", code);
    }
    show(&job.mesh);
    return bench_finish(1);
}
