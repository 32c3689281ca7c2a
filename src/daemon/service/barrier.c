/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the processes of this node after each change, and tells recovery when the last one has
 * reached the end of a phase or has entered MPIX_Reinit. */
#include "daemon/service/barrier.h"

#include <stdlib.h>

struct rz_barrier {
    struct rz_barrier_config config;
};

static bool has_reached(const struct rz_child *p, uint32_t epoch, enum rz_recover_phase phase)
{
    if (p->state == RZ_CHILD_LEFT) {
        return true;
    }
    if (p->service != RZ_CHILD_UNSERVED) { /* of another MPI */
        return phase == RZ_PHASE_ENTER || p->service == RZ_CHILD_FINALIZED;
    }
    return p->state == RZ_CHILD_JOINED && p->reached_epoch == epoch && p->reached_phase >= phase;
}

/* The job repairs itself only when all live processes have entered MPIX_Reinit, or want to leave
 * without it: a process on the way there cannot be moved to another epoch. Until then MPIX_Reinit
 * holds the others. */
static void look_which_entered(const struct rz_barrier *barrier)
{
    const struct rz_own_node *own = barrier->config.children->own;
    bool entered = false, alive = false;
    for (struct rz_child *p = barrier->config.children->first; p; p = p->next) {
        if (p->rank >= own->job.n_ranks || p->state == RZ_CHILD_FAILED || !rz_child_is_current(p)) {
            continue;
        }
        alive = true;
        if (!p->entered && !has_reached(p, own->membership.epoch, RZ_PHASE_RUN)) {
            return;
        }
        entered |= p->entered;
    }
    /* If no process of this node is live, only the user who started the job knows that they would
     * have entered (RZ_JOB_REPAIRS). This does not count while other processes are in MPI_Init,
     * which must return first, unless all are restarted from there (RZ_JOB_REWIND). */
    entered |= own->job.flags & RZ_JOB_REPAIRS && !alive &&
               (own->membership.phase == RZ_PHASE_RUN || own->job.flags & RZ_JOB_REWIND);
    if (entered && !rz_recovery_is_repairing(barrier->config.recovery)) {
        rz_recovery_repairing(barrier->config.recovery);
    }
}

static void count(evutil_socket_t fd, short what, void *arg)
{
    const struct rz_barrier *barrier = arg;
    const struct rz_own_node *own = barrier->config.children->own;
    (void)fd, (void)what;
    if (own->membership.epoch == 0 || own->membership.ending || barrier->config.children->held ||
        own->membership.phase == RZ_PHASE_LEFT) {
        return;
    }
    look_which_entered(barrier);
    for (struct rz_child *p = barrier->config.children->first; p; p = p->next) {
        if (p->rank < own->job.n_ranks && p->state != RZ_CHILD_FAILED && rz_child_is_current(p) &&
            !has_reached(p, own->membership.epoch, own->membership.phase)) {
            return;
        }
    }
    rz_recovery_reached(barrier->config.recovery, own->membership.epoch, own->membership.phase);
}

static bool on_repairing(void *arg, struct rz_child *p, const struct rz_link_message *message,
                         int *fd)
{
    const struct rz_barrier *barrier = arg;
    (void)message, (void)fd;
    p->entered = !(p->all->own->job.flags & RZ_JOB_REPAIR_NEVER);
    rz_children_recount(barrier->config.children);
    return true;
}

static bool on_reached(void *arg, struct rz_child *p, const struct rz_link_message *message,
                       int *fd)
{
    const struct rz_barrier *barrier = arg;
    const struct rz_link_reached *reached = &message->reached;
    const struct rz_own_node *own = p->all->own;
    (void)fd;
    if (reached->phase > RZ_PHASE_LEFT) {
        return false;
    }
    p->reached_epoch = reached->epoch;
    p->reached_phase = (enum rz_recover_phase)reached->phase;
    if (p->reached_phase == RZ_PHASE_RUN) {
        rz_groups_process_left(barrier->config.groups, p); /* the process is in MPI_Finalize */
    }
    if (p->reached_phase == RZ_PHASE_ENTER) {
        p->restoring = false;
    }
    if (p->reached_phase == RZ_PHASE_ENTER &&
        rz_child_record_once(p, &p->start_recorded, reached->epoch)) {
        rz_report_event(&own->report, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_AT_START,
                                                                .epoch = reached->epoch,
                                                                .rank = p->rank,
                                                                .node = own->job.node,
                                                                .incarnation = p->incarnation,
                                                                .note = ""});
    }
    rz_children_recount(barrier->config.children);
    return true;
}

rz_status_t rz_barrier_open(struct rz_barrier **result, const struct rz_barrier_config *config)
{
    struct rz_barrier *barrier = calloc(1, sizeof(*barrier));
    if (!barrier) {
        return RZ_ERR_NO_MEMORY;
    }
    barrier->config = *config;
    rz_status_t status = rz_children_on_recount(config->children, count, barrier);
    if (status != RZ_OK) {
        free(barrier);
        return status;
    }
    rz_link_router_handle(config->router, RZ_LINK_REPAIRING, on_repairing, barrier);
    rz_link_router_handle(config->router, RZ_LINK_REACHED, on_reached, barrier);
    *result = barrier;
    return RZ_OK;
}

void rz_barrier_close(struct rz_barrier *barrier)
{
    free(barrier);
}
