/* SPDX-License-Identifier: BSD-3-Clause */
/* The line by which `rzd --bridge JOB` begins, on standard output: the number of the job and that
 * of the node. Before it there may be other lines, of a login shell; behind it comes what the
 * daemon's control socket says to `attach`, and standard input goes there. */
#ifndef RZ_WIRE_BRIDGE_H
#define RZ_WIRE_BRIDGE_H

#define RZ_BRIDGE_LINE "rhizome-bridge %llx %u"
#define RZ_BRIDGE_LINE_MAX 128

#endif
