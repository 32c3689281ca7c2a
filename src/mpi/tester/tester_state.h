/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the tester's thread share; all but `ends` belongs to the thread. */
#ifndef RZ_MPI_TESTER_STATE_H
#define RZ_MPI_TESTER_STATE_H

#include "host/embedded.h"
#include "mpi/tester/tester.h"
#include "net/datagram/datagram_post.h"

#include <pthread.h>

/* A test that was asked of this process. */
struct rz_tester_task {
    bool waits;
    uint64_t test, began; /* handed back with the answer */
};

struct rz_tester {
    struct rz_tester_config config;
    struct rz_tester_snapshot *snapshot;
    pthread_t thread;
    int wake_fd; /* an eventfd: readable when the thread is to end */

    pthread_mutex_t lock; /* of what the library wants of the thread: */
    bool ends;

    uint64_t *scratch; /* [words] */
    struct rz_post post;
    struct rz_embedded diagnose, paxos;
    struct rz_tester_peer *peer; /* [n] */
    bool *failed;                /* [n]: told to the cores */
    uint32_t *attempt;           /* [n]: votes that were lost, for the counter as it is */
    struct rz_tester_task *task; /* [n]: by tester; a newer test takes the place of an older one */
    uint32_t n_tasks, turn;      /* that wait; whose is looked at next */
    uint64_t news;               /* of the board, as of the last look */
    bool changed;                /* counters in the snapshot did */
    struct rz_diagnose_voters voters;
    bool told;          /* there is something on the line */
    bool untold;        /* the daemon, of what we ask, or of counters that changed since */
    uint8_t *processes; /* [n] pairs, as messages carry them */
    uint8_t *message;   /* RZ_LINK_MESSAGE_MAX: on the line, one way or the other */

    rz_time meant; /* until when we meant to sleep */
    rz_time slept; /* so much passed while we could not listen: the cores' clock is behind */
};

/* ---- tester_cores.c ---- */

/* False: no memory. */
bool rz_tester_cores_open(struct rz_tester *tester, rz_time now);
void rz_tester_cores_close(struct rz_tester *tester);

void rz_tester_receive(struct rz_tester *tester, const struct rz_message *message,
                       const uint64_t *items, rz_time now);
/* The cores' deadlines that have come. */
void rz_tester_tick(struct rz_tester *tester, rz_time now);
rz_time rz_tester_deadline(const struct rz_tester *tester);
/* A member has failed, as the board says. */
void rz_tester_failure(struct rz_tester *tester, rz_id member, rz_time now);
/* The test that `from` asked for is done. */
void rz_tester_answer(struct rz_tester *tester, rz_id from, rz_time now);
/* tester->voters are new. */
void rz_tester_electorate(struct rz_tester *tester, rz_time now);

/* ---- tester_voters.c ---- */

/* False: no memory. */
bool rz_tester_voters_open(struct rz_tester *tester);
void rz_tester_voters_close(struct rz_tester *tester);
/* Takes what the daemon has settled, and asks it for other voters where these will not do. */
void rz_tester_voters_look(struct rz_tester *tester, rz_time now);
/* When the daemon is to be told again, as the line was full; RZ_TIME_NEVER: not at all. */
rz_time rz_tester_voters_deadline(const struct rz_tester *tester, rz_time now);

#endif
