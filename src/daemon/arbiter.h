/*
 * The daemon's part in `--detector flat`, where the processes of the job watch one another
 * (mpi/flat/flat.h): it gives each process that joins a socket, tells all nodes the socket's port,
 * and is the failure arbiter of what the processes find.
 *
 * A process that others find silent is reported to its own daemon, which alone knows whether it has
 * left in order; else it ends it, and its failure is one like any other. A daemon that is asked so
 * and says nothing for an hb_timeout is held for failed with its node.
 */
#ifndef RZ_DAEMON_ARBITER_H
#define RZ_DAEMON_ARBITER_H

#include "base/status.h"
#include "daemon/daemon.h"

struct rz_arbiter;
struct rz_child;

/* *failure arbiter stays NULL where the job has another detector, or nobody looks for failures. */
rz_status_t rz_arbiter_open(struct rz_arbiter **arbiter, struct rz_daemon *daemon);
void rz_arbiter_close(struct rz_arbiter *arbiter); /* NULL: nothing */

/* All of the following do nothing where daemon->failure arbiter is NULL. */

/*
 * A process joins: *fd is the socket for its datagrams, which belongs to the caller and goes to the
 * process beside WELCOME, with the key of all processes of the job. *fd -1: nobody asked for one.
 * An error: it has none, and would be found silent.
 */
rz_status_t rz_arbiter_join(struct rz_child *process, uint8_t key[RZ_JOB_KEY_BYTES], int *fd);

/* Our process has found that of (rank, incarnation) silent in epoch. */
void rz_arbiter_reported(struct rz_daemon *daemon, uint32_t epoch, uint32_t rank,
                         uint32_t incarnation);

/* Our process `by` heard from others that (rank, incarnation) is silent: for the record. */
void rz_arbiter_heard(struct rz_daemon *daemon, uint32_t by, const struct rz_link_heard *heard);

/* RING_PORT or SILENT of another daemon. */
void rz_arbiter_message(struct rz_daemon *daemon, rz_id from,
                        const struct rz_overlay_message *message);

/* Something of node has come, whatever it was. */
void rz_arbiter_node_lives(struct rz_daemon *daemon, rz_id node);

#endif
