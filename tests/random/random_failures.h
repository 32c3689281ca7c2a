/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs at random in which processes fail, and the others go on with ULFM (README.md). Every
 * process draws the same plan, deaths included, so each knows which errors a call may return.
 */
#ifndef RANDOM_FAILURES_H
#define RANDOM_FAILURES_H

#include "random.h"

#include <mpi-ext.h>

enum {
    RANKS_MOST = 64,
    COMMS = 8,  /* slot 0: of all that live; slot 1: MPI_COMM_WORLD, unless it is given up */
    ROUND = 40, /* numbers of a round; the first ones are its operations, then come its deaths */
    OPERATIONS = 30,
    DEATHS = 4,
    AT_REVOKE = OPERATIONS + DEATHS, /* the repair may revoke slot 0 */
    AT_REPLACE,                      /* and may replace the failed processes */
    AT_CALM,                         /* and then a program without failures is played */
    AT_AGREE,                        /* the agreement of the repair */
    ROUND_TAGS = 1000,               /* below those of random_program */
    ALL = -1
};

/* Which calls have errors of one class at all that live: mpi_error_uniform. */
enum uniform { UNIFORM_LOCAL, UNIFORM_CONSTRUCT, UNIFORM_COLL, UNIFORMS };

/* A communicator, as all processes know it. Processes are ranks of MPI_COMM_WORLD, sets of them are
 * bits. */
struct comm {
    bool there;
    int n, member[RANKS_MOST];
    int me; /* my rank; below 0: I am not in it, or it was not made */
    MPI_Comm comm;
    enum uniform uniform;
    bool revocable;                 /* members may revoke it */
    bool range_group;               /* a failure revokes it */
    bool revoked;                   /* all that live know that it is revoked */
    bool revoker;                   /* this process has called MPIX_Comm_revoke */
    uint64_t known;                 /* the failed members that this process has been told */
    uint64_t acknowledged;          /* those it has acknowledged */
    int order[RANKS_MOST], n_order; /* the known ones, in the order of MPIX_Comm_get_failed */
};

/* What has been started, and is completed later. */
struct wait {
    int op;
    MPI_Request request;
    struct comm *comm;
    int peer; /* whose failure concerns it; ALL */
    bool persistent, any_source, receives;
    bool uniform;   /* a collective operation whose error is of one class at all that live */
    bool must_fail; /* a collective operation that was begun when a failure was known */
    int source, tag;
    uint64_t elements;
    struct side *side, *more;    /* more: what is sent, with the receive of `side` */
    uint32_t *sent, *got, *want; /* [n_words], of a collective operation; want NULL: of no result */
    uint32_t n_words;
    int *flag; /* of an agreement, which began with `mine`; or NULL */
    uint32_t mine;
};

/* The result of an agreement, for a comparison with those of the others. */
struct entry {
    uint64_t members;             /* how many take part; 0: not I */
    uint64_t mine, result, class; /* in, out, of the error */
};

struct game {
    uint64_t seed;
    const char *folder; /* for files; NULL: none */
    int n, me;          /* in MPI_COMM_WORLD */
    int round, op;
    uint64_t may_fail, gone; /* in this round; in an earlier one */
    struct comm comm[COMMS];
    struct wait *wait;
    int n_waits, room;
    struct entry entry[ROUND];
    unsigned long seen[4]; /* results: success, PROC_FAILED, PROC_FAILED_PENDING, REVOKED */
};

typedef void fail_operation(struct game *game, struct dice *dice, struct comm *comm);
fail_operation fail_message, fail_burst, fail_exchange, fail_collective, fail_derive, fail_free,
    fail_revoke, fail_agree, fail_shrink, fail_acknowledge, fail_window, fail_file;

/* A member; in some of a hundred cases one that fails in this round. */
int draw_member(struct game *game, struct dice *dice, const struct comm *comm, uint32_t percent);
bool is_in(uint64_t set, int process);
uint64_t members_of(const struct comm *comm);
int number_of(const struct game *game); /* of the operation, in all rounds */
int class_of(int error);

/* An error that is allowed at no time. */
void refused(const struct game *game, int error, const char *call);
/* Whether the call was successful; its error must be one that the plan allows. */
bool went_well(struct game *game, struct comm *comm, int peer, int error, const char *call);
/* The failed are known, and the plan has a cause for an error that concerns `peer`. */
void check_failed(struct game *game, struct comm *comm, int peer, const char *call);
/* The error of an agreement, which is noted as that of operation `at`. */
int agree(struct game *game, int at, struct comm *comm, bool blocks, int *flag);
void must(struct game *game, int error, const char *call); /* be successful */
uint64_t known_failed(struct game *game, struct comm *comm);
void acknowledge_all(struct game *game, struct comm *comm);
uint64_t set_of(struct game *game, struct comm *comm, MPI_Group group);
MPI_Info info_of(enum uniform uniform, bool revokes); /* revokes: a failure revokes it */
/* The new communicator has these members of the old one, in their order; which: as a set. */
uint64_t remaining(struct game *game, struct comm *old, MPI_Comm new);
void note_entry(struct game *game, int at, struct comm *comm, uint64_t mine, uint64_t result,
                int error);

/* ---- Requests ---- */

struct wait *wait_new(struct game *game, struct comm *comm, int peer);
void wait_some(struct game *game, struct dice *dice);
void wait_all(struct game *game, struct comm *comm); /* NULL: of all communicators */
void blocking_over(struct game *game, int error, MPI_Status *status,
                   const char *call); /* the newest one, which has no request */
void wait_over(struct game *game, struct wait *wait, int error, MPI_Status *status,
               const char *call);

#endif
