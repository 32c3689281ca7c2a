/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shock hydrodynamics like the proxy application LULESH 2.0, written from its published
 * descriptions (LLNL-TR-490254, LLNL-TR-641973): Sedov's blast wave, from the corner of a cube of
 * gas, on a staggered Lagrangian mesh. The ranks are a cube too; per step six messages of forces,
 * six of velocity gradients, and one reduction of 16 bytes for the length of the next step.
 *
 *   lulesh [-s SIZE] [-i ITERATIONS] ... (see usage below)
 *
 * prints the energy of the element at the origin (17 digits), how symmetric the result is, the
 * total energy, and a digest of all bits of the state. It checks itself: x and y must be
 * interchangeable, and the total energy stay within the bound DRIFT_MAX; else it prints a message
 * and ends with 1. Under Rhizome it survives the loss of processes and nodes, in one of the ways of
 * apps/recovery, with the same bits as without a failure, and the bits are those of any other
 * number of ranks on the same mesh. Compiled against another MPI it is the plain program.
 */
#include "lulesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of the problem, and how the length of a step may change. */
static const double TIME_END = 1e-2, DT_MAX = 1e-2, GROWTH_LEAST = 1.1, GROWTH_MAX = 1.2;

/* Bound of the relative change of the energy, including what was lost: an error of the time steps,
 * in proportion to their length, and nearly all of it from the first ones, which are long for a
 * blast. Seen: 0.056, on any mesh from 2 to 30. */
static const double DRIFT_MAX = 0.08;
/* How far an element may be from its mirror image, relative to its energy. */
static const double ASYMMETRY_MAX = 1e-6;

static struct lulesh_options options = {
    .edge = 10, .iterations = 9999999, .regions = 11, .cost = 1, .print_every = 100};

struct asymmetry {
    double largest, total, largest_relative;
};

/* What is printed at the end, by rank 0. */
struct result {
    struct asymmetry off;
    uint64_t state;
    double seconds; /* since the last return to the begin of the loop */
    uint64_t steps; /* since then */
};

/* These keep their values over a return to the begin of the loop. */
static struct lulesh_mesh mesh_;
static struct lulesh_progress progress;
static struct result found;

static int rank_world;

_Noreturn void lulesh_fail(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    recovery_fail("iteration %llu: %s", (unsigned long long)progress.iteration, text);
}

void *lulesh_memory(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory) {
        lulesh_fail("no memory for %zu times %zu bytes; choose a smaller -s", n, size);
    }
    return memory;
}

/* What the elements allow, but growing neither little by little nor by much. */
static double next_dt(double courant, double hydro, double old)
{
    double dt = 1e20;
    if (courant < dt) {
        dt = courant / 2.0;
    }
    if (hydro < dt) {
        dt = hydro * 2.0 / 3.0;
    }
    if (dt >= old && dt < GROWTH_LEAST * old) {
        dt = old;
    }
    return fmin(fmin(dt, GROWTH_MAX * old), DT_MAX);
}

/* The length of the next step, and the clock. The limits of all ranks are joined before the rule is
 * applied, so that it gives the same for any number of ranks. */
static void advance_clock(const struct lulesh_mesh *mesh)
{
    double left = TIME_END - progress.time;
    if (options.dt > 0.0) {
        progress.dt = options.dt;
    } else if (progress.iteration > 0) {
        double mine[2] = {progress.courant, progress.hydro}, all[2];
        MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MIN, mesh->place.comm);
        progress.dt = next_dt(all[0], all[1], progress.dt);
    }
    if (left > progress.dt && left < 4.0 * progress.dt / 3.0) { /* or the last step is tiny */
        left = 2.0 * progress.dt / 3.0;
    }
    progress.dt = fmin(progress.dt, left);
    progress.time += progress.dt;
}

static void step(struct lulesh_mesh *mesh)
{
    advance_clock(mesh);
    progress.lost += progress.dt * lulesh_force(mesh);
    lulesh_move(mesh, progress.dt);
    lulesh_elements(mesh, &options, progress.dt);
    lulesh_constraints(mesh, &progress.courant, &progress.hydro);
    progress.iteration++;
}

/* Whether a node is counted here: one that several ranks have is counted by the upper one. */
static bool own_node(const struct lulesh_mesh *mesh, size_t node)
{
    const struct lulesh_place *place = &mesh->place;
    size_t m = (size_t)mesh->edge + 1, at[3] = {node % m, node / m % m, node / m / m};
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] == m - 1 && place->at[axis] < place->ranks - 1) {
            return false;
        }
    }
    return true;
}

/* The larger of two errors; NaN is the largest, and fmax would drop it. */
static double worse(double old, double now)
{
    return isnan(now) ? INFINITY : fmax(old, now);
}

struct energies {
    double internal, kinetic, lost; /* of all ranks */
};

static struct energies energies(const struct lulesh_mesh *mesh)
{
    struct energies mine = {.lost = progress.lost}, all;
    for (size_t e = 0; e < mesh->elements; e++) {
        mine.internal += mesh->energy[e] * mesh->volume_start[e];
    }
    for (size_t node = 0; node < mesh->nodes; node++) {
        if (own_node(mesh, node)) {
            mine.kinetic +=
                0.5 * mesh->mass[node] * vec_dot(mesh->velocity[node], mesh->velocity[node]);
        }
    }
    MPI_Allreduce(&mine, &all, 3, MPI_DOUBLE, MPI_SUM, mesh->place.comm);
    return all;
}

static uint64_t mix_in(uint64_t hash, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        hash = lulesh_mix(hash ^ bits);
    }
    return hash;
}

/* The same for any number of ranks: the sum over elements and nodes of a hash of each one's bits.
 */
static uint64_t digest(const struct lulesh_mesh *mesh)
{
    uint64_t mine = 0, all;
    for (size_t e = 0; e < mesh->elements; e++) {
        double values[] = {mesh->energy[e], mesh->pressure[e], mesh->q[e], mesh->volume[e],
                           mesh->sound[e]};
        uint64_t id = lulesh_global(mesh, e, mesh->edge, mesh->edge_all);
        mine += mix_in(lulesh_mix(2 * id), values, sizeof(values) / sizeof(*values));
    }
    for (size_t node = 0; node < mesh->nodes; node++) {
        if (!own_node(mesh, node)) {
            continue;
        }
        uint64_t id = lulesh_global(mesh, node, mesh->edge + 1, mesh->edge_all + 1);
        uint64_t hash = mix_in(lulesh_mix(2 * id + 1), &mesh->position[node].x, 3);
        mine += mix_in(hash, &mesh->velocity[node].x, 3);
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, mesh->place.comm);
    return all;
}

/* Compares this rank's part of the lowest layer of elements with its image under exchange of x and
 * y, mirrored: rows of it are columns here. Each pair counts once. */
static struct asymmetry compare(const struct lulesh_mesh *mesh, const double *mirrored)
{
    const struct lulesh_place *place = &mesh->place;
    struct asymmetry found = {0};
    size_t n = (size_t)mesh->edge;
    for (size_t y = 0; y < n; y++) {
        for (size_t x = 0; x < n; x++) {
            double here = mesh->energy[y * n + x], there = mirrored[x * n + y];
            double difference = fabs(here - there);
            if (place->at[0] < place->at[1] || (place->at[0] == place->at[1] && x <= y)) {
                continue;
            }
            found.total += difference;
            found.largest = worse(found.largest, difference);
            if (difference != 0.0) {
                found.largest_relative =
                    worse(found.largest_relative, difference / fmax(fabs(here), fabs(there)));
            }
        }
    }
    return found;
}

static struct asymmetry asymmetry(const struct lulesh_mesh *mesh)
{
    const struct lulesh_place *place = &mesh->place;
    size_t n = (size_t)mesh->edge;
    double *mirrored = lulesh_memory(n * n, sizeof(*mirrored));
    struct asymmetry mine = {0}, all;
    int mirror, at[3] = {place->at[1], place->at[0], place->at[2]};
    MPI_Cart_rank(place->comm, at, &mirror);
    if (place->at[2] == 0) {
        MPI_Sendrecv(mesh->energy, (int)(n * n), MPI_DOUBLE, mirror, 6, mirrored, (int)(n * n),
                     MPI_DOUBLE, mirror, 6, place->comm, MPI_STATUS_IGNORE);
        mine = compare(mesh, mirrored);
    }
    MPI_Allreduce(&mine.total, &all.total, 1, MPI_DOUBLE, MPI_SUM, place->comm);
    double worst[2] = {mine.largest, mine.largest_relative}, worst_all[2];
    MPI_Allreduce(worst, worst_all, 2, MPI_DOUBLE, MPI_MAX, place->comm);
    all.largest = worst_all[0];
    all.largest_relative = worst_all[1];
    free(mirrored);
    return all;
}

/* Rank 0 of a Cartesian communicator is at its origin. */
static void report(const struct lulesh_mesh *mesh)
{
    struct energies now = energies(mesh);
    double total = now.internal + now.kinetic + now.lost;
    progress.drift = worse(progress.drift, fabs(total / lulesh_energy_start() - 1.0));
    if (mesh->place.rank != 0) {
        return;
    }
    printf("step %llu time %.6e dt %.6e origin %.6e internal %.9e kinetic %.9e lost %.9e\n",
           (unsigned long long)progress.iteration, progress.time, progress.dt, mesh->energy[0],
           now.internal, now.kinetic, now.lost);
    fflush(stdout);
}

/* Prints the result; the program's exit status. Rank 0's result is that of all: the checked values
 * are the same on all ranks. */
static int assess(const struct lulesh_mesh *mesh)
{
    const struct asymmetry *off = &found.off;
    bool conserved = progress.drift <= DRIFT_MAX;
    bool symmetric = off->largest_relative <= ASYMMETRY_MAX;
    if (recovery_rank() == 0) {
        printf("mesh %llu\niterations %llu\norigin energy %.17g\n",
               (unsigned long long)mesh->edge_all, (unsigned long long)progress.iteration,
               mesh->energy[0]);
        printf("MaxAbsDiff %.6e\nTotalAbsDiff %.6e\nMaxRelDiff %.6e\n", off->largest, off->total,
               off->largest_relative);
        printf("drift %.3e\nstate %016llx\n", progress.drift, (unsigned long long)found.state);
        fflush(stdout);
        if (!conserved) {
            fprintf(stderr, "lulesh: energy is not conserved: off by %g, more than %g\n",
                    progress.drift, DRIFT_MAX);
        }
        if (!symmetric) {
            fprintf(stderr, "lulesh: x and y differ by %g, more than %g\n", off->largest_relative,
                    ASYMMETRY_MAX);
        }
        fprintf(stderr, "lulesh: %d ranks, %.3f s since the last start, %.4g elements/us\n",
                mesh->place.size, found.seconds,
                (double)found.steps * (double)mesh->elements * mesh->place.size /
                    (found.seconds * 1e6));
    }
    return conserved && symmetric ? 0 : 1;
}

/* Sedov's problem at its beginning. A checkpoint holds what changes; the rest comes from here. */
static void begin(struct lulesh_mesh *mesh)
{
    progress = (struct lulesh_progress){.dt = lulesh_dt_start(mesh)};
    lulesh_mesh_begin(mesh, &options);
}

static void protect(struct lulesh_mesh *mesh)
{
    double *lists[] = {mesh->energy, mesh->pressure, mesh->q, mesh->volume, mesh->sound};
    int id = 0;
    recovery_protect(id++, &progress, sizeof(progress));
    recovery_protect(id++, mesh->position, mesh->nodes * sizeof(*mesh->position));
    recovery_protect(id++, mesh->velocity, mesh->nodes * sizeof(*mesh->velocity));
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        recovery_protect(id++, lists[i], mesh->elements * sizeof(*lists[i]));
    }
}

static bool at_end(void)
{
    return progress.time >= TIME_END || progress.iteration >= options.iterations;
}

static bool is_cube(void);

static int simulate(void)
{
    struct lulesh_mesh *mesh = &mesh_;
    double start = MPI_Wtime();
    if (!is_cube()) {
        return 2;
    }
    lulesh_mesh_open(mesh, &options);
    begin(mesh);
    protect(mesh);
    recovery_restore();
    uint64_t first = progress.iteration;
    if (first == 0) {
        report(mesh);
    }
    while (!at_end()) {
        recovery_mark(progress.iteration);
        step(mesh);
        if (progress.iteration % options.print_every == 0 || at_end()) {
            report(mesh);
        }
        if (!at_end()) {
            recovery_checkpoint(progress.iteration);
        }
    }
    found = (struct result){asymmetry(mesh), digest(mesh), MPI_Wtime() - start,
                            progress.iteration - first};
    return 0;
}

static void usage(FILE *to)
{
    if (rank_world == 0) {
        fprintf(
            to,
            "usage: lulesh [options], on 1, 8, 27, 64 ... ranks\n"
            "  -s SIZE               elements along an edge of each rank's cube, 1 to 1000 (10)\n"
            "  -i, --iterations N    steps at most (until time 0.01)\n"
            "  --regions N           materials, of unequal size and cost, 1 to 1000 (11)\n"
            "  --cost N              how much more expensive some of them are (1)\n"
            "  --dt T                length of every step, 1e-12 to 0.01 (chosen by the elements)\n"
            "  --print-every K       steps between prints (100)\n"
            "%s"
            "  --help                this text\n"
            "Without --method there is a checkpoint every 50 steps.\n",
            recovery_usage);
    }
}

/* Reports what is wrong with the command line; false. */
static bool wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool wrong(const char *format, ...)
{
    if (rank_world != 0) {
        return false;
    }
    va_list arguments;
    va_start(arguments, format);
    fputs("lulesh: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("; see lulesh --help\n", stderr);
    va_end(arguments);
    return false;
}

/* An option and its destination: a whole number, small or large, or a quantity. */
struct setting {
    const char *name;
    double low, high;
    int *small;
    uint64_t *large;
    double *quantity;
};

static const struct setting settings[] = {
    {"-s", 1, 1000, .small = &options.edge},
    {"-i", 0, 1e9, .large = &options.iterations},
    {"--iterations", 0, 1e9, .large = &options.iterations},
    {"--regions", 1, 1000, .small = &options.regions},
    {"--cost", 0, 1000, .small = &options.cost},
    {"--dt", 1e-12, 1e-2, .quantity = &options.dt},
    {"--print-every", 1, 1e9, .large = &options.print_every},
};

static const struct setting *find_setting(const char *name)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        if (strcmp(name, settings[i].name) == 0) {
            return &settings[i];
        }
    }
    return NULL;
}

static bool set(const struct setting *setting, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    bool whole = text[strspn(text, "0123456789")] == '\0';
    if (!*text || *end || !(value >= setting->low && value <= setting->high) ||
        (!whole && !setting->quantity)) {
        return wrong("%s '%s' is not a %s from %g to %g", setting->name, text,
                     setting->quantity ? "number" : "whole number", setting->low, setting->high);
    }
    if (setting->small) {
        *setting->small = (int)value;
    } else if (setting->large) {
        *setting->large = (uint64_t)value;
    } else {
        *setting->quantity = value;
    }
    return true;
}

static bool parse(int argc, char **argv)
{
    recovery_open(&(struct recovery_defaults){.program = "lulesh", .checkpoint_every = 50});
    for (int i = 1; i < argc; i += 2) {
        enum recovery_taken taken = recovery_option(argv[i], argv[i + 1], rank_world == 0);
        const struct setting *setting = find_setting(argv[i]);
        if (taken == RECOVERY_WRONG) {
            return false;
        }
        if (taken == RECOVERY_TAKEN) {
            continue;
        }
        if (!setting) {
            return wrong("unknown option '%s'", argv[i]);
        }
        if (i + 1 == argc) {
            return wrong("%s wants a value", argv[i]);
        }
        if (!set(setting, argv[i + 1])) {
            return false;
        }
    }
    recovery_iterations(options.iterations);
    return true;
}

static bool is_cube(void)
{
    int ranks;
    MPI_Comm_size(recovery_world(), &ranks);
    return lulesh_cube_root(ranks) > 0 ||
           wrong("%d ranks cannot be a cube; start 1, 8, 27, 64 ...", ranks);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

static int run(int argc, char **argv)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_world);
    if (asks_for_help(argc, argv)) {
        usage(stdout);
        return 0;
    }
    if (!parse(argc, argv)) {
        return 2;
    }
    int result = recovery_run(argc, argv, simulate);
    return result == 0 ? assess(&mesh_) : result;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int result = run(argc, argv);
    MPI_Finalize();
    return result;
}
