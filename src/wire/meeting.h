/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that another launcher has started (src/pmix) and what stands in for them at their
 * daemon: for each the daemon starts `rzd --stand-in`, which hands over its link.
 *
 * The process listens at the meeting point (port/local_socket.h) of its rank; rank 0 also at that
 * of the number of ranks, where `rzd --relay` brings what the daemons of other hosts begin with.
 */
#ifndef RZ_WIRE_MEETING_H
#define RZ_WIRE_MEETING_H

/* The variable that has the token of the meeting points, in hexadecimal digits. */
#define RZ_MEETING_TOKEN "RZ_MEETING_TOKEN"

/* The variable that has the number of ranks. */
#define RZ_MEETING_RANKS "RZ_MEETING_RANKS"

/* To the process: entries of the environment, each with a zero byte at its end; beside them the
 * link. */
#define RZ_STAND_IN_ENTRIES_MAX 65536

/* From the process, when it has left the job in order: its end is no failure. */
#define RZ_STAND_IN_LEFT 'L'

/* What a relay brings comes in pieces of at most this size; the first begins with the length of the
 * whole (u32), as on a daemon's standard input. */
#define RZ_RELAY_PIECE 32768

#endif
