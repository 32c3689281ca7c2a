/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes: the forces of their elements, and their motion.
 *
 * An element pushes its corners by its pressure, and resists the four hourglass modes (motions of
 * the corners that its one quadrature point does not see) by a viscous force: D. Flanagan and T.
 * Belytschko, A uniform strain hexahedron and quadrilateral with orthogonal hourglass control, Int.
 * J. Numer. Methods Eng. 17 (1981) 679.
 */
#include "lulesh.h"

#include <math.h>
#include <string.h>

static const double HOURGLASS = 3.0 * 0.01; /* coefficient of the viscous force */
static const double VELOCITY_CUT = 1e-7;    /* slower is at rest */

enum { MODES = 4 };

/* The modes are products of corner coordinates (+1 or -1): y z, x z, x y, x y z. Their sign does
 * not matter. */
static double mode_sign(int mode, size_t corner)
{
    static const size_t axes[MODES] = {6, 5, 3, 7};
    return lulesh_odd(corner & axes[mode]) ? -1.0 : 1.0;
}

/* A mode free of any motion that changes the volume evenly; shape[c] for each corner. */
static void mode_shape(int mode, const vec_t r[LULESH_CORNERS], const vec_t slopes[LULESH_CORNERS],
                       double volume, double shape[LULESH_CORNERS])
{
    vec_t sum = {0};
    for (size_t c = 0; c < LULESH_CORNERS; c++) {
        sum = vec_add(sum, vec_scale(mode_sign(mode, c), r[c]));
    }
    for (size_t c = 0; c < LULESH_CORNERS; c++) {
        shape[c] = mode_sign(mode, c) - vec_dot(slopes[c], sum) / volume;
    }
}

static void add_hourglass(const struct lulesh_mesh *mesh, size_t e, const vec_t r[LULESH_CORNERS],
                          const vec_t slopes[LULESH_CORNERS], const vec_t velocity[LULESH_CORNERS],
                          vec_t force[LULESH_CORNERS])
{
    double volume = mesh->volume_start[e] * mesh->volume[e], shape[LULESH_CORNERS];
    double factor = -HOURGLASS * mesh->sound[e] * mesh->volume_start[e] / cbrt(volume);
    for (int mode = 0; mode < MODES; mode++) {
        vec_t rate = {0};
        mode_shape(mode, r, slopes, volume, shape);
        for (int c = 0; c < LULESH_CORNERS; c++) {
            rate = vec_add(rate, vec_scale(shape[c], velocity[c]));
        }
        for (int c = 0; c < LULESH_CORNERS; c++) {
            force[c] = vec_add(force[c], vec_scale(factor * shape[c], rate));
        }
    }
}

/* The forces of an element on its corners. Returns the power that is lost: the work of its gas,
 * less the work on its nodes. */
static double element_forces(const struct lulesh_mesh *mesh, size_t e, vec_t force[LULESH_CORNERS])
{
    vec_t r[LULESH_CORNERS], velocity[LULESH_CORNERS], slopes[LULESH_CORNERS];
    double pressure = mesh->pressure[e] + mesh->q[e], lost = 0.0;
    lulesh_gather(mesh, e, mesh->position, r);
    lulesh_gather(mesh, e, mesh->velocity, velocity);
    hex_volume_slopes(r, slopes);
    hex_corner_areas(r, force);
    for (int c = 0; c < LULESH_CORNERS; c++) {
        force[c] = vec_scale(pressure, force[c]);
    }
    add_hourglass(mesh, e, r, slopes, velocity, force);
    for (int c = 0; c < LULESH_CORNERS; c++) {
        lost += vec_dot(vec_sub(vec_scale(pressure, slopes[c]), force[c]), velocity[c]);
    }
    return lost;
}

double lulesh_force(struct lulesh_mesh *mesh)
{
    double lost = 0.0;
    memset(mesh->part, 0, mesh->nodes * sizeof(*mesh->part));
    for (size_t e = 0; e < mesh->elements; e++) {
        vec_t force[LULESH_CORNERS];
        lost += element_forces(mesh, e, force);
        vec_t(*first)[LULESH_ROWS] = mesh->part + lulesh_first_node(mesh, e);
        for (size_t c = 0; c < LULESH_CORNERS; c++) {
            vec_t *part = &first[mesh->corner[c]][c >> 1];
            *part = vec_add(*part, force[c]);
        }
    }
    lulesh_mesh_sum(mesh);
    return lost;
}

static double faster_than_cut(double velocity)
{
    return fabs(velocity) < VELOCITY_CUT ? 0.0 : velocity;
}

void lulesh_move(struct lulesh_mesh *mesh, double dt)
{
    size_t m = (size_t)mesh->edge + 1;
    const int *at = mesh->place.at;
    for (size_t node = 0; node < mesh->nodes; node++) {
        vec_t push = vec_scale(1.0 / mesh->mass[node], mesh->part[node][0]);
        vec_t *velocity = &mesh->velocity[node];
        if (at[0] == 0 && node % m == 0) {
            push.x = 0.0;
        }
        if (at[1] == 0 && node / m % m == 0) {
            push.y = 0.0;
        }
        if (at[2] == 0 && node / m / m == 0) {
            push.z = 0.0;
        }
        *velocity = vec_add(*velocity, vec_scale(dt, push));
        velocity->x = faster_than_cut(velocity->x);
        velocity->y = faster_than_cut(velocity->y);
        velocity->z = faster_than_cut(velocity->z);
        mesh->position[node] = vec_add(mesh->position[node], vec_scale(dt, *velocity));
    }
}
