/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests: bounds that are usually met by few programs, at their least value. With
 * RZ_BOUNDS=least each is as small as it works; with RZ_BOUNDS=odd[:SEED] each is drawn (the seed
 * is 1, if none is given). All else must go on as usual, only more slowly (docs/bounds.md).
 */
#ifndef RZ_PORT_BOUNDS_H
#define RZ_PORT_BOUNDS_H

#include <stdint.h>

#define RZ_BOUNDS_ENVIRONMENT "RZ_BOUNDS"

/* The value of the bound `name`: `usual`, or, as RZ_BOUNDS says, one from least to usual (in either
 * order). Reads the environment: called where a thing is opened, not where it is used. A value of
 * RZ_BOUNDS that is neither of the two ends the process with a sentence. */
uint64_t rz_bound(const char *name, uint64_t usual, uint64_t least);

#endif
