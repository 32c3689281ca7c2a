/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rztop shows of a job: the state of each node and rank, and what has happened, computed from
 * one status document after the other (docs/status.md). Knows neither terminal nor sockets nor
 * clock. Running out of memory ends the program, which is a tool (base/no_memory.h).
 */
#ifndef RZ_VIEW_TOP_MODEL_H
#define RZ_VIEW_TOP_MODEL_H

#include <rhizome/types.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RZ_TOP_EVENTS_MAX 256
#define RZ_TOP_GROUPS_MAX 8
/* Peers that are no rank. */
#define RZ_TOP_PEER_NONE (-1)
#define RZ_TOP_PEER_ANY (-2)

/* In the order in which one sign that stands for several ranks shows the worst of them. */
enum rz_top_state {
    RZ_TOP_ENDED,
    RZ_TOP_RUNS,
    RZ_TOP_WAITS,  /* in an MPI call, for at least RZ_TOP_WAITS_AFTER_S */
    RZ_TOP_BEGINS, /* it has not called MPI_Init, or the job recovers */
    RZ_TOP_FAILED,
    RZ_TOP_STATE_COUNT
};

/* A shorter wait is a part of each exchange of messages. */
#define RZ_TOP_WAITS_AFTER_S 0.5

struct rz_top_rank {
    uint32_t rank, node, incarnation;
    bool spawned;
    enum rz_top_state state;
    int64_t pid; /* 0: its daemon has not answered here, and nothing below is known */
    bool marked;
    uint64_t iteration;
    double per_second; /* iterations; 0: not known */
    char call[40];     /* of the longest wait; "": none */
    char communicator[40];
    char context[20];   /* of the communicator, which may share its name with others */
    uint64_t operation; /* number of the collective operation of the communicator; 0: none */
    uint32_t n_waits;   /* calls that wait, each in its thread */
    int64_t peer, tag;  /* tag RZ_TOP_PEER_ANY: any */
    double waits_s;
    double sampled_s;             /* the age of the job when iteration was read last */
    bool used_known;              /* its daemon says what it uses: */
    double processor_s, waited_s; /* since it began, at the age used_s of the job */
    double used_s;
    uint64_t resident_bytes;
    double processors, waiting; /* shares of the time since the document before; < 0: not known */
};

struct rz_top_node {
    uint32_t node, slots;
    bool failed;
    char address[48];
};

struct rz_top_event {
    double at_s; /* the age of the job; < 0: before the view began */
    bool bad;    /* a failure */
    char text[100];
};

struct rz_top_group {
    char name[40];
    uint32_t round, n_members, n_excluded;
};

struct rz_top {
    bool known; /* a document has been taken */
    bool over;  /* the daemons do not answer any more */
    bool ended; /* a detached job is over, and its daemons keep the result */
    int status; /* the exit status, if it has ended */
    char job[20], program[80], phase[12], detached[12], detector[8];
    bool foreign; /* it is a job of user `uid`, who is not the one that looks */
    uint32_t uid;
    double age_s, hb_period_s, hb_timeout_s, hb_bytes_per_s;
    uint32_t epoch;
    uint64_t generation, checkpoint_bytes; /* generation 0: there is no checkpoint */
    double checkpoint_age_s;               /* < 0: not known */
    bool checkpoint_safe;
    uint32_t n_ranks, n_nodes; /* of the lists below, by number */
    struct rz_top_rank *ranks;
    struct rz_top_node *nodes;
    uint32_t n_groups;
    struct rz_top_group groups[RZ_TOP_GROUPS_MAX];
    uint32_t n_events; /* ever; the newest RZ_TOP_EVENTS_MAX are kept */
    struct rz_top_event events[RZ_TOP_EVENTS_MAX];
};

/* What ranks use together: processors and RAM, and the mean share of time in which they wait. */
struct rz_top_use {
    uint32_t n, n_rates; /* ranks of which RAM, and of which the rest is known */
    double processors, waiting;
    uint64_t resident_bytes;
};

/* The numbers in the head of the view. */
struct rz_top_sums {
    uint32_t states[RZ_TOP_STATE_COUNT];
    uint32_t failures; /* of processes, since the job began */
    uint32_t failed_nodes, marked;
    uint64_t least, most;  /* iterations of the ranks that mark any */
    double per_second;     /* their median */
    struct rz_top_use use; /* of all ranks */
};

void rz_top_clear(struct rz_top *top);

/* Takes the next document of the job; NULL: no daemon has answered. What differs from the one
 * before becomes an event. A document with fields that are missing or of another type is taken as
 * far as it goes. */
void rz_top_take(struct rz_top *top, const json_t *job);

/* Adds one rank to a sum. */
void rz_top_use_add(struct rz_top_use *use, const struct rz_top_rank *rank);

struct rz_top_sums rz_top_sums(const struct rz_top *top);

/* The i-th newest event, from 0; NULL: there are not so many. */
const struct rz_top_event *rz_top_event(const struct rz_top *top, uint32_t i);

/* The rank with this number, or NULL. */
const struct rz_top_rank *rz_top_rank(const struct rz_top *top, int64_t rank);

#endif
