/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process's end of the runtime: the link to the daemon of its node, the board, its own
 * doorbell. Used by the MPI library and the checkpoint client. Not thread-safe: callers hold the
 * engine lock.
 *
 * Without a daemon (no RZ_LINK_FD in the environment) a process is a job by itself: one rank, one
 * node, always epoch 1 and phase RUN; calls that need a daemon return RZ_ERR_UNSUPPORTED.
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

/* The content of COHORT for a spawned process; the link owns the memory. */
struct rz_link_cohort_info {
    struct rz_link_process *processes; /* [n], its world in order of rank; NULL: not spawned */
    uint32_t n;
    uint32_t index;   /* its rank there */
    uint32_t command; /* the index of its command */
    uint8_t *parent;  /* the info that the parents passed */
    uint32_t parent_bytes;
};

/* The content of the daemon's WELCOME; the link owns the fds. */
struct rz_link_info {
    struct rz_identity self;
    uint32_t n_ranks, n_nodes, node, lane, lanes_max;
    uint32_t n_slots;   /* of processes, on the board and in messages; the ranks come first */
    uint32_t job_token; /* in the header of each message between processes */
    uint32_t appnum;    /* the index of its program on the command line */
    bool restarted;     /* this incarnation replaces a failed one */
    bool alone;         /* no daemon */
    bool elsewhere;     /* another launcher has started it, and learns of its end: pmix/pmix.h */
    int inbox_fd, doorbell_fd;
    struct rz_address
        node_address; /* of this node, at which processes of other nodes reach it; port
                         0 */
    uint8_t net_key[RZ_LINK_NET_KEY_BYTES]; /* the key for mutual authentication */
    /* With --detector flat; else 0 and -1. */
    rz_time hb_timeout;
    int ring_fd; /* the socket for heartbeats */
    uint8_t ring_key[RZ_LINK_RING_KEY_BYTES];
    struct rz_link_cohort_info cohort; /* of a process in a slot behind the ranks */
    struct rz_doorbell *doorbell;      /* this process's; inside the inbox */
    struct rz_waits *waits; /* this process's wait objects, for reports; NULL without a daemon */
    const struct rz_board *board;
    int fd; /* the link itself, for poll; -1 alone */
};

/* Set in processes that are restored from images of their memory. */
#define RZ_REWIND_ENVIRONMENT "RZ_REWIND"
/* With it: device.inode of what the daemon gave as descriptors 0, 1 and 2, hexadecimal. */
#define RZ_STREAMS_ENVIRONMENT "RZ_STREAMS"

struct rz_link;

/* Called for each message of the daemon, from rz_link_progress; fds belong to the callee, which
 * closes them. */
typedef void (*rz_link_handler_t)(void *arg, const struct rz_link_message *message, const int *fds,
                                  unsigned n_fds);

/*
 * Joins the job that the environment names: RZ_LINK_FD (a socket inherited over exec, close-on-exec
 * from here on; where it was closed, RZ_LINK_SOCKET names one of the daemon's), RZ_JOB_ID,
 * RZ_JOB_KEY (hexadecimal), RZ_RANK, RZ_INCARNATION; RZ_APPNUM may be missing. HELLO and WELCOME,
 * maps board, inbox and watch page, locks the watch slot (from then on the daemon detects a failure
 * of this process within a fraction of a millisecond). Call once, in MPI_Init, after the last exec;
 * it removes socket and key from the environment, because the program's own children are not
 * members of the job. RZ_ERR_VERSION, RZ_ERR_REFUSED: refused; the reason was printed.
 * RZ_ERR_TIMEOUT: no answer within 30 s, or within 10 min of a daemon that waits for a processor
 * all the time.
 */
rz_status_t rz_link_open(struct rz_link **link);

/*
 * rz_link_open in two steps. Between them the process has no thread of the link, and no failure of
 * it is noticed before the daemon sees that it has ended.
 */
rz_status_t rz_link_join(struct rz_link **link);
rz_status_t rz_link_hold(struct rz_link *link);

/*
 * The memory of a process is about to become that of an image, which was saved in another process
 * of this rank (mpi/rewind): what the image must be told of this process's link. The link that the
 * image has then takes the place of this one, with its handlers. Both processes have made their
 * mappings of shared memory apart (port/memory.h). After rz_link_take_over the link is joined, not
 * held. RZ_ERR_INVALID: the two do not belong together.
 */
struct rz_link_handover;
#define RZ_LINK_HANDOVER_BYTES 2048u
void rz_link_hand_over(const struct rz_link *link, void *handover);
rz_status_t rz_link_take_over(struct rz_link *link, const void *handover);

/* Calls visit(arg, fd) for each descriptor that the link holds. */
void rz_link_descriptors(const struct rz_link *link, void (*visit)(void *arg, int fd), void *arg);

/* Gives each of them another number: move(fd) returns the new one, or -1: fd stays as it is. */
void rz_link_renumber(struct rz_link *link, int (*move)(int fd));

/* The kernel's number of the link's thread; 0: it has none. */
int rz_link_thread(const struct rz_link *link);

/* Unlocks the watch slot (a clean end) and closes everything. Sends BYE first when `bye`. */
void rz_link_close(struct rz_link *link, bool bye);

const struct rz_link_info *rz_link_info(const struct rz_link *link);

/* One handler per kind of message; a later call replaces it. */
void rz_link_handle(struct rz_link *link, enum rz_link_type type, rz_link_handler_t handler,
                    void *arg);

/* Sends, waiting only while the socket is full (bounded; the daemon always reads). fd: -1 or one to
 * pass along (not closed). */
rz_status_t rz_link_send(struct rz_link *link, const struct rz_link_message *message, int fd);

/* The same by any thread, without the lock, in room of the caller's to put the message together.
 * The link is neither closed nor taken over meanwhile. RZ_ERR_INVALID: it needs more than `bytes`.
 */
rz_status_t rz_link_send_through(const struct rz_link *link, const struct rz_link_message *message,
                                 int fd, void *room, size_t bytes);

/* Reads and dispatches what has arrived; RZ_ERR_CLOSED: the daemon has ended (the caller ends the
 * process). */
rz_status_t rz_link_progress(struct rz_link *link);

/* Makes progress, asleep between messages, until a handler has set *answered, or the daemon or the
 * node is gone: for processes that have no engine yet. The daemon's watchdog sees it alive. */
rz_status_t rz_link_await(struct rz_link *link, const bool *answered);

/*
 * RZ_ERR_FENCED when this process must end: the node was declared failed, its side has no quorum,
 * or its daemon has withdrawn the lease. A lease that expires because the daemon is stopped or has
 * ended ends the process from the helper thread, with a message (lease.h).
 */
rz_status_t rz_link_check(struct rz_link *link);

#endif
