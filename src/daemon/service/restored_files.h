/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No process becomes its image before all have restored files (file_marks.h): it would find a file
 * as another one has left it that goes back, too. Each process says that it has, its daemon tells
 * that of the lowest node with ranks when all of its node have, and that one answers when all nodes
 * have. If one fails meanwhile there is a new epoch, with new processes.
 */
#ifndef RZ_DAEMON_RESTORED_FILES_H
#define RZ_DAEMON_RESTORED_FILES_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"

struct rz_restored_files;

struct rz_restored_files_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
};

/* In a job without RZ_JOB_REWIND nobody restores files: *restored is NULL. */
rz_status_t rz_restored_files_open(struct rz_restored_files **restored,
                                   const struct rz_restored_files_config *config);
void rz_restored_files_close(struct rz_restored_files *restored); /* NULL: nothing */

#endif
