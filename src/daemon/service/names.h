/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name service of a job (MPI_Publish_name). Every daemon keeps what the job's processes
 * publish, so that it survives the failure of any daemon, and a look-up needs no message. A name is
 * published when all live daemons have it. It ends when it is unpublished, or with the process that
 * published it. (For a rank of the job that ends in order it ends with the job.)
 *
 * A process cannot publish a name that another one has published. If two publish a name at the same
 * time, the lower rank gets it, at all daemons.
 */
#ifndef RZ_DAEMON_NAMES_H
#define RZ_DAEMON_NAMES_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"

struct rz_names;

#define RZ_NAMES_MAX 4096      /* names of a job */
#define RZ_NAME_BYTES_MAX 1024 /* of a name, and of its port */

struct rz_names_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
};

rz_status_t rz_names_open(struct rz_names **names, const struct rz_names_config *config);
void rz_names_close(struct rz_names *names);

/* A process of this node asks; NAMED answers it, at once or when all daemons have confirmed. */
void rz_names_ask(struct rz_names *names, uint32_t rank, uint32_t incarnation,
                  const struct rz_link_name *question);

/* Handles NAME_PUT, NAME_DROP or NAME_KEPT of another daemon. */
void rz_names_message(struct rz_names *names, rz_id from, const struct rz_overlay_message *message);

/* Subscribers of the membership. The names of a spawned process that has ended in order are
 * dropped, too. */
void rz_names_node_failed(void *names, rz_id node, bool proof, bool first);
void rz_names_process_failed(void *names, uint32_t slot, uint32_t incarnation, enum rz_end end);

/* The membership has recorded a failure: the names of failed processes are dropped, and no failed
 * daemon is waited for. */
void rz_names_look_at_failures(struct rz_names *names);

#endif
