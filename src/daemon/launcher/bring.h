/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The orders by which rzrun brings files to this host (state/brought.h) before it sends JOB: what
 * is written is acknowledged, so that little is on its way at a time.
 */
#ifndef RZ_DAEMON_BRING_H
#define RZ_DAEMON_BRING_H

#include "daemon/launcher/launcher.h"
#include "daemon/state/brought.h"

struct rz_bring {
    const struct rz_own_node *own;
    struct rz_brought *brought;
    int lifeline_fd;  /* keeper.h; -1 without a keeper */
    uint32_t n_whole; /* files */
};

/* bring stays where it is until the launcher is closed. */
void rz_bring_register(struct rz_bring *bring, struct rz_launcher *launcher);

#endif
