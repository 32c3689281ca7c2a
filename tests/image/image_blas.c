/* SPDX-License-Identifier: BSD-3-Clause */
/* A program to save: linear algebra by OpenBLAS, whose code is chosen by the processor. Ends with
 * 77 where that is not installed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define N 160

/* As Fortran has them: every argument is a reference. */
typedef void (*dgemm)(const char *, const char *, const int *, const int *, const int *,
                      const double *, const double *, const int *, const double *, const int *,
                      const double *, double *, const int *);
typedef void (*daxpy)(const int *, const double *, const double *, const int *, double *,
                      const int *);
typedef double (*ddot)(const int *, const double *, const int *, const double *, const int *);

static void *symbol(const char *name)
{
    static void *library;
    library = library ? library : dlopen("libopenblas.so.0", RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        exit(77);
    }
    return found;
}

int main(void)
{
    dgemm product = (dgemm)symbol("dgemm_");
    daxpy add = (daxpy)symbol("daxpy_");
    ddot dot = (ddot)symbol("ddot_");
    const int n = N, all = N * N, one = 1;
    const double factor = 0.02, none = 0, part = 0.3;
    double *a = malloc(N * N * 8), *b = malloc(N * N * 8), *c = malloc(N * N * 8), s = 0;
    for (int i = 0; i < N * N; i++) {
        a[i] = (i * 37 % 101) / 101.0 - 0.5, b[i] = (i * 53 % 89) / 89.0 - 0.5;
    }
    for (int round = 0; round < 400; round++) {
        product("N", "N", &n, &n, &n, &factor, a, &n, b, &n, &none, c, &n);
        double *t = a;
        a = c, c = t;
        add(&all, &part, b, &one, a, &one);
        s += dot(&all, a, &one, b, &one);
        if (round % 50 == 0) {
            printf("%d %.17g\n", round, s);
            fflush(stdout);
        }
    }
    printf("end %.17g\n", s);
    return 0;
}
