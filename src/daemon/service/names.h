/* SPDX-License-Identifier: BSD-3-Clause */
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

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"

struct rz_names;

#define RZ_NAMES_MAX 4096      /* names of a job */
#define RZ_NAME_BYTES_MAX 1024 /* of a name, and of what it stands for */

struct rz_names_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
};

rz_status_t rz_names_open(struct rz_names **names, const struct rz_names_config *config);
void rz_names_close(struct rz_names *names);

/* A process of this node asks; it is answered by NAMED, now or when all daemons have done it. */
void rz_names_ask(struct rz_names *names, uint32_t rank, uint32_t incarnation,
                  const struct rz_link_name *question);

/* NAME_PUT, NAME_DROP or NAME_KEPT of another daemon. */
void rz_names_message(struct rz_names *names, rz_id from, const struct rz_overlay_message *message);

/* Subscribers of the membership: a spawned process that has ended in order takes its names with it,
 * too. */
void rz_names_node_failed(void *names, rz_id node, bool proof, bool first);
void rz_names_process_failed(void *names, uint32_t slot, uint32_t incarnation, enum rz_end end);

/* Something has failed, as the membership says: the names of failed processes go, and no failed
 * daemon is waited for. */
void rz_names_look_at_failures(struct rz_names *names);

#endif
