/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon that an agent (ssh, srun) has started on this host: `rzd --remote`. It reads from
 * standard input what it begins with (wire/remote_messages.h), starts the hosts below it in the
 * tree of the start, and connects to rzrun, which it and rzrun prove to each other (net/stream).
 *
 * Exit status beside those of a daemon: 2: what was read was refused, 3: rzrun was not reached.
 */
#ifndef RZ_DAEMON_REMOTE_DAEMON_H
#define RZ_DAEMON_REMOTE_DAEMON_H

#include "net/stream/stream.h"

#define RZ_REMOTE_EXIT_REFUSED 2
#define RZ_REMOTE_EXIT_UNREACHED 3

struct rz_remote_daemon {
    uint32_t node;
    struct rz_stream *messages, *alive; /* both to rzrun */
    struct rz_address address;          /* where the overlay listens; port 0 */
};

/*
 * Returns 0 in the process that becomes the keeper, with everything set. Otherwise the exit status,
 * and the reason was printed. Where there are hosts below, a parent process stays that looks after
 * their agents; it does not return.
 */
int rz_remote_daemon_begin(struct rz_remote_daemon *remote);

#endif
