/* What the files of the link share. */
#ifndef RZ_LINK_LINK_STATE_H
#define RZ_LINK_LINK_STATE_H

#include "link/link.h"

#include "port/watch.h"

/* The lease as one thread sees it. */
struct rz_lease_view {
    rz_time checked_at; /* the last look */
    uint64_t forgiven;  /* the renewal for which grace was given because we ourselves were late */
    rz_time forgiven_until;
};

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

    struct rz_lease_view called;  /* by the library's calls */
    struct rz_lease_view beating; /* by the helper thread, whatever the program does */

    unsigned char buffer[RZ_LINK_MESSAGE_MAX]; /* of the message being read */
    unsigned char out[RZ_LINK_MESSAGE_MAX];    /* of the message being sent: handlers may send */
};

/* The daemon must answer within this. */
#define RZ_LINK_ANSWER_NS (30 * RZ_SECOND)

/* A job of this process alone: private board, own inbox. */
rz_status_t rz_link_join_alone(struct rz_link *link);

/* HELLO and WELCOME over the inherited socket; then everything in link->info is set. */
rz_status_t rz_link_join_daemon(struct rz_link *link, const char *fd_text);

/* Looks at the lease and, when it is over, ends the process: each of these in the helper thread. */
rz_time rz_link_beat_period(const struct rz_board *board);
void rz_link_beat(void *link);

/* Maps the inbox's first page, where the doorbell is. */
rz_status_t rz_link_map_doorbell(struct rz_link *link);

#endif
