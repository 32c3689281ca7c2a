/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ownership of atoms, and the exchange of the boundaries.
 *
 * The exchange goes along x, then y, then z; along each axis one message to each side. What was
 * received along an axis is passed on along the next, so six messages reach all 26 neighbours. An
 * atom that leaves its rank first stands in a halo cell of the old rank and is sent with the halo;
 * there it stays as a halo atom. This needs two cells along an axis with more than one rank: with
 * one, the atom would have to be passed to the next rank within the same pass.
 */
#include "comd.h"

#include <stdlib.h>
#include <string.h>

enum { TO_LOWER, TO_UPPER, SIDES };

/* A buffer for each side; they keep their size, also over a roll-back. */
static struct {
    struct comd_atom *atoms;
    double *values;
    size_t count, atoms_max, values_max;
} outgoing[SIDES];

static double *incoming;
static size_t incoming_max;
static struct comd_atom *sorted; /* grows with system->atoms */
static size_t sorted_max;

static void place_rank(struct comd_domain *domain, const struct comd_options *options)
{
    int periodic[3] = {1, 1, 1};
    memcpy(domain->ranks, options->ranks, sizeof(domain->ranks));
    MPI_Comm_size(recovery_world(), &domain->size);
    int64_t product = 1;
    for (int axis = 0; axis < 3; axis++) {
        product *= options->ranks[axis] > 0 ? options->ranks[axis] : 1;
    }
    bool all_given = options->ranks[0] && options->ranks[1] && options->ranks[2];
    if (domain->size % product != 0 || (all_given && product != domain->size)) {
        recovery_fail("-i -j -k: %lld ranks asked for, %d there", (long long)product, domain->size);
    }
    MPI_Dims_create(domain->size, 3, domain->ranks);
    MPI_Cart_create(recovery_world(), 3, domain->ranks, periodic, 0, &domain->comm);
    recovery_use(domain->comm);
    MPI_Comm_rank(domain->comm, &domain->rank);
    MPI_Cart_coords(domain->comm, domain->rank, 3, domain->at);
    for (int axis = 0; axis < 3; axis++) {
        MPI_Cart_shift(domain->comm, axis, 1, &domain->lower[axis], &domain->upper[axis]);
    }
}

void comd_domain_open(struct comd_system *system, const struct comd_options *options)
{
    struct comd_domain *domain = &system->domain;
    place_rank(domain, options);
    domain->cells_halo = 1;
    for (int axis = 0; axis < 3; axis++) {
        int ranks = domain->ranks[axis], least = ranks > 1 ? 2 : 3;
        domain->edge[axis] = options->cells[axis] * system->potential.lattice;
        domain->scale[axis] = domain->edge[axis] / 18446744073709551616.0;
        domain->n[axis] = (int)(domain->edge[axis] / (ranks * system->potential.cutoff));
        if (domain->n[axis] < least) {
            recovery_fail(
                "axis %c: %d unit cells over %d ranks are too few; a rank's part must be at "
                "least %d times the cut-off of %g A",
                "xyz"[axis], options -> cells[axis], ranks, least, system -> potential.cutoff);
        }
        domain->total[axis] = (uint32_t)(ranks * domain->n[axis]);
        domain->stride[axis] = domain->cells_halo;
        domain->cells_halo *= (uint32_t)domain->n[axis] + 2;
    }
    system->start =
        comd_memory(system->start, (size_t)domain->cells_halo + 1, sizeof(*system->start));
}

uint32_t comd_domain_coordinate(const struct comd_domain *domain, int axis, uint64_t x)
{
    return (uint32_t)(((x >> 32) * domain->total[axis]) >> 32);
}

void comd_atoms_reserve(struct comd_system *system, size_t n)
{
    if (n <= system->atoms_max) {
        return;
    }
    n += n / 4 + 64;
    system->atoms = comd_memory(system->atoms, n, sizeof(*system->atoms));
    system->force = comd_memory(system->force, n, sizeof(*system->force));
    system->derivative = comd_memory(system->derivative, n, sizeof(*system->derivative));
    system->atoms_max = n;
}

/* The cell of an own atom after its move: its own, or one of the halo beside this rank's. */
static uint32_t cell_after_move(const struct comd_domain *domain, const struct comd_atom *atom)
{
    uint32_t cell = 0;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t total = domain->total[axis], n = (uint32_t)domain->n[axis];
        uint32_t first = (uint32_t)domain->at[axis] * n;
        uint32_t beyond =
            (comd_domain_coordinate(domain, axis, atom->x[axis]) + total - first) % total;
        uint32_t coordinate = beyond < n ? beyond + 1 : beyond == n ? n + 1 : 0;
        if (beyond > n && beyond != total - 1) {
            recovery_fail("atom %u moved further than a cell in one step; take a shorter --dt",
                          (unsigned)atom->id);
        }
        cell += coordinate * domain->stride[axis];
    }
    return cell;
}

static void send_later(int side, const struct comd_atom *atom, uint32_t cell)
{
    if (outgoing[side].count == outgoing[side].atoms_max) {
        outgoing[side].atoms_max += outgoing[side].atoms_max / 2 + 64;
        outgoing[side].atoms = comd_memory(outgoing[side].atoms, outgoing[side].atoms_max,
                                           sizeof(*outgoing[side].atoms));
    }
    outgoing[side].atoms[outgoing[side].count] = *atom;
    outgoing[side].atoms[outgoing[side].count++].cell = cell;
}

/* Takes the atoms of one message at the end of the list. */
static void receive_atoms(struct comd_system *system, int from, int tag)
{
    MPI_Status status;
    int bytes;
    MPI_Probe(from, tag, system->domain.comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    size_t count = (size_t)bytes / sizeof(*system->atoms);
    comd_atoms_reserve(system, system->atoms_count + count);
    MPI_Recv(system->atoms + system->atoms_count, bytes, MPI_BYTE, from, tag, system->domain.comm,
             MPI_STATUS_IGNORE);
    system->atoms_count += count;
}

/* All ranks have the same number of cells, so what is cell c + n here is cell c at the upper rank.
 */
static void swap_faces(struct comd_system *system, int axis)
{
    const struct comd_domain *domain = &system->domain;
    int n = domain->n[axis], sides[SIDES] = {domain->lower[axis], domain->upper[axis]};
    uint32_t across = (uint32_t)n * domain->stride[axis];
    MPI_Request requests[SIDES];
    outgoing[TO_LOWER].count = outgoing[TO_UPPER].count = 0;
    for (size_t i = 0; i < system->atoms_count; i++) {
        const struct comd_atom *atom = &system->atoms[i];
        int coordinate = comd_cell_coordinate(domain, axis, atom->cell);
        if (coordinate <= 1) {
            send_later(TO_LOWER, atom, atom->cell + across);
        }
        if (coordinate >= n) {
            send_later(TO_UPPER, atom, atom->cell - across);
        }
    }
    for (int side = 0; side < SIDES; side++) {
        MPI_Isend(outgoing[side].atoms, (int)(outgoing[side].count * sizeof(*outgoing[side].atoms)),
                  MPI_BYTE, sides[side], 2 * axis + side, domain->comm, &requests[side]);
    }
    receive_atoms(system, domain->upper[axis], 2 * axis + TO_LOWER);
    receive_atoms(system, domain->lower[axis], 2 * axis + TO_UPPER);
    MPI_Waitall(SIDES, requests, MPI_STATUSES_IGNORE);
}

static int by_id(const void *left, const void *right)
{
    uint32_t a = ((const struct comd_atom *)left)->id, b = ((const struct comd_atom *)right)->id;
    return (a > b) - (a < b);
}

/* By cell, then by id: the order of all later sums. */
static void sort_atoms(struct comd_system *system)
{
    uint32_t *start = system->start, cells = system->domain.cells_halo;
    if (sorted_max < system->atoms_max) {
        sorted = comd_memory(sorted, system->atoms_max, sizeof(*sorted));
        sorted_max = system->atoms_max;
    }
    memset(start, 0, ((size_t)cells + 1) * sizeof(*start));
    for (size_t i = 0; i < system->atoms_count; i++) {
        start[system->atoms[i].cell]++;
    }
    uint32_t sum = 0;
    for (uint32_t c = 0; c <= cells; c++) { /* the end of each cell ... */
        sum += start[c];
        start[c] = sum;
    }
    for (size_t i = system->atoms_count; i-- > 0;) { /* ... goes down to its start */
        sorted[--start[system->atoms[i].cell]] = system->atoms[i];
    }
    memcpy(system->atoms, sorted, system->atoms_count * sizeof(*sorted));
    for (uint32_t c = 0; c < cells; c++) {
        qsort(system->atoms + start[c], start[c + 1] - start[c], sizeof(*system->atoms), by_id);
    }
}

void comd_domain_redistribute(struct comd_system *system)
{
    for (size_t i = 0; i < system->atoms_count; i++) {
        system->atoms[i].cell = cell_after_move(&system->domain, &system->atoms[i]);
    }
    for (int axis = 0; axis < 3; axis++) {
        swap_faces(system, axis);
    }
    sort_atoms(system);
}

/* Copies values of a plane of cells across an axis out to list, or from it: halo cells along axes
 * before this one are part of it, as they are known by then. Returns their number. */
static size_t copy_plane(const struct comd_system *system, int axis, int plane, double *values,
                         double *list, bool out)
{
    const struct comd_domain *domain = &system->domain;
    int low[3], high[3];
    size_t count = 0;
    for (int other = 0; other < 3; other++) {
        low[other] = other == axis ? plane : other < axis ? 0 : 1;
        high[other] = other == axis ? plane : domain->n[other] + (other < axis);
    }
    for (int z = low[2]; z <= high[2]; z++) {
        for (int y = low[1]; y <= high[1]; y++) {
            uint32_t row = comd_row(domain, y, z);
            size_t first = system->start[row + (uint32_t)low[0]];
            size_t n = system->start[row + (uint32_t)high[0] + 1] - first;
            if (list) {
                memcpy(out ? list + count : values + first, out ? values + first : list + count,
                       n * sizeof(*values));
            }
            count += n;
        }
    }
    return count;
}

static double *grow(double *list, size_t *max, size_t n)
{
    if (n > *max || !list) {
        *max = n + n / 4 + 64;
        list = comd_memory(list, *max, sizeof(*list));
    }
    return list;
}

static void swap_values(struct comd_system *system, int axis, double *values)
{
    const struct comd_domain *domain = &system->domain;
    int n = domain->n[axis], sides[SIDES] = {domain->lower[axis], domain->upper[axis]};
    int mine[SIDES] = {1, n}, halo[SIDES] = {n + 1, 0}, tags = 6 + 2 * axis;
    MPI_Request requests[SIDES];
    for (int side = 0; side < SIDES; side++) {
        size_t count = copy_plane(system, axis, mine[side], values, NULL, true);
        outgoing[side].values = grow(outgoing[side].values, &outgoing[side].values_max, count);
        copy_plane(system, axis, mine[side], values, outgoing[side].values, true);
        MPI_Isend(outgoing[side].values, (int)count, MPI_DOUBLE, sides[side], tags + side,
                  domain->comm, &requests[side]);
    }
    for (int side = 0; side < SIDES; side++) {
        size_t count = copy_plane(system, axis, halo[side], values, NULL, false);
        incoming = grow(incoming, &incoming_max, count);
        MPI_Recv(incoming, (int)count, MPI_DOUBLE, sides[1 - side], tags + side, domain->comm,
                 MPI_STATUS_IGNORE);
        copy_plane(system, axis, halo[side], values, incoming, false);
    }
    MPI_Waitall(SIDES, requests, MPI_STATUSES_IGNORE);
}

void comd_domain_exchange(struct comd_system *system, double *values)
{
    for (int axis = 0; axis < 3; axis++) {
        swap_values(system, axis, values);
    }
}
