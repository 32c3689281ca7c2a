/* SPDX-License-Identifier: BSD-3-Clause */
/* The timer for snapshots, and the requests on their way to all boards. */
#include "daemon/service/snapshots.h"

#include "daemon/process/output.h"
#include "daemon/state/loop.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"
#include "proto/snapshot/snapshot_pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one before is known when images are committed, these perhaps not yet. */
enum { MADE_MAX = 4 };

struct rz_snapshots {
    struct rz_snapshots_config config;
    const struct rz_own_node *own; /* copied from config */
    struct event *timer;
    uint32_t epoch, wanted; /* the newest number that is wanted in this epoch */
    struct rz_snapshot_pace pace;
    uint32_t over; /* the newest attempt of this epoch that has ended at a process here */
    uint32_t told; /* the newest epoch in which the user was told why there is none */
    struct made_images {
        uint64_t number;
        uint32_t attempt;
    } made[MADE_MAX]; /* [number % MADE_MAX]: which attempt has made them */
};

/* The job runs in this epoch, and none of its ranks has left. */
static bool job_runs(const struct rz_snapshots *snapshots)
{
    const struct rz_membership *membership = &snapshots->own->membership;
    return !membership->ending && membership->phase == RZ_PHASE_RUN;
}

/* Daemons begin an epoch at different moments: the request may come before it. */
static bool enter_epoch(struct rz_snapshots *snapshots, uint32_t epoch)
{
    if (snapshots->epoch < epoch) {
        snapshots->epoch = epoch;
        snapshots->wanted = snapshots->over = 0;
        memset(snapshots->made, 0, sizeof(snapshots->made));
        rz_snapshot_pace_init(&snapshots->pace, snapshots->own->job.rewind_ns, rz_clock_now());
    }
    return snapshots->epoch == epoch;
}

static void want_here(struct rz_snapshots *snapshots, uint32_t epoch, uint32_t number)
{
    if (enter_epoch(snapshots, epoch) && snapshots->wanted < number) {
        snapshots->wanted = number;
        rz_snapshot_pace_begins(&snapshots->pace, rz_clock_now());
        rz_board_writer_snapshot(snapshots->config.board, epoch, number);
        rz_board_writer_publish(snapshots->config.board);
    }
}

/* While one is under way no other one is added: the processes would only stop again and again. */
static void want_everywhere(struct rz_snapshots *snapshots)
{
    const struct rz_membership *membership = &snapshots->own->membership;
    uint32_t epoch = membership->epoch;
    if (!enter_epoch(snapshots, epoch)) {
        return;
    }
    uint32_t number = snapshots->over + 1;
    const struct rz_overlay_message message = {.type = RZ_OVERLAY_SNAPSHOT,
                                               .snapshot = {.epoch = epoch, .number = number}};
    for (rz_id node = 0; node < membership->n_nodes; node++) {
        if (node != snapshots->own->job.node && !rz_membership_node_has_failed(membership, node)) {
            rz_overlay_send(snapshots->config.overlay, node, &message);
        }
    }
    if (number > snapshots->wanted) {
        const struct rz_launch_event wanted = {.kind = RZ_EVENT_RECORD_SNAPSHOT,
                                               .epoch = epoch,
                                               .rank = RZ_ID_NONE,
                                               .node = RZ_ID_NONE,
                                               .value = number};
        rz_report_event(&snapshots->own->report, &wanted);
    }
    want_here(snapshots, epoch, number);
}

/* That of rank 0: its daemon learns when an attempt has ended. */
static bool asks(const struct rz_snapshots *snapshots)
{
    return snapshots->own->membership.slots[0].node == snapshots->own->job.node;
}

/* While one is under way, or its images are not committed, the timer goes on idly. */
static void arm_next(struct rz_snapshots *snapshots, rz_time now)
{
    rz_time due = rz_snapshot_pace_due(&snapshots->pace);
    if (due != RZ_TIME_NEVER) {
        rz_loop_arm_every(snapshots->timer, due > now ? due - now : RZ_MICROSECOND);
    }
}

static void snapshot_due(evutil_socket_t fd, short what, void *arg)
{
    struct rz_snapshots *snapshots = arg;
    rz_time now = rz_clock_now();
    (void)fd, (void)what;
    rz_loop_arm_every(snapshots->timer, snapshots->own->job.rewind_ns);
    if (!job_runs(snapshots) || !asks(snapshots) ||
        !enter_epoch(snapshots, snapshots->own->membership.epoch)) {
        return;
    }
    if (now >= rz_snapshot_pace_due(&snapshots->pace)) {
        want_everywhere(snapshots);
    } else {
        arm_next(snapshots, now);
    }
}

/* The least that a process here says: it may be too early, and is not too late. */
static void note_made(struct rz_snapshots *snapshots, uint64_t number, uint32_t attempt)
{
    struct made_images *made = &snapshots->made[number % MADE_MAX];
    if (made->number != number || attempt < made->attempt) {
        *made = (struct made_images){.number = number, .attempt = attempt};
    }
}

static bool on_over(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    struct rz_snapshots *snapshots = arg;
    const struct rz_link_snapshot_over *told = &message->snapshot_over;
    (void)fd;
    if (told->epoch != snapshots->epoch) {
        return true;
    }
    /* It takes part in what its board asks for, and has sent its image before. */
    if (told->attempt > snapshots->wanted || told->number > p->stored) {
        return false;
    }
    if (told->number > 0 && told->number == p->stored) {
        note_made(snapshots, told->number, told->attempt);
    }
    if (told->attempt > snapshots->over) {
        rz_time now = rz_clock_now();
        snapshots->over = told->attempt;
        rz_snapshot_pace_ends(&snapshots->pace, told->number, now);
        arm_next(snapshots, now);
    }
    return true;
}

static void on_snapshot(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_snapshots *snapshots = arg;
    (void)from;
    if (message->snapshot.epoch >= snapshots->own->membership.epoch) {
        want_here(snapshots, message->snapshot.epoch, message->snapshot.number);
    }
}

static bool on_snapshot_wanted(void *arg, struct rz_child *p, const struct rz_link_message *message,
                               int *fd)
{
    (void)p, (void)message, (void)fd;
    if (job_runs(arg)) {
        want_everywhere(arg);
    }
    return true;
}

/* All that the process has written is in its pipes: it stands still. */
static bool on_output_mark(void *arg, struct rz_child *p, const struct rz_link_message *message,
                           int *fd)
{
    const struct rz_snapshots *snapshots = arg;
    (void)message, (void)fd;
    for (int i = 0; i < 2; i++) {
        rz_output_drain(p->output[i]);
        p->output_marked[i] = rz_output_place_of(p->output[i]);
    }
    const struct rz_link_message marked = {
        .type = RZ_LINK_OUTPUT_MARKED,
        .output_marked = {.out = p->output_marked[0],
                          .error = p->output_marked[1],
                          .in = p->rank == 0 ? rz_input_read(snapshots->config.input) : 0}};
    rz_link_router_send(p, &marked);
    return true;
}

static bool on_output_at(void *arg, struct rz_child *p, const struct rz_link_message *message,
                         int *fd)
{
    (void)arg, (void)fd;
    for (int i = 0; i < 2; i++) {
        rz_output_drain(p->output[i]); /* of the library, before the program goes on */
    }
    rz_output_place(p->output[0], message->output_at.out);
    rz_output_place(p->output[1], message->output_at.error);
    return true;
}

/* A rank cannot be saved: the user is told once in each epoch, or the job ends. */
static bool on_snapshot_refused(void *arg, struct rz_child *p,
                                const struct rz_link_message *message, int *fd)
{
    struct rz_snapshots *snapshots = arg;
    const char *reason = message->snapshot_refused.reason;
    (void)fd;
    if (snapshots->told == snapshots->own->membership.epoch) {
        return true;
    }
    snapshots->told = snapshots->own->membership.epoch;
    if (snapshots->own->job.flags & RZ_JOB_REWIND_OR_ABORT) {
        char text[512];
        snprintf(text, sizeof(text), RZ_ABORTED_UNSAVED "%s", reason);
        rz_report_aborted(&snapshots->own->report, p->rank, EXIT_FAILURE, text);
    } else {
        rz_report_log(&snapshots->own->report, 0,
                      "no snapshot of rank %u: %s. Until there is one, a failure restarts the "
                      "program from the snapshot before, or from its start",
                      p->rank, reason);
    }
    return true;
}

/* The last mark of each process is that of the committed image: the next one is asked for when the
 * process knows of the commit, at all ranks (proto/snapshot). */
static void tell_safe_output(const struct rz_snapshots *snapshots)
{
    const struct rz_children *children = snapshots->config.children;
    for (const struct rz_child *p = children->first; p; p = p->next) {
        if (p->state != RZ_CHILD_FAILED && rz_child_is_current(p)) {
            const struct rz_launch_message safe = {.type = RZ_LAUNCH_OUTPUT_SAFE,
                                                   .output_safe = {.rank = p->rank,
                                                                   .out = p->output_marked[0],
                                                                   .error = p->output_marked[1]}};
            rz_report_send(&snapshots->own->report, &safe);
        }
    }
}

uint32_t rz_snapshots_attempt(const struct rz_snapshots *snapshots, uint32_t epoch, uint64_t number)
{
    const struct made_images *made = snapshots ? &snapshots->made[number % MADE_MAX] : NULL;
    return made && snapshots->epoch == epoch && made->number == number ? made->attempt : 0;
}

void rz_snapshots_run(struct rz_snapshots *snapshots, uint32_t epoch)
{
    if (snapshots && snapshots->own->job.rewind_ns > 0 && enter_epoch(snapshots, epoch)) {
        rz_loop_arm_every(snapshots->timer, snapshots->own->job.rewind_ns);
    }
}

void rz_snapshots_committed(struct rz_snapshots *snapshots, uint32_t epoch, uint64_t number)
{
    if (!snapshots) {
        return;
    }
    if (snapshots->epoch == epoch) {
        rz_time now = rz_clock_now();
        rz_snapshot_pace_commits(&snapshots->pace, number, now);
        arm_next(snapshots, now);
    }
    if (snapshots->own->job.flags & RZ_JOB_HOLD_OUTPUT) {
        tell_safe_output(snapshots);
    }
}

rz_status_t rz_snapshots_open(struct rz_snapshots **result,
                              const struct rz_snapshots_config *config)
{
    const struct rz_daemon_job *job = &config->own->job;
    *result = NULL;
    if (!(job->flags & RZ_JOB_REWIND)) {
        return RZ_OK;
    }
    struct rz_snapshots *snapshots = calloc(1, sizeof(*snapshots));
    if (!snapshots) {
        return RZ_ERR_NO_MEMORY;
    }
    snapshots->config = *config;
    snapshots->own = config->own;
    rz_status_t status =
        rz_loop_timer(config->own->base, &snapshots->timer, snapshot_due, snapshots);
    if (status != RZ_OK) {
        rz_snapshots_close(snapshots);
        return status;
    }
    rz_link_router_handle(config->router, RZ_LINK_SNAPSHOT_WANTED, on_snapshot_wanted, snapshots);
    rz_link_router_handle(config->router, RZ_LINK_SNAPSHOT_OVER, on_over, snapshots);
    rz_link_router_handle(config->router, RZ_LINK_OUTPUT_MARK, on_output_mark, snapshots);
    rz_link_router_handle(config->router, RZ_LINK_OUTPUT_AT, on_output_at, snapshots);
    rz_link_router_handle(config->router, RZ_LINK_SNAPSHOT_REFUSED, on_snapshot_refused, snapshots);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_SNAPSHOT, on_snapshot, snapshots);
    *result = snapshots;
    return RZ_OK;
}

void rz_snapshots_close(struct rz_snapshots *snapshots)
{
    if (!snapshots) {
        return;
    }
    rz_loop_free(snapshots->timer);
    free(snapshots);
}
