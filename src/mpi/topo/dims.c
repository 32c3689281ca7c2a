/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Dims_create: the most balanced grid. "As close to each other as possible" (MPI 5.0, section
 * 8.5.2) is interpreted so: the difference between the largest and the smallest free dimension is
 * minimal; of several such grids, the sum of dimensions is minimal; of these, the largest
 * dimensions are the smallest.
 */
#include "mpi/impl.h"

#include <stdlib.h>

/* No int has more divisors than this (2095133040 is one of those with the most). */
#define DIVISORS_MAX 1600

struct divisors {
    int n, values[DIVISORS_MAX]; /* ascending */
};

/* The search for the best factorisation of a number into k factors. */
struct cut {
    struct divisors divisors; /* of the number */
    int k;
    int *factors; /* [k]: the factors of the present try, ascending */
    int *best;    /* [k]; best[0] is 0 until one was found */
};

static void find_divisors(int number, struct divisors *divisors)
{
    int n = 0, large = 0;
    for (int d = 1; d <= number / d; d++) {
        if (number % d == 0) {
            divisors->values[n++] = d;
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        int other = number / divisors->values[i];
        if (other != divisors->values[i]) {
            divisors->values[n + large++] = other;
        }
    }
    divisors->n = n + large;
}

/* Whether d to the power of k is less than number (-1), equal (0) or greater (1). */
static int compare_power(int64_t d, int k, int number)
{
    int64_t power = 1;
    for (int i = 0; i < k && power <= number; i++) {
        power *= d;
    }
    return power < number ? -1 : power > number;
}

static int spread_of(const struct cut *cut, const int *factors)
{
    return factors[cut->k - 1] - factors[0];
}

static bool is_better(const struct cut *cut)
{
    if (cut->best[0] == 0 || spread_of(cut, cut->factors) != spread_of(cut, cut->best)) {
        return cut->best[0] == 0 || spread_of(cut, cut->factors) < spread_of(cut, cut->best);
    }
    int64_t mine = 0, best = 0;
    for (int i = 0; i < cut->k; i++) {
        mine += cut->factors[i];
        best += cut->best[i];
    }
    for (int i = cut->k - 1; i >= 0 && mine == best; i--) {
        mine = cut->factors[i];
        best = cut->best[i];
    }
    return mine < best;
}

/* Whether `rest` is not a product of `left` factors that differ from `low` by at most the best
 * spread so far. */
static bool is_hopeless(const struct cut *cut, int low, int left, int rest)
{
    return cut->best[0] != 0 &&
           compare_power((int64_t)low + spread_of(cut, cut->best), left, rest) < 0;
}

/* Tries all factorisations of `rest` into the factors from `at` on, none less than divisor number
 * `first`. */
static void cut_rest(struct cut *cut, int at, int first, int rest)
{
    const int *values = cut->divisors.values;
    int left = cut->k - at;
    if (left == 1) {
        cut->factors[at] = rest;
        if (rest >= values[first] && is_better(cut)) {
            memcpy(cut->best, cut->factors, (size_t)cut->k * sizeof(int));
        }
        return;
    }
    for (int i = first; i < cut->divisors.n && compare_power(values[i], left, rest) <= 0; i++) {
        if (rest % values[i] == 0 &&
            !is_hopeless(cut, cut->factors[0], left - 1, rest / values[i])) {
            cut->factors[at] = values[i];
            cut_rest(cut, at + 1, i, rest / values[i]);
        }
    }
}

/* The smallest factor is tried from the largest possible one downwards: the first tries are
 * balanced, and exclude nearly all others. */
static void cut_evenly(struct cut *cut, int number)
{
    const int *values = cut->divisors.values;
    int i = 0;
    if (cut->k == 1) {
        cut->best[0] = number;
        return;
    }
    while (i + 1 < cut->divisors.n && compare_power(values[i + 1], cut->k, number) <= 0) {
        i++;
    }
    for (; i >= 0; i--) {
        if (!is_hopeless(cut, values[i], cut->k - 1, number / values[i])) {
            cut->factors[0] = values[i];
            cut_rest(cut, 1, i, number / values[i]);
        }
    }
}

/* Sets the number of processes for the free dimensions, and the number of free dimensions.
 * MPI_ERR_DIMS. */
static int check(int nnodes, int ndims, const int dims[], int *rest, int *n_free)
{
    *rest = nnodes;
    *n_free = 0;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0 || (dims[i] > 0 && (*rest == 0 || *rest % dims[i] != 0))) {
            return rzm_error(MPI_ERR_DIMS, "dims[%d] is %d, which does not divide %d processes", i,
                             dims[i], *rest);
        }
        *n_free += dims[i] == 0;
        *rest /= dims[i] > 0 ? dims[i] : 1;
    }
    if (nnodes <= 0 || (*n_free == 0 && *rest != 1 && ndims > 0)) {
        return rzm_error(MPI_ERR_DIMS, "nnodes is %d: no grid of these dims has so many", nnodes);
    }
    return MPI_SUCCESS;
}

int rzm_dims_create(int nnodes, int ndims, int dims[])
{
    int rest, n_free;
    int error = check(nnodes, ndims, dims, &rest, &n_free);
    if (error != MPI_SUCCESS || n_free == 0) {
        return error;
    }
    /* An int has at most 31 factors above 1: the others are 1. */
    struct cut cut = {.k = n_free < 31 ? n_free : 31};
    int factors[31], best[31] = {0};
    cut.factors = factors;
    cut.best = best;
    find_divisors(rest, &cut.divisors);
    cut_evenly(&cut, rest);
    rz_assert(best[0] > 0);
    for (int i = 0, k = cut.k; i < ndims; i++) {
        if (dims[i] == 0) {
            dims[i] = k > 0 ? best[--k] : 1;
        }
    }
    return MPI_SUCCESS;
}
