/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of rzrun about checkpoints, as a further table of its command line. */
#ifndef RZ_LAUNCH_RZRUN_CHECKPOINTS_H
#define RZ_LAUNCH_RZRUN_CHECKPOINTS_H

#include "launch/rzrun_options.h"

/* "SIGTERM" and others that can end a job with its newest checkpoint in files. */
const char *rz_rzrun_signal_name(int number);

extern const struct rz_cli_option rz_rzrun_checkpoints[];

/* Completes them once the program is known, and checks their combinations. */
void rz_rzrun_checkpoints_settle(struct rz_rzrun_options *options);

#endif
