/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nodes are on other hosts, and at which addresses these reach this machine. */
#ifndef RZ_LAUNCH_ELSEWHERE_H
#define RZ_LAUNCH_ELSEWHERE_H

#include "launch/rzrun_options.h"

/* Decides which nodes of the layout are on other hosts, and finds the addresses of this machine. */
void rz_elsewhere_settle(struct rz_rzrun_options *options);

#endif
