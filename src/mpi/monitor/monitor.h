/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group monitors (docs/group.md): the library's end of them. A thread of the module rhizome-tester
 * finds out who answers in time (mpi/tester/tester.h); the daemons settle rounds and views
 * (proto/view_change); here are the calls, the communicator of a round, and its end when somebody
 * falls out of the view.
 *
 * All of it with the engine lock held.
 */
#ifndef RZ_MPI_MONITOR_H
#define RZ_MPI_MONITOR_H

#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/monitor/monitor_terms.h"
#include "mpi/monitor/monitors.h"
#include "mpi/tester/tester.h"

/* What fits into one message to the daemon. */
#define RZ_MONITOR_MEMBERS_MAX 4000

/* One started group: replaced as a whole where a monitor moves to another communicator. */
struct rz_monitor_group {
    struct rz_comm *comm; /* that it was started on; retained */
    int n, self;
    uint64_t number;          /* the same at all members; no other group of the job has it */
    uint8_t *processes;       /* [n] pairs, as messages carry them */
    struct rz_tester *tester; /* NULL: this process is alone */
    const struct rz_tester_snapshot *snapshot;
    uint64_t news;     /* of the snapshot, as of the last look */
    uint32_t *counter; /* [n]: of the snapshot, as of the last look */
    uint8_t *why;      /* [n]: RZ_GROUP_RECOMMENDED, _SLOW, _DEAD, as of the last look */

    MPI_Count agreed;           /* how far all had come before its first round */
    uint32_t round;             /* 0: none yet */
    uint64_t *view;             /* [words]: a bit set of ranks */
    struct rz_comm *round_comm; /* of the view's members; NULL: this process is none */
    bool fallen;                /* somebody has fallen out of the view */

    bool waits;      /* some thread is in RZ_Group_monitor_round */
    uint32_t *told;  /* [n]: the counters that this call came with first */
    uint64_t resent; /* news of the snapshot, as of what the daemon was told last */
    bool settled;    /* what the daemon has answered: */
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
    MPI_Count agreed; /* how far all have come */

    RZ_Group_monitor_change_function on_change;
    void *change_state;
    uint8_t *untold; /* [n]: why[k] as on_change was last told */

    struct rz_monitor *next, *prev; /* all living ones, newest first */
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
 * monitor_join.c: a group of comm's members, with its thread, for a monitor with these terms and
 * test, and the group that it has (NULL: none), which stays as it is. Collective over comm; all
 * living members return an error of the same class, or none. error: why this process will not go
 * on; it tells the others. *group is set on success only.
 */
int rz_monitor_join(struct rz_comm *comm, const struct rz_monitor *monitor, int error,
                    struct rz_monitor_group **group);
/* Ends the thread, tells the daemon, ends the communicator of the round, and frees it. */
void rz_monitor_group_end(struct rz_monitor_group *group);
struct rz_monitor_group *rz_monitor_group_new(struct rz_comm *comm);

/* monitor_round.c: of the group, among others of the process. */
void rz_monitor_round_over(struct rz_monitor_group *group);

/* A new group of the view's members; NULL: no memory. */
struct rz_group *rz_monitor_group_of(const struct rz_monitor *monitor);

/* monitor_watch.c: what stands in the snapshot becomes what is known here; the present counters. */
void rz_monitor_look(struct rz_monitor *monitor);
/* A view has begun: what is known already of its members. told: the counters it was decided by. */
void rz_monitor_look_at_view(struct rz_monitor_group *group, const uint32_t *told);

/* monitor_load.c: the module; NULL: it could not be loaded, and a reason was noted. */
const struct rz_tester_entry *rz_monitor_tester(void);

/* MPI_Finalize was called: monitors are stopped, for others may wait for this process in a round.
 */
void rz_monitors_stop(void);

/* The epoch ends, and all communicators after this: so do all monitors. */
void rz_monitors_close(void);

#endif
