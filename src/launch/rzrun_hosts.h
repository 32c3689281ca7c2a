/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about other hosts that rzrun alone has, as a further table of its command line. */
#ifndef RZ_LAUNCH_RZRUN_HOSTS_H
#define RZ_LAUNCH_RZRUN_HOSTS_H

#include "launch/rzrun_options.h"

extern const struct rz_cli_option rz_rzrun_hosts[];

/* Completes them once the nodes are known, and checks their combinations. */
void rz_rzrun_hosts_settle(struct rz_rzrun_options *options);

/* The same for --attach and --end, which may name the hosts of the job. */
void rz_rzrun_hosts_attach(struct rz_rzrun_options *options);

#endif
