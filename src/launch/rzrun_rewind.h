/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of rzrun about images of the ranks' memory (docs/unmodified.md), as a further table
 * of its command line. */
#ifndef RZ_LAUNCH_RZRUN_REWIND_H
#define RZ_LAUNCH_RZRUN_REWIND_H

#include "launch/rzrun_options.h"

extern const struct rz_cli_option rz_rzrun_rewind[];

/* Checks the combinations with other options. */
void rz_rzrun_rewind_settle(struct rz_rzrun_options *options);

#endif
