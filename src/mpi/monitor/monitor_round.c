/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RZ_Group_monitor_round: the caller has done its part of a round, and waits until the daemons have
 * decided the next one (proto/view_change).
 */
#include "mpi/monitor/monitor.h"

#include "base/trace.h"
#include "mpi/agree/comm_revoke.h"
#include "port/kill_point.h"
#include "wire/cursor.h"

#include <stdlib.h>

#define ROUND_CALL "RZ_Group_monitor_round"

/* Distinguishes the communicators of rounds from others. */
enum { KIND_ROUND = 0x6d02 };

/* ---- The end of a round ---- */

/* Ends the operations pending on the round's communicator; the other members do the same when they
 * learn of the end. */
void rz_monitor_round_over(struct rz_monitor_group *group)
{
    struct rz_comm *comm = group->round_comm;
    group->round_comm = NULL;
    if (comm) {
        rz_comm_revoked(comm);
        rz_comm_release(comm);
    }
}

/* ---- The daemon ---- */

static struct rz_monitor_group *group_of(uint64_t number)
{
    struct rz_monitor *monitor = rz_monitors;
    while (monitor && (!monitor->group->tester || monitor->group->number != number)) {
        monitor = monitor->next;
    }
    return monitor ? monitor->group : NULL;
}

static void read_view(struct rz_monitor_group *group, const uint8_t *bytes, uint32_t length)
{
    struct rz_wire_reader r;
    int words = rz_monitor_words(group);
    if (length != (size_t)words * sizeof(uint64_t)) {
        group->status = RZ_ERR_MALFORMED;
        return;
    }
    rz_wire_reader_init(&r, bytes, length);
    for (int i = 0; i < words; i++) {
        group->next_view[i] = rz_wire_get_u64(&r);
    }
}

static void on_round(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    struct rz_monitor_group *group = group_of(message->group_round.group);
    rz_status_t status = (rz_status_t)message->group_round.status;
    if (!group || !group->waits ||
        (status == RZ_OK && message->group_round.round <= group->round)) {
        return;
    }
    group->status = status;
    group->next_round = message->group_round.round;
    group->next_progress = message->group_round.progress;
    if (status == RZ_OK) {
        read_view(group, message->group_round.view, message->group_round.view_length);
    }
    group->settled = true;
    rz_engine.completions++;
}

static uint8_t *counters_write(const struct rz_monitor_group *group, uint32_t *length)
{
    size_t room = (size_t)group->n * sizeof(uint64_t);
    uint8_t *bytes = malloc(room);
    struct rz_wire_writer w;
    *length = 0;
    if (!bytes) {
        return NULL;
    }
    rz_wire_writer_init(&w, bytes, room);
    for (int k = 0; k < group->n; k++) {
        if (group->counter[k] > 0) {
            rz_wire_put_u64(&w, RZ_DIAGNOSE_ITEM(k, group->counter[k]));
            *length += sizeof(uint64_t);
        }
    }
    return bytes;
}

static int arrive(const struct rz_monitor *monitor, MPI_Count progress)
{
    const struct rz_monitor_group *group = monitor->group;
    uint32_t length;
    uint8_t *counters = counters_write(group, &length);
    if (!counters) {
        return MPI_ERR_NO_MEM;
    }
    struct rz_link_message message = {
        .type = RZ_LINK_GROUP_ARRIVE,
        .group_arrive = {.group = group->number,
                         .round = group->round,
                         .rank = (uint32_t)group->self,
                         .progress = (uint64_t)progress,
                         .name = monitor->terms.name,
                         .processes = group->processes,
                         .processes_length = (uint32_t)group->n * RZ_LINK_PAIR_BYTES,
                         .counters = counters,
                         .counters_length = length}};
    rz_engine_tell_daemon(&message);
    rz_kill_here(RZ_KILL_GROUP_ARRIVED);
    free(counters);
    return MPI_SUCCESS;
}

/* ---- Waiting ---- */

struct arrival {
    struct rz_monitor *monitor;
    MPI_Count progress;
    int error;
};

/* Counters change during the wait; they are sent to the daemon, so that the round does not wait for
 * a process that is excluded. */
static bool is_settled(void *arg)
{
    struct arrival *arrival = arg;
    struct rz_monitor_group *group = arrival->monitor->group;
    if (!group->settled && group->resent != group->news) {
        group->resent = group->news;
        arrival->error = arrive(arrival->monitor, arrival->progress);
    }
    return group->settled || arrival->error != MPI_SUCCESS;
}

static int await_round(struct rz_monitor *monitor, MPI_Count progress)
{
    struct rz_monitor_group *group = monitor->group;
    struct rz_blocked blocked = {.call = ROUND_CALL,
                                 .comm = group->comm,
                                 .operation = group->round + 1,
                                 .peer = -1,
                                 .tag = MPI_ANY_TAG};
    rz_monitor_look(monitor);
    memcpy(group->told, group->counter, (size_t)group->n * sizeof(*group->told));
    group->resent = group->news;
    group->settled = false;
    group->waits = true;
    rz_link_handle(rz_engine.link, RZ_LINK_GROUP_ROUND, on_round, NULL);
    struct arrival arrival = {monitor, progress, arrive(monitor, progress)};
    int error = arrival.error;
    error = error != MPI_SUCCESS ? error : rz_engine_wait(&blocked, is_settled, &arrival);
    group->waits = false;
    rz_kill_here(RZ_KILL_GROUP_ROUND);
    error = error != MPI_SUCCESS ? error : arrival.error;
    if (error == MPI_SUCCESS && group->status != RZ_OK) {
        error = rzm_error(MPI_ERR_OTHER, "the daemons refused the group: %s",
                          rz_status_text(group->status));
    }
    return error;
}

/* ---- The next round ---- */

struct rz_group *rz_monitor_group_of(const struct rz_monitor *monitor)
{
    const struct rz_monitor_group *group = monitor->group;
    uint32_t *process = malloc((size_t)group->n * sizeof(*process));
    int n = 0;
    for (int k = 0; process && k < group->n; k++) {
        if (rz_monitor_has(group, k)) {
            process[n++] = group->comm->group->process[k];
        }
    }
    struct rz_group *made = process ? rz_group_new(n, process) : NULL;
    free(process);
    return made;
}

static int round_comm_make(const struct rz_monitor *monitor, struct rz_comm **comm)
{
    const struct rz_monitor_group *group = monitor->group;
    const uint64_t words[3] = {group->number, group->round, KIND_ROUND};
    struct rz_group *members = rz_monitor_group_of(monitor);
    if (!members) {
        return MPI_ERR_NO_MEM;
    }
    int error = rz_comm_make(words, members, NULL, rz_errhandler_predefined(0x143), comm);
    rz_group_release(members);
    if (error == MPI_SUCCESS) {
        (*comm)->object.flags |= RZ_COMM_ROUND;
    }
    return error;
}

static int round_begin(struct rz_monitor *monitor)
{
    struct rz_monitor_group *group = monitor->group;
    group->fallen = false;
    int error = MPI_SUCCESS;
    if (rz_monitor_has(group, group->self)) {
        error = round_comm_make(monitor, &group->round_comm);
    }
    if (error == MPI_SUCCESS) {
        rz_monitor_look_at_view(group, group->told);
    }
    return error;
}

/* A process that is the only member decides by itself. */
static void settle_alone(struct rz_monitor_group *group, MPI_Count progress)
{
    group->next_round = group->round + 1;
    group->next_progress = (uint64_t)progress;
    group->next_view[0] = 1;
}

static int round_next(struct rz_monitor *monitor, MPI_Count progress)
{
    struct rz_monitor_group *group = monitor->group;
    rz_monitor_round_over(group);
    if (group->tester) {
        int error = await_round(monitor, progress);
        if (error != MPI_SUCCESS) {
            return error;
        }
    } else {
        settle_alone(group, progress);
    }
    group->round = group->next_round;
    memcpy(group->view, group->next_view, (size_t)rz_monitor_words(group) * sizeof(uint64_t));
    MPI_Count agreed = (MPI_Count)group->next_progress;
    monitor->agreed = agreed > monitor->agreed ? agreed : monitor->agreed;
    RZ_TRACE(VIEW, group->round, group->view[0], 0);
    return round_begin(monitor);
}

int rzm_group_monitor_round(struct rz_monitor *monitor, MPI_Count progress, MPI_Count *agreed,
                            struct rz_comm **comm)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (progress < 0) {
        return rzm_error(MPI_ERR_ARG, "progress is %lld, less than 0", (long long)progress);
    }
    if (monitor->group->waits) {
        return rzm_error(MPI_ERR_OTHER, "another thread waits in " ROUND_CALL);
    }
    error = round_next(monitor, progress);
    if (error == MPI_SUCCESS) {
        *agreed = monitor->agreed;
        *comm = monitor->group->round_comm;
    }
    return error;
}
