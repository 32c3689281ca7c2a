/* What rzrun may order: faults, signals, a report of who waits for whom. */
#ifndef RZ_DAEMON_ORDERS_H
#define RZ_DAEMON_ORDERS_H

#include "daemon/daemon.h"

/* Carries out a fault (enum rz_inject) and records it. To kill the node means this daemon: the call
 * may not return. */
void rz_orders_inject(struct rz_daemon *daemon, const struct rz_launch_inject *inject);

/* Forwards a signal to all processes here. */
void rz_orders_signal(struct rz_daemon *daemon, uint32_t number);

/* One WAITING line per wait of each process here (one that says so where there is none), then
 * WAITING_END. */
void rz_orders_dump_waiting(struct rz_daemon *daemon);

#endif
