/*
 * The name service of a job (MPI_Publish_name): what its processes publish is kept by every daemon,
 * so that it outlives any of them, and asking needs no message. A name is published when all living
 * daemons have it; it goes when it is unpublished, or with the process that published it. (A rank
 * of the job that ends in order goes with the job.)
 *
 * Who publishes a name that another one has is refused. When two do so at once the lower rank wins,
 * everywhere.
 */
#ifndef RZ_DAEMON_NAMES_H
#define RZ_DAEMON_NAMES_H

#include "daemon/daemon.h"

struct rz_names;

#define RZ_NAMES_MAX 4096      /* names of a job */
#define RZ_NAME_BYTES_MAX 1024 /* of a name, and of what it stands for */

rz_status_t rz_names_open(struct rz_names **names, struct rz_daemon *daemon);
void rz_names_close(struct rz_names *names);

/* A process of this node asks; it is answered by NAMED, now or when all daemons have done it. */
void rz_names_ask(struct rz_names *names, uint32_t rank, uint32_t incarnation,
                  const struct rz_link_name *question);

/* NAME_PUT, NAME_DROP or NAME_KEPT of another daemon. */
void rz_names_message(struct rz_names *names, rz_id from, const struct rz_overlay_message *message);

/* A spawned process has ended in order: its names go, too. */
void rz_names_process_ended(struct rz_names *names, uint32_t rank, uint32_t incarnation);

/* Somebody failed: the names of failed processes go, and no failed daemon is waited for. */
void rz_names_look_at_failures(struct rz_names *names);

#endif
