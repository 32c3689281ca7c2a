/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of processors, and a thread that runs on no others. */
#ifndef RZ_PORT_PROCESSOR_SET_H
#define RZ_PORT_PROCESSOR_SET_H

#include <stdint.h>

struct rz_processor_set;

/* Makes a set for processors up to number `highest`; NULL: no memory. */
struct rz_processor_set *rz_processor_set_make(uint32_t highest);
void rz_processor_set_free(struct rz_processor_set *set); /* NULL: nothing */

void rz_processor_set_clear(struct rz_processor_set *set);
void rz_processor_set_add(struct rz_processor_set *set, uint32_t processor);

/* Binds the calling thread to the set. Processors that were taken from the thread meanwhile are
 * ignored; if none is left, nothing changes. Async-signal-safe. */
void rz_processor_set_apply(const struct rz_processor_set *set);

#endif
