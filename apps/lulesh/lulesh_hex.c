/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Geometry of a hexahedron with corners at the lattice points of a cube (see lulesh.h): corners
 * that differ in one bit share an edge, so an axis is a bit, and formulas that textbooks write once
 * for each corner are one formula under the cube's own symmetry.
 */
#include "lulesh.h"

#include <math.h>

/* The long-diagonal form: J. Grandy, Efficient Computation of Volume of Hexahedral Cells,
 * UCRL-ID-128886 (1997). Exact for bilinear faces. */
double hex_volume(const vec_t r[LULESH_CORNERS])
{
    double sum = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        int a = 1 << axis, b = 1 << (axis + 1) % 3;
        vec_t bend = vec_add(vec_sub(r[b], r[a]), vec_sub(r[7 ^ a], r[a | b]));
        sum += vec_dot(bend, vec_cross(vec_sub(r[7], r[b]), vec_sub(r[a | b], r[0])));
    }
    return sum / 12.0;
}

/* By the corner itself: the sum over the three faces that meet there. The other corners see the
 * same figure, mirrored as often as they differ in bits from the last one. */
void hex_volume_slopes(const vec_t r[LULESH_CORNERS], vec_t slopes[LULESH_CORNERS])
{
    for (int c = 0; c < LULESH_CORNERS; c++) {
        vec_t sum = {0};
        for (int axis = 0; axis < 3; axis++) {
            int a = 1 << axis, b = 1 << (axis + 1) % 3;
            vec_t diagonal = r[c ^ a ^ b];
            vec_t one = vec_add(diagonal, r[c ^ b]), other = vec_add(diagonal, r[c ^ a]);
            sum = vec_add(sum, vec_cross(one, other));
        }
        slopes[c] = vec_scale(lulesh_odd((size_t)c) ? -1.0 / 12.0 : 1.0 / 12.0, sum);
    }
}

void hex_spans(const vec_t r[LULESH_CORNERS], vec_t spans[3])
{
    for (int axis = 0; axis < 3; axis++) {
        int a = 1 << axis, b = 1 << (axis + 1) % 3, c = 1 << (axis + 2) % 3;
        vec_t near = vec_add(vec_sub(r[a], r[0]), vec_sub(r[a | b], r[b]));
        vec_t far = vec_add(vec_sub(r[a | c], r[c]), vec_sub(r[7], r[b | c]));
        spans[axis] = vec_scale(0.25, vec_add(near, far));
    }
}

/* The area vector of the face across an axis on one side (0 or 1), towards the upper side. */
static vec_t face_area(const vec_t r[LULESH_CORNERS], int axis, int side)
{
    int b = 1 << (axis + 1) % 3, c = 1 << (axis + 2) % 3, low = side << axis;
    vec_t along_b = vec_add(vec_sub(r[low | b], r[low]), vec_sub(r[low | b | c], r[low | c]));
    vec_t along_c = vec_add(vec_sub(r[low | c], r[low]), vec_sub(r[low | b | c], r[low | b]));
    return vec_scale(0.25, vec_cross(along_b, along_c));
}

void hex_corner_areas(const vec_t r[LULESH_CORNERS], vec_t areas[LULESH_CORNERS])
{
    vec_t face[3][2];
    for (int axis = 0; axis < 3; axis++) {
        face[axis][0] = vec_scale(-0.25, face_area(r, axis, 0));
        face[axis][1] = vec_scale(0.25, face_area(r, axis, 1));
    }
    for (size_t c = 0; c < LULESH_CORNERS; c++) {
        areas[c] = vec_add(vec_add(face[0][lulesh_axis_bit(c, 0)], face[1][lulesh_axis_bit(c, 1)]),
                           face[2][lulesh_axis_bit(c, 2)]);
    }
}

double hex_length(const vec_t r[LULESH_CORNERS], double volume)
{
    double largest = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < 2; side++) {
            vec_t area = face_area(r, axis, side);
            largest = fmax(largest, vec_dot(area, area));
        }
    }
    return volume / sqrt(largest);
}
