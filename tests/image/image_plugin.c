/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that image_libraries loads and unloads. */
#include <math.h>

#define NUMBERS 100000

static double memory[NUMBERS];

__attribute__((visibility("default"))) double image_plugin(int k, double x);

double image_plugin(int k, double x)
{
    memory[k % NUMBERS] += sin(x * k);
    return memory[k * 7 % NUMBERS] + x;
}
