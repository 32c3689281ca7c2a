/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lulesh: what its files share. Units are those of the problem's definition, LLNL-TR-490254.
 *
 * The mesh is a grid of hexahedra. A rank owns edge^3 elements, and holds all nodes around them:
 * those of the boundary between ranks exist on each, with the same bits. Elements and nodes of a
 * rank are numbered with x fastest. Corner c of an element lies beyond it by one node along x where
 * bit 0 of c is set, along y with bit 1, along z with bit 2.
 */
#ifndef LULESH_H
#define LULESH_H

#include "recovery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lulesh_options {
    int edge;            /* elements along an edge of a rank's cube */
    uint64_t iterations; /* at most */
    int regions, cost;
    double dt; /* of every step; 0: chosen by the time constraints */
    uint64_t print_every;
};

typedef struct {
    double x, y, z;
} vec_t;

static inline vec_t vec_add(vec_t a, vec_t b)
{
    return (vec_t){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline vec_t vec_sub(vec_t a, vec_t b)
{
    return (vec_t){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec_t vec_scale(double factor, vec_t a)
{
    return (vec_t){factor * a.x, factor * a.y, factor * a.z};
}

static inline double vec_dot(vec_t a, vec_t b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec_t vec_cross(vec_t a, vec_t b)
{
    return (vec_t){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* This rank's place in the cube of ranks; beyond the cube is MPI_PROC_NULL. */
struct lulesh_place {
    MPI_Comm comm;
    int rank, size;
    int ranks; /* along an edge of the cube */
    int at[3];
    int beside[3][2]; /* axis, then lower and upper */
};

/* The state of the run; a checkpoint contains it. */
struct lulesh_progress {
    uint64_t iteration; /* iterations completed */
    double time, dt;
    double courant, hydro; /* what this rank's elements allow the next step */
    double lost;           /* energy, by this rank's elements (see lulesh_force) */
    double drift;          /* of the energy with what was lost, relative, the largest seen */
};

/* Forces of an element's corners are summed in the order x, y, z (see lulesh_mesh_sum): before
 * that, a node has one partial sum for each of the four rows of elements that touch it. */
enum { LULESH_ROWS = 4, LULESH_CORNERS = 8 };

struct lulesh_mesh {
    struct lulesh_place place;
    int edge;          /* elements of this rank along an edge; nodes are one more */
    uint64_t edge_all; /* elements of the problem along an edge */
    size_t elements, nodes;
    size_t stride[3];              /* between nodes along an axis */
    size_t corner[LULESH_CORNERS]; /* of an element, from its node with the lowest number */

    /* per node */
    vec_t *position, *velocity;
    double *mass;
    vec_t (*part)[LULESH_ROWS]; /* partial sums; after lulesh_mesh_sum, [0] is the sum */

    /* per element; a state that lasts from step to step ... */
    double *energy, *pressure, *q;
    double *volume; /* relative to that at the start */
    double *sound;
    double *volume_start; /* which is its mass too: the density at the start is 1 */
    /* ... and temporary values of a step */
    double *volume_new, *volume_change;
    double *stretch; /* relative rate of change of the volume */
    double *length;  /* characteristic */
    double *q_linear, *q_quadratic;
    double *gradient[3], *extent[3]; /* of the velocity along an axis, and the element's size */

    double *beyond[3][2]; /* gradient of the elements behind each face, edge^2 each */
    uint32_t *region;     /* elements, those of one region side by side */
    size_t *region_start; /* regions + 1 */
};

/* Ends the program with a message. */
_Noreturn void lulesh_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* n zeroed objects of size bytes; ends the program when there is no memory. */
void *lulesh_memory(size_t n, size_t size);

/* A well mixed function of 64 bits (splitmix64). */
static inline uint64_t lulesh_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Whether a corner is on the upper side along an axis, 1 or 0. */
static inline int lulesh_axis_bit(size_t corner, int axis)
{
    return (int)(corner >> axis) & 1;
}

/* Whether an odd number of a corner's three bits is set. */
static inline bool lulesh_odd(size_t corner)
{
    return ((corner >> 2) ^ (corner >> 1) ^ corner) & 1;
}

/* lulesh_mesh.c: ranks, mesh, and what ranks exchange */

/* The edge of a cube of this many ranks, 0 when there is none. */
int lulesh_cube_root(int ranks);

/* Places the ranks (a cube of them) and allocates; memory of an earlier call is used again, with
 * the same options. */
void lulesh_mesh_open(struct lulesh_mesh *mesh, const struct lulesh_options *options);

/* Sedov's problem at time 0: a cube at rest, all energy in the element at the origin. Collective.
 */
void lulesh_mesh_begin(struct lulesh_mesh *mesh, const struct lulesh_options *options);

/* The energy of the problem, and the first time step. */
double lulesh_energy_start(void);
double lulesh_dt_start(const struct lulesh_mesh *mesh);

/* part[node][0] becomes the sum over all elements around the node, with the same bits on each rank
 * that has the node, and for any number of ranks. Corner c of an element adds to the row c >> 1.
 * Collective. */
void lulesh_mesh_sum(struct lulesh_mesh *mesh);

/* Fills beyond[] from the neighbours; at the planes of symmetry an element is its own neighbour,
 * and beyond the free surface is 0. Collective. */
void lulesh_mesh_swap_gradients(struct lulesh_mesh *mesh);

/* Number of element or node i, j, k of this rank (n along an edge) in the whole problem. */
uint64_t lulesh_global(const struct lulesh_mesh *mesh, size_t i, int n, uint64_t n_all);

/* The lowest node of an element. */
size_t lulesh_first_node(const struct lulesh_mesh *mesh, size_t element);

/* What belongs to the corners of an element. */
void lulesh_gather(const struct lulesh_mesh *mesh, size_t element, const vec_t *nodes,
                   vec_t at[LULESH_CORNERS]);

/* lulesh_hex.c: geometry of a hexahedron with corners r */

double hex_volume(const vec_t r[LULESH_CORNERS]);

/* The derivative of the volume by each corner. */
void hex_volume_slopes(const vec_t r[LULESH_CORNERS], vec_t slopes[LULESH_CORNERS]);

/* From the mean of each lower face to that of the upper one, along the three axes. */
void hex_spans(const vec_t r[LULESH_CORNERS], vec_t spans[3]);

/* The area vectors of the six faces, outwards, a quarter of each given to its corners. */
void hex_corner_areas(const vec_t r[LULESH_CORNERS], vec_t areas[LULESH_CORNERS]);

/* The volume by the largest face's area. */
double hex_length(const vec_t r[LULESH_CORNERS], double volume);

/* lulesh_node.c */

/* Forces on all nodes, into part[node][0]. Returns the power that this rank's elements lose: that
 * of the hourglass control, and the difference because forces are computed from the areas of faces,
 * and work from the volume. Collective. */
double lulesh_force(struct lulesh_mesh *mesh);

/* Accelerates and moves all nodes by a step; the planes through the origin are mirrors. */
void lulesh_move(struct lulesh_mesh *mesh, double dt);

/* lulesh_element.c */

/* Volumes, artificial viscosity, and the equation of state, after the nodes were moved. Collective.
 */
void lulesh_elements(struct lulesh_mesh *mesh, const struct lulesh_options *options, double dt);

/* The longest steps this rank's elements allow: sound must not cross an element, the volume must
 * not change too much. */
void lulesh_constraints(const struct lulesh_mesh *mesh, double *courant, double *hydro);

#endif
