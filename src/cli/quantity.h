/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as users write them. */
#ifndef RZ_CLI_QUANTITY_H
#define RZ_CLI_QUANTITY_H

#include <rhizome/types.h>

/* A whole number from low to high; false: text is none. */
bool rz_quantity_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* A whole number from low to high; a power of two may be written as 2^20. */
bool rz_quantity_power(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* A size: a whole number of bytes, or of KiB, MiB or GiB directly after it. */
bool rz_quantity_bytes(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* A share from 0 to 1, written as one (0.001) or in percent (0.1%). */
bool rz_quantity_share(const char *text, double *value);

/* A duration: a number (decimals allowed) and us, ms, s, m or h directly after it; or several of
 * them, larger units first: 1h30m. False: text is none. */
bool rz_quantity_duration(const char *text, rz_time *value);

/* A duration, or a whole number alone, which is a number of seconds. */
bool rz_quantity_seconds(const char *text, rz_time *value);

#endif
