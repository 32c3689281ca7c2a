/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The orders by which rzrun brings files to this host (state/preloaded.h) before it sends JOB: what
 * is written is acknowledged, so that little is on its way at a time.
 */
#ifndef RZ_DAEMON_PRELOAD_ORDERS_H
#define RZ_DAEMON_PRELOAD_ORDERS_H

#include "daemon/launcher/launcher.h"
#include "daemon/state/preloaded.h"

struct rz_preload_orders {
    const struct rz_own_node *own;
    struct rz_preloaded *preloaded;
    int lifeline_fd;  /* keeper.h; -1 without a keeper */
    uint32_t n_whole; /* files */
};

/* preload stays where it is until the launcher is closed. */
void rz_preload_orders_register(struct rz_preload_orders *preload, struct rz_launcher *launcher);

#endif
