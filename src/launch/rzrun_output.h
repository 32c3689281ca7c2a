/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about what the user sees of a job, and how a job starts and ends, as a table of
 * rzrun's command line. */
#ifndef RZ_LAUNCH_RZRUN_OUTPUT_H
#define RZ_LAUNCH_RZRUN_OUTPUT_H

#include "launch/rzrun_options.h"

extern const struct rz_cli_option rz_rzrun_output[];

#endif
