/* SPDX-License-Identifier: BSD-3-Clause */
/* A program to save: linear algebra by OpenBLAS, whose code is chosen by the processor. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

#define N 160

int main(void)
{
    double *a = malloc(N * N * 8), *b = malloc(N * N * 8), *c = malloc(N * N * 8), s = 0;
    for (int i = 0; i < N * N; i++) {
        a[i] = (i * 37 % 101) / 101.0 - 0.5, b[i] = (i * 53 % 89) / 89.0 - 0.5;
    }
    for (int round = 0; round < 400; round++) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, N, N, N, 0.02, a, N, b, N, 0, c, N);
        double *t = a;
        a = c, c = t;
        cblas_daxpy(N * N, 0.3, b, 1, a, 1);
        s += cblas_ddot(N * N, a, 1, b, 1);
        if (round % 50 == 0) {
            printf("%d %.17g\n", round, s);
            fflush(stdout);
        }
    }
    printf("end %.17g\n", s);
    return 0;
}
