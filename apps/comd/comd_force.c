/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Potentials for copper and the forces they give.
 *
 * Lennard-Jones, V(r) = 4 e ((s/r)^12 - (s/r)^6), cut at 2.5 s and raised to 0 there: e = 0.167 eV,
 * s = 2.315 A, a = 3.615 A, as CoMD has them (after Wolf and Yip, eds., Materials Interfaces,
 * Chapman & Hall 1992).
 *
 * Embedded atoms after Sutton and Chen, Philosophical Magazine Letters 61 (1990) 139: the energy of
 * atom i is e (1/2 sum_j (a/r)^9 - c sqrt(rho)), rho = sum_j (a/r)^6, with e = 0.012382 eV, c =
 * 39.432, a = 3.61 A. CoMD reads a table of another copper instead. Both powers are cut at 1.95 a
 * such that value and slope are 0 there: g(r) - g(R) - (r - R) g'(R) for g.
 */
#include "comd.h"

#include <math.h>

static const double MASS_UNIT = 103.642696; /* unified atomic mass unit in eV fs^2 / A^2 */

/* A neighbour within the cut-off: j - i, its square, and which. */
struct near {
    double d[3], r2;
    size_t j;
};

static struct near *near_list;
static size_t near_max;

/* Sutton-Chen's exponents. */
enum { PAIR = 9, DENSITY = 6 };

/* (a/r)^n */
static struct comd_power power(double a, double r, int n)
{
    double u = a / r, value = n & 1 ? u : 1.0, u2 = u * u;
    for (int i = n / 2; i > 0; i--) {
        value *= u2;
    }
    return (struct comd_power){value, -n * value / r};
}

void comd_potential_open(struct comd_potential *potential, const struct comd_options *options)
{
    *potential = (struct comd_potential){.eam = options->eam, .mass = 63.55 * MASS_UNIT};
    if (options->eam) {
        potential->lattice = potential->length = 3.61;
        potential->cutoff = 1.95 * potential->length;
        potential->epsilon = 0.012382;
        potential->c = 39.432;
    } else {
        potential->lattice = 3.615;
        potential->length = 2.315;
        potential->cutoff = 2.5 * potential->length;
        potential->epsilon = 0.167;
    }
    if (options->lattice > 0) {
        potential->lattice = options->lattice;
    }
    if (options->cutoff > 0) {
        potential->cutoff = options->cutoff;
    }
    double s6 = pow(potential->length / potential->cutoff, 6);
    potential->pair_cut = power(potential->length, potential->cutoff, PAIR);
    potential->density_cut = power(potential->length, potential->cutoff, DENSITY);
    potential->shift = 4.0 * potential->epsilon * s6 * (s6 - 1.0);
}

/* Space for all atoms of any 27 neighbouring cells. */
static void reserve_near(const struct comd_system *system)
{
    size_t most = 0;
    for (uint32_t c = 0; c < system->domain.cells_halo; c++) {
        size_t n = system->start[c + 1] - system->start[c];
        most = n > most ? n : most;
    }
    if (27 * most > near_max) {
        near_max = 2 * 27 * most;
        near_list = comd_memory(near_list, near_max, sizeof(*near_list));
    }
}

/* The neighbours of own atom i in cell, in the order of the atoms. Three cells along x follow each
 * other in memory. */
static size_t find_near(const struct comd_system *system, uint32_t cell, size_t i)
{
    const struct comd_domain *domain = &system->domain;
    const struct comd_atom *atoms = system->atoms;
    double limit = system->potential.cutoff * system->potential.cutoff;
    const uint64_t *x = atoms[i].x;
    size_t count = 0;
    for (int row = 0; row < 9; row++) {
        uint32_t middle = cell + (uint32_t)(row / 3) * domain->stride[2] - domain->stride[2] +
                          (uint32_t)(row % 3) * domain->stride[1] - domain->stride[1];
        for (size_t j = system->start[middle - 1]; j < system->start[middle + 2]; j++) {
            struct near *near = &near_list[count];
            near->r2 = 0.0;
            for (int axis = 0; axis < 3; axis++) {
                near->d[axis] = (double)(int64_t)(atoms[j].x[axis] - x[axis]) * domain->scale[axis];
                near->r2 += near->d[axis] * near->d[axis];
            }
            near->j = j;
            count += near->r2 < limit && j != i;
        }
    }
    return count;
}

/* Pulls atom i towards the neighbour: slope is the derivative of the energy by r, divided by r. */
static void pull(double force[3], const struct near *near, double slope)
{
    for (int axis = 0; axis < 3; axis++) {
        force[axis] += slope * near->d[axis];
    }
}

/* Force on atom i; returns its energy. */
static double lennard_jones(const struct comd_potential *potential, size_t count, double force[3])
{
    double energy = 0.0, sigma2 = potential->length * potential->length;
    force[0] = force[1] = force[2] = 0.0;
    for (size_t k = 0; k < count; k++) {
        double over = 1.0 / near_list[k].r2, s2 = sigma2 * over, s6 = s2 * s2 * s2;
        energy += 4.0 * potential->epsilon * s6 * (s6 - 1.0) - potential->shift;
        pull(force, &near_list[k], 24.0 * potential->epsilon * over * s6 * (1.0 - 2.0 * s6));
    }
    return 0.5 * energy;
}

/* A power of Sutton-Chen less its tangent at the cut-off. */
static struct comd_power power_cut(const struct comd_potential *potential, double r, int n,
                                   struct comd_power there)
{
    struct comd_power here = power(potential->length, r, n);
    here.value -= there.value + (r - potential->cutoff) * there.slope;
    here.slope -= there.slope;
    return here;
}

static struct comd_power pair_power(const struct comd_potential *potential, double r)
{
    return power_cut(potential, r, PAIR, potential->pair_cut);
}

static struct comd_power density_power(const struct comd_potential *potential, double r)
{
    return power_cut(potential, r, DENSITY, potential->density_cut);
}

/* First pass of Sutton-Chen: pair forces, and what the density gives. Returns the energy. */
static double sutton_chen(const struct comd_potential *potential, size_t count, double force[3],
                          double *derivative)
{
    double energy = 0.0, density = 0.0;
    force[0] = force[1] = force[2] = 0.0;
    for (size_t k = 0; k < count; k++) {
        double r = sqrt(near_list[k].r2);
        struct comd_power pair = pair_power(potential, r);
        density += density_power(potential, r).value;
        energy += pair.value;
        pull(force, &near_list[k], potential->epsilon * pair.slope / r);
    }
    double root = sqrt(density), strength = potential->epsilon * potential->c;
    *derivative = density > 0.0 ? -0.5 * strength / root : 0.0;
    return 0.5 * potential->epsilon * energy - strength * root;
}

/* Second pass: forces of the embedding, of which each atom's derivative must be known. */
static void embed(struct comd_system *system)
{
    const struct comd_domain *domain = &system->domain;
    const double *derivative = system->derivative;
    COMD_FOR_OWN_CELLS(domain, cell)
    for (size_t i = system->start[cell]; i < system->start[cell + 1]; i++) {
        size_t count = find_near(system, cell, i);
        for (size_t k = 0; k < count; k++) {
            double r = sqrt(near_list[k].r2);
            double both = derivative[i] + derivative[near_list[k].j];
            pull(system->force[i], &near_list[k],
                 both * density_power(&system->potential, r).slope / r);
        }
    }
}

void comd_force(struct comd_system *system)
{
    const struct comd_domain *domain = &system->domain;
    const struct comd_potential *potential = &system->potential;
    reserve_near(system);
    system->potential_energy = 0.0;
    COMD_FOR_OWN_CELLS(domain, cell)
    {
        double energy = 0.0; /* by cell first: long sums of small numbers lose digits */
        for (size_t i = system->start[cell]; i < system->start[cell + 1]; i++) {
            size_t count = find_near(system, cell, i);
            energy += potential->eam
                          ? sutton_chen(potential, count, system->force[i], &system->derivative[i])
                          : lennard_jones(potential, count, system->force[i]);
        }
        system->potential_energy += energy;
    }
    if (potential->eam) {
        comd_domain_exchange(system, system->derivative);
        embed(system);
    }
}
