/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the protocol cores of this daemon: passes them messages, failures and ticks, and carries out
 * their notices from one event. The roll call of silent nodes is in silence.c. */
#include "daemon/recovery/recovery.h"

#include "base/no_memory.h"
#include "base/trace.h"
#include "daemon/recovery/detector.h"
#include "daemon/recovery/recovery_private.h"
#include "daemon/state/loop.h"
#include "daemon/store/store.h"
#include "port/clock.h"
#include "proto/spread/spread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The view of all daemons of a job; it never changes. */
#define VIEW 1

RZ_PROTOCOL(recover, RZ_PROTOCOL_RECOVER);
RZ_PROTOCOL(commit, RZ_PROTOCOL_COMMIT);

/* Flags of a process's failure in the broadcast. HUNG: its daemon found that it hung. ENDED: no
 * failure, a spawned process has ended in order. Both: it was never started. No other item has
 * flags: agreement and recovery treat all ends alike. */
#define NEWS_HUNG (UINT64_C(1) << 62)
#define NEWS_ENDED (UINT64_C(1) << 61)
_Static_assert((NEWS_HUNG | NEWS_ENDED) == RZ_RECOVER_HOST_FLAGS,
               "the bits that are left to hosts");
static const uint64_t end_flags[] = {[RZ_END_FAILURE] = 0,
                                     [RZ_END_HUNG] = NEWS_HUNG,
                                     [RZ_END_ORDER] = NEWS_ENDED,
                                     [RZ_END_NEVER] = NEWS_HUNG | NEWS_ENDED};

static void recovery_send(void *arg, rz_id to, const struct rz_message *message,
                          const uint64_t *items)
{
    struct rz_recovery *recovery = arg;
    rz_overlay_send_protocol(recovery->config.overlay, to, message, items,
                             rz_detector_by_datagram(message));
}

static void recovery_before_tick(void *arg, enum rz_protocol_number protocol)
{
    struct rz_recovery *recovery = arg;
    if (!rz_detector_is_protocol(protocol)) {
        return;
    }
    rz_time now = rz_clock_now();
    rz_time own = rz_own_lateness_look(&recovery->lateness, recovery->detector.late);
    rz_id observed = rz_detector_observed(&recovery->detector);
    rz_time late = rz_peer_lateness_look(
        &recovery->observed, observed != RZ_ID_NONE ? recovery->own->job.peers[observed].pid : 0,
        now);
    rz_lateness_raise(&recovery->lateness.lateness, now, late);
    rz_detector_late(&recovery->detector, late > own ? late : own);
    rz_suspects_look(recovery->suspects, &recovery->detector);
    rz_overlay_read_heartbeats(recovery->config.overlay);
}

void rz_recovery_record(struct rz_recovery *recovery, struct rz_launch_event event)
{
    event.note = event.note ? event.note : "";
    rz_report_event(&recovery->own->report, &event);
}

/* ---- failures ---- */

const char *rz_recovery_stop_words(rz_status_t why)
{
    switch (why) {
    case RZ_ERR_NO_QUORUM:
        return "this side of a partition has no quorum";
    case RZ_ERR_FENCED:
        return "the other daemons have declared this node failed";
    case RZ_ERR_CHECKPOINT_LOST:
        return "a piece of the checkpoint to be restored is damaged, and the checkpoint before it "
               "is not complete in memory either";
    default:
        return "too many restarts without a newly committed checkpoint (see --max-restarts)";
    }
}

void rz_recovery_broadcast_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_recovery *recovery = arg;
    (void)first;
    rz_core_failure(&recovery->detector, node, proof);
    rz_core_failure(&recovery->spread, node, proof);
}

void rz_recovery_agreement_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_recovery *recovery = arg;
    (void)first;
    RZ_TRACE(DECISION_WANTED, recovery->epoch, 0, 0);
    rz_core_failure(&recovery->commit, node, proof);
    rz_core_failure(&recovery->recover, node, proof);
}

void rz_recovery_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    struct rz_recovery *recovery = arg;
    (void)end;
    RZ_TRACE(DECISION_WANTED, recovery->epoch, 0, 0);
    rz_core_call(&recovery->recover, RZ_RECOVER_FAILED, slot, incarnation, 0);
}

/* Takes in a report of a failure, of damage, or of a requested spawn, from this daemon or from
 * another. */
static void learn(struct rz_recovery *recovery, uint64_t item)
{
    struct rz_membership *membership = &recovery->own->membership;
    uint32_t slot, incarnation, epoch;
    rz_id node;
    uint64_t flags = item & RZ_RECOVER_HOST_FLAGS;
    bool proof;
    if (rz_recover_unpack_process(item & ~flags, &slot, &incarnation)) {
        enum rz_end end = RZ_END_FAILURE;
        while (end_flags[end] != flags) {
            end++;
        }
        rz_membership_process_failed(membership, slot, incarnation, end);
    } else if (rz_recover_unpack_damage(item, &node, &epoch)) {
        rz_core_call_items(&recovery->recover, RZ_RECOVER_DAMAGED, &item, 1);
    } else if (!rz_recover_unpack_daemon(item, &node, &proof)) {
        rz_core_call_items(&recovery->recover, RZ_RECOVER_WANT, &item, 1);
    } else if (node == recovery->own->job.node) {
        rz_recovery_fenced(recovery);
    } else {
        rz_membership_node_failed(membership, node, proof);
    }
}

void rz_recovery_want(struct rz_recovery *recovery, const uint64_t *items, uint32_t n_items)
{
    if (!recovery->own->membership.ending) {
        rz_core_call_items(&recovery->spread, RZ_SPREAD_BROADCAST, items, n_items);
    }
}

/* An observation of this daemon (rz_recover_pack_*): all daemons are told. */
static void observe(struct rz_recovery *recovery, uint64_t item)
{
    rz_recovery_want(recovery, &item, 1);
}

void rz_recovery_found_failed(struct rz_recovery *recovery, rz_id node, bool proof, const char *how)
{
    rz_recovery_record(
        recovery, (struct rz_launch_event){.kind = RZ_EVENT_RECORD_FAILURE_SEEN,
                                           .epoch = recovery->epoch,
                                           .rank = RZ_ID_NONE,
                                           .node = node,
                                           .value = proof ? RZ_FAILURE_PLAIN : RZ_FAILURE_SILENT,
                                           .note = how});
    RZ_TRACE(NODE_FOUND_FAILED, node, 0, proof);
    observe(recovery, rz_recover_pack_daemon(node, proof));
}

static void report_node(void *arg, rz_id node, bool proof)
{
    observe(arg, rz_recover_pack_daemon(node, proof));
}

static void report_process(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    observe(arg, rz_recover_pack_process(slot, incarnation) | end_flags[end]);
}

static bool damaged(void *arg)
{
    struct rz_recovery *recovery = arg;
    /* Damage is reported only before REACHED, which needs all pieces and all processes. */
    if (recovery->restored_epoch == recovery->epoch && recovery->entered_epoch == recovery->epoch) {
        return false;
    }
    recovery->damaged_epoch = recovery->epoch;
    observe(recovery, rz_recover_pack_damage(recovery->own->job.node, recovery->epoch));
    return true;
}

static void connection_broken(void *arg, rz_id peer)
{
    struct rz_recovery *recovery = arg;
    if (recovery->own->job.flags & RZ_JOB_NO_FT) {
        recovery->config.hooks.unwatched(recovery->config.hooks.arg, peer);
    }
    if (recovery->own->membership.ending || recovery->own->job.flags & RZ_JOB_NO_FT) {
        return;
    }
    bool harmed = rz_overlay_harmed(recovery->config.overlay, peer);
    if (harmed) {
        rz_report_log(&recovery->own->report, 0,
                      "a message of node %u is not from it, or was changed on the way; the "
                      "connection is closed, and node %u counts as failed",
                      peer, peer);
    }
    rz_recovery_found_failed(recovery, peer, true,
                             harmed ? "a message that was changed" : "broken connection");
}

static void connection_lost(void *arg, rz_id peer)
{
    struct rz_recovery *recovery = arg;
    if (recovery->own->membership.ending || recovery->own->job.flags & RZ_JOB_NO_FT) {
        return;
    }
    rz_recovery_found_failed(recovery, peer, false, "lost connection");
}

static void on_detector(struct rz_recovery *recovery, const struct rz_core_notice *notice)
{
    rz_id node;
    enum rz_detector_news news = rz_detector_read(notice, &node);
    if (recovery->own->membership.ending || news == RZ_DETECTOR_NOTHING) {
        return;
    }
    if (news == RZ_DETECTOR_FENCED) {
        rz_recovery_fenced(recovery);
        return;
    }
    rz_recovery_node_silent(recovery, node, "silence");
}

static void on_spread(struct rz_recovery *recovery, const struct rz_core_notice *notice)
{
    for (uint32_t i = 0; i < notice->n_items && !recovery->own->membership.ending; i++) {
        learn(recovery, notice->items[i]);
    }
}

/* ---- epochs and phases ---- */

/* If all processes here have reached the start of the epoch and their checkpoint is safe, tells
 * recover so. */
static void say_entered(struct rz_recovery *recovery)
{
    uint32_t epoch = recovery->epoch;
    if (recovery->entered_epoch == epoch && recovery->restored_epoch == epoch &&
        recovery->damaged_epoch != epoch) {
        rz_core_call(&recovery->recover, RZ_RECOVER_REACHED, epoch, RZ_PHASE_ENTER,
                     recovery->round);
    }
}

void rz_recovery_reached(struct rz_recovery *recovery, uint32_t epoch, enum rz_recover_phase phase)
{
    if (epoch != recovery->epoch || recovery->own->membership.ending) {
        return;
    }
    if (phase != RZ_PHASE_ENTER) {
        rz_core_call(&recovery->recover, RZ_RECOVER_REACHED, epoch, phase, recovery->round);
        return;
    }
    if (recovery->entered_epoch != epoch) {
        rz_recovery_record(recovery, (struct rz_launch_event){.kind = RZ_EVENT_RECORD_READY,
                                                              .epoch = epoch,
                                                              .rank = RZ_ID_NONE,
                                                              .node = recovery->own->job.node});
    }
    recovery->entered_epoch = epoch;
    say_entered(recovery);
}

void rz_recovery_repairing(struct rz_recovery *recovery)
{
    rz_core_call(&recovery->recover, RZ_RECOVER_REPAIRING, 0, 0, 0);
}

/* Tells commit of the new epoch: the node of each rank, then the daemons that are agreed failed. */
static void tell_commit_epoch(struct rz_recovery *recovery, uint32_t epoch, uint64_t generation)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    uint64_t *items = calloc(job->n_ranks + job->n_nodes, sizeof(*items));
    rz_need_memory(items, "for a new epoch");
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        items[n++] = rz_recover_daemon_of(recovery->recover.embedded.state, rank);
    }
    for (rz_id node = 0; node < job->n_nodes; node++) {
        if (rz_recover_daemon_agreed_failed(recovery->recover.embedded.state, node)) {
            items[n++] = node;
        }
    }
    rz_core_step(
        &recovery->commit,
        &(struct rz_event){
            .kind = RZ_EVENT_CALL,
            .call = RZ_COMMIT_EPOCH,
            .arg = {epoch, generation, rz_recover_from_start(recovery->recover.embedded.state)},
            .items = items,
            .n_items = n});
    free(items);
}

/* Marks the nodes that are agreed failed. The record says of each that what it sends is refused
 * from now on, except after LEFT: then failures are noted without a quorum, on both sides of a
 * partition. */
static void tell_the_excluded(struct rz_recovery *recovery)
{
    const struct rz_recover *state = recovery->recover.embedded.state;
    for (rz_id node = 0; node < recovery->own->job.n_nodes; node++) {
        if (!rz_recover_daemon_agreed_failed(state, node)) {
            continue;
        }
        rz_membership_node_agreed_failed(&recovery->own->membership, node);
        if (rz_recover_phase(state) != RZ_PHASE_LEFT) {
            rz_recovery_fence(recovery, node);
            rz_recovery_record(recovery, (struct rz_launch_event){.kind = RZ_EVENT_RECORD_EXCLUDED,
                                                                  .epoch = rz_recover_epoch(state),
                                                                  .rank = RZ_ID_NONE,
                                                                  .node = node});
        }
    }
}

static void recovery_on_epoch(struct rz_recovery *recovery, uint32_t epoch, uint64_t generation)
{
    if (epoch != rz_recover_epoch(recovery->recover.embedded.state)) {
        return; /* a newer epoch has replaced it, whose notice follows */
    }
    tell_the_excluded(recovery);
    recovery->epoch = epoch;
    recovery->posted_committed = 0;
    tell_commit_epoch(recovery, epoch, generation);
    /* The record names the restored generation. It may be older than the newest agreed one, which
     * may be lost. */
    rz_recovery_record(
        recovery, (struct rz_launch_event){
                      .kind = RZ_EVENT_RECORD_EPOCH,
                      .epoch = epoch,
                      .rank = RZ_ID_NONE,
                      .node = recovery->own->job.node,
                      .value = rz_store_number(
                          recovery->store, rz_commit_generation(recovery->commit.embedded.state))});
    recovery->config.hooks.epoch(recovery->config.hooks.arg, epoch, generation);
}

static void recovery_on_phase(struct rz_recovery *recovery, uint32_t epoch,
                              enum rz_recover_phase phase)
{
    if (epoch != recovery->epoch) {
        return;
    }
    if (phase == RZ_PHASE_RUN) {
        rz_core_call(&recovery->commit, RZ_COMMIT_OPENED, epoch, 0, 0);
        rz_store_opened(recovery->store);
    }
    rz_recovery_record(recovery, (struct rz_launch_event){.kind = phase == RZ_PHASE_RUN
                                                                      ? RZ_EVENT_RECORD_RUN
                                                                      : RZ_EVENT_RECORD_LEFT,
                                                          .epoch = epoch,
                                                          .rank = RZ_ID_NONE,
                                                          .node = recovery->own->job.node});
    recovery->config.hooks.phase(recovery->config.hooks.arg, epoch, phase);
}

static void record_noted(struct rz_recovery *recovery, uint64_t item)
{
    uint32_t rank = RZ_ID_NONE, incarnation = 0;
    rz_id node = recovery->own->job.node;
    bool proof;
    if (!rz_recover_unpack_process(item, &rank, &incarnation)) {
        rz_recover_unpack_daemon(item, &node, &proof);
    }
    rz_recovery_record(recovery, (struct rz_launch_event){.kind = RZ_EVENT_RECORD_NOTED,
                                                          .epoch = recovery->epoch,
                                                          .rank = rank,
                                                          .node = node,
                                                          .incarnation = incarnation});
}

static void recovery_on_stop(struct rz_recovery *recovery, rz_status_t why, uint64_t slots_left)
{
    char words[200];
    RZ_TRACE(STOP, why, 0, 0);
    snprintf(words, sizeof(words),
             "%u ranks do not fit into the %llu slots of the nodes that are left; keep nodes free "
             "(--spares), give more slots (--host HOST:SLOTS), or use --oversubscribe",
             recovery->own->job.n_ranks, (unsigned long long)slots_left);
    recovery->config.hooks.stop(recovery->config.hooks.arg, why,
                                why == RZ_ERR_NO_SLOTS ? words : rz_recovery_stop_words(why));
}

static void on_recover(struct rz_recovery *recovery, const struct rz_core_notice *notice)
{
    switch ((enum rz_recover_notice)notice->what) {
    case RZ_RECOVER_EPOCH:
        RZ_TRACE(EPOCH_DECIDED, notice->arg[0], notice->arg[1], 0);
        recovery_on_epoch(recovery, (uint32_t)notice->arg[0], notice->arg[1]);
        break;
    case RZ_RECOVER_PHASE:
        recovery_on_phase(recovery, (uint32_t)notice->arg[0],
                          (enum rz_recover_phase)notice->arg[1]);
        break;
    case RZ_RECOVER_FAILURES:
        RZ_TRACE(FAILURES_DECIDED, notice->n_items, 0, 0);
        tell_the_excluded(recovery);
        for (uint32_t i = 0; i < notice->n_items; i++) {
            record_noted(recovery, notice->items[i]);
        }
        recovery->config.hooks.failures_noted(recovery->config.hooks.arg);
        break;
    case RZ_RECOVER_STOP:
        recovery_on_stop(recovery, (rz_status_t)notice->arg[0], notice->arg[1]);
        break;
    case RZ_RECOVER_SPAWNS:
        RZ_TRACE(SPAWNS_DECIDED, notice->arg[0], notice->arg[1], notice->n_items);
        recovery->round = (uint32_t)notice->arg[0];
        recovery->config.hooks.spawns(recovery->config.hooks.arg, (rz_status_t)notice->arg[1],
                                      notice->items, notice->n_items);
        break;
    case RZ_RECOVER_ASKING:
        rz_recovery_asking(recovery);
        break;
    case RZ_RECOVER_REPORT:
        rz_recovery_report(recovery, (rz_id)notice->arg[0]);
        break;
    case RZ_RECOVER_REQUESTED:
        break;
    }
}

/* ---- generations ---- */

/*
 * Tells our processes up to which generation they may overwrite: the newest committed one, but not
 * while a recovery that is being agreed on may still choose an older one.
 */
static void post_committed(struct rz_recovery *recovery)
{
    uint64_t committed = rz_commit_generation(recovery->commit.embedded.state);
    uint64_t floor = rz_recover_generation_floor(recovery->recover.embedded.state);
    uint64_t base = rz_store_base(recovery->store), upto = floor < committed ? floor : committed;
    upto = rz_store_bound(recovery->store, upto);
    if (recovery->epoch == 0 || recovery->restored_epoch != recovery->epoch ||
        upto <= base + recovery->posted_committed) {
        return;
    }
    recovery->posted_committed = upto - base;
    recovery->config.hooks.committed(recovery->config.hooks.arg, recovery->epoch,
                                     recovery->posted_committed);
}

static void record_committed(struct rz_recovery *recovery, uint32_t epoch, uint64_t generation)
{
    char bytes[32];
    snprintf(bytes, sizeof(bytes), "%" PRIu64 " bytes",
             rz_store_bytes(recovery->store, generation));
    recovery->committed = generation;
    recovery->committed_at = rz_clock_now();
    rz_recovery_record(
        recovery, (struct rz_launch_event){.kind = RZ_EVENT_RECORD_COMMITTED,
                                           .epoch = epoch,
                                           .rank = RZ_ID_NONE,
                                           .node = recovery->own->job.node,
                                           .value = rz_store_number(recovery->store, generation),
                                           .note = bytes});
}

static void on_commit(struct rz_recovery *recovery, const struct rz_core_notice *notice)
{
    uint32_t epoch = (uint32_t)notice->arg[0];
    if (epoch != recovery->epoch) {
        return;
    }
    switch ((enum rz_commit_notice)notice->what) {
    case RZ_COMMIT_COMMITTED:
        record_committed(recovery, epoch, notice->arg[1]);
        rz_store_committed(recovery->store, notice->arg[1]);
        rz_core_call(&recovery->recover, RZ_RECOVER_COMMITTED, notice->arg[1], epoch, 0);
        break;
    case RZ_COMMIT_RESTORE:
        rz_store_restore(recovery->store, epoch, notice->arg[1]);
        break;
    case RZ_COMMIT_PROTECTED:
        rz_recovery_record(recovery, (struct rz_launch_event){.kind = RZ_EVENT_RECORD_PROTECTED,
                                                              .epoch = epoch,
                                                              .rank = RZ_ID_NONE,
                                                              .node = recovery->own->job.node});
        recovery->restored_epoch = epoch;
        say_entered(recovery);
        break;
    }
}

static void recovery_run_notices(evutil_socket_t fd, short what, void *arg)
{
    struct rz_recovery *recovery = arg;
    struct rz_core_notice *notice;
    (void)fd, (void)what;
    while ((notice = rz_core_notices_take(&recovery->notices))) {
        if (rz_detector_is_protocol(notice->protocol)) {
            on_detector(recovery, notice);
        } else if (notice->protocol == RZ_PROTOCOL_SPREAD) {
            on_spread(recovery, notice);
        } else if (recovery->own->membership.ending) {
            ; /* the end does not depend on these notices */
        } else if (notice->protocol == RZ_PROTOCOL_RECOVER) {
            on_recover(recovery, notice);
        } else {
            on_commit(recovery, notice);
        }
        free(notice);
    }
    if (!recovery->own->membership.ending) {
        post_committed(recovery);
        recovery->config.hooks.settled(recovery->config.hooks.arg);
    }
}

/* ---- messages of other daemons ---- */

/* A message for one of the cores of this module. */
static void recovery_message(void *arg, const struct rz_message *message, const uint64_t *items)
{
    rz_core_step(arg,
                 &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = message, .items = items});
}

static void on_fenced(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    (void)from, (void)message;
    rz_recovery_fenced(arg);
}

static void heartbeat(void *arg, const struct rz_message *message, const uint64_t *items)
{
    struct rz_recovery *recovery = arg;
    if (message->from == rz_detector_observed(&recovery->detector)) {
        rz_peer_lateness_heard(&recovery->observed);
    }
    if (message->protocol == recovery->detector.embedded.protocol->number) {
        rz_suspects_look(recovery->suspects, &recovery->detector);
        recovery_message(&recovery->detector, message, items);
    }
}

static void message_arrived(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_recovery *recovery = arg;
    rz_overlay_router_message(recovery->config.overlay_router, from, message);
}

static void pass_datagram(void *arg, const struct rz_message *message, const uint64_t *items)
{
    const struct rz_recovery *recovery = arg;
    rz_overlay_router_datagram(recovery->config.overlay_router, message, items);
}

static void queue_has_room(void *arg, rz_id peer)
{
    struct rz_recovery *recovery = arg;
    rz_store_writable(recovery->store, peer);
}

static void recovery_register_handlers(struct rz_recovery *recovery)
{
    struct rz_overlay_router *router = recovery->config.overlay_router;
    struct rz_core *const cores[] = {&recovery->detector, &recovery->spread, &recovery->recover,
                                     &recovery->commit};
    rz_overlay_router_heard(router, rz_recovery_heard, recovery);
    rz_overlay_router_handle(router, RZ_OVERLAY_FENCED, on_fenced, recovery);
    rz_overlay_router_datagrams(router, heartbeat, recovery);
    for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++) {
        rz_overlay_router_protocol(router, cores[i]->embedded.protocol->number,
                                   cores[i] == &recovery->spread ? VIEW : RZ_OVERLAY_ANY_VIEW,
                                   recovery_message, cores[i]);
    }
}

/* ---- open and close ---- */

_Static_assert(RZ_SCHEME_GROUP_MAX == RZ_COMMIT_GROUP_MAX, "every scheme there is can be kept");

static void open_cores(struct rz_recovery *recovery, rz_time now)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    struct event_base *base = recovery->own->base;
    const struct rz_spread_config spread = {
        .n_members = job->n_nodes, .view = VIEW, .redundant_after = RZ_CORE_REDUNDANT_AFTER};
    const struct rz_recover_config recover = {.n_daemons = job->n_nodes,
                                              .n_ranks = job->n_ranks,
                                              .n_slots = job->n_slots,
                                              .view = VIEW,
                                              .tie_breaker = RZ_ID_NONE,
                                              .placement = job->placement,
                                              .slots = job->slots,
                                              .slots_limit = job->flags & RZ_JOB_SLOTS_LIMIT,
                                              .lost_together = job->flags & RZ_JOB_LOST_TOGETHER,
                                              .all_begin = job->flags & RZ_JOB_REWIND,
                                              .restarts_max = job->restarts_max};
    static const enum rz_commit_scheme schemes[RZ_SCHEME_COUNT] = {
        [RZ_SCHEME_MEMORY] = RZ_COMMIT_MEMORY,
        [RZ_SCHEME_BUDDY] = RZ_COMMIT_BUDDY,
        [RZ_SCHEME_XOR] = RZ_COMMIT_GROUPS,
        [RZ_SCHEME_RS] = RZ_COMMIT_GROUPS,
        [RZ_SCHEME_FILE] = RZ_COMMIT_FILES};
    const struct rz_commit_config commit = {.n_daemons = job->n_nodes,
                                            .n_ranks = job->n_ranks,
                                            .scheme = schemes[job->scheme.kind],
                                            .data = job->scheme.data,
                                            .parity = job->scheme.parity,
                                            .view = VIEW};
    const struct {
        struct rz_core *core;
        const struct rz_protocol *protocol;
        const void *config;
    } cores[] = {{&recovery->spread, rz_core_spread, &spread},
                 {&recovery->recover, &rz_protocol_recover, &recover},
                 {&recovery->commit, &rz_protocol_commit, &commit}};
    for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++) {
        rz_core_open(cores[i].core, &(struct rz_core_setup){.protocol = cores[i].protocol,
                                                            .config = cores[i].config,
                                                            .self = job->node,
                                                            .now = now,
                                                            .seed = job->id,
                                                            .host = &recovery->core_host,
                                                            .notices = &recovery->notices,
                                                            .base = base});
    }
    rz_detector_open(&recovery->detector, job, VIEW, &recovery->core_host, &recovery->notices,
                     base);
}

static void begin_first_epoch(evutil_socket_t fd, short what, void *arg)
{
    struct rz_recovery *recovery = arg;
    (void)fd, (void)what;
    recovery_on_epoch(recovery, rz_recover_epoch(recovery->recover.embedded.state), 0);
}

static void stop_job(void *arg, rz_status_t why, const char *words)
{
    const struct rz_recovery *recovery = arg;
    recovery->config.hooks.stop(recovery->config.hooks.arg, why, words);
}

static void more(void *arg)
{
    const struct rz_recovery *recovery = arg;
    rz_loop_soon(recovery->noticing);
}

static rz_status_t open_store(struct rz_recovery *recovery)
{
    const struct rz_store_config config = {.own = recovery->own,
                                           .children = recovery->config.children,
                                           .router = recovery->config.router,
                                           .overlay = recovery->config.overlay,
                                           .overlay_router = recovery->config.overlay_router,
                                           .recover = &recovery->recover,
                                           .commit = &recovery->commit,
                                           .arg = recovery,
                                           .damaged = damaged,
                                           .stop = stop_job,
                                           .more = more};
    return rz_store_open(&recovery->store, &config);
}

static rz_status_t start_overlay(struct rz_recovery *recovery)
{
    const struct rz_daemon_job *job = &recovery->own->job;
    const struct rz_overlay_config config = {.job = job->id,
                                             .key = job->key,
                                             .n_nodes = job->n_nodes,
                                             .self = job->node,
                                             .peers = job->peers,
                                             .arg = recovery,
                                             .message = message_arrived,
                                             .heartbeat = pass_datagram,
                                             .broken = connection_broken,
                                             .lost = connection_lost,
                                             .writable = queue_has_room};
    return rz_overlay_start(recovery->config.overlay, &config);
}

rz_status_t rz_recovery_open(struct rz_recovery **result, const struct rz_recovery_config *config)
{
    struct rz_recovery *recovery = calloc(1, sizeof(*recovery));
    if (!recovery) {
        return RZ_ERR_NO_MEMORY;
    }
    recovery->config = *config;
    recovery->own = config->own;
    rz_own_lateness_open(&recovery->lateness);
    recovery->core_host = (struct rz_core_host){
        .arg = recovery, .before_tick = recovery_before_tick, .send = recovery_send};
    recovery->noticing = event_new(config->own->base, -1, 0, recovery_run_notices, recovery);
    rz_core_notices_init(&recovery->notices, recovery->noticing);
    recovery->suspects = rz_suspects_new(&config->own->job);
    rz_status_t status = recovery->suspects ? open_store(recovery) : RZ_ERR_NO_MEMORY;
    if (status == RZ_OK) {
        open_cores(recovery, rz_clock_now());
        recovery_register_handlers(recovery);
        status = start_overlay(recovery);
    }
    if (status != RZ_OK) {
        rz_recovery_close(recovery);
        return status;
    }
    config->own->membership.reporter = (struct rz_membership_reporter){
        .arg = recovery, .node = report_node, .process = report_process};
    *result = recovery;
    event_base_once(config->own->base, -1, EV_TIMEOUT, begin_first_epoch, recovery,
                    &(struct timeval){0});
    return RZ_OK;
}

struct rz_store *rz_recovery_store(const struct rz_recovery *recovery)
{
    return recovery->store;
}

void rz_recovery_close(struct rz_recovery *recovery)
{
    if (!recovery) {
        return;
    }
    rz_core_close(&recovery->detector);
    rz_core_close(&recovery->spread);
    rz_core_close(&recovery->recover);
    rz_core_close(&recovery->commit);
    rz_store_close(recovery->store);
    rz_core_notices_clear(&recovery->notices);
    if (recovery->noticing) {
        event_free(recovery->noticing);
    }
    rz_own_lateness_close(&recovery->lateness);
    rz_suspects_free(recovery->suspects);
    rz_recovery_roll_call_close(recovery);
    free(recovery);
}

static void log_refusals(const struct rz_recovery *recovery)
{
    const struct rz_report *report = &recovery->own->report;
    const struct rz_overlay_refusals *refused = rz_overlay_refusals(recovery->config.overlay);
    if (refused->connections + refused->strangers + refused->datagrams + refused->repeated > 0) {
        rz_report_log(
            report, 1,
            "refused: %llu connections, %llu strangers at a peer's port, %llu datagrams, "
            "%llu repeated",
            (unsigned long long)refused->connections, (unsigned long long)refused->strangers,
            (unsigned long long)refused->datagrams, (unsigned long long)refused->repeated);
    }
    uint64_t strangers = refused->unproved + refused->strangers;
    if (recovery->own->job.flags & RZ_JOB_DETACHED && strangers > 0) {
        /* In a detached job rzrun cannot report it. */
        rz_report_log(
            report, 0,
            "%llu connections were refused: they did not prove that they belong to the job",
            (unsigned long long)strangers);
    }
}

struct rz_recovery_checkpoint rz_recovery_checkpoint(const struct rz_recovery *recovery)
{
    uint64_t generation = rz_commit_generation(recovery->commit.embedded.state);
    if (generation == 0) {
        return (struct rz_recovery_checkpoint){.generation = 0};
    }
    return (struct rz_recovery_checkpoint){
        .generation = rz_store_number(recovery->store, generation),
        .bytes = rz_store_bytes(recovery->store, generation),
        .at = recovery->committed == generation ? recovery->committed_at : 0,
        .safe = recovery->restored_epoch == recovery->epoch};
}

uint64_t rz_recovery_strangers(const struct rz_recovery *recovery)
{
    const struct rz_overlay_refusals *refused = rz_overlay_refusals(recovery->config.overlay);
    return refused->unproved + refused->strangers;
}

void rz_recovery_ending(struct rz_recovery *recovery)
{
    log_refusals(recovery);
    rz_overlay_ending(recovery->config.overlay);
}

void rz_recovery_leave(struct rz_recovery *recovery)
{
    rz_overlay_leave(recovery->config.overlay);
    if (!(recovery->own->job.flags & RZ_JOB_NO_FT)) {
        rz_detector_leave(&recovery->detector);
    }
}

uint32_t rz_recovery_next_begun(const struct rz_recovery *recovery, uint32_t from)
{
    return rz_recover_next_begun(recovery->recover.embedded.state, from);
}

rz_id rz_recovery_daemon_of(const struct rz_recovery *recovery, uint32_t rank)
{
    return rz_recover_daemon_of(recovery->recover.embedded.state, rank);
}

uint32_t rz_recovery_incarnation_of(const struct rz_recovery *recovery, uint32_t rank)
{
    return rz_recover_incarnation_of(recovery->recover.embedded.state, rank);
}

enum rz_recover_spawn rz_recovery_spawn(const struct rz_recovery *recovery, uint32_t slot,
                                        uint32_t incarnation)
{
    return rz_recover_spawn(recovery->recover.embedded.state, slot, incarnation);
}

bool rz_recovery_is_repairing(const struct rz_recovery *recovery)
{
    return rz_recover_repairing(recovery->recover.embedded.state);
}
