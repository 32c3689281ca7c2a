/*
 * The daemon of a node: what its modules share, and what the hosts of the protocols (recovery,
 * overlay, store) ask of the node's own modules (processes, board, link service, launcher channel).
 *
 * One thread runs everything, in one event loop; only the waiter threads of the watch stand beside
 * it. Nothing here blocks.
 *
 * Life: rz_overlay_open (LISTENING names its ports); JOB comes; rz_recovery_open, whose hook
 * `epoch` starts epoch 1; rz_ending_begin begins the end, from any callback: processes end or are
 * killed, the loop is left, everything is closed.
 */
#ifndef RZ_DAEMON_DAEMON_H
#define RZ_DAEMON_DAEMON_H

#include "base/status.h"
#include "ckpt/file_header.h"
#include "ckpt/scheme.h"
#include "daemon/inherited.h"
#include "daemon/overlay.h"
#include "daemon/recovery.h"
#include "wire/launch_messages.h"
#include "wire/link_messages.h"

#include <rhizome/types.h>

#include <event2/event.h>

/* What a process runs. */
struct rz_program {
    char **arguments;      /* NULL-terminated; the program first */
    char **environment;    /* NULL-terminated; on top of the job's; NULL: nothing */
    const char *directory; /* "": the daemon's own */
    uint32_t maxprocs;     /* how many of it were asked for */
};

/* Of a job with several programs: the ranks from `first` on, up to those of the next. */
struct rz_daemon_context {
    uint32_t first;
    struct rz_program program; /* its texts belong to the job */
};

/* What JOB told; fixed for the life of the daemon. All arrays and texts are copies that belong to
 * the daemon. */
struct rz_daemon_job {
    uint64_t id;
    uint8_t key[RZ_JOB_KEY_BYTES]; /* never leaves the control plane */
    uint32_t token; /* derived from the key; stands in each header of the data plane */
    uint32_t n_nodes, n_ranks, node;
    uint32_t n_slots; /* rz_slots_of(n_ranks) */
    rz_time hb_period_ns, hb_timeout_ns;
    uint32_t detector;       /* enum rz_detector */
    rz_time hang_timeout_ns; /* 0: no process is ever held for hung */
    rz_time hang_report_ns;  /* 0: nobody is told of processes that wait for long */
    uint32_t restarts_max;
    struct rz_scheme scheme; /* how checkpoints are kept */
    struct {
        char *folder; /* of the job, for its files; "": there are none */
        char name[RZ_CKPT_NAME_MAX];
        uint32_t run, keep;                 /* this one's number; generations to keep */
        struct rz_ckpt_generation restored; /* to begin from; number 0: nothing */
    } checkpoints;
    uint32_t flags;         /* RZ_JOB_* */
    uint32_t share, shares; /* of the machine's cores: the share-th of so many parts is ours */
    uint32_t verbosity;     /* 0: only what the user must know */
    /* Of a detached job; timeout 0: none. */
    uint64_t spool_bytes;
    rz_time linger_ns, timeout_ns;
    uint32_t *placement;           /* [n_ranks]: node of each rank in epoch 1 */
    uint32_t *slots;               /* [n_nodes] */
    struct rz_overlay_peer *peers; /* [n_nodes] */
    char **arguments,
        **environment; /* NULL-terminated; environment: NAME=value, on top of the daemon's own */
    char *directory;   /* "": the daemon's own */
    struct rz_daemon_context *contexts; /* [n_contexts] by rank; none: all run the same */
    uint32_t n_contexts;
};

/* Priorities of events in the loop: verdicts of the watch go before everything else. */
enum { RZ_DAEMON_PRIORITY_CAUSE, RZ_DAEMON_PRIORITY_OTHER, RZ_DAEMON_PRIORITIES };

/* Where a rank is. */
struct rz_daemon_place {
    uint32_t node, incarnation;
};

struct rz_daemon {
    struct event_base *base;
    rz_time begun; /* when JOB came */
    bool has_job;
    struct rz_daemon_job job; /* valid once has_job */

    uint32_t epoch;                 /* whose processes run here; 0 before the first */
    enum rz_recover_phase phase;    /* of epoch */
    struct rz_daemon_place *places; /* [n_slots], of epoch; empty: node RZ_ID_NONE, incarnation 0 */
    uint32_t *failed;               /* [n_slots]: newest incarnation known failed, 0: none */
    struct rz_inherited inherited;  /* what its processes find as it was when it began */
    bool ending;                    /* the end has begun: no spawning, no recovery, no news */
    bool told_to_end;               /* it ends by a signal, or with its keeper: the node is lost */

    struct rz_launcher *launcher;         /* launcher.h */
    int lifeline_fd;                      /* keeper.h; -1 without a keeper */
    struct rz_board_writer *board;        /* board_writer.h; from JOB on */
    struct rz_binding *binding;           /* binding.h; from JOB on; NULL: nobody is bound */
    struct rz_child_table *children;      /* child.h; from JOB on */
    struct rz_link_service *link_service; /* link_service.h; from JOB on */
    struct rz_input *input;               /* input.h; from JOB on */
    struct rz_output *outputs;            /* output.h */
    bool outputs_held;                    /* they are not read now */
    struct rz_ending *end;                /* ending.h */
    struct rz_control *control;           /* control.h; from JOB on; NULL: nobody can ask */
    struct rz_spawns *spawns;             /* spawns.h; from JOB on */
    struct rz_names *names;               /* names.h; from JOB on */
    struct rz_watchdog *watchdog;         /* watchdog.h; from JOB on */
    struct rz_stall *stall;               /* stall.h; from JOB on */
    struct rz_arbiter *arbiter;           /* arbiter.h; from JOB on; NULL: another detector */
    struct rz_detached *detached;         /* detached.h; from JOB on; NULL: rzrun stays */

    struct rz_overlay *overlay;         /* open before JOB; started by recovery */
    struct rz_revocations *revocations; /* revocations.h; from JOB on */
    struct rz_groups *groups;           /* groups.h; from JOB on */
    struct rz_recovery *recovery;       /* from JOB on */
};

/* ---- for every module */

/* One line to standard error when the job's verbosity is at least level (0: always). No newline at
 * the end of format. */
void rz_daemon_log(const struct rz_daemon *daemon, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Tells rzrun what happened here. Fields that do not apply: RZ_ID_NONE for rank and incarnation, 0
 * for value and epoch. node RZ_ID_NONE: this node. at_ns 0: now. note NULL: "".
 */
void rz_daemon_record(struct rz_daemon *daemon, const struct rz_launch_event *event);

/* A message to rzrun; queued, never blocks. */
void rz_daemon_tell_launcher(struct rz_daemon *daemon, const struct rz_launch_message *message);

/* A process ends the whole job (it called abort, or its program cannot be run): rzrun hears it and
 * ends all daemons. */
void rz_daemon_tell_aborted(struct rz_daemon *daemon, uint32_t rank, uint32_t code,
                            const char *reason);

/*
 * Sends to the local, live process of rank in its current incarnation; fd: -1, or one passed along
 * (stays the caller's). RZ_ERR_CLOSED: no such process here, or it has not said HELLO, or it is
 * gone. Queued where its socket is full, never blocks; a process that leaves too much unread is
 * killed.
 */
rz_status_t rz_daemon_link_send(struct rz_daemon *daemon, uint32_t rank,
                                const struct rz_link_message *message, int fd);

/* What JOB asks for: everything that stands "from JOB on" is opened. After an error *why (static
 * text) says what was wrong. */
rz_status_t rz_daemon_begin_job(struct rz_daemon *daemon, const struct rz_launch_job *message,
                                const char **why);

/* How a daemon is started: see rzd.c. */
struct rz_daemon_options {
    int launcher_fd;     /* the stream to rzrun */
    int lifeline_fd;     /* to the keeper, or -1 */
    uint32_t node;       /* for LISTENING */
    const char *address; /* numeric; where the overlay listens */
};

/* The whole life of a daemon, in the calling thread; the exit status. */
int rz_daemon_run(const struct rz_daemon_options *options);

/* ---- called by recovery, from an event of its own; the hooks are in news.h */

/* A process of node `from` wants the endpoint address of one of ours; answered by
 * rz_recovery_give_ep_address, now or when there is one. */
void rz_daemon_ep_address_wanted(struct rz_daemon *daemon, rz_id from,
                                 const struct rz_overlay_get_ep_address *wanted);

/* The answer to rz_recovery_get_ep_address; no endpoint address: that process is gone. */
void rz_daemon_ep_address_arrived(struct rz_daemon *daemon,
                                  const struct rz_overlay_ep_address *ep_address);

#endif
