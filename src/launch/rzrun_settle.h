/* SPDX-License-Identifier: BSD-3-Clause */
/* Defaults that follow from a command line, and checks of whether its options fit together. */
#ifndef RZ_LAUNCH_RZRUN_SETTLE_H
#define RZ_LAUNCH_RZRUN_SETTLE_H

#include "launch/rzrun_options.h"

/* Fills in what was not given, and places the ranks; ends the process with a one-line message where
 * the options contradict each other or the machine. */
void rz_rzrun_settle(struct rz_rzrun_options *options);

#endif
