/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checkpoint store needs of the rest of the daemon, and its hooks. */
#ifndef RZ_DAEMON_STORE_CONFIG_H
#define RZ_DAEMON_STORE_CONFIG_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child.h"
#include "daemon/process/link_router.h"
#include "daemon/state/core.h"
#include "proto/commit/commit.h"

/* In PIECE, in place of a node: the piece was read from a file. */
#define RZ_STORE_FROM_FILE RZ_ID_NONE
#define RZ_STORE_FROM_PARITIES (RZ_ID_NONE - 1)

struct rz_store_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    const struct rz_core *recover; /* only read */
    struct rz_core *commit;        /* read, and told which daemon holds what */
    void *arg;
    /* The pieces to which this epoch rolls back cannot be restored completely: all roll back to the
     * generation before, or the job ends. False: it is too late for that, because the barrier may
     * have opened. */
    bool (*damaged)(void *arg);
    /* This daemon must end its processes and itself. */
    void (*stop)(void *arg, rz_status_t why, const char *words);
    /* Processes may be told of more committed checkpoints. */
    void (*more)(void *arg);
};

#endif
