/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the link share. */
#ifndef RZ_LINK_LINK_STATE_H
#define RZ_LINK_LINK_STATE_H

#include "link/lease.h"
#include "link/link.h"

#include "port/watch.h"

#include <sys/types.h>

/* What a process that another launcher has started ends with: pmix/pmix.h. */
struct rz_guardians {
    int stand_in; /* or -1 */
    int launcher; /* of the process that started this one; or -1 */
};

struct rz_link {
    struct rz_link_info info;
    const struct rz_board *board;
    size_t board_bytes;
    struct rz_watch_held *held;
    int watch_fd;                     /* until the slot is held; otherwise -1 */
    uint32_t watch_slot;              /* to be held */
    struct rz_trace_ring *trace_ring; /* or NULL */
    struct {
        rz_link_handler_t call;
        void *arg;
    } handler[RZ_LINK_TYPE_COUNT];
    bool dispatching;

    struct rz_lease lease; /* state of the helper thread's checks */
    pid_t daemon;          /* the process at the other end; 0: not known */
    struct rz_guardians guardians;

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

/* Joins through PMIx if another launcher has started this process. */
rz_status_t rz_link_join_elsewhere(struct rz_link *link);

/* Ends the process if one of its guardians has ended; `stop`: the board's stop word. */
void rz_link_look_at_guardians(const struct rz_link *link, uint64_t stop);

/* Tells them that the process leaves the job in order. */
void rz_link_tell_guardians(const struct rz_link *link);

/* The period of the helper thread; 0: it has nothing to look at. */
rz_time rz_link_beat_period(const struct rz_link *link);

/* Says why, and ends the process. */
_Noreturn void rz_link_end_by(const struct rz_link *link, const char *words);

/* Maps the inbox's first page, where the doorbell is. */
rz_status_t rz_link_map_doorbell(struct rz_link *link);

#endif
