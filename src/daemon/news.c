#include "daemon/news.h"

#include "daemon/spawns.h"
#include "daemon/board_writer.h"
#include "daemon/daemon.h"
#include "daemon/detached.h"
#include "daemon/ending.h"
#include "daemon/groups.h"
#include "daemon/names.h"
#include "daemon/child.h"
#include "port/kill_point.h"

#include <stdlib.h>

/* A node that must stop gives its processes no time to do anything that others could still see. */
#define STOP_GRACE_MS 0

static void record_news(struct rz_daemon *daemon, uint32_t rank, rz_id node, uint32_t incarnation,
                        const char *note)
{
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_FAILURE_NEWS,
                                    .epoch = daemon->epoch,
                                    .rank = rank,
                                    .node = node,
                                    .incarnation = incarnation,
                                    .note = note};
    rz_daemon_record(daemon, &event);
}

void rz_news_write_rank(struct rz_daemon *daemon, uint32_t rank)
{
    const struct rz_daemon_place *place = &daemon->places[rank];
    bool failed = daemon->failed[rank] >= place->incarnation ||
                  rz_recovery_node_failed(daemon->recovery, place->node);
    rz_board_writer_rank(daemon->board, rank, place->incarnation, place->node,
                         failed ? RZ_PROCESS_FAILED : RZ_PROCESS_ALIVE);
    if (failed) /* with a node that had failed before it was known to be there, too */
        rz_groups_process_failed(daemon->groups, rank, place->incarnation);
}

/* A spawned process has ended in order. Of its own daemon's board the word is there already. */
static void on_ended(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    if (daemon->places[slot].incarnation == incarnation) {
        rz_board_writer_rank(daemon->board, slot, incarnation, daemon->places[slot].node,
                             RZ_PROCESS_ENDED);
        rz_board_writer_publish(daemon->board);
    }
    rz_spawns_ended(daemon, slot, incarnation);
    rz_names_process_ended(daemon->names, slot, incarnation);
    rz_groups_process_failed(daemon->groups, slot, incarnation);
}

static void on_failed(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation,
                      enum rz_end end)
{
    struct rz_child *p = rz_child_of(daemon, rank);
    bool hung = end == RZ_END_HUNG;
    if (daemon->ending || daemon->failed[rank] >= incarnation)
        return;
    if (end == RZ_END_ORDER) {
        on_ended(daemon, rank, incarnation);
        return;
    }
    if (end == RZ_END_NEVER)
        rz_spawns_never(daemon, rank, incarnation);
    daemon->failed[rank] = incarnation;
    if (daemon->epoch > 0 && daemon->places[rank].incarnation == incarnation) {
        if (hung) /* the first verdict stays */
            rz_board_writer_rank(daemon->board, rank, incarnation, daemon->places[rank].node,
                                 RZ_PROCESS_HUNG);
        rz_news_write_rank(daemon, rank);
        rz_board_writer_publish(daemon->board);
    }
    record_news(daemon, rank, daemon->places[rank].node, incarnation, hung ? "hung" : "");
    if (p && p->incarnation <= incarnation)
        rz_child_order_end(p); /* it lives, but all others were told that it does not */
    rz_names_look_at_failures(daemon->names);
    rz_groups_process_failed(daemon->groups, rank, incarnation);
    rz_children_recount(daemon);
}

static void on_node_failed(struct rz_daemon *daemon, rz_id node, bool proof)
{
    if (daemon->ending)
        return;
    record_news(daemon, RZ_ID_NONE, node, 0, proof ? "proof" : "silence");
    if (daemon->detached)
        rz_detached_node_failed(daemon->detached, node);
    rz_board_writer_node_failed(daemon->board);
    for (uint32_t rank = 0; daemon->epoch > 0 && rank < daemon->job.n_slots; rank++)
        if (daemon->places[rank].node == node)
            rz_board_writer_rank(daemon->board, rank, daemon->places[rank].incarnation, node,
                                 RZ_PROCESS_FAILED);
    rz_board_writer_publish(daemon->board);
    rz_names_look_at_failures(daemon->names);
    rz_spawns_node_failed(daemon, node);
}

void rz_news_end_stale(struct rz_daemon *daemon)
{
    for (struct rz_child *p = rz_children(daemon); p; p = p->next) {
        const struct rz_daemon_place *place = &daemon->places[p->rank];
        if (place->node != daemon->job.node || place->incarnation != p->incarnation)
            rz_child_order_end(p);
    }
}

/* The slot's process of the new epoch: where it is, and what the board says of it. */
static void take_place(struct rz_daemon *daemon, uint32_t slot)
{
    daemon->places[slot].node = rz_recovery_daemon_of(daemon->recovery, slot);
    daemon->places[slot].incarnation = rz_recovery_incarnation_of(daemon->recovery, slot);
    if (daemon->places[slot].incarnation > 0)
        rz_news_write_rank(daemon, slot);
}

/* The next rank that begins in this epoch. In the first one, and after one of which this daemon did
 * not hear in time, it looks at all. */
static uint32_t next_begun(const struct rz_daemon *daemon, bool all, uint32_t from)
{
    return all ? from : rz_recovery_next_begun(daemon->recovery, from);
}

static void on_epoch(struct rz_daemon *daemon, uint32_t epoch, uint64_t generation)
{
    (void)generation; /* the store restores it; processes ask the store */
    if (daemon->ending || epoch <= daemon->epoch)
        return;
    if (epoch > 1)
        rz_kill_here(RZ_KILL_EPOCH);
    bool all = daemon->epoch == 0 || epoch != daemon->epoch + 1;
    uint32_t n_ranks = daemon->job.n_ranks;
    daemon->epoch = epoch;
    daemon->phase = RZ_PHASE_ENTER;
    for (uint32_t rank = next_begun(daemon, all, 0); rank < n_ranks;
         rank = next_begun(daemon, all, rank + 1))
        take_place(daemon, rank);
    for (uint32_t slot = n_ranks; all && slot < daemon->job.n_slots; slot++)
        take_place(daemon, slot);
    rz_news_end_stale(daemon);
    rz_groups_epoch(daemon->groups);
    for (uint32_t rank = next_begun(daemon, all, 0); rank < n_ranks && !daemon->ending;
         rank = next_begun(daemon, all, rank + 1))
        if (daemon->places[rank].node == daemon->job.node)
            rz_child_spawn(daemon, rank, daemon->places[rank].incarnation);
    if (epoch > 1)
        rz_kill_here(RZ_KILL_EPOCH_BEGUN);
    rz_board_writer_committed(daemon->board, 0);
    rz_board_writer_phase(daemon->board, epoch, RZ_PHASE_ENTER);
    rz_board_writer_publish(daemon->board);
    rz_children_recount(daemon);
}

static void on_phase(struct rz_daemon *daemon, uint32_t epoch, enum rz_recover_phase phase)
{
    if (daemon->ending || epoch != daemon->epoch)
        return;
    if (epoch > 1 && phase == RZ_PHASE_RUN)
        rz_kill_here(RZ_KILL_RUN);
    daemon->phase = phase;
    rz_board_writer_phase(daemon->board, epoch, phase);
    rz_board_writer_publish(daemon->board);
    rz_children_recount(daemon);
}

static void on_failures_noted(struct rz_daemon *daemon)
{
    if (!daemon->ending)
        rz_children_recount(daemon);
}

static void on_committed(struct rz_daemon *daemon, uint32_t epoch, uint64_t generation)
{
    if (daemon->ending || epoch != daemon->epoch)
        return;
    rz_board_writer_committed(daemon->board, generation);
    rz_board_writer_publish(daemon->board);
}

/* Whether it is not this node that is cut off, but the job that cannot go on. */
static bool ends_the_job(rz_status_t why)
{
    return why == RZ_ERR_JOB_ENDED || why == RZ_ERR_NO_SLOTS || why == RZ_ERR_CHECKPOINT_LOST ||
           why == RZ_ERR_CHECKPOINT_UNKEPT;
}

static void on_stop(struct rz_daemon *daemon, rz_status_t why, const char *words)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_STOPPING,
                                        .stopping = {.status = (uint32_t)why, .reason = words}};
    if (daemon->ending)
        return;
    rz_daemon_tell_launcher(daemon, &message);
    /* What is cut off says so to its own processes, too: they are not failed of themselves. */
    for (uint32_t rank = 0; !ends_the_job(why) && rank < daemon->job.n_slots; rank++)
        if (daemon->places[rank].node == daemon->job.node && daemon->places[rank].incarnation > 0)
            rz_board_writer_rank(daemon->board, rank, daemon->places[rank].incarnation,
                                 daemon->job.node, RZ_PROCESS_DISCONNECTED);
    bool over = ends_the_job(why); /* by an agreement that others may not have heard of yet */
    rz_ending_begin(daemon, over ? EXIT_SUCCESS : EXIT_FAILURE, over ? RZ_ERR_JOB_ENDED : why,
                    STOP_GRACE_MS);
}

const struct rz_recovery_hooks rz_news_hooks = {.failed = on_failed,
                                                .node_failed = on_node_failed,
                                                .epoch = on_epoch,
                                                .phase = on_phase,
                                                .failures_noted = on_failures_noted,
                                                .spawns = rz_spawns_decided,
                                                .settled = rz_spawns_look,
                                                .committed = on_committed,
                                                .stop = on_stop};
