/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Dims_create against all grids there are, and with numbers that have very many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/impl.h"

#include <string.h>

enum { NDIMS_MAX = 6 };

static int tried[NDIMS_MAX], best[NDIMS_MAX];

/* By spread, then by sum, then by the largest dimensions. */
static int64_t compare(const int *a, const int *b, int n)
{
    int64_t by_spread = (int64_t)(a[0] - a[n - 1]) - (b[0] - b[n - 1]), by_sum = 0, by_size = 0;
    for (int i = n - 1; i >= 0; i--) {
        by_sum += a[i] - b[i];
        by_size = a[i] != b[i] ? a[i] - b[i] : by_size;
    }
    return by_spread != 0 ? by_spread : by_sum != 0 ? by_sum : by_size;
}

/* Every way to write rest as n - at factors, none above `most`. */
static void try_all(int rest, int n, int at, int most)
{
    if (at == n) {
        if (rest == 1 && (best[0] == 0 || compare(tried, best, n) < 0)) {
            memcpy(best, tried, sizeof(best));
        }
        return;
    }
    for (int d = 1; d <= most && d <= rest; d++) {
        if (rest % d == 0) {
            tried[at] = d;
            try_all(rest / d, n, at + 1, d);
        }
    }
}

static void it_finds_the_most_even_grid(void **state)
{
    (void)state;
    for (int number = 1; number <= 720; number++) {
        for (int n = 1; n <= NDIMS_MAX; n++) {
            int dims[NDIMS_MAX] = {0};
            memset(best, 0, sizeof(best));
            try_all(number, n, 0, number);
            assert_int_equal(rzm_dims_create(number, n, dims), MPI_SUCCESS);
            assert_memory_equal(dims, best, (size_t)n * sizeof(int));
        }
    }
}

/* A search that did not rule nearly everything out would not end. */
static void it_ends_for_numbers_with_many_divisors(void **state)
{
    (void)state;
    const int hard[] = {2095133040, 1396755360, 1102701600, 1934917632,
                        1 << 30,    2147483647, 1162261467, 735134400};
    for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++) {
        for (int n = 1; n <= 40; n++) {
            int dims[40] = {0};
            int64_t product = 1;
            assert_int_equal(rzm_dims_create(hard[i], n, dims), MPI_SUCCESS);
            for (int k = 0; k < n; k++) {
                product *= dims[k];
                assert_true(dims[k] > 0 && (k == 0 || dims[k] <= dims[k - 1]));
            }
            assert_true(product == hard[i]);
        }
    }
}

static void given_dimensions_stay(void **state)
{
    (void)state;
    int dims[4] = {0, 7, 0, 0};
    assert_int_equal(rzm_dims_create(7 * 871080, 4, dims), MPI_SUCCESS);
    assert_memory_equal(dims, ((int[4]){122, 7, 85, 84}), sizeof(dims));
    int bad[2] = {4, 0}, all[2] = {2, 3};
    assert_int_equal(rzm_dims_create(6, 2, bad), MPI_ERR_DIMS);
    assert_int_equal(rzm_dims_create(7, 2, all), MPI_ERR_DIMS);
    assert_int_equal(rzm_dims_create(0, 2, bad), MPI_ERR_DIMS);
    assert_int_equal(rzm_dims_create(5, 0, NULL), MPI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_the_most_even_grid),
        cmocka_unit_test(it_ends_for_numbers_with_many_divisors),
        cmocka_unit_test(given_dimensions_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
