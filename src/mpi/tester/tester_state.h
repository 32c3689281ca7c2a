/* What the files of the tester's thread share; all but the mailbox belongs to the thread. */
#ifndef RZ_MPI_TESTER_STATE_H
#define RZ_MPI_TESTER_STATE_H

#include "host/hosted.h"
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
    int wake_fd; /* an eventfd: readable when there is something in the mailbox */

    /* The mailbox: what the library wants of the thread. */
    pthread_mutex_t lock;
    bool ends;
    bool computes;     /* `wanted` is new */
    uint64_t *wanted;  /* [words], a bit set: who votes */
    uint64_t *scratch; /* [words], the thread's */

    struct rz_post post;
    struct rz_hosted diagnose, paxos;
    struct rz_tester_peer *peer; /* [n] */
    bool *dead;                  /* [n]: told to the cores */
    uint32_t *attempt;           /* [n]: votes that were lost, for the counter as it is */
    struct rz_tester_task *task; /* [n]: by tester; a newer test takes the place of an older one */
    uint32_t n_tasks, turn;      /* that wait; whose is looked at next */
    uint64_t news;               /* of the board, as of the last look */
    bool changed;                /* counters in the snapshot did */

    rz_time meant; /* until when we meant to sleep */
    rz_time slept; /* so much passed while we could not listen: the cores' clock is behind */
};

/* --- tester_cores.c --------------------------------------------------------------------------- */

/* False: no memory. */
bool rz_tester_cores_open(struct rz_tester *tester, rz_time now);
void rz_tester_cores_close(struct rz_tester *tester);

void rz_tester_receive(struct rz_tester *tester, const struct rz_message *message,
                       const uint64_t *items, rz_time now);
/* The cores' deadlines that have come. */
void rz_tester_tick(struct rz_tester *tester, rz_time now);
rz_time rz_tester_deadline(const struct rz_tester *tester);
/* A member has died, as the board says. */
void rz_tester_death(struct rz_tester *tester, rz_id member, rz_time now);
/* The test that `from` asked for is done. */
void rz_tester_answer(struct rz_tester *tester, rz_id from, rz_time now);
/* These members vote from now on. */
void rz_tester_electorate(struct rz_tester *tester, const uint64_t *members, rz_time now);

#endif
