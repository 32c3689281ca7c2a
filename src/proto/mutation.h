/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutations: bugs on purpose, which the simulator must find. The objects that verify/ runs as
 * mutants have them (RZ_MUTATIONS is defined); those of the product have nothing in their place,
 * whatever the configuration says. With no mutation both take the same steps:
 * tests/sim/same_steps_test.c.
 */
#ifndef RZ_PROTO_MUTATION_H
#define RZ_PROTO_MUTATION_H

#include <stdbool.h>

#ifdef RZ_MUTATIONS
#define RZ_MUTATED(mutations, which) (((mutations) & (which)) != 0)
#else
#define RZ_MUTATED(mutations, which) (false && ((mutations) & (which)) != 0)
#endif

#endif
