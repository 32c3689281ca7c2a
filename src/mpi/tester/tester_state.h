/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the tester's thread share; all of it belongs to the thread, except `ends`.
 */
#ifndef RZ_MPI_TESTER_STATE_H
#define RZ_MPI_TESTER_STATE_H

#include "host/embedded.h"
#include "mpi/tester/tester.h"
#include "net/datagram/datagram_post.h"

#include <pthread.h>

/* A test that another process requested of this one. */
struct rz_tester_task {
    bool waits;
    uint64_t test, began; /* sent back with the answer */
};

struct rz_tester {
    struct rz_tester_config config;
    struct rz_tester_snapshot *snapshot;
    pthread_t thread;
    int wake_fd; /* an eventfd: readable when the thread is to end */

    pthread_mutex_t lock; /* protects what the library tells the thread: */
    bool ends;

    uint64_t *scratch; /* [words] */
    struct rz_post post;
    struct rz_embedded diagnose, paxos;
    struct rz_tester_peer *peer; /* [n] */
    bool *failed;                /* [n]: told to the cores */
    uint32_t *attempt;           /* [n]: number of votes lost for the present counter */
    /* [n]: by the requesting member; a newer test replaces an older one */
    struct rz_tester_task *task;
    uint32_t n_tasks, turn; /* number of waiting tasks; the member whose task is next */
    uint64_t news;          /* the board's news counter at the last look */
    bool changed;           /* counters in the snapshot have changed */
    struct rz_diagnose_voters voters;
    bool told;   /* the daemon has sent a message on the connection */
    bool untold; /* the daemon was not told yet of a request, or of counters that changed since */
    uint8_t *processes; /* [n] pairs, as messages carry them */
    uint8_t *message;   /* RZ_LINK_MESSAGE_MAX: for messages on the connection in both directions */

    rz_time meant; /* until when the thread meant to sleep */
    rz_time slept; /* total time in which the thread could not receive; the clock of the cores is
                      behind by it */
};

/* ---- tester_cores.c ---- */

/* False: no memory. */
bool rz_tester_cores_open(struct rz_tester *tester, rz_time now);
void rz_tester_cores_close(struct rz_tester *tester);

void rz_tester_receive(struct rz_tester *tester, const struct rz_message *message,
                       const uint64_t *items, rz_time now);
/* Handles the deadlines of the cores that have come. */
void rz_tester_tick(struct rz_tester *tester, rz_time now);
rz_time rz_tester_deadline(const struct rz_tester *tester);
/* The board shows that a member has failed. */
void rz_tester_failure(struct rz_tester *tester, rz_id member, rz_time now);
/* The test that `from` requested is done. */
void rz_tester_answer(struct rz_tester *tester, rz_id from, rz_time now);
/* tester->voters has changed. */
void rz_tester_electorate(struct rz_tester *tester, rz_time now);

/* ---- tester_voters.c ---- */

/* False: no memory. */
bool rz_tester_voters_open(struct rz_tester *tester);
void rz_tester_voters_close(struct rz_tester *tester);
/* Takes over what the daemon has decided, and requests other voters if the present ones are not
 * sufficient. */
void rz_tester_voters_look(struct rz_tester *tester, rz_time now);
/* When the message to the daemon is to be tried again, after the connection was full;
 * RZ_TIME_NEVER: not at all. */
rz_time rz_tester_voters_deadline(const struct rz_tester *tester, rz_time now);

#endif
