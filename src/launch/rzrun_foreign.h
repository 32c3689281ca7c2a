/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of other launchers, as a second table of rzrun's command line (docs/launchers.md). */
#ifndef RZ_LAUNCH_RZRUN_FOREIGN_H
#define RZ_LAUNCH_RZRUN_FOREIGN_H

#include "cli/cli.h"

extern const struct rz_cli_option rz_rzrun_foreign[];

#endif
