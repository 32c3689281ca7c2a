/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group monitors (docs/group.md), the library's part. A thread of the module rhizome-tester tests
 * which processes answer in time (mpi/tester/tester.h); the daemons decide rounds and views
 * (proto/view_change). This module has the calls, and the communicator of a round, which it revokes
 * when a member falls out of the view.
 *
 * All functions are called with the engine lock held.
 */
#ifndef RZ_MPI_MONITOR_H
#define RZ_MPI_MONITOR_H

#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/monitor/monitor_terms.h"
#include "mpi/monitor/monitors.h"
#include "mpi/tester/tester.h"

/* As many as fit into one message to the daemon. */
#define RZ_MONITOR_MEMBERS_MAX 4000

/* One started group: replaced as a whole when a monitor moves to another communicator. */
struct rz_monitor_group {
    struct rz_comm *comm; /* on which it was started; retained */
    int n, self;
    uint64_t number;          /* equal at all members, unique in the job */
    uint8_t *processes;       /* [n] pairs, as messages carry them */
    struct rz_tester *tester; /* NULL: this process is the only member */
    const struct rz_tester_snapshot *snapshot;
    uint64_t news;     /* the snapshot's news counter at the last look */
    uint32_t *counter; /* [n]: in the snapshot at the last look */
    uint8_t *why;      /* [n]: RZ_GROUP_RECOMMENDED, _SLOW, _FAILED, at the last look */

    MPI_Count agreed;           /* the progress that all members had before its first round */
    uint32_t round;             /* 0: none yet */
    uint64_t *view;             /* [words]: a bit set of ranks */
    struct rz_comm *round_comm; /* of the view's members; NULL: this process is not in the view */
    bool fallen;                /* a member has fallen out of the view */

    bool waits;      /* a thread is in RZ_Group_monitor_round */
    uint32_t *told;  /* [n]: the counters that the call has sent first */
    uint64_t resent; /* the snapshot's news counter when the daemon was told last */
    bool settled;    /* the daemon has answered, with these fields: */
    rz_status_t status;
    uint32_t next_round;
    uint64_t next_progress, *next_view;
};

struct rz_monitor {
    struct rz_object object;
    struct rz_monitor_terms terms;
    RZ_Group_monitor_test_function test;
    void *test_state;
    struct rz_monitor_group *group;
    MPI_Count agreed; /* the progress that all have reached */

    RZ_Group_monitor_change_function on_change;
    void *change_state;
    uint8_t *untold; /* [n]: why[k] as of the last call of on_change */

    /* list of all monitors that have not been freed, newest first */
    struct rz_monitor *next, *prev;
};

static inline int rz_monitor_words(const struct rz_monitor_group *group)
{
    return (group->n + 63) / 64;
}

static inline bool rz_monitor_has(const struct rz_monitor_group *group, int rank)
{
    return group->view[rank / 64] >> (rank % 64) & 1;
}

/*
 * monitor_join.c: makes a group of comm's members, with its thread, for a monitor with these terms
 * and test. The present group of the monitor (NULL: none) is not changed. Collective over comm; all
 * members that have not failed return an error of the same class, or none. error: an error of this
 * process, which is told to the other members. *group is set on success only.
 */
int rz_monitor_join(struct rz_comm *comm, const struct rz_monitor *monitor, int error,
                    struct rz_monitor_group **group);
/* Ends the thread, tells the daemon, ends the communicator of the round, and frees the group. */
void rz_monitor_group_end(struct rz_monitor_group *group);
struct rz_monitor_group *rz_monitor_group_new(struct rz_comm *comm);

/* monitor_round.c: ends the round of this group; the process may have other groups. */
void rz_monitor_round_over(struct rz_monitor_group *group);

/* Makes a group of the view's members; NULL: no memory. */
struct rz_group *rz_monitor_group_of(const struct rz_monitor *monitor);

/* monitor_watch.c: takes over the present counters of the snapshot. */
void rz_monitor_look(struct rz_monitor *monitor);
/* A view has begun: takes over what is already known of its members. told: the counters by which it
 * was decided. */
void rz_monitor_look_at_view(struct rz_monitor_group *group, const uint32_t *told);

/* monitor_load.c: the module; NULL: it could not be loaded, and a reason was noted. */
const struct rz_tester_entry *rz_monitor_tester(void);

/* MPI_Finalize was called: stops monitors, since other members may wait for this process in a
 * round. */
void rz_monitors_stop(void);

/* The epoch ends, and all communicators end after this: ends all monitors. */
void rz_monitors_close(void);

#endif
