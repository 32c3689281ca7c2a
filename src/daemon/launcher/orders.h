/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rzrun may order while the job runs: faults, signals, and a report of which processes wait
 * for which.
 */
#ifndef RZ_DAEMON_ORDERS_H
#define RZ_DAEMON_ORDERS_H

#include "daemon/launcher/launcher.h"
#include "daemon/overlay/overlay.h"
#include "daemon/process/child.h"

struct rz_orders;

struct rz_orders_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_overlay *overlay;
    struct rz_launcher *launcher;
    int lifeline_fd; /* keeper.h; -1 without a keeper */
};

/* Obeys three orders. INJECT is a fault (enum rz_inject), which is recorded; killing the node means
 * this daemon, and then the call may not return. SIGNAL goes to all processes here. DUMP_WAITING
 * asks for a report, and for what the processes have sent. */
rz_status_t rz_orders_open(struct rz_orders **orders, const struct rz_orders_config *config);
void rz_orders_close(struct rz_orders *orders); /* NULL: nothing */

/* Reports one WAITING line for each wait of each process here (a process without a wait gets a line
 * that says so), then WAITING_END. */
void rz_orders_dump_waiting(const struct rz_orders *orders);

#endif
