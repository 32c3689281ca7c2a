/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the link share. */
#ifndef RZ_LINK_LINK_STATE_H
#define RZ_LINK_LINK_STATE_H

#include "link/lease.h"
#include "link/link.h"

#include "port/watch.h"

#include <sys/types.h>

struct rz_link {
    struct rz_link_info info;
    const struct rz_board *board;
    size_t board_bytes;
    struct rz_watch_held *held;
    struct {
        rz_link_handler_t call;
        void *arg;
    } handler[RZ_LINK_TYPE_COUNT];
    bool dispatching;

    struct rz_lease lease; /* state of the helper thread's checks */
    pid_t daemon;          /* the process at the other end; 0: not known */

    unsigned char buffer[RZ_LINK_MESSAGE_MAX]; /* of the message being read */
    unsigned char out[RZ_LINK_MESSAGE_MAX];    /* of the message being sent: handlers may send */
};

/* The daemon must answer within this; while it waits for a processor or a device itself, the longer
 * bound applies. */
#define RZ_LINK_ANSWER_NS (30 * RZ_SECOND)
#define RZ_LINK_STARVED_NS (600 * RZ_SECOND)

/* Whether a wait for the daemon that began then has lasted too long. */
bool rz_link_overdue(const struct rz_link *link, rz_time begun);

/* Makes a job of this process alone: private board, own inbox. */
rz_status_t rz_link_join_alone(struct rz_link *link);

/* HELLO and WELCOME over the inherited socket; then everything in link->info is set. */
rz_status_t rz_link_join_daemon(struct rz_link *link, const char *fd_text);

/* Checks stop word and lease and, if one requires it, ends the process: in the helper thread. */
void rz_link_beat(void *link);

/* Maps the inbox's first page, where the doorbell is. */
rz_status_t rz_link_map_doorbell(struct rz_link *link);

#endif
