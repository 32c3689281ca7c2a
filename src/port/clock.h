/* SPDX-License-Identifier: BSD-3-Clause */
/* The monotonic clock of the machine. */
#ifndef RZ_PORT_CLOCK_H
#define RZ_PORT_CLOCK_H

#include <rhizome/types.h>

/* CLOCK_MONOTONIC in nanoseconds: comparable between processes of one machine. */
rz_time rz_clock_now(void);

#endif
