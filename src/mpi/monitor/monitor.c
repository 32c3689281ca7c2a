/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RZ_Group_monitor_start and _stop: making and ending monitors and their groups.
 */
#include "mpi/monitor/monitor.h"

#include <stdlib.h>

struct rz_monitor *rz_monitors;

static uint64_t ended_sent, ended_received; /* counters of groups that have ended */

struct rz_comm *rz_monitor_comm(const struct rz_monitor *monitor)
{
    return monitor->group->comm;
}

/* ---- Groups ---- */

static void group_free(struct rz_monitor_group *group)
{
    free(group->processes);
    free(group->counter);
    free(group->why);
    free(group->view);
    free(group->told);
    free(group->next_view);
    free(group);
}

struct rz_monitor_group *rz_monitor_group_new(struct rz_comm *comm)
{
    struct rz_monitor_group *group = calloc(1, sizeof(*group));
    size_t n = (size_t)comm->group->size, words = (n + 63) / 64;
    if (!group) {
        return NULL;
    }
    group->n = (int)n;
    group->self = comm->group->rank;
    group->processes = calloc(n, RZ_LINK_PAIR_BYTES);
    group->counter = calloc(n, sizeof(*group->counter));
    group->why = malloc(n);
    group->view = calloc(words, sizeof(*group->view));
    group->told = calloc(n, sizeof(*group->told));
    group->next_view = calloc(words, sizeof(*group->next_view));
    if (!group->processes || !group->counter || !group->why || !group->view || !group->told ||
        !group->next_view) {
        group_free(group);
        return NULL;
    }
    memset(group->why, RZ_GROUP_RECOMMENDED, n);
    for (size_t k = 0; k < n; k++) {
        group->view[k / 64] |= UINT64_C(1) << (k % 64);
    }
    group->comm = comm;
    rz_comm_retain(comm);
    return group;
}

static void leave(const struct rz_monitor_group *group)
{
    struct rz_link_message message = {
        .type = RZ_LINK_GROUP_LEAVE,
        .group_leave = {.group = group->number, .rank = (uint32_t)group->self}};
    rz_engine_tell_daemon(&message);
}

void rz_monitor_group_end(struct rz_monitor_group *group)
{
    if (group->tester) {
        ended_sent += atomic_load(&group->snapshot->sent);
        ended_received += atomic_load(&group->snapshot->received);
        rz_monitor_tester()->close(group->tester);
        leave(group);
    }
    rz_monitor_round_over(group);
    if (group->comm) {
        rz_comm_release(group->comm);
    }
    group_free(group);
}

static uint64_t counted(uint64_t ended, bool sent)
{
    for (const struct rz_monitor *monitor = rz_monitors; monitor; monitor = monitor->next) {
        const struct rz_tester_snapshot *snapshot = monitor->group->snapshot;
        if (snapshot) {
            ended += atomic_load_explicit(sent ? &snapshot->sent : &snapshot->received,
                                          memory_order_relaxed);
        }
    }
    return ended;
}

uint64_t rz_monitors_sent(void)
{
    return counted(ended_sent, true);
}

uint64_t rz_monitors_received(void)
{
    return counted(ended_received, false);
}

/* ---- Monitors ---- */

static void monitor_insert(struct rz_monitor *monitor)
{
    monitor->next = rz_monitors;
    if (rz_monitors) {
        rz_monitors->prev = monitor;
    }
    rz_monitors = monitor;
    rz_work_set(RZ_WORK_MONITORS, true);
}

static void monitor_end(struct rz_monitor *monitor)
{
    *(monitor->prev ? &monitor->prev->next : &rz_monitors) = monitor->next;
    if (monitor->next) {
        monitor->next->prev = monitor->prev;
    }
    rz_work_set(RZ_WORK_MONITORS, rz_monitors != NULL);
    rz_monitor_group_end(monitor->group);
    free(monitor->untold);
    rz_object_release(&monitor->object);
    rz_object_retire(&monitor->object, sizeof(*monitor));
}

void rz_monitors_stop(void)
{
    while (rz_monitors) {
        monitor_end(rz_monitors);
    }
}

void rz_monitors_close(void)
{
    while (rz_monitors) {
        rz_monitors->group->comm = NULL; /* it is ended with all other communicators */
        rz_monitors->group->round_comm = NULL;
        monitor_end(rz_monitors);
    }
}

static int refuse_waiting(const struct rz_monitor *monitor)
{
    return monitor->group && monitor->group->waits
               ? rzm_error(MPI_ERR_OTHER, "a thread waits in RZ_Group_monitor_round")
               : MPI_SUCCESS;
}

static int check(const struct rz_comm *comm)
{
    if (comm->object.flags & RZ_COMM_INTER) {
        return rzm_error(MPI_ERR_COMM, "comm is an inter-communicator");
    }
    if (comm->group->size > RZ_MONITOR_MEMBERS_MAX) {
        return rzm_error(MPI_ERR_COMM, "comm has %d processes; a group has %d at most",
                         comm->group->size, RZ_MONITOR_MEMBERS_MAX);
    }
    return MPI_SUCCESS;
}

/* Sets the monitor to the plan, with its new group. */
static void monitor_take(struct rz_monitor *monitor, const struct rz_monitor *plan,
                         struct rz_monitor_group *group, uint8_t *untold)
{
    if (monitor->group) {
        rz_monitor_group_end(monitor->group);
    }
    free(monitor->untold);
    memcpy(untold, group->why, (size_t)group->n);
    monitor->terms = plan->terms;
    monitor->test = plan->test;
    monitor->test_state = plan->test_state;
    monitor->untold = untold;
    monitor->agreed = group->agreed > monitor->agreed ? group->agreed : monitor->agreed;
    monitor->group = group;
}

/* The monitor is unchanged until its new group exists. An error of this process is told to the
 * other members. */
static int monitor_join(struct rz_comm *comm, struct rz_info *info, struct rz_monitor *monitor,
                        struct rz_monitor *plan)
{
    struct rz_monitor_group *group;
    uint8_t *untold = malloc((size_t)comm->group->size);
    int error = !monitor || !untold ? MPI_ERR_NO_MEM : refuse_waiting(monitor);
    error = error != MPI_SUCCESS ? error : rz_monitor_terms_read(info, &plan->terms);
    error = rz_monitor_join(comm, plan, error, &group);
    if (error == MPI_SUCCESS) {
        monitor_take(monitor, plan, group, untold);
    } else {
        free(untold);
    }
    return error;
}

static int monitor_start(struct rz_comm *comm, struct rz_info *info, struct rz_monitor *plan,
                         struct rz_monitor **monitor)
{
    struct rz_monitor *made = calloc(1, sizeof(*made));
    int error = monitor_join(comm, info, made, plan);
    if (error != MPI_SUCCESS) {
        free(made);
        return error;
    }
    rz_object_init(&made->object, RZ_OBJECT_MONITOR, 0);
    monitor_insert(made);
    *monitor = made;
    return MPI_SUCCESS;
}

int rzm_group_monitor_start(struct rz_comm *comm, struct rz_info *info,
                            RZ_Group_monitor_test_function test, void *extra_state,
                            struct rz_monitor **monitor)
{
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : check(comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_monitor plan = {.test = test, .test_state = extra_state};
    if (!*monitor) {
        return monitor_start(comm, info, &plan, monitor);
    }
    plan.group = (*monitor)->group;
    plan.agreed = (*monitor)->agreed;
    return monitor_join(comm, info, *monitor, &plan);
}

int rzm_group_monitor_stop(struct rz_monitor *monitor)
{
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : refuse_waiting(monitor);
    if (error == MPI_SUCCESS) {
        monitor_end(monitor);
    }
    return error;
}
