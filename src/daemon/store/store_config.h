/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checkpoint store needs of the rest of the daemon, and what its parts are told by. */
#ifndef RZ_DAEMON_STORE_CONFIG_H
#define RZ_DAEMON_STORE_CONFIG_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/child.h"
#include "daemon/process/link_router.h"
#include "daemon/state/core.h"
#include "proto/commit/commit.h"

/* In PIECE, where a node stands: it came from none. */
#define RZ_STORE_FROM_FILE RZ_ID_NONE
#define RZ_STORE_FROM_PARITIES (RZ_ID_NONE - 1)

struct rz_store_config {
    const struct rz_own_node *own;
    const struct rz_children *children;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    const struct rz_core *recover; /* read */
    struct rz_core *commit;        /* read, and told what lies where */
    void *arg;
    /* What this epoch goes back to cannot be given back whole: all go back to the generation
     * before, or the job ends. False: it is too late for that, the barrier may have opened. */
    bool (*damaged)(void *arg);
    /* This daemon must end its processes and itself. */
    void (*stop)(void *arg, rz_status_t why, const char *words);
    /* Processes may be told of more committed checkpoints. */
    void (*more)(void *arg);
};

#endif
