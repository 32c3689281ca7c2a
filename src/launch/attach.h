/* SPDX-License-Identifier: BSD-3-Clause */
/* rzrun's access to a detached job (daemon/launcher/detached.h): shows it, or ends it. */
#ifndef RZ_LAUNCH_ATTACH_H
#define RZ_LAUNCH_ATTACH_H

#include "launch/rzrun_options.h"

/* With --attach it shows the job's output until its end, and returns the job's exit status. With
 * --end it ends the job, and returns 0. Both return RZ_EXIT_NO_JOB if the job cannot be reached,
 * and 128 + the number of a signal that this rzrun received, each with a message on standard
 * error. */
int rz_attach_run(const struct rz_rzrun_options *options);

#endif
