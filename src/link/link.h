/*
 * The process's end of the runtime: the link to the daemon of its node, the board, its own
 * doorbell. Used by the MPI library and the checkpoint client. Not thread-safe: callers hold the
 * engine lock.
 *
 * Without a daemon (no RZ_LINK_FD in the environment) a process is a job of its own: one rank, one
 * node, epoch 1, phase RUN for ever; calls that need a daemon return RZ_ERR_UNSUPPORTED.
 */
#ifndef RZ_LINK_LINK_H
#define RZ_LINK_LINK_H

#include "base/status.h"
#include "link/board.h"
#include "link/waits.h"
#include "port/doorbell.h"
#include "wire/link_messages.h"

#define RZ_LINK_RING_KEY_BYTES 32
#define RZ_LINK_NET_KEY_BYTES 32

/* What COHORT told a spawned process; memory belongs to the link. */
struct rz_link_cohort_info {
    struct rz_link_process *processes; /* [n], its world in order of rank; NULL: not spawned */
    uint32_t n;
    uint32_t index;   /* its rank there */
    uint32_t command; /* the number of its command */
    uint8_t *parent;  /* what the parents gave along */
    uint32_t parent_bytes;
};

/* What the daemon's WELCOME told; fds belong to the link. */
struct rz_link_info {
    struct rz_identity self;
    uint32_t n_ranks, n_nodes, node, lane, lanes_max;
    uint32_t n_slots;   /* of processes, on the board and in messages; the ranks come first */
    uint32_t job_token; /* in each header of the data plane */
    uint32_t appnum;    /* which of the command line's programs this is */
    bool restarted;     /* this incarnation replaces a failed one */
    bool alone;         /* no daemon */
    int inbox_fd, doorbell_fd;
    uint32_t node_ip; /* of this node, in host byte order: where processes of others reach it */
    uint8_t net_key[RZ_LINK_NET_KEY_BYTES]; /* what they prove themselves with */
    /* With --detector flat; else 0 and -1. */
    rz_time hb_timeout;
    int ring_fd; /* the socket for heartbeats */
    uint8_t ring_key[RZ_LINK_RING_KEY_BYTES];
    struct rz_link_cohort_info cohort; /* of a process in a slot behind the ranks */
    struct rz_doorbell *doorbell;      /* own; inside the inbox */
    struct rz_waits *waits; /* own: what this process waits for, for reports; NULL alone */
    const struct rz_board *board;
    int fd; /* the link itself, for poll; -1 alone */
};

struct rz_link;

/* Called for each message of the daemon, from rz_link_progress; fds belong to the callee, which
 * closes them. */
typedef void (*rz_link_handler_t)(void *arg, const struct rz_link_message *message, const int *fds,
                                  unsigned n_fds);

/*
 * Joins the job that the environment names: RZ_LINK_FD (a socket inherited over exec, close-on-exec
 * from here on), RZ_JOB_ID, RZ_JOB_KEY (hexadecimal), RZ_RANK, RZ_INCARNATION;
 * RZ_APPNUM may be missing. HELLO and WELCOME,
 * maps board, inbox and watch page, locks the own watch slot (from then on the daemon learns of our
 * failure within a fraction of a millisecond). Call once, in MPI_Init, after the last exec; socket
 * and key are taken out of the environment then, for the program's own children are no members of
 * the job. RZ_ERR_VERSION, RZ_ERR_REFUSED: refused; the reason was printed. RZ_ERR_TIMEOUT:
 * no answer within 30 s, or within 10 min of a daemon that waits for a
 * processor all the time.
 */
rz_status_t rz_link_open(struct rz_link **link);

/* Unlocks the watch slot (a clean end) and closes everything. Sends BYE first when `bye`. */
void rz_link_close(struct rz_link *link, bool bye);

const struct rz_link_info *rz_link_info(const struct rz_link *link);

/* One handler per kind of message; registering again replaces. */
void rz_link_handle(struct rz_link *link, enum rz_link_type type, rz_link_handler_t handler,
                    void *arg);

/* Sends, waiting only while the socket is full (bounded; the daemon always reads). fd: -1 or one
 * passed along (not closed). */
rz_status_t rz_link_send(struct rz_link *link, const struct rz_link_message *message, int fd);

/* Reads and dispatches what has come; RZ_ERR_CLOSED: the daemon is gone (the caller ends the
 * process). */
rz_status_t rz_link_progress(struct rz_link *link);

/*
 * RZ_ERR_FENCED when this process must end: the node was declared failed, its side has no quorum,
 * or its daemon has withdrawn the lease. A lease that runs out because the daemon is stopped or
 * gone ends the process from the helper thread, with a line that says so (lease.h).
 */
rz_status_t rz_link_check(struct rz_link *link);

#endif
