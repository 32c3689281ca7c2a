/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of rzrun that contradict each other, or that have an effect with another one only. */
#ifndef RZ_LAUNCH_RZRUN_CONFLICTS_H
#define RZ_LAUNCH_RZRUN_CONFLICTS_H

struct rz_rzrun_options;

/* The command line was read and nothing was settled yet: refuses it where it says what cannot be,
 * or what would silently have no effect. */
void rz_rzrun_conflicts_check(const struct rz_rzrun_options *options);

/* The same with --attach or --end: refuses what concerns a job that rzrun starts. */
void rz_rzrun_conflicts_attach(const struct rz_rzrun_options *options);

#endif
