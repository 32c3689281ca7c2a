/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comd: what its files share. Units: eV, angstrom, femtosecond, kelvin; mass in eV fs^2 / A^2.
 *
 * Positions are 64-bit fractions of the periodic box: x / 2^64 of the edge. So a step across the
 * boundary wraps automatically, the difference of two positions as a signed number is the nearest
 * image, all ranks agree to the bit on the cell an atom is in, and the force of i on j is exactly
 * the opposite of that of j on i.
 *
 * The box has one grid of link cells, each at least the cut-off wide; a rank owns n[0] x n[1] x
 * n[2] of them. Cells of a rank are numbered with a halo one cell thick: coordinates 0 to n + 1,
 * those from 1 to n are its own.
 */
#ifndef COMD_H
#define COMD_H

#include "recovery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comd_options {
    int cells[3]; /* unit cells of the lattice */
    int ranks[3]; /* ranks along each axis, 0: MPI_Dims_create chooses */
    bool eam;
    double dt, temperature;
    double lattice, cutoff; /* 0: the potential's own */
    uint64_t steps, print_every;
};

/* An atom as it is sent: 56 bytes. */
struct comd_atom {
    uint64_t x[3];
    double p[3];   /* momentum */
    uint32_t id;   /* from 0, the same in every decomposition */
    uint32_t cell; /* of the rank that holds it now */
};

/* A power of 1 / r, its value and its slope by r. */
struct comd_power {
    double value, slope;
};

/* Lennard-Jones, or the embedded atom method in the form of Sutton and Chen. */
struct comd_potential {
    bool eam;
    double mass, lattice, cutoff;
    double epsilon, length; /* eV; sigma of Lennard-Jones, a of Sutton-Chen */
    double shift;           /* Lennard-Jones: of the energy of a pair, 0 at the cut-off */
    double c;               /* Sutton-Chen */
    struct comd_power pair_cut, density_cut; /* Sutton-Chen's powers at the cut-off */
};

/* This rank's place and its part of the grid. */
struct comd_domain {
    MPI_Comm comm;
    int rank, size;
    int ranks[3], at[3];
    int lower[3], upper[3]; /* ranks beyond the faces */
    uint32_t total[3];      /* cells of the box */
    int n[3];               /* cells of this rank */
    uint32_t stride[3], cells_halo;
    double edge[3];  /* of the box */
    double scale[3]; /* length of one unit of a position */
};

struct comd_totals {
    double potential, kinetic, momentum[3];
    uint64_t atoms;
};

/* The state of one rank. */
struct comd_system {
    struct comd_domain domain;
    struct comd_potential potential;
    uint64_t atoms_all;
    /* Atoms of own cells and of the halo, by cell, within a cell by id: cell c has atoms start[c]
     * to start[c + 1] - 1. */
    struct comd_atom *atoms;
    size_t atoms_count, atoms_max;
    uint32_t *start;
    double (*force)[3]; /* of the same atoms; of own atoms only */
    double *derivative; /* EAM: of the embedding energy by the density; own atoms and halo */
    double potential_energy;
};

/* Memory of n times size bytes for old, as realloc; ends the program when there is none. */
void *comd_memory(void *old, size_t n, size_t size);
/* Spreads the bits of a word: the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable
 * pseudorandom number generators, OOPSLA 2014). */
uint64_t comd_mix(uint64_t word);

/* comd_lattice.c: the start. */
uint64_t comd_atoms_all(const struct comd_options *options);
/* Own atoms of the perfect fcc lattice into system->atoms; momenta of temperature, in total 0. */
void comd_lattice_fill(struct comd_system *system, const struct comd_options *options);

/* comd_domain.c: ownership of atoms, and their exchange. */
void comd_domain_open(struct comd_system *system, const struct comd_options *options);
/* The grid coordinate of a position along an axis, in the box. */
uint32_t comd_domain_coordinate(const struct comd_domain *domain, int axis, uint64_t x);
/* Makes space for n atoms. */
void comd_atoms_reserve(struct comd_system *system, size_t n);
/* From own atoms alone, in any order, moved by less than a cell since they were placed: sends atoms
 * that left to their new ranks, fetches the halo, and sorts. Six messages. Collective. */
void comd_domain_redistribute(struct comd_system *system);
/* Fetches values of halo atoms from their owners. Six messages. Collective. */
void comd_domain_exchange(struct comd_system *system, double *values);

/* comd_force.c */
void comd_potential_open(struct comd_potential *potential, const struct comd_options *options);
/* Forces on own atoms and this rank's share of the potential energy. Collective with EAM. */
void comd_force(struct comd_system *system);

/* Visits own cells in order; the body sees `cell`. */
#define COMD_FOR_OWN_CELLS(domain, cell)                                                           \
    for (int comd_z = 1; comd_z <= (domain)->n[2]; comd_z++)                                       \
        for (int comd_y = 1; comd_y <= (domain)->n[1]; comd_y++)                                   \
            for (uint32_t cell = comd_row(domain, comd_y, comd_z) + 1,                             \
                          comd_end = cell + (uint32_t)(domain)->n[0];                              \
                 cell < comd_end; cell++)

/* The cell 0 of a row along x. */
static inline uint32_t comd_row(const struct comd_domain *domain, int y, int z)
{
    return (uint32_t)y * domain->stride[1] + (uint32_t)z * domain->stride[2];
}

/* A cell's coordinate along an axis, halo counted. */
static inline int comd_cell_coordinate(const struct comd_domain *domain, int axis, uint32_t cell)
{
    return (int)(cell / domain->stride[axis] % (uint32_t)(domain->n[axis] + 2));
}

#endif
