/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared file pointers (MPI_File_write_shared). The daemon of one node keeps a pointer: processes
 * of other nodes reach it through their own daemons. A pointer is made by the first question about
 * it, and ends when it is dropped, or with the node that keeps it: then questions about it are
 * answered with RZ_ERR_PROC_FAILED.
 */
#ifndef RZ_DAEMON_POINTERS_H
#define RZ_DAEMON_POINTERS_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"

struct rz_pointers;

#define RZ_POINTERS_MAX 65536 /* pointers that a daemon keeps */

struct rz_pointers_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
};

rz_status_t rz_pointers_open(struct rz_pointers **pointers,
                             const struct rz_pointers_config *config);
void rz_pointers_close(struct rz_pointers *pointers);

/* A subscriber of the membership. */
void rz_pointers_node_failed(void *pointers, rz_id node, bool proof, bool first);

#endif
