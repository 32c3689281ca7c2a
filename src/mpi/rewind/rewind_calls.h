/* SPDX-License-Identifier: BSD-3-Clause */
/* What is behind rhizome/rewind.h. Called with the engine lock held; returns as impl.h says. */
#ifndef RZ_MPI_REWIND_CALLS_H
#define RZ_MPI_REWIND_CALLS_H

#include <stdbool.h>
#include <stddef.h>

int rzm_rewind_now(void);
int rzm_rewind_exclude(void *address, size_t bytes);
int rzm_rewind_forbid(bool forbid);

#endif
