/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops this process at a safe point, steps the core of the snapshot until all are quiet, saves,
 * and goes on. */
#include "mpi/rewind/rewind_snapshot.h"

#include "base/no_memory.h"
#include "base/trace.h"
#include "host/embedded.h"
#include "mpi/agree/protocol_message.h"
#include "mpi/impl.h"
#include "mpi/create/service.h"
#include "mpi/engine/epoch.h"
#include "mpi/engine/control_message.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/engine/waiting.h"
#include "mpi/p2p/early_fetch.h"
#include "mpi/p2p/sync.h"
#include "mpi/request/request.h"
#include "mpi/rewind/closed_files.h"
#include "mpi/rewind/image_keep.h"
#include "mpi/rewind/output_mark.h"
#include "mpi/rewind/rewind_refusals.h"
#include "mpi/rewind/rewind_restore.h"
#include "mpi/rma/rma_thread.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/lock_owners.h"
#include "proto/recover/recover.h"
#include "proto/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(snapshot, RZ_PROTOCOL_SNAPSHOT);

/* Why there is no snapshot, for the other ranks. */
enum reason { REASON_NONE, REASON_LATER, REASON_IMPOSSIBLE };

enum step { GOES_ON, STOPS, SAVES, SAVED };

static struct {
    struct rz_embedded core;
    uint32_t epoch;       /* of the core */
    bool under_way;       /* a thread of this process takes part in one */
    enum step step;       /* what this process does in it */
    uint32_t attempt;     /* its number in the epoch */
    uint64_t epochs;      /* of the jobs before, whose files this one continues from */
    bool asked;           /* for its numbers */
    bool whole;           /* all ranks have saved */
    rz_id refuser;        /* otherwise the first rank that has not, */
    uint64_t reason;      /* and its reason */
    char why[256];        /* this process's, in words */
    unsigned forbidden;   /* by the program */
    uint64_t said[3];     /* the last LOCAL */
    uint64_t sent, taken; /* messages of the core, which do not count */
    struct rz_protocol_queue unread;
} snapshot = {.unread.work = RZ_WORK_SNAPSHOT};

/* This thread stops for the process, or waits for the one that does: both make progress, in waits
 * that are no safe points. */
static _Thread_local bool stands;

/* ---- The core ---- */

static void snapshot_send(rz_id to, const struct rz_message *message, const uint64_t *items)
{
    struct rz_control_message *note = rz_protocol_message_pack(message, items);
    note->envelope.kind = RZ_ENVELOPE_SNAPSHOT;
    snapshot.sent++;
    rz_control_message_send(rz_liveness.members[to].process, note);
}

static void snapshot_notified(const struct rz_action *notice)
{
    switch ((enum rz_snapshot_notice)notice->what) {
    case RZ_SNAPSHOT_ASKED:
        snapshot.asked = true;
        break;
    case RZ_SNAPSHOT_QUIET:
        snapshot.step = SAVES;
        break;
    case RZ_SNAPSHOT_ENDED:
        snapshot.whole = notice->arg[2] == 0;
        snapshot.refuser = (rz_id)notice->arg[1];
        snapshot.reason = notice->arg[2];
        snapshot.step = GOES_ON;
        break;
    }
}

static void snapshot_carry_out(void *arg, const struct rz_actions *actions)
{
    (void)arg;
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct rz_action *action = &actions->v[i];
        if (action->kind == RZ_ACTION_NOTIFY) {
            snapshot_notified(action);
            continue;
        }
        for (uint32_t to = 0; to < action->n_to; to++) {
            snapshot_send(action->to[to], &action->message, action->items);
        }
    }
}

static void step_core(const struct rz_event *event)
{
    bool stepped = rz_embedded_step(&snapshot.core, event, snapshot_carry_out, NULL);
    rz_need_memory(stepped, "for a snapshot");
}

static void call_core(enum rz_snapshot_call call, uint64_t a, uint64_t b, uint64_t c)
{
    step_core(&(struct rz_event){
        .kind = RZ_EVENT_CALL, .now = rz_clock_now(), .call = call, .arg = {a, b, c}});
}

/* The epochs of another job, which continues from this one's files, have the same numbers. */
static void forget_core(void)
{
    rz_embedded_close(&snapshot.core);
    rz_protocol_queue_close(&snapshot.unread);
    snapshot.sent = snapshot.taken = 0;
}

/* The same at all ranks, and greater than those of all snapshots that this process comes from. */
static uint64_t moment_now(void)
{
    return (snapshot.epochs + rz_engine.epoch) << 32 | snapshot.attempt;
}

/* A new core for each epoch. */
static void renew_core(void)
{
    if (snapshot.core.state && snapshot.epoch == rz_engine.epoch) {
        return;
    }
    rz_embedded_close(&snapshot.core);
    const struct rz_snapshot_config config = {.n_members = rz_engine.info->n_ranks,
                                              .view = rz_engine.epoch};
    bool opened = rz_embedded_open(&snapshot.core, &rz_protocol_snapshot, &config,
                                   rz_engine.info->self.rank, rz_clock_now(), 0);
    rz_need_memory(opened, "for snapshots");
    snapshot.epoch = rz_engine.epoch;
}

/* ---- Messages of the core: read outside of callbacks ---- */

static void snapshot_put_down(const struct rz_envelope *envelope, const void *data, size_t bytes)
{
    struct rz_protocol_message *unread = rz_protocol_message_unpack(envelope, data, bytes);
    snapshot.taken++;
    if (unread) {
        rz_protocol_queue_put(&snapshot.unread, unread);
    }
}

static void snapshot_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                             const void *data, size_t bytes, rz_net_token_t token)
{
    static const struct rz_control_message_kind kind = {4096, snapshot_put_down};
    rz_control_message_arrived(path, envelope, data, bytes, token, &kind);
}

static unsigned snapshot_read(void)
{
    unsigned n = 0;
    renew_core();
    for (struct rz_protocol_message *unread;
         (unread = rz_protocol_queue_take(&snapshot.unread)) != NULL; n++) {
        step_core(&(struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                     .now = rz_clock_now(),
                                     .message = &unread->message,
                                     .items = unread->items});
        free(unread);
    }
    return n;
}

/* ---- Quiet ---- */

/* Whether a transport or a module of the library still has something to do that was begun. */
static bool process_busy(void)
{
    if (rz_early_fetch_all() > 0 || !rz_control_messages_quiet() || !rz_sync_quiet()) {
        return true;
    }
    for (const struct rz_request *request = rz_engine.active; request; request = request->next) {
        if (request->flags & RZ_REQUEST_NETWORK) {
            return true;
        }
    }
    return false;
}

/* Tells the core what has changed. */
static void say_local(void)
{
    bool busy = process_busy(); /* looking may begin fetches */
    uint64_t handed, taken;
    rz_liveness_messages(&handed, &taken);
    const uint64_t now[3] = {handed - snapshot.sent, taken - snapshot.taken, busy};
    if (snapshot.asked || memcmp(now, snapshot.said, sizeof(now)) != 0) {
        snapshot.asked = false;
        memcpy(snapshot.said, now, sizeof(now));
        call_core(RZ_SNAPSHOT_LOCAL, now[0], now[1], now[2]);
    }
}

/* All ranks have come to the end of the program, and some may have left: no more snapshots. */
static bool job_has_ended(void)
{
    return rz_epoch_on_board() == rz_engine.epoch && rz_epoch_phase_on_board() >= RZ_PHASE_LEFT;
}

static bool quiet_or_over(void *arg)
{
    (void)arg;
    if (snapshot.step == STOPS) {
        say_local();
    }
    return snapshot.step != STOPS || job_has_ended();
}

static bool goes_on(void *arg)
{
    (void)arg;
    return snapshot.step == GOES_ON || job_has_ended();
}

/* ---- One snapshot ---- */

/* One for all that refuse; and what is no news for the user is not told. */
static void tell_refusal(void)
{
    if (!snapshot.whole && snapshot.reason == REASON_IMPOSSIBLE &&
        snapshot.refuser == rz_engine.info->self.rank) {
        const struct rz_link_message message = {.type = RZ_LINK_SNAPSHOT_REFUSED,
                                                .snapshot_refused = {.reason = snapshot.why}};
        rz_engine_tell_daemon(&message);
    }
}

static enum reason reason_against(void)
{
    /* The daemon's answer would come to the process that asked. */
    if (snapshot.forbidden > 0 || !rz_image_settled() || rz_service_asks()) {
        return REASON_LATER;
    }
    if (!rz_snapshot_possible(snapshot.why, sizeof(snapshot.why))) {
        return REASON_IMPOSSIBLE;
    }
    return rz_rma_thread_rests() ? REASON_NONE : REASON_LATER;
}

static void wait_until(bool (*done)(void *arg))
{
    struct rz_blocked blocked = {.call = "a snapshot", .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    rz_engine_wait(&blocked, done, NULL);
}

static void save(void)
{
    rz_kill_here(RZ_KILL_SNAPSHOT_QUIET);
    rz_output_mark();
    rz_snapshot_leave_out(); /* connections may be new since the process stopped */
    struct rz_image_extra extra = {
        .note = {[RZ_NOTE_INPUT] = rz_input_mark(), [RZ_NOTE_MOMENT] = moment_now()}};
    const uint64_t job = rz_engine.info->self.job, epochs = extra.note[RZ_NOTE_MOMENT] >> 32;
    rz_lock_owners_follow(); /* also calls of objects that were loaded since */
    extra.closed = rz_closed_files_hold(extra.note[RZ_NOTE_MOMENT], &extra.n_closed);
    /* Other threads have gone on inside their calls since this process stopped. */
    enum rz_image_result result = rz_snapshot_objects(snapshot.why, sizeof(snapshot.why))
                                      ? RZ_IMAGE_FAILED
                                      : rz_image_keep(&extra, snapshot.why, sizeof(snapshot.why));
    if (result == RZ_IMAGE_RESTORED) {
        rz_images_begin();
        snapshot.whole = true;
        forget_core();
        rz_restore_wake();
        snapshot.epochs = rz_engine.info->self.job == job ? snapshot.epochs : epochs;
    }
    rz_closed_files_go_on();
    switch (result) {
    case RZ_IMAGE_RESTORED:
        snapshot.step = GOES_ON;
        return;
    case RZ_IMAGE_SAVED:
        snapshot.step = SAVED;
        call_core(RZ_SNAPSHOT_SAVED, REASON_NONE, 0, 0);
        break;
    default:
        snapshot.step = SAVED;
        call_core(RZ_SNAPSHOT_SAVED, REASON_IMPOSSIBLE, 0, 0);
        break;
    }
    wait_until(goes_on);
    if (snapshot.step == GOES_ON && snapshot.whole) {
        rz_image_store();
    } else {
        rz_image_drop();
    }
}

static uint32_t wanted_number(void)
{
    uint64_t word = atomic_load_explicit(&rz_engine.board->snapshot, memory_order_acquire);
    return (uint32_t)(word >> 32) == rz_engine.epoch ? (uint32_t)word : 0;
}

static bool is_wanted(void)
{
    return wanted_number() >= rz_snapshot_attempt(snapshot.core.state) && !job_has_ended();
}

static bool nothing_under_way(void *arg)
{
    (void)arg;
    return !snapshot.under_way;
}

static void take_part(void)
{
    uint64_t job = rz_engine.info->self.job;
    struct rz_link_message over = {
        .type = RZ_LINK_SNAPSHOT_OVER,
        .snapshot_over = {.epoch = rz_engine.epoch,
                          .attempt = rz_snapshot_attempt(snapshot.core.state)}};
    snapshot.under_way = true;
    snapshot.attempt = over.snapshot_over.attempt;
    snapshot.whole = false;
    snapshot.step = STOPS;
    rz_kill_here(RZ_KILL_SNAPSHOT_STOPS);
    call_core(RZ_SNAPSHOT_START, over.snapshot_over.attempt, reason_against(), 0);
    wait_until(quiet_or_over);
    if (snapshot.step == SAVES) {
        save();
    }
    if (snapshot.step == GOES_ON) {
        tell_refusal();
    }
    over.snapshot_over.number = snapshot.whole ? rz_images_stored() : 0;
    snapshot.step = GOES_ON;
    renew_core();
    /* A restored process tells of an epoch that is over, which the daemon leaves alone; but the
     * epochs of another job have the same numbers. */
    if (rz_engine.info->self.job == job) {
        rz_engine_tell_daemon(&over);
    }
    rz_engine.stops = is_wanted();
    snapshot.under_way = false;
    rz_engine.completions++; /* other threads wait for this */
}

static void safe_point(void)
{
    if (stands || rz_engine_runs_user()) {
        return; /* a function of the user may be in the middle of anything */
    }
    stands = true;
    if (snapshot.under_way) {
        wait_until(nothing_under_way);
    } else if (job_has_ended()) {
        rz_engine.stops = false;
    } else {
        take_part();
    }
    stands = false;
}

/* ---- Hooks ---- */

static void look_at_board(void)
{
    rz_image_catch_up();
    if (snapshot.core.state && snapshot.epoch == rz_engine.epoch && is_wanted()) {
        rz_engine.stops = true;
    }
}

void rz_snapshots_enter(void)
{
    if (rz_engine.rewinds) {
        rz_image_set_owners(rz_lock_owners_follow());
        rz_closed_files_begin();
    }
    renew_core();
    look_at_board();
}

void rz_snapshots_forbid(bool forbid)
{
    snapshot.forbidden += forbid ? 1 : snapshot.forbidden > 0 ? -1 : 0;
}

static void snapshots_close(void)
{
    rz_closed_files_close();
    rz_images_close();
    rz_embedded_close(&snapshot.core);
    rz_protocol_queue_close(&snapshot.unread);
}

const struct rz_hooks rz_snapshot_hooks = {
    .close = snapshots_close,
    .work = {[RZ_WORK_SNAPSHOT] = snapshot_read},
    .board_changed = look_at_board,
    .safe_point = safe_point,
    .arrived = {[RZ_ENVELOPE_SNAPSHOT] = snapshot_arrived},
};
