/* Numbers as people write them. */
#ifndef RZ_CLI_QUANTITY_H
#define RZ_CLI_QUANTITY_H

#include <rhizome/types.h>

/* A whole number from low to high; false: text is none. */
bool rz_quantity_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* A duration: a number (decimals allowed) and us, ms, s, m or h right behind it. False: text is
 * none. */
bool rz_quantity_duration(const char *text, rz_time *value);

#endif
