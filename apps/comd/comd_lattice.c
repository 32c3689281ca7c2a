/* SPDX-License-Identifier: BSD-3-Clause */
/* The start: a perfect fcc lattice, and momenta that do not depend on the decomposition. */
#include "comd.h"

#include <math.h>

/* eV / K, CODATA 2010: so the energy at the start is the one CoMD's documentation prints. */
static const double BOLTZMANN = 8.6173324e-5;

/* Of the four atoms of a unit cell, in halves of its edge. */
static const uint64_t BASIS[4][3] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};

uint64_t comd_atoms_all(const struct comd_options *options)
{
    return 4 * (uint64_t)options->cells[0] * (uint64_t)options->cells[1] *
           (uint64_t)options->cells[2];
}

uint64_t comd_mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/* Nearly normal, mean 0, deviation 4096: the sum of twelve uniform numbers of 12 bits. An integer,
 * so that sums over all atoms are exact in any order. */
static int64_t draw(uint32_t id, int axis)
{
    int64_t sum = -12 * 2048 + 6;
    for (uint64_t word = 0; word < 3; word++) {
        uint64_t bits = comd_mix((((uint64_t)id * 3 + (uint64_t)axis) << 2) + word);
        for (int i = 0; i < 4; i++, bits >>= 12) {
            sum += (int64_t)(bits & 4095);
        }
    }
    return sum;
}

/* Momenta drawn by id; the mean is taken out, the rest scaled to 3/2 k T per atom. */
static void set_momenta(struct comd_system *system, double temperature)
{
    int64_t mine[4] = {0}, all[4];
    double n = (double)system->atoms_all, squares = 0.0;
    for (size_t i = 0; i < system->atoms_count; i++) {
        for (int axis = 0; axis < 3; axis++) {
            int64_t value = draw(system->atoms[i].id, axis);
            mine[axis] += value;
            mine[3] += value * value;
        }
    }
    MPI_Allreduce(mine, all, 4, MPI_INT64_T, MPI_SUM, system->domain.comm);
    squares = (double)all[3];
    for (int axis = 0; axis < 3; axis++) {
        squares -= (double)all[axis] * ((double)all[axis] / n);
    }
    double factor = sqrt(3.0 * n * BOLTZMANN * temperature * system->potential.mass / squares);
    for (size_t i = 0; i < system->atoms_count; i++) {
        for (int axis = 0; axis < 3; axis++) {
            system->atoms[i].p[axis] =
                factor * ((double)draw(system->atoms[i].id, axis) - (double)all[axis] / n);
        }
    }
}

/* Adds the atom when it lies in this rank's cells. */
static void add_if_own(struct comd_system *system, const struct comd_options *options,
                       const int unit[3], uint32_t basis)
{
    const struct comd_domain *domain = &system->domain;
    struct comd_atom atom = {0};
    for (int axis = 0; axis < 3; axis++) {
        uint64_t quarters = 4 * (uint64_t)unit[axis] + 1 + 2 * BASIS[basis][axis];
        atom.x[axis] = quarters * (UINT64_MAX / (4 * (uint64_t)options->cells[axis]));
        int coordinate = (int)comd_domain_coordinate(domain, axis, atom.x[axis]) -
                         domain->at[axis] * domain->n[axis];
        if (coordinate < 0 || coordinate >= domain->n[axis]) {
            return;
        }
        atom.cell += (uint32_t)(coordinate + 1) * domain->stride[axis];
    }
    atom.id = (uint32_t)unit[0] * (uint32_t)options->cells[1] + (uint32_t)unit[1];
    atom.id = (atom.id * (uint32_t)options->cells[2] + (uint32_t)unit[2]) * 4 + basis;
    comd_atoms_reserve(system, system->atoms_count + 1);
    system->atoms[system->atoms_count++] = atom;
}

void comd_lattice_fill(struct comd_system *system, const struct comd_options *options)
{
    const struct comd_domain *domain = &system->domain;
    int first[3], last[3], unit[3];
    for (int axis = 0; axis < 3; axis++) { /* unit cells that may reach into this rank's box */
        int64_t cells = options->cells[axis], ranks = domain->ranks[axis], at = domain->at[axis];
        first[axis] = (int)(at * cells / ranks) - 1;
        last[axis] = (int)((at + 1) * cells / ranks) + 1;
        first[axis] = first[axis] < 0 ? 0 : first[axis];
        last[axis] = last[axis] > (int)cells ? (int)cells : last[axis];
    }
    system->atoms_count = 0;
    for (unit[0] = first[0]; unit[0] < last[0]; unit[0]++) {
        for (unit[1] = first[1]; unit[1] < last[1]; unit[1]++) {
            for (unit[2] = first[2]; unit[2] < last[2]; unit[2]++) {
                for (uint32_t basis = 0; basis < 4; basis++) {
                    add_if_own(system, options, unit, basis);
                }
            }
        }
    }
    set_momenta(system, options->temperature);
}
