/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon with its processes, reduced to recovery and checkpoints: the host of recover and commit
 * in the simulator. It is itself a pure state machine, so that it can be a member of a world: the
 * two objects, the processes of its ranks, the store with two versions per rank. It is a small
 * model of what the real daemon does with the same notices.
 *
 * A process starts, reaches the barrier ENTER, runs, takes checkpoints, leaves. Its state is its
 * position, the number of checkpoints its program has passed; a piece carries it.
 */
#ifndef RZ_SIM_JOB_NODE_H
#define RZ_SIM_JOB_NODE_H

#include "proto/commit/commit.h"
#include "proto/recover/recover.h"

#define RZ_JOB_DAEMONS_MAX 16
#define RZ_JOB_RANKS_MAX 16
#define RZ_JOB_SLOTS_MAX 24
#define RZ_JOB_PLACES 2
#define RZ_JOB_HELD_MAX 16
#define RZ_JOB_QUEUE_MAX 256

/* Deliberate faults of a host. */
enum rz_job_mutation {
    RZ_JOB_NO_FLOOR = 1, /* overwrites any generation older than the newest one it knows */
    RZ_JOB_DROP_OLD =
        2, /* drops the pieces of ranks it does not hold any more before the barrier has opened */
    RZ_JOB_NO_PROTECT = 4, /* calls REACHED before the pieces are protected */
    RZ_JOB_ONE_ENTERED = 8 /* calls REPAIRING as soon as one process has called MPIX_Reinit */
};

struct rz_job_config {
    struct rz_recover_config recover;
    struct rz_commit_config commit;
    uint32_t positions; /* checkpoints of the program; 0: none */
    bool repairing;     /* the program calls MPIX_Reinit */
    uint32_t
        askers; /* this many daemons, the first ones, request spawns for the failures they know */
    uint32_t mutations; /* enum rz_job_mutation */
};

enum rz_job_call {
    RZ_JOB_BEGIN,   /* first of all */
    RZ_JOB_STEP,    /* arg = rank, incarnation, epoch: a process makes progress */
    RZ_JOB_KILL,    /* arg = rank, fuse: after this many rounds the process fails, if it is local */
    RZ_JOB_HEARD,   /* arg = slot, incarnation, ended: a report of a failure from another daemon */
    RZ_JOB_REACHED, /* arg = epoch, phase, round: the messages of the processes have arrived */
    RZ_JOB_ASK,     /* arg = slot, incarnation: a process requests this spawn */
    /* arg = count, fuse, eager: after this many rounds, and not in phase ENTER unless eager, a
     * process requests a cohort */
    RZ_JOB_SPAWN,
    RZ_JOB_REQUESTED, /* arg = item: report of a requested spawn from another daemon */
    /* arg = rank, epoch it was written in << 32 | position, generation: a file is durable, was read
     */
    RZ_JOB_WRITTEN,
    RZ_JOB_READ,
    RZ_JOB_SPOIL,   /* arg = fuse: after this many rounds a piece to be restored is damaged */
    RZ_JOB_DAMAGED, /* arg = item: report of damage from another daemon */
    RZ_JOB_FAILURE  /* internal: a failure is reported to commit */
};

/* Notices; those of the objects have RZ_JOB_RECOVER or RZ_JOB_COMMIT added. */
enum rz_job_notice {
    RZ_JOB_WANTS_STEP,    /* make the call RZ_JOB_STEP with these arguments at a later time */
    RZ_JOB_WANTS_REACHED, /* likewise RZ_JOB_REACHED */
    RZ_JOB_WANTS_KILL,    /* likewise RZ_JOB_KILL */
    RZ_JOB_NEWS,          /* make RZ_JOB_HEARD at all others */
    RZ_JOB_WANTS_ASK,     /* make the call RZ_JOB_ASK with these arguments at a later time */
    RZ_JOB_WANTS_SPAWN,   /* likewise RZ_JOB_SPAWN */
    RZ_JOB_SPAWN_NEWS,    /* make RZ_JOB_REQUESTED at all others */
    RZ_JOB_WANTS_WRITE,   /* put this piece into a file: then make RZ_JOB_WRITTEN at a later time */
    RZ_JOB_WANTS_READ,  /* arg = rank, epoch it was written in, generation: RZ_JOB_READ likewise */
    RZ_JOB_WANTS_SPOIL, /* make the call RZ_JOB_SPOIL with these arguments at a later time */
    RZ_JOB_DAMAGE_NEWS, /* make RZ_JOB_DAMAGED at all others */
    RZ_JOB_RECOVER = 0x100,
    RZ_JOB_COMMIT = 0x200,
    RZ_JOB_HOST = 0x300
};

enum rz_job_process_state {
    RZ_JOB_ABSENT,
    RZ_JOB_STARTING,
    RZ_JOB_AT_ENTER,
    RZ_JOB_RUNNING,
    RZ_JOB_STORING,
    RZ_JOB_LEAVING,
    RZ_JOB_HAS_LEFT,
    RZ_JOB_KILLED
};

struct rz_job_process {
    uint32_t state, incarnation, epoch;
    bool reinit;      /* has called MPIX_Reinit */
    uint32_t reached; /* 2 * epoch + 1: ENTER of epoch, 2 * epoch + 2: RUN; the newest */
    uint32_t position;
    uint32_t restored;   /* the position it began the epoch with */
    uint64_t generation; /* of its last checkpoint */
};

/* A piece of a rank: written in epoch, as generation; written 0: none. */
struct rz_job_piece {
    uint32_t written, position;
    uint64_t generation;
};

/* The parities of this daemon include this rank's piece; layout 0: they do not. */
struct rz_job_share {
    uint32_t layout; /* rz_commit_layout */
    struct rz_job_piece piece;
};

/* A piece that its group restores: which members have answered. The request of another daemon may
 * arrive before its epoch has begun here. */
struct rz_job_rebuild {
    uint64_t answered;
    rz_id asker;
    uint32_t asked_epoch; /* 0: no daemon waits */
    struct rz_job_piece asked;
};

/* A copy that has arrived too early: of an epoch that has not begun here, or no version may be
 * overwritten yet. */
struct rz_job_parked {
    rz_id from;
    uint32_t epoch; /* 0: none */
    struct rz_job_piece piece;
};

struct rz_job_work {
    uint32_t kind, what;
    uint64_t arg[5];
};

struct rz_job_node {
    uint32_t n_daemons, n_ranks, n_slots, positions, askers, mutations, view;
    rz_id self;
    bool repairing, all_begin, stopped;
    bool said_repairing;      /* RZ_RECOVER_REPAIRING */
    uint32_t protected_epoch; /* the newest epoch whose pieces are all protected */
    uint32_t said_reached;    /* as rz_job_process.reached */
    uint32_t said_round;      /* and the round of spawns counted */
    uint32_t round;           /* the newest one processed */
    uint32_t serial;          /* cohorts requested here */
    uint32_t answered;        /* the last of them that was in a notice */
    uint32_t n_held;
    uint32_t held[RZ_JOB_HELD_MAX]; /* counts of the cohorts that wait for phase RUN */
    uint32_t
        asking[RZ_JOB_SLOTS_MAX]; /* the newest spawn that a local process is about to request */
    uint32_t asked[RZ_JOB_SLOTS_MAX]; /* the newest one requested */
    uint32_t ended[RZ_JOB_SLOTS_MAX]; /* the newest incarnation that ended in order */
    struct rz_job_process process[RZ_JOB_SLOTS_MAX];
    struct rz_job_piece place[RZ_JOB_RANKS_MAX][RZ_JOB_PLACES];
    struct rz_job_parked parked[RZ_JOB_RANKS_MAX];
    uint32_t scheme;
    bool damaged; /* the next piece to be restored will be found damaged */
    uint32_t
        damaged_epoch; /* the newest epoch in which a piece to be restored was complete nowhere */
    uint8_t tried[RZ_JOB_RANKS_MAX]; /* holders asked for the piece in this epoch */
    struct rz_job_share share[RZ_JOB_RANKS_MAX][RZ_JOB_PLACES];
    struct rz_job_rebuild rebuild[RZ_JOB_RANKS_MAX];

    /* Between the steps of one event only. */
    bool recover_more, commit_more; /* the object has more work */
    uint32_t queue_first, queue_count;
    struct rz_job_work queue[RZ_JOB_QUEUE_MAX];
    rz_id to; /* destination of the message being sent */

    uint32_t growing; /* the object that requested memory */
    size_t recover_at, recover_bytes, commit_at, commit_bytes;
};

size_t rz_job_size(const struct rz_job_config *config);
void rz_job_init(struct rz_job_node *node, const struct rz_job_config *config, rz_id self,
                 rz_time now, uint64_t seed);
enum rz_more rz_job_step(struct rz_job_node *node, const struct rz_event *event,
                         struct rz_actions *out);
rz_time rz_job_deadline(const struct rz_job_node *node);
uint64_t rz_job_hash(const struct rz_job_node *node);
void rz_job_grow(struct rz_job_node *node, size_t bytes);

const struct rz_recover *rz_job_recover(const struct rz_job_node *node);
const struct rz_commit *rz_job_commit(const struct rz_job_node *node);

/* The stored version of this piece, or NULL. */
const struct rz_job_piece *rz_job_piece_find(const struct rz_job_node *node, uint32_t rank,
                                             uint32_t written, uint64_t generation);

/* Whether the parities here include this piece, under this layout. */
bool rz_job_has_share(const struct rz_job_node *node, uint32_t rank, uint32_t layout,
                      uint32_t written, uint64_t generation);

/* ---- between job_node.c (events, objects) and job_host.c (processes, pieces) ---- */

enum rz_job_message {
    RZ_JOB_FETCH,
    RZ_JOB_PIECE,
    RZ_JOB_COPY,
    RZ_JOB_ACK,
    RZ_JOB_ASK_BLOCK,
    RZ_JOB_BLOCK,
    RZ_JOB_GONE /* the requested piece or block is not here */
};
enum rz_job_work_kind { RZ_JOB_CALL_RECOVER, RZ_JOB_CALL_COMMIT, RZ_JOB_NOTIFY, RZ_JOB_SEND };

void rz_job_queue(struct rz_job_node *node, enum rz_job_work_kind kind, uint32_t what,
                  uint64_t arg0, uint64_t arg1, uint64_t arg2);
/* A keeper has acknowledged. */
void rz_job_queue_copied(struct rz_job_node *node, uint32_t epoch, uint64_t generation,
                         uint32_t rank, rz_id keeper);
/* A message about a piece: to, rank and epoch are packed into its fields. */
void rz_job_queue_message(struct rz_job_node *node, enum rz_job_message type, rz_id to,
                          uint32_t rank, uint32_t epoch, const struct rz_job_piece *piece);

void rz_job_on_call(struct rz_job_node *node, const struct rz_event *event);
void rz_job_on_message(struct rz_job_node *node, const struct rz_message *message);
void rz_job_on_recover(struct rz_job_node *node, const struct rz_action *notice);
void rz_job_on_commit(struct rz_job_node *node, const struct rz_action *notice);
void rz_job_start(struct rz_job_node *node);

/* ---- job_pieces.c: the store ---- */

/* Restores what commit requests. */
void rz_job_restore(struct rz_job_node *node, uint64_t generation);
/* Drops what the layout of this epoch has no holder for here. */
void rz_job_drop_foreign(struct rz_job_node *node);
/* A process waits for a version that it may overwrite. */
void rz_job_try_store(struct rz_job_node *node, uint32_t rank);
/* Processes copies that came too early. */
void rz_job_try_parked(struct rz_job_node *node, uint32_t rank);
void rz_job_on_file(struct rz_job_node *node, enum rz_job_call call, const uint64_t *arg);
/* A piece to be restored here is damaged: at once, or as soon as there is one. */
void rz_job_spoil(struct rz_job_node *node);

/* Does what has become possible: stores that waited, barriers reached. After each event. */
void rz_job_review(struct rz_job_node *node);

#endif
