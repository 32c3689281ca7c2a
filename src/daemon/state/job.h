/* SPDX-License-Identifier: BSD-3-Clause */
/* The job as JOB describes it, and the keys derived from the job's key. */
#ifndef RZ_DAEMON_JOB_H
#define RZ_DAEMON_JOB_H

#include "base/status.h"
#include "ckpt/file_header.h"
#include "ckpt/scheme.h"
#include "daemon/state/preloaded.h"
#include "daemon/state/overlay_peer.h"
#include "daemon/state/scratch.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

/* What a process executes. */
struct rz_program {
    const char *file;   /* that is executed; NULL: the first argument, searched as a shell does */
    char **arguments;   /* NULL-terminated; the program first */
    char **environment; /* NULL-terminated; added to the job's; NULL: none */
    const char *directory; /* "": the daemon's own */
    uint32_t maxprocs;     /* how many processes of it were requested */
};

/* One of several programs of a job: it is for the ranks from `first` up to the next program's. */
struct rz_daemon_context {
    uint32_t first;
    struct rz_program program; /* its texts belong to the job */
};

/* What JOB says; it never changes. All arrays and texts are copies that belong to the daemon. */
struct rz_daemon_job {
    uint64_t id;
    uint8_t key[RZ_JOB_KEY_BYTES]; /* the job's key; only daemons and rzrun have it */
    uint32_t token; /* derived from the key; in each header of messages between processes */
    uint32_t n_nodes, n_ranks, node;
    uint32_t n_slots; /* rz_slots_of(n_ranks) */
    rz_time hb_period_ns, hb_timeout_ns;
    uint32_t detector;       /* enum rz_detector */
    rz_time hang_timeout_ns; /* 0: processes are never considered hung */
    rz_time hang_report_ns;  /* 0: long waits are not reported */
    uint32_t restarts_max;
    rz_time rewind_ns; /* with RZ_JOB_REWIND: from one snapshot to the next; 0: none by time */
    struct rz_scheme scheme; /* how checkpoints are protected */
    struct {
        char *folder; /* of the job's checkpoint files; "": there are none */
        char name[RZ_CKPT_NAME_MAX];
        /* The number of this run; the number of generations to keep. */
        uint32_t run, keep;
        struct rz_ckpt_generation restored; /* the one to begin from; number 0: none */
    } checkpoints;
    uint32_t flags; /* RZ_JOB_* */
    /* This node gets part `share` of `shares` parts of the machine's cores. */
    uint32_t share, shares;
    uint32_t verbosity; /* 0: only what the user must know */
    /* For a detached job; timeout 0: none. */
    uint64_t spool_bytes;
    rz_time output_wait_ns; /* for the output of what ended ranks have left (process/output.h) */
    rz_time linger_ns, timeout_ns;
    uint32_t *placement;           /* [n_ranks]: the node of each rank in epoch 1 */
    uint32_t *slots;               /* [n_nodes] */
    struct rz_overlay_peer *peers; /* [n_nodes] */
    char **arguments,
        **environment; /* NULL-terminated; environment: NAME=value, added to the daemon's own */
    char *directory;   /* "": the daemon's own */
    struct rz_daemon_context *contexts; /* [n_contexts] by rank; none: all ranks have one program */
    uint32_t n_contexts;
    const struct rz_preloaded *preloaded; /* what came before JOB; NULL: nothing */
    uint64_t link_token; /* of this daemon's link socket (service/link_socket.h); 0: none */
    char scratch[RZ_SCRATCH_PATH_MAX]; /* scratch.h */
};

/*
 * Copies what `message` says into *job. After RZ_ERR_INVALID (a value is out of its bounds, or
 * arrays do not match) or RZ_ERR_NO_MEMORY, *why (static text) says what is wrong, and nothing is
 * left to free.
 */
rz_status_t rz_job_read(struct rz_daemon_job *job, const struct rz_launch_job *message,
                        const char **why);
void rz_job_clear(struct rz_daemon_job *job);

/* rz_job_appnum is the number of the program that a rank runs (MPI_APPNUM), from 0; rz_job_program
 * is that program, whose texts belong to the job. Slots behind the ranks have the first program. */
uint32_t rz_job_appnum(const struct rz_daemon_job *job, uint32_t slot);
struct rz_program rz_job_program(const struct rz_daemon_job *job, uint32_t slot);

/* Derives the key by which process (rank, incarnation) proves itself. The job's key itself stays
 * with the daemons. */
void rz_job_process_key(const struct rz_daemon_job *job, uint32_t rank, uint32_t incarnation,
                        uint8_t key[RZ_JOB_KEY_BYTES]);

/* With --detector flat: derives the key by which the processes of the job prove to one another that
 * they belong to it. Each of them holds it, so it is no proof against one of them. */
void rz_job_ring_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* Derives the key for connections between processes of different nodes (net/tcp), which all
 * processes hold. */
void rz_job_net_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* Derives the key for datagrams of dynamic groups (groups.h), which all processes hold. */
void rz_job_group_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* Derives what only processes of this user, and programs of other libraries in the job, may know:
 * it is a part of the names by which those connect to the gateway. */
void rz_job_gateway_secret(const struct rz_daemon_job *job, uint8_t secret[RZ_JOB_KEY_BYTES]);

/* Whether all nodes of the job are on one machine (all have loopback addresses). */
bool rz_job_single_host(const struct rz_daemon_job *job);

#endif
