/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Molecular dynamics of copper, like the proxy application CoMD 1.1, written from its published
 * description: atoms of an fcc lattice in a periodic box, link cells, Lennard-Jones (or, with
 * --eam, embedded atoms after Sutton and Chen), velocity Verlet; ranks as a grid, six messages per
 * step for the atoms that leave and the halo, six more for the embedding, sums at each print.
 *
 *   comd [-x X] [-y Y] [-z Z] [-i PX] [-j PY] [-k PZ] [-N STEPS] [--eam] ... (see usage below)
 *
 * prints per line the energy of an atom in eV (17 digits), and at the end a digest of all bits of
 * all positions and momenta. It checks itself: no atom is lost, the total momentum stays 0, the
 * energy stays within the bound DRIFT_MAX; else it prints a message and ends with 1. Under Rhizome
 * it survives the loss of processes and nodes, in one of the ways of apps/recovery, with the same
 * bits as without a failure: all sums have an order that depends on the atoms alone. Compiled
 * against another MPI it is the plain program.
 */
#include "comd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bound of the change of the total energy, as a part of the kinetic energy at the start, for steps
 * of 1 fs: the error of velocity Verlet grows with the square of the step. Seen: 3.3e-4
 * (Lennard-Jones), 2.2e-4 (EAM) in 1 ps at 600 K. For any length of the step at most
 * DRIFT_ANYHOW. */
static const double DRIFT_MAX = 1e-3, DRIFT_ANYHOW = 0.1;
/* And the part of the energy itself that rounding may take, where nothing moves. */
static const double ROUNDING_MAX = 1e-12;
/* The total momentum per atom, relative to that of an atom of 1/2 eV: rounding alone. */
static const double MOMENTUM_MAX = 1e-12;

/* What a checkpoint must hold, besides the atoms. */
struct progress {
    uint64_t step; /* steps completed */
    uint64_t atoms;
    double energy_start, kinetic_start;
    double drift; /* the largest seen, as a part of the energy */
};

static struct comd_options options = {
    .cells = {20, 20, 20}, .dt = 1.0, .temperature = 600.0, .steps = 100, .print_every = 10};

/* These keep their values over a return to the begin of the loop. */
static struct comd_system system_;
static struct progress progress;
static uint64_t state;          /* digest of the last one */
static double seconds;          /* since the last return */
static struct comd_atom *saved; /* own atoms, as a checkpoint holds them */
static size_t saved_max;

void *comd_memory(void *old, size_t n, size_t size)
{
    void *memory = n <= SIZE_MAX / size ? realloc(old, n * size) : NULL;
    if (!memory) {
        recovery_fail("no memory for %zu times %zu bytes; choose a smaller lattice", n, size);
    }
    return memory;
}

/* Velocity Verlet: half a kick and a drift before the new forces, half a kick after. Only own atoms
 * are left in the list. */
static void kick_and_drift(struct comd_system *s)
{
    size_t count = 0;
    double units[3], cell[3];
    for (int axis = 0; axis < 3; axis++) {
        units[axis] = options.dt / (s->potential.mass * s->domain.scale[axis]);
        cell[axis] = 18446744073709551616.0 / s->domain.total[axis];
    }
    COMD_FOR_OWN_CELLS(&s->domain, c)
    for (size_t i = s->start[c]; i < s->start[c + 1]; i++) {
        struct comd_atom atom = s->atoms[i];
        for (int axis = 0; axis < 3; axis++) {
            atom.p[axis] += 0.5 * options.dt * s->force[i][axis];
            double move = atom.p[axis] * units[axis];
            if (!(fabs(move) < cell[axis])) {
                recovery_fail("step %llu: atom %u moved further than a cell; take a shorter --dt",
                              (unsigned long long)progress.step, (unsigned)atom.id);
            }
            atom.x[axis] += (uint64_t)llrint(move);
        }
        s->atoms[count++] = atom;
    }
    s->atoms_count = count;
}

static void kick(struct comd_system *s)
{
    COMD_FOR_OWN_CELLS(&s->domain, c)
    for (size_t i = s->start[c]; i < s->start[c + 1]; i++) {
        for (int axis = 0; axis < 3; axis++) {
            s->atoms[i].p[axis] += 0.5 * options.dt * s->force[i][axis];
        }
    }
}

static void step(struct comd_system *s)
{
    kick_and_drift(s);
    comd_domain_redistribute(s);
    comd_force(s);
    kick(s);
    progress.step++;
}

static struct comd_totals totals(const struct comd_system *s)
{
    double mine[5] = {s->potential_energy}, all[5];
    uint64_t atoms = 0, atoms_all;
    COMD_FOR_OWN_CELLS(&s->domain, c)
    {
        double sums[4] = {0}; /* by cell first: long sums of small numbers lose digits */
        for (size_t i = s->start[c]; i < s->start[c + 1]; i++, atoms++) {
            for (int axis = 0; axis < 3; axis++) {
                double p = s->atoms[i].p[axis];
                sums[0] += 0.5 * p * p / s->potential.mass;
                sums[1 + axis] += p;
            }
        }
        for (int k = 0; k < 4; k++) {
            mine[1 + k] += sums[k];
        }
    }
    MPI_Allreduce(mine, all, 5, MPI_DOUBLE, MPI_SUM, s->domain.comm);
    MPI_Allreduce(&atoms, &atoms_all, 1, MPI_UINT64_T, MPI_SUM, s->domain.comm);
    return (struct comd_totals){all[0], all[1], {all[2], all[3], all[4]}, atoms_all};
}

/* The same in every decomposition: the sum over atoms of a hash of each one's bits. */
static uint64_t digest(const struct comd_system *s)
{
    uint64_t mine = 0, all;
    COMD_FOR_OWN_CELLS(&s->domain, c)
    for (size_t i = s->start[c]; i < s->start[c + 1]; i++) {
        uint64_t hash = comd_mix(s->atoms[i].id), bits;
        for (int axis = 0; axis < 3; axis++) {
            memcpy(&bits, &s->atoms[i].p[axis], sizeof(bits));
            hash = comd_mix(comd_mix(hash ^ s->atoms[i].x[axis]) ^ bits);
        }
        mine += hash;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, s->domain.comm);
    return all;
}

/* How far the energy may be from its start. */
static double energy_bound(void)
{
    double part = DRIFT_MAX * options.dt * options.dt;
    part = part < DRIFT_ANYHOW ? part : DRIFT_ANYHOW;
    return part * progress.kinetic_start + ROUNDING_MAX * fabs(progress.energy_start);
}

/* Whether the conserved quantities are conserved; all ranks get the same answer. */
static bool conserved(const struct comd_system *s, const struct comd_totals *now)
{
    double off = fabs(now->potential + now->kinetic - progress.energy_start);
    double drift = off / fabs(progress.energy_start);
    const double *p = now->momentum;
    double momentum = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) /
                      ((double)s->atoms_all * sqrt(s->potential.mass));
    const char *what = NULL;
    progress.drift = drift > progress.drift ? drift : progress.drift;
    if (now->atoms != s->atoms_all) {
        what = "atoms were lost or doubled";
    } else if (!(momentum <= MOMENTUM_MAX)) {
        what = "momentum is not conserved";
    } else if (!(off <= energy_bound())) {
        what = "energy is not conserved";
    }
    if (what && s->domain.rank == 0) {
        fprintf(stderr, "comd: step %llu: %s: %llu atoms of %llu, momentum %g, drift %g\n",
                (unsigned long long)progress.step, what, (unsigned long long)now->atoms,
                (unsigned long long)s->atoms_all, momentum, drift);
    }
    return !what;
}

/* Prints the state; false when a quantity is not conserved. */
static bool report(const struct comd_system *s)
{
    struct comd_totals now = totals(s);
    double n = (double)s->atoms_all;
    if (progress.step == 0) {
        progress.energy_start = now.potential + now.kinetic;
        progress.kinetic_start = now.kinetic;
    }
    if (s->domain.rank == 0) {
        printf("step %llu energy %.17g potential %.12g kinetic %.12g\n",
               (unsigned long long)progress.step, (now.potential + now.kinetic) / n,
               now.potential / n, now.kinetic / n);
        fflush(stdout);
    }
    return conserved(s, &now);
}

/* The atoms begin at the lattice. */
static void begin(struct comd_system *s)
{
    progress = (struct progress){0};
    comd_lattice_fill(s, &options);
}

/* A piece has the same size in every generation, so it has space for more atoms than the mean. */
static void protect(const struct comd_system *s)
{
    size_t mean = (size_t)(s->atoms_all / (uint64_t)s->domain.size);
    saved_max = mean + mean / 4 + 512;
    if (!saved) {
        saved = comd_memory(NULL, saved_max, sizeof(*saved));
        memset(saved, 0, saved_max * sizeof(*saved));
    }
    recovery_protect(0, &progress, sizeof(progress));
    recovery_protect(1, saved, saved_max * sizeof(*saved));
}

static void resume_or_begin(struct comd_system *s)
{
    if (recovery_checkpoints()) {
        protect(s);
    }
    if (!recovery_restore()) {
        begin(s);
        return;
    }
    s->atoms_count = (size_t)progress.atoms;
    comd_atoms_reserve(s, s->atoms_count);
    memcpy(s->atoms, saved, s->atoms_count * sizeof(*saved));
}

static void checkpoint(const struct comd_system *s)
{
    if (!recovery_checkpoint_due(progress.step) || progress.step >= options.steps) {
        return;
    }
    progress.atoms = 0;
    COMD_FOR_OWN_CELLS(&s->domain, c)
    for (size_t i = s->start[c]; i < s->start[c + 1]; i++) {
        if (progress.atoms == saved_max) {
            recovery_fail("more than %zu atoms came to one rank: no room in the checkpoint",
                          saved_max);
        }
        saved[progress.atoms++] = s->atoms[i];
    }
    recovery_checkpoint(progress.step);
}

static int simulate(void)
{
    struct comd_system *s = &system_;
    double start = MPI_Wtime();
    comd_potential_open(&s->potential, &options);
    s->atoms_all = comd_atoms_all(&options);
    comd_domain_open(s, &options);
    resume_or_begin(s);
    comd_domain_redistribute(s);
    comd_force(s);
    if (progress.step == 0 && !report(s)) {
        return 1;
    }
    while (progress.step < options.steps) {
        recovery_mark(progress.step);
        step(s);
        bool print = progress.step % options.print_every == 0 || progress.step == options.steps;
        if (print && !report(s)) {
            return 1;
        }
        checkpoint(s);
    }
    state = digest(s);
    seconds = MPI_Wtime() - start;
    return 0;
}

static void print_result(const struct comd_system *s)
{
    if (recovery_rank() != 0) {
        return;
    }
    printf("atoms %llu\ndrift %.3g\nstate %016llx\n", (unsigned long long)s->atoms_all,
           progress.drift, (unsigned long long)state);
    fprintf(stderr, "comd: %d x %d x %d ranks, %.3f s since the last start\n", s->domain.ranks[0],
            s->domain.ranks[1], s->domain.ranks[2], seconds);
    fflush(stdout);
}

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: comd [options]\n"
            "  -x X -y Y -z Z        unit cells of the whole lattice (20 each)\n"
            "  -i PX -j PY -k PZ     ranks along each axis (chosen by MPI_Dims_create)\n"
            "  -N, --iterations STEPS time steps (100)\n"
            "  --dt FS               length of a step in fs (1)\n"
            "  --temperature K       of the start (600)\n"
            "  --eam                 embedded atoms instead of Lennard-Jones\n"
            "  --lattice A           edge of a unit cell in A (3.615; with --eam 3.61)\n"
            "  --cutoff A            range of the forces in A (5.7875; with --eam 7.0395)\n"
            "  --print-every K       steps between prints and checks (10)\n"
            "%s"
            "Without --method there is a checkpoint every 10 steps.\n",
            recovery_usage);
    exit(2);
}

static uint64_t number(const char *text, uint64_t low, uint64_t high)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (!*text || *end || *text == '-' || value < low || value > high) {
        fprintf(stderr, "comd: '%s' is not a number from %llu to %llu\n", text,
                (unsigned long long)low, (unsigned long long)high);
        usage();
    }
    return value;
}

static double quantity(const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (!*text || *end || !(value >= low && value <= high)) {
        fprintf(stderr, "comd: '%s' is not a number from %g to %g\n", text, low, high);
        usage();
    }
    return value;
}

/* Takes an option that has a value; false when it is none. */
static bool take(const char *name, const char *value)
{
    static const char axes[] = "xyz", grid[] = "ijk";
    const char *found = NULL;
    if (strcmp(name, "-N") == 0 || strcmp(name, "--iterations") == 0) {
        options.steps = number(value, 0, 1000000000);
    } else if (name[0] == '-' && name[1] && !name[2] && (found = strchr(axes, name[1]))) {
        options.cells[found - axes] = (int)number(value, 1, 100000);
    } else if (name[0] == '-' && name[1] && !name[2] && (found = strchr(grid, name[1]))) {
        options.ranks[found - grid] = (int)number(value, 1, 1000000);
    } else if (strcmp(name, "--dt") == 0) {
        options.dt = quantity(value, 1e-6, 1000.0);
    } else if (strcmp(name, "--temperature") == 0) {
        options.temperature = quantity(value, 0.0, 1e6);
    } else if (strcmp(name, "--lattice") == 0) {
        options.lattice = quantity(value, 0.1, 100.0);
    } else if (strcmp(name, "--cutoff") == 0) {
        options.cutoff = quantity(value, 0.1, 1000.0);
    } else if (strcmp(name, "--print-every") == 0) {
        options.print_every = number(value, 1, 1000000000);
    } else {
        return false;
    }
    return true;
}

static void parse(int argc, char **argv)
{
    recovery_open(&(struct recovery_defaults){.program = "comd", .checkpoint_every = 10});
    for (int i = 1; i < argc; i++) {
        enum recovery_taken taken = recovery_option(argv[i], argv[i + 1], true);
        if (taken == RECOVERY_WRONG) {
            exit(2);
        }
        if (strcmp(argv[i], "--eam") == 0) {
            options.eam = true;
            continue;
        }
        if (taken == RECOVERY_NOT_MINE && (i + 1 == argc || !take(argv[i], argv[i + 1]))) {
            usage();
        }
        i++;
    }
    if (comd_atoms_all(&options) > UINT32_MAX) {
        fprintf(stderr, "comd: more than %u atoms; choose a smaller lattice\n", UINT32_MAX);
        usage();
    }
    recovery_iterations(options.steps);
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    MPI_Init(&argc, &argv);
    int result = recovery_run(argc, argv, simulate);
    if (result == 0) {
        print_result(&system_);
    }
    MPI_Finalize();
    return result;
}
