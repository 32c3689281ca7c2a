/* SPDX-License-Identifier: BSD-3-Clause */
/* The status document that a daemon answers with: docs/status.md. */
#ifndef RZ_DAEMON_STATUS_PAGE_H
#define RZ_DAEMON_STATUS_PAGE_H

#include "daemon/launcher/detached.h"
#include "daemon/process/child.h"
#include "daemon/recovery/recovery.h"
#include "daemon/service/groups.h"
#include "daemon/state/board_writer.h"

/* What the document is made of. */
struct rz_status_page {
    const struct rz_own_node *own;
    const struct rz_children *children;
    const struct rz_board_writer *board;
    const struct rz_groups *groups;
    const struct rz_detached *detached; /* NULL: the job is not detached */
    const struct rz_recovery *recovery;
    rz_time begun; /* when JOB arrived */
};

/* The status document, freed by the caller; NULL: no memory. */
char *rz_status_page_write(const struct rz_status_page *looked);

#endif
