/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements: volumes, artificial viscosity, equation of state, and the steps they allow.
 *
 * The viscosity q spreads a shock over a few elements; it is limited where the velocity is smooth
 * (R. Christensen, Godunov methods on a staggered mesh, UCRL-JC-105269, 1990). Energy and pressure
 * depend on each other; they are found in three corrections, with the pressure at half the step.
 */
#include "lulesh.h"

#include <math.h>

/* Below these a value is 0, or a relative volume 1. */
static const double ENERGY_CUT = 1e-7, PRESSURE_CUT = 1e-7, Q_CUT = 1e-7, VOLUME_CUT = 1e-10;
static const double ENERGY_MIN = -1e15, PRESSURE_MIN = 0.0;
static const double VOLUME_MIN = 1e-9, VOLUME_MAX = 1e9; /* of the equation of state; relative */
static const double Q_STOP = 1e12;
static const double SLOPE_MAX = 1.0, LIMITER = 2.0; /* of the viscosity's limiter */
static const double Q_LINEAR = 0.5, Q_QUADRATIC = 2.0 / 3.0;
static const double GAMMA_LESS_1 = 2.0 / 3.0;
static const double Q_COURANT = 2.0, VOLUME_CHANGE_MAX = 0.1; /* in a step */
static const double TINY = 1e-36;

/* Square of the sound speed below which it is SOUND_MIN. */
static const double SOUND_SQUARE_MIN = 0.1111111e-36, SOUND_MIN = 0.3333333e-18;

/* Volume and its rate of change; the rate belongs to the middle of the step. */
static void kinematics(struct lulesh_mesh *mesh, size_t e, double dt)
{
    vec_t r[LULESH_CORNERS], velocity[LULESH_CORNERS], span[3], rate[3];
    lulesh_gather(mesh, e, mesh->position, r);
    lulesh_gather(mesh, e, mesh->velocity, velocity);
    double volume = hex_volume(r);
    mesh->volume_new[e] = volume / mesh->volume_start[e];
    if (!(mesh->volume_new[e] > 0.0)) {
        lulesh_fail("element %llu has no volume left: the step of %g is too long",
                    (unsigned long long)lulesh_global(mesh, e, mesh->edge, mesh->edge_all), dt);
    }
    mesh->volume_change[e] = mesh->volume_new[e] - mesh->volume[e];
    mesh->length[e] = hex_length(r, volume);
    for (int c = 0; c < LULESH_CORNERS; c++) {
        r[c] = vec_sub(r[c], vec_scale(0.5 * dt, velocity[c]));
    }
    hex_spans(r, span);
    hex_spans(velocity, rate);
    double box = vec_dot(span[0], vec_cross(span[1], span[2])), sum = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        sum += vec_dot(rate[axis], vec_cross(span[(axis + 1) % 3], span[(axis + 2) % 3]));
    }
    mesh->stretch[e] = sum / box;
}

/* How the velocity changes along each axis of an element, and how long the element is there. */
static void velocity_gradient(struct lulesh_mesh *mesh, size_t e)
{
    vec_t r[LULESH_CORNERS], velocity[LULESH_CORNERS], span[3], rate[3];
    double volume = mesh->volume_start[e] * mesh->volume_new[e];
    lulesh_gather(mesh, e, mesh->position, r);
    lulesh_gather(mesh, e, mesh->velocity, velocity);
    hex_spans(r, span);
    hex_spans(velocity, rate);
    for (int axis = 0; axis < 3; axis++) {
        vec_t area = vec_cross(span[(axis + 1) % 3], span[(axis + 2) % 3]);
        mesh->extent[axis][e] = volume / sqrt(vec_dot(area, area) + TINY);
        mesh->gradient[axis][e] = vec_dot(area, rate[axis]) / (volume + TINY);
    }
}

/* 1 where the velocity changes evenly from element to element, 0 where it jumps. */
static double smoothness(const struct lulesh_mesh *mesh, size_t e, int axis)
{
    size_t n = (size_t)mesh->edge, strides[3] = {1, n, n * n};
    size_t at = e / strides[axis] % n;
    size_t b = e / strides[(axis + 1) % 3] % n, c = e / strides[(axis + 2) % 3] % n;
    const double *gradient = mesh->gradient[axis];
    double lower = at > 0 ? gradient[e - strides[axis]] : mesh->beyond[axis][0][c * n + b];
    double upper = at < n - 1 ? gradient[e + strides[axis]] : mesh->beyond[axis][1][c * n + b];
    double scale = 1.0 / (gradient[e] + TINY);
    lower *= scale, upper *= scale;
    double least = fmin(0.5 * (lower + upper), LIMITER * fmin(lower, upper));
    return fmin(fmax(least, 0.0), SLOPE_MAX);
}

static void viscosity(struct lulesh_mesh *mesh, size_t e)
{
    double linear = 0.0, quadratic = 0.0, density = 1.0 / mesh->volume_new[e];
    mesh->q_linear[e] = mesh->q_quadratic[e] = 0.0;
    if (mesh->stretch[e] > 0.0) {
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        double jump = fmin(mesh->gradient[axis][e] * mesh->extent[axis][e], 0.0);
        double smooth = smoothness(mesh, e, axis);
        linear += jump * (1.0 - smooth);
        quadratic += jump * jump * (1.0 - smooth * smooth);
    }
    mesh->q_linear[e] = -Q_LINEAR * density * linear;
    mesh->q_quadratic[e] = Q_QUADRATIC * density * quadratic;
}

/* What the equation of state knows of an element, and what it finds. */
struct matter {
    double volume, change; /* at the end of the step, and during it */
    double q_linear, q_quadratic;
    double energy, pressure, q, sound;
};

static double cut(double value, double least)
{
    return fabs(value) < least ? 0.0 : value;
}

static double cut_energy(double energy)
{
    return fmax(cut(energy, ENERGY_CUT), ENERGY_MIN);
}

/* Of an ideal gas with gamma 5/3. */
static double gas_pressure(double energy, double compression, double volume)
{
    double pressure = cut(GAMMA_LESS_1 * (compression + 1.0) * energy, PRESSURE_CUT);
    return volume >= VOLUME_MAX ? fmax(0.0, PRESSURE_MIN) : fmax(pressure, PRESSURE_MIN);
}

static double gas_sound(double energy, double compression, double volume, double pressure)
{
    double square =
        GAMMA_LESS_1 * energy + volume * volume * (GAMMA_LESS_1 * (compression + 1.0)) * pressure;
    return square <= SOUND_SQUARE_MIN ? SOUND_MIN : sqrt(square);
}

/* Viscous pressure; an element that expands has none. */
static double gas_q(const struct matter *m, double sound)
{
    return m->change > 0.0 ? 0.0 : sound * m->q_linear + m->q_quadratic;
}

/* The state at the end of a step from that at its start. */
static struct matter advance(struct matter old)
{
    struct matter m = old;
    double half = 1.0 / (m.volume - 0.5 * m.change) - 1.0, end = 1.0 / m.volume - 1.0;
    if (m.volume <= VOLUME_MIN) {
        half = end;
    }
    if (m.volume >= VOLUME_MAX) {
        old.pressure = half = end = 0.0;
    }
    double before = old.pressure + old.q, volume_half = 1.0 / (1.0 + half);
    m.energy = fmax(old.energy - 0.5 * m.change * before, ENERGY_MIN);
    double pressure_half = gas_pressure(m.energy, half, m.volume);
    double middle =
        pressure_half + gas_q(&m, gas_sound(m.energy, half, volume_half, pressure_half));
    m.energy = cut_energy(m.energy + 0.5 * m.change * (3.0 * before - 4.0 * middle));
    m.pressure = gas_pressure(m.energy, end, m.volume);
    double after = m.pressure + gas_q(&m, gas_sound(m.energy, end, m.volume, m.pressure));
    m.energy = cut_energy(m.energy - (7.0 * before - 8.0 * middle + after) * m.change / 6.0);
    m.pressure = gas_pressure(m.energy, end, m.volume);
    m.sound = gas_sound(m.energy, end, m.volume, m.pressure);
    m.q = cut(gas_q(&m, m.sound), Q_CUT);
    return m;
}

static double clamp_volume(double volume)
{
    return fmin(fmax(volume, VOLUME_MIN), VOLUME_MAX);
}

static struct matter matter_of(const struct lulesh_mesh *mesh, size_t e)
{
    return (struct matter){.volume = clamp_volume(mesh->volume_new[e]),
                           .change = mesh->volume_change[e],
                           .q_linear = mesh->q_linear[e],
                           .q_quadratic = mesh->q_quadratic[e],
                           .energy = mesh->energy[e],
                           .pressure = mesh->pressure[e],
                           .q = mesh->q[e],
                           .sound = mesh->sound[e]};
}

/* How often a region's material is evaluated: some are made dearer, in the proportions of
 * LLNL-TR-641973: half of the regions once, most others 1 + cost times, one in twenty ten times as
 * often. */
static int repetitions(const struct lulesh_options *options, int region)
{
    if (region < options->regions / 2) {
        return 1;
    }
    if (region < options->regions - (options->regions + 15) / 20) {
        return 1 + options->cost;
    }
    return 10 * (1 + options->cost);
}

static void evaluate_element(struct lulesh_mesh *mesh, size_t e, int times)
{
    struct matter old = matter_of(mesh, e), m = old;
    for (int i = 0; i < times; i++) {
        volatile double energy = old.energy; /* else the compiler would do it once */
        old.energy = energy;
        m = advance(old);
    }
    mesh->energy[e] = m.energy;
    mesh->pressure[e] = m.pressure;
    mesh->q[e] = m.q;
    mesh->sound[e] = m.sound;
}

static void evaluate_materials(struct lulesh_mesh *mesh, const struct lulesh_options *options)
{
    for (int r = 0; r < options->regions; r++) {
        int times = repetitions(options, r);
        for (size_t i = mesh->region_start[r]; i < mesh->region_start[r + 1]; i++) {
            evaluate_element(mesh, mesh->region[i], times);
        }
    }
}

void lulesh_elements(struct lulesh_mesh *mesh, const struct lulesh_options *options, double dt)
{
    for (size_t e = 0; e < mesh->elements; e++) {
        kinematics(mesh, e, dt);
        velocity_gradient(mesh, e);
    }
    lulesh_mesh_swap_gradients(mesh);
    for (size_t e = 0; e < mesh->elements; e++) {
        viscosity(mesh, e);
    }
    evaluate_materials(mesh, options);
    for (size_t e = 0; e < mesh->elements; e++) {
        double volume = mesh->volume_new[e];
        if (!(mesh->q[e] <= Q_STOP)) {
            lulesh_fail("element %llu: artificial viscosity of %g, more than %g",
                        (unsigned long long)lulesh_global(mesh, e, mesh->edge, mesh->edge_all),
                        mesh->q[e], Q_STOP);
        }
        mesh->volume[e] = fabs(volume - 1.0) < VOLUME_CUT ? 1.0 : volume;
    }
}

void lulesh_constraints(const struct lulesh_mesh *mesh, double *courant, double *hydro)
{
    double least_courant = 1e20, least_hydro = 1e20;
    for (size_t e = 0; e < mesh->elements; e++) {
        double stretch = mesh->stretch[e], length = mesh->length[e];
        double square = mesh->sound[e] * mesh->sound[e];
        if (stretch == 0.0) {
            continue;
        }
        if (stretch < 0.0) {
            square += 64.0 * Q_COURANT * Q_COURANT * length * length * stretch * stretch;
        }
        least_courant = fmin(least_courant, length / sqrt(square));
        least_hydro = fmin(least_hydro, VOLUME_CHANGE_MAX / (fabs(stretch) + 1e-20));
    }
    *courant = least_courant;
    *hydro = least_hydro;
}
