/* SPDX-License-Identifier: BSD-3-Clause */
/* A detached job (daemon/launcher/detached.h) from outside: looked at, or ended. */
#ifndef RZ_LAUNCH_ATTACH_H
#define RZ_LAUNCH_ATTACH_H

#include "launch/rzrun_options.h"

/* --attach: shows the job's output until its end; the job's exit status. --end: ends it; 0. Both:
 * RZ_EXIT_NO_JOB where it cannot be reached, 128 + the signal that this rzrun received; each with a
 * message on standard error. */
int rz_attach_run(const struct rz_rzrun_options *options);

#endif
