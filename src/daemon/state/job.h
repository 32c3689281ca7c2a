/* SPDX-License-Identifier: BSD-3-Clause */
/* The job as JOB describes it, and what is derived from its key. */
#ifndef RZ_DAEMON_JOB_H
#define RZ_DAEMON_JOB_H

#include "base/status.h"
#include "ckpt/file_header.h"
#include "ckpt/scheme.h"
#include "daemon/state/overlay_peer.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

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

/*
 * Copies what `message` says into *job. On RZ_ERR_INVALID (a value out of its bounds, arrays that
 * disagree) or RZ_ERR_NO_MEMORY *why (static text) says what is wrong, and nothing is left to free.
 */
rz_status_t rz_job_read(struct rz_daemon_job *job, const struct rz_launch_job *message,
                        const char **why);
void rz_job_clear(struct rz_daemon_job *job);

/* Which of the job's programs a rank runs (MPI_APPNUM), from 0, and that program, whose texts
 * belong to the job. Slots behind the ranks: the first one. */
uint32_t rz_job_appnum(const struct rz_daemon_job *job, uint32_t slot);
struct rz_program rz_job_program(const struct rz_daemon_job *job, uint32_t slot);

/* What process (rank, incarnation) proves itself with: derived from the job key, which stays
 * between daemons. */
void rz_job_process_key(const struct rz_daemon_job *job, uint32_t rank, uint32_t incarnation,
                        uint8_t key[RZ_JOB_KEY_BYTES]);

/* With --detector flat: what all processes of the job prove to one another that they belong to it.
 * Each of them holds it, so it is no proof against one of them. */
void rz_job_ring_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* The same for connections between processes of different nodes (net/tcp). */
void rz_job_net_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* The same for datagrams of dynamic groups (groups.h). */
void rz_job_group_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES]);

/* Whether all nodes of the job are on one machine (their addresses are loopback ones). */
bool rz_job_single_host(const struct rz_daemon_job *job);

#endif
