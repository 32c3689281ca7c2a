/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out on this node what recovery has agreed on: writes the board, starts and ends
 * processes, and adds failures to the job's record. */
#include "daemon/news.h"

#include "port/kill_point.h"

/* ---- failures ---- */

static void record(const struct rz_own_node *own, uint32_t rank, rz_id node, uint32_t incarnation,
                   const char *note)
{
    const struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_FAILURE_NEWS,
                                          .epoch = own->membership.epoch,
                                          .rank = rank,
                                          .node = node,
                                          .incarnation = incarnation,
                                          .note = note};
    rz_report_event(&own->report, &event);
}

void rz_news_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    const struct rz_daemon_news *news = arg;
    if (first && !news->own->membership.ending) {
        record(news->own, RZ_ID_NONE, node, 0, proof ? "proof" : "silence");
    }
}

void rz_news_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    const struct rz_daemon_news *news = arg;
    if (end != RZ_END_ORDER) {
        record(news->own, slot, news->own->membership.slots[slot].node, incarnation,
               end == RZ_END_HUNG ? "hung" : "");
    }
}

/* ---- epochs ---- */

/* The next rank that this epoch restarts, or the next rank at all in the first epoch and when this
 * daemon has missed an epoch. */
static uint32_t next_begun(const struct rz_daemon_news *news, bool all, uint32_t from)
{
    return all ? from : rz_recovery_next_begun(news->recovery, from);
}

void rz_news_epoch(const struct rz_daemon_news *news, uint32_t epoch)
{
    struct rz_membership *membership = &news->own->membership;
    const struct rz_daemon_job *job = &news->own->job;
    uint32_t n_ranks = job->n_ranks;
    if (membership->ending || epoch <= membership->epoch) {
        return;
    }
    if (epoch > 1) {
        rz_kill_here(RZ_KILL_EPOCH);
    }
    bool all = membership->epoch == 0 || epoch != membership->epoch + 1;
    rz_membership_enter(membership, epoch);
    for (uint32_t rank = next_begun(news, all, 0); rank < n_ranks;
         rank = next_begun(news, all, rank + 1)) {
        rz_placement_take(news->placement, rank);
    }
    for (uint32_t slot = n_ranks; all && slot < job->n_slots; slot++) {
        rz_placement_take(news->placement, slot);
    }
    rz_children_end_stale(news->children);
    rz_groups_epoch(news->groups);
    for (uint32_t rank = next_begun(news, all, 0); rank < n_ranks && !membership->ending;
         rank = next_begun(news, all, rank + 1)) {
        if (membership->slots[rank].node == job->node) {
            rz_child_start(news->life, rank, membership->slots[rank].incarnation);
        }
    }
    if (epoch > 1) {
        rz_kill_here(RZ_KILL_EPOCH_BEGUN);
    }
    rz_board_writer_committed(news->board, 0);
    rz_board_writer_phase(news->board, epoch, RZ_PHASE_ENTER);
    rz_board_writer_publish(news->board);
    rz_children_recount(news->children);
}

void rz_news_start_all(const struct rz_daemon_news *news)
{
    const struct rz_membership *membership = &news->own->membership;
    for (uint32_t slot = 0; slot < membership->n_slots; slot++) {
        const struct rz_membership_slot *member = &membership->slots[slot];
        if (member->node == news->own->job.node && member->incarnation > member->failed) {
            rz_child_start(news->life, slot, member->incarnation);
        }
    }
}

void rz_news_phase(const struct rz_daemon_news *news, uint32_t epoch, enum rz_recover_phase phase)
{
    struct rz_membership *membership = &news->own->membership;
    if (membership->ending || epoch != membership->epoch) {
        return;
    }
    if (epoch > 1 && phase == RZ_PHASE_RUN) {
        rz_kill_here(RZ_KILL_RUN);
    }
    rz_membership_phase(membership, phase);
    rz_board_writer_phase(news->board, epoch, phase);
    rz_board_writer_publish(news->board);
    rz_children_recount(news->children);
}

void rz_news_committed(const struct rz_daemon_news *news, uint32_t epoch, uint64_t generation)
{
    const struct rz_membership *membership = &news->own->membership;
    if (membership->ending || epoch != membership->epoch) {
        return;
    }
    rz_board_writer_committed(news->board, generation);
    rz_board_writer_publish(news->board);
}

/* ---- the end ---- */

/* Whether the job cannot go on, and not only this node. */
static bool ends_the_job(rz_status_t why)
{
    return why == RZ_ERR_JOB_ENDED || why == RZ_ERR_NO_SLOTS || why == RZ_ERR_CHECKPOINT_LOST ||
           why == RZ_ERR_CHECKPOINT_UNKEPT;
}

bool rz_news_stop(const struct rz_daemon_news *news, rz_status_t why, const char *words)
{
    const struct rz_own_node *own = news->own;
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_STOPPING, .stopping = {.status = (uint32_t)why, .reason = words}};
    rz_report_send(&own->report, &message);
    for (uint32_t slot = 0; !ends_the_job(why) && slot < own->job.n_slots; slot++) {
        const struct rz_membership_slot *member = &own->membership.slots[slot];
        if (member->node == own->job.node && member->incarnation > 0) {
            rz_board_writer_rank(news->board, slot, member->incarnation, own->job.node,
                                 RZ_PROCESS_DISCONNECTED);
        }
    }
    return ends_the_job(why);
}
