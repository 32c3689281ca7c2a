/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks and mesh: ownership, the start, the sums over shared nodes, the gradients beyond faces.
 *
 * Sums over shared nodes go along x, then y, then z, with one message to each side; sums along an
 * axis are passed on along the next, so six messages reach all 26 neighbours. The sum of a node's
 * eight corners is bracketed by the mesh alone: pairs along x, these along y, these along z. Hence
 * neither the order of arrival nor the number of ranks changes a bit. The cost: a node's four
 * partial sums along x are sent, then two, then one, instead of one each time.
 */
#include "lulesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The problem's definition: edge of the cube; energy of the origin's element on a mesh of 45. */
static const double EDGE = 1.125, ENERGY = 3.948746e+7, ENERGY_MESH = 45.0;

enum { LOWER, UPPER, SIDES, RUN = 16 /* elements of one region in a row */ };

static vec_t *outgoing[SIDES], *incoming[SIDES]; /* planes of nodes */
static double *face[SIDES];                      /* planes of elements */

int lulesh_cube_root(int ranks)
{
    int root = 1;
    while ((int64_t)root * root * root < ranks) {
        root++;
    }
    return (int64_t)root * root * root == ranks ? root : 0;
}

static void place_rank(struct lulesh_place *place)
{
    int open[3] = {0}, ranks[3];
    MPI_Comm_size(recovery_world(), &place->size);
    place->ranks = lulesh_cube_root(place->size);
    for (int axis = 0; axis < 3; axis++) {
        ranks[axis] = place->ranks;
    }
    MPI_Cart_create(recovery_world(), 3, ranks, open, 0, &place->comm);
    recovery_use(place->comm);
    MPI_Comm_rank(place->comm, &place->rank);
    MPI_Cart_coords(place->comm, place->rank, 3, place->at);
    for (int axis = 0; axis < 3; axis++) {
        MPI_Cart_shift(place->comm, axis, 1, &place->beside[axis][LOWER],
                       &place->beside[axis][UPPER]);
    }
}

static void open_elements(struct lulesh_mesh *mesh, size_t face_elements)
{
    double **lists[] = {&mesh->energy,      &mesh->pressure,      &mesh->q,
                        &mesh->volume,      &mesh->sound,         &mesh->volume_new,
                        &mesh->q_linear,    &mesh->volume_change, &mesh->stretch,
                        &mesh->length,      &mesh->q_quadratic,   &mesh->volume_start,
                        &mesh->gradient[0], &mesh->gradient[1],   &mesh->gradient[2],
                        &mesh->extent[0],   &mesh->extent[1],     &mesh->extent[2]};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        *lists[i] = lulesh_memory(mesh->elements, sizeof(double));
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < SIDES; side++) {
            mesh->beyond[axis][side] = lulesh_memory(face_elements, sizeof(double));
        }
    }
}

/* Region r gets elements in proportion to r + 1, in runs along the mesh. */
static int region_of(uint64_t element, int regions)
{
    uint64_t weights = (uint64_t)regions * ((uint64_t)regions + 1) / 2;
    uint64_t drawn = lulesh_mix(element / RUN) % weights;
    int region = 0;
    while (drawn > (uint64_t)region) {
        drawn -= (uint64_t)++region;
    }
    return region;
}

static void open_regions(struct lulesh_mesh *mesh, int regions)
{
    uint32_t *of = lulesh_memory(mesh->elements, sizeof(*of));
    size_t *start = lulesh_memory((size_t)regions + 1, sizeof(*start));
    mesh->region = lulesh_memory(mesh->elements, sizeof(*mesh->region));
    for (size_t e = 0; e < mesh->elements; e++) {
        of[e] = (uint32_t)region_of(lulesh_global(mesh, e, mesh->edge, mesh->edge_all), regions);
        start[of[e]]++;
    }
    for (int r = 1; r <= regions; r++) { /* the end of each region ... */
        start[r] += start[r - 1];
    }
    for (size_t e = mesh->elements; e-- > 0;) { /* ... goes down to its start */
        mesh->region[--start[of[e]]] = (uint32_t)e;
    }
    mesh->region_start = start;
    free(of);
}

void lulesh_mesh_open(struct lulesh_mesh *mesh, const struct lulesh_options *options)
{
    place_rank(&mesh->place);
    if (mesh->elements > 0) { /* a return to the restart point */
        return;
    }
    size_t n = (size_t)options->edge, m = n + 1;
    mesh->edge = options->edge;
    mesh->edge_all = (uint64_t)options->edge * (uint64_t)mesh->place.ranks;
    mesh->elements = n * n * n;
    mesh->nodes = m * m * m;
    mesh->stride[0] = 1, mesh->stride[1] = m, mesh->stride[2] = m * m;
    for (size_t c = 0; c < LULESH_CORNERS; c++) {
        for (int axis = 0; axis < 3; axis++) {
            mesh->corner[c] += (size_t)lulesh_axis_bit(c, axis) * mesh->stride[axis];
        }
    }
    mesh->position = lulesh_memory(mesh->nodes, sizeof(*mesh->position));
    mesh->velocity = lulesh_memory(mesh->nodes, sizeof(*mesh->velocity));
    mesh->mass = lulesh_memory(mesh->nodes, sizeof(*mesh->mass));
    mesh->part = lulesh_memory(mesh->nodes, sizeof(*mesh->part));
    open_elements(mesh, n * n);
    open_regions(mesh, options->regions);
    for (int side = 0; side < SIDES; side++) {
        outgoing[side] = lulesh_memory(m * m * LULESH_ROWS, sizeof(*outgoing[side]));
        incoming[side] = lulesh_memory(m * m * LULESH_ROWS, sizeof(*incoming[side]));
        face[side] = lulesh_memory(n * n, sizeof(*face[side]));
    }
}

static void split(size_t i, size_t n, size_t at[3])
{
    at[0] = i % n, at[1] = i / n % n, at[2] = i / n / n;
}

uint64_t lulesh_global(const struct lulesh_mesh *mesh, size_t i, int n, uint64_t n_all)
{
    size_t at[3];
    uint64_t global = 0;
    split(i, (size_t)n, at);
    for (int axis = 2; axis >= 0; axis--) {
        global = global * n_all + at[axis] + (uint64_t)mesh->edge * (uint64_t)mesh->place.at[axis];
    }
    return global;
}

size_t lulesh_first_node(const struct lulesh_mesh *mesh, size_t element)
{
    size_t at[3];
    split(element, (size_t)mesh->edge, at);
    return at[0] + at[1] * mesh->stride[1] + at[2] * mesh->stride[2];
}

void lulesh_gather(const struct lulesh_mesh *mesh, size_t element, const vec_t *nodes,
                   vec_t at[LULESH_CORNERS])
{
    size_t first = lulesh_first_node(mesh, element);
    for (int c = 0; c < LULESH_CORNERS; c++) {
        at[c] = nodes[first + mesh->corner[c]];
    }
}

double lulesh_energy_start(void)
{
    return ENERGY * pow(EDGE / ENERGY_MESH, 3);
}

/* Energies are by volume at the start, so that of the origin's element depends on its size. */
static double origin_energy(const struct lulesh_mesh *mesh)
{
    return ENERGY * pow((double)mesh->edge_all / ENERGY_MESH, 3);
}

double lulesh_dt_start(const struct lulesh_mesh *mesh)
{
    return 0.5 * (EDGE / (double)mesh->edge_all) / sqrt(2.0 * origin_energy(mesh));
}

/* From the number in the whole problem, so that all ranks agree on a shared node. */
static double coordinate(const struct lulesh_mesh *mesh, int axis, size_t i)
{
    uint64_t all = i + (uint64_t)mesh->edge * (uint64_t)mesh->place.at[axis];
    return EDGE * (double)all / (double)mesh->edge_all;
}

/* Each element gives an eighth of its mass to each corner. */
static void begin_masses(struct lulesh_mesh *mesh)
{
    memset(mesh->part, 0, mesh->nodes * sizeof(*mesh->part));
    for (size_t e = 0; e < mesh->elements; e++) {
        vec_t *part = mesh->part[lulesh_first_node(mesh, e)];
        for (size_t c = 0; c < LULESH_CORNERS; c++) {
            part[mesh->corner[c] * LULESH_ROWS + (c >> 1)].x += mesh->volume_start[e] / 8.0;
        }
    }
    lulesh_mesh_sum(mesh);
    for (size_t node = 0; node < mesh->nodes; node++) {
        mesh->mass[node] = mesh->part[node][0].x;
    }
}

void lulesh_mesh_begin(struct lulesh_mesh *mesh, const struct lulesh_options *options)
{
    const int *place = mesh->place.at;
    for (size_t node = 0; node < mesh->nodes; node++) {
        size_t at[3];
        split(node, (size_t)options->edge + 1, at);
        mesh->position[node] = (vec_t){coordinate(mesh, 0, at[0]), coordinate(mesh, 1, at[1]),
                                       coordinate(mesh, 2, at[2])};
        mesh->velocity[node] = (vec_t){0};
    }
    for (size_t e = 0; e < mesh->elements; e++) {
        vec_t r[LULESH_CORNERS];
        lulesh_gather(mesh, e, mesh->position, r);
        mesh->volume_start[e] = hex_volume(r);
        mesh->volume[e] = 1.0;
        mesh->energy[e] = mesh->pressure[e] = mesh->q[e] = mesh->sound[e] = 0.0;
    }
    if (place[0] == 0 && place[1] == 0 && place[2] == 0) {
        mesh->energy[0] = origin_energy(mesh);
    }
    begin_masses(mesh);
}

static void swap(const struct lulesh_mesh *mesh, int axis, double *const out[SIDES],
                 double *const in[SIDES], size_t count)
{
    const int *beside = mesh->place.beside[axis];
    MPI_Request requests[2 * SIDES];
    for (int side = 0; side < SIDES; side++) {
        /* The tag is the side of the sender. */
        MPI_Irecv(in[side], (int)count, MPI_DOUBLE, beside[side], 2 * axis + 1 - side,
                  mesh->place.comm, &requests[side]);
        MPI_Isend(out[side], (int)count, MPI_DOUBLE, beside[side], 2 * axis + side,
                  mesh->place.comm, &requests[SIDES + side]);
    }
    MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
}

/* Partial sums of a plane of nodes into list, or added from it; every step-th row. Returns their
 * number. */
static size_t copy_plane(struct lulesh_mesh *mesh, int axis, int side, int step, vec_t *list,
                         bool out)
{
    size_t m = (size_t)mesh->edge + 1, count = 0;
    size_t stride_b = mesh->stride[(axis + 1) % 3], stride_c = mesh->stride[(axis + 2) % 3];
    vec_t(*plane)[LULESH_ROWS] = mesh->part + (side == UPPER ? m - 1 : 0) * mesh->stride[axis];
    for (size_t c = 0; c < m; c++) {
        for (size_t b = 0; b < m; b++) {
            for (int row = 0; row < LULESH_ROWS; row += step, count++) {
                vec_t *part = &plane[c * stride_c + b * stride_b][row];
                if (out) {
                    list[count] = *part;
                } else {
                    *part = vec_add(*part, list[count]);
                }
            }
        }
    }
    return count;
}

/* After the axis' own pairs are complete: pairs along the next one. */
static void fold(struct lulesh_mesh *mesh, int step)
{
    for (size_t node = 0; node < mesh->nodes; node++) {
        for (int row = 0; row < LULESH_ROWS; row += 2 * step) {
            mesh->part[node][row] = vec_add(mesh->part[node][row], mesh->part[node][row + step]);
        }
    }
}

void lulesh_mesh_sum(struct lulesh_mesh *mesh)
{
    for (int axis = 0; axis < 3; axis++) {
        int step = 1 << axis;
        double *out[SIDES], *in[SIDES];
        size_t count = 0;
        for (int side = 0; side < SIDES; side++) {
            count = copy_plane(mesh, axis, side, step, outgoing[side], true);
            out[side] = &outgoing[side]->x, in[side] = &incoming[side]->x;
        }
        swap(mesh, axis, out, in, 3 * count);
        for (int side = 0; side < SIDES; side++) {
            if (mesh->place.beside[axis][side] != MPI_PROC_NULL) {
                copy_plane(mesh, axis, side, step, incoming[side], false);
            }
        }
        if (axis < 2) {
            fold(mesh, step);
        }
    }
}

/* The elements along a face of this rank. */
static void copy_face(const struct lulesh_mesh *mesh, int axis, int side, const double *values,
                      double *list)
{
    size_t n = (size_t)mesh->edge, strides[3] = {1, n, n * n};
    size_t stride_b = strides[(axis + 1) % 3], stride_c = strides[(axis + 2) % 3];
    const double *plane = values + (side == UPPER ? n - 1 : 0) * strides[axis];
    for (size_t c = 0; c < n; c++) {
        for (size_t b = 0; b < n; b++) {
            list[c * n + b] = plane[c * stride_c + b * stride_b];
        }
    }
}

void lulesh_mesh_swap_gradients(struct lulesh_mesh *mesh)
{
    size_t n = (size_t)mesh->edge;
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < SIDES; side++) {
            copy_face(mesh, axis, side, mesh->gradient[axis], face[side]);
        }
        swap(mesh, axis, face, mesh->beyond[axis], n * n);
        if (mesh->place.beside[axis][LOWER] == MPI_PROC_NULL) {
            memcpy(mesh->beyond[axis][LOWER], face[LOWER], n * n * sizeof(*face[LOWER]));
        }
    }
}
