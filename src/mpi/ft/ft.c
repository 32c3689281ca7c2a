/*
 * Global restart, seen from a process (docs/reinit.md). The daemons decide; here
 * the old epoch is given up, the epoch check raised, the barrier of the new epoch awaited, and
 * MPI_COMM_WORLD made whole.
 */
#include "mpi/ft/ft.h"

#include "mpi/p2p/buffered.h"
#include "mpi/chapter.h"
#include "mpi/comm/comm.h"
#include "mpi/ft/agreement_context.h"
#include "mpi/core/engine.h"
#include "mpi/ft/checkpoint.h"
#include "mpi/ft/inquiry.h"
#include "mpi/ft/reinit_async.h"
#include "mpi/ft/protocol_message.h"
#include "mpi/monitor/monitors.h"
#include "mpi/p2p/message.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/paths.h"
#include "mpi/p2p/peer.h"
#include "mpi/p2p/sync.h"
#include "mpi/request/request.h"
#include "mpi/p2p/unstarted.h"
#include "mpi/comm/sessions.h"
#include "mpi/comm/setup_message.h"
#include "port/kill_point.h"
#include "proto/recover/recover.h"

#include <mpi-ext.h>

static struct {
    bool entered;    /* MPIX_Reinit was called once */
    bool point_runs; /* the restart point was entered once */
    bool went_back;  /* what was made in an epoch before this one has ended */
    int state;       /* MPIX_REINIT_*, of the present round */
} reinit;

void rz_ft_open(void)
{
    reinit.entered = false;
    reinit.point_runs = false;
    reinit.went_back = false;
    reinit.state = rz_engine.info->restarted ? MPIX_REINIT_RESTARTED : MPIX_REINIT_NEW;
}

/* ---- What the board says of epoch and phase ---- */

static uint64_t board_epoch_phase(void)
{
    return atomic_load_explicit(&rz_engine.board->epoch_phase, memory_order_acquire);
}

static uint32_t board_epoch(void)
{
    return (uint32_t)(board_epoch_phase() >> 8);
}

/* Whether our epoch has come to that phase, or is over. */
static bool phase_has_come(void *arg)
{
    uint64_t phase = *(const enum rz_recover_phase *)arg;
    uint64_t now = board_epoch_phase();
    return now >> 8 > rz_engine.epoch || (now >> 8 == rz_engine.epoch && (now & 0xFF) >= phase);
}

/* This process has come to the end of `phase`; waits for the next one. MPI_SUCCESS, or
 * RZM_ROLLBACK. */
static int phase_end(enum rz_recover_phase phase, const char *call)
{
    struct rz_link_message message = {.type = RZ_LINK_REACHED,
                                      .reached = {.epoch = rz_engine.epoch, .phase = phase}};
    rz_kill_here(phase == RZ_PHASE_ENTER ? RZ_KILL_AT_START : RZ_KILL_POINT_OVER);
    rz_engine_tell_daemon(&message);
    if (phase == RZ_PHASE_ENTER) {
        rz_kill_here(RZ_KILL_START_TOLD);
        rz_peers_meet_again();
    }
    enum rz_recover_phase next = phase + 1;
    struct rz_blocked blocked = {
        .call = call, .operation = rz_engine.epoch, .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_engine_wait(&blocked, phase_has_come, &next);
    /* The epoch is over, and that is not what was waited for: it may stand on the board before the
     * news of it do. */
    if (error == MPI_SUCCESS && rz_engine.reinit_open && board_epoch() > rz_engine.epoch) {
        rz_ft_give_up();
        error = RZM_ROLLBACK;
    }
    return error;
}

/* ---- Giving up an epoch ---- */

void rz_ft_give_up(void)
{
    rz_engine.rollback = true;
    rz_engine.going_back = reinit.entered;
    rz_agreement_contexts_close(); /* they name agreements of requests that end now */
    rz_peers_roll_back();
    rz_p2p_forget();
    rz_unstarted_close();
    rz_protocol_messages_close();
    rz_setup_messages_close();
    rz_inquiries_close();
    rz_sync_forget();
    rz_matched_close();
    rz_paths_quiet();
    rz_requests_abandon();
    rz_kill_here(RZ_KILL_GAVE_UP);
}

/* No call of the old epoch is on a stack any more: its objects go. */
static int discard(void)
{
    rz_monitors_close();
    rz_requests_close();
    rz_comms_close();
    rz_buffered_close();
    rz_sessions_rollback();
    rz_matcher_clear(&rz_engine.matcher);
    return rz_matcher_init(&rz_engine.matcher) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* ---- Standing at the start of an epoch ---- */

static void refresh_member(uint32_t slot)
{
    uint64_t word = atomic_load_explicit(&rz_engine.board->rank[slot], memory_order_acquire);
    uint32_t incarnation = rz_board_incarnation(word), node = rz_board_node(word);
    struct rz_member *member = &rz_engine.members[slot];
    if (member->peer != NULL && member->peer->process != rz_process(slot, incarnation)) {
        rz_peer_close(slot, false, RZ_ERR_ROLLBACK);
        member->spoken_to = true;
    }
    /* A verdict is dealt with as news, once the communicators stand. */
    member->word = rz_board_rank_word(incarnation, node, RZ_PROCESS_ALIVE);
    member->process = rz_process(slot, incarnation);
    member->failed = incarnation == 0;
    member->first = rz_engine.late ? rz_process(slot, 0) : member->process;
    member->home = node;
    rz_engine.failures = rz_engine.failures || incarnation > 1;
}

/* An epoch that runs already has not waited for this process: it was spawned into it. */
static void look_at_epoch(void)
{
    const struct rz_link_info *info = rz_engine.info;
    rz_engine.rollback = false;
    rz_engine.epoch = board_epoch();
    rz_engine.late = (info->restarted || info->self.rank >= info->n_ranks) &&
                     (board_epoch_phase() & 0xFF) >= RZ_PHASE_RUN;
    rz_engine.comes_again =
        info->restarted && info->self.rank < info->n_ranks && !rz_engine.late && !reinit.entered;
    rz_engine.n_failed = 0;
    rz_engine.failures = false;
    rz_engine.rank_news_settled = 0;
    for (uint32_t slot = 0; slot < info->n_slots; slot++) {
        refresh_member(slot);
    }
    rz_engine_look_at_crowd();
}

int rz_ft_reach_epoch(void)
{
    if (rz_engine.info->alone) {
        look_at_epoch();
        return MPI_SUCCESS;
    }
    for (;;) {
        look_at_epoch();
        rz_paths_open_wanted();
        phase_end(RZ_PHASE_ENTER, reinit.entered ? "MPIX_Reinit" : "MPI_Init");
        if (board_epoch() == rz_engine.epoch && !rz_engine.rollback) {
            return MPI_SUCCESS;
        }
        /* Yet another failure on the way. Peers may have been met while waiting: nothing of this
         * epoch must stay. */
        rz_ft_give_up();
    }
}

int rz_ft_reach_end(const char *call)
{
    return rz_engine.info->alone ? MPI_SUCCESS : phase_end(RZ_PHASE_RUN, call);
}

/* ---- MPIX_Reinit ---- */

int rz_ft_reinit_enter(void)
{
    if (reinit.entered) {
        return rzm_error(MPI_ERR_OTHER, "MPIX_Reinit can be called once");
    }
    rz_kill_here(RZ_KILL_ENTERING);
    if (!rz_engine.info->alone) {
        struct rz_link_message message = {.type = RZ_LINK_REPAIRING};
        rz_engine_tell_daemon(&message);
    }
    rz_kill_here(RZ_KILL_ENTERED);
    reinit.entered = true;
    rz_checkpoints_enter_reinit();
    rz_engine.comes_again = false;
    rz_engine.reinit_open = !(rz_engine.board->flags & RZ_BOARD_NO_REPAIR);
    return MPI_SUCCESS;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* And nobody has come in its place. */
static bool somebody_is_failed(void)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_ranks; slot++) {
        const struct rz_member *member = &rz_engine.members[slot];
        if (member->failed && rz_board_state(member->word) != RZ_PROCESS_ENDED) {
            return true;
        }
    }
    return false;
}

/* Somebody failed before this process entered, when that was still an error: the repair is under
 * way.
 */
static void hold_for_repair(void)
{
    struct rz_blocked blocked = {.call = "MPIX_Reinit",
                                 .operation = rz_engine.epoch,
                                 .peer = MPI_PROC_NULL,
                                 .tag = MPI_ANY_TAG};
    rz_engine_wait(&blocked, never, NULL);
}

int rz_ft_reinit_wait(int *state)
{
    rz_reinit_async_rests();
    if (somebody_is_failed() && board_epoch() == rz_engine.epoch) {
        hold_for_repair();
    }
    if (!rz_engine.rollback && board_epoch() > rz_engine.epoch) {
        /* Somebody failed before this process entered: it is held here until the new epoch begins.
         */
        rz_ft_give_up();
    }
    if (rz_engine.rollback) {
        rz_kill_here(RZ_KILL_WENT_BACK);
        rz_engine_await_others();
        int error = discard();
        error = error != MPI_SUCCESS ? error : rz_ft_reach_epoch();
        error = error != MPI_SUCCESS ? error : rz_comms_open();
        if (error != MPI_SUCCESS) {
            return error;
        }
        reinit.went_back = true;
        rz_engine_came_back();
    }
    if (reinit.point_runs) {
        reinit.state = MPIX_REINIT_REINITED;
    }
    reinit.point_runs = true;
    rz_reinit_async_stands();
    *state = reinit.state;
    return MPI_SUCCESS;
}

int rz_ft_reinit_leave(void)
{
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : rz_ft_reach_end("the end of MPIX_Reinit");
    if (error == MPI_SUCCESS) {
        rz_engine.reinit_open = false;
        rz_engine_look_again();
    }
    return error;
}

bool rz_ft_went_back(void)
{
    return reinit.went_back;
}

/* The news of a new epoch come with a word of the board that rz_engine_begin looks at. */
int rzm_reinit_test(void)
{
    return rz_engine_begin();
}

int rzm_reinit_state(int *state)
{
    *state = reinit.state;
    return MPI_SUCCESS;
}

int rzm_incarnation(int *incarnation)
{
    *incarnation = (int)rz_engine.info->self.incarnation;
    return MPI_SUCCESS;
}
