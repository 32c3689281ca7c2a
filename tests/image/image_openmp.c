/* SPDX-License-Identifier: BSD-3-Clause */
/* A program to save: OpenMP's threads, which work or wait in their pool. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 200000

int main(void)
{
    double *x = calloc(N, 8), s = 0;
    for (int round = 0; round < 120; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) {
            x[i] = sin(x[i] + i * 1e-3 + round);
        }
        for (int i = 0; i < N; i += 7) { /* the others are idle */
            s += x[i];
        }
        if (round % 50 == 0) {
            printf("%d %.17g %d\n", round, s, omp_get_max_threads());
            fflush(stdout);
        }
        void *p[4];
#pragma omp parallel num_threads(3)
        {
            int me = omp_get_thread_num();
            p[me] = malloc((size_t)(1000 + 100 * me));
        }
        for (int i = 0; i < 3; i++) {
            free(p[i]);
        }
    }
    printf("end %.17g\n", s);
    return 0;
}
