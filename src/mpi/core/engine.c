#include "mpi/core/engine.h"

#include "base/assert.h"
#include "mpi/chapter.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/setup_message.h"
#include "mpi/ft/comm_revoke.h"
#include "mpi/ft/agreement_context.h"
#include "mpi/ft/ft.h"
#include "mpi/ft/inquiry.h"
#include "mpi/ft/revoke_nodes.h"
#include "mpi/monitor/monitors.h"
#include "mpi/p2p/lane_ends.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/paths.h"
#include "mpi/p2p/peer.h"
#include "mpi/p2p/unstarted.h"
#include "mpi/request/request.h"
#include "port/clock.h"
#include "proto/recover/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lease and broken connections are looked at once in so many rounds of progress, and before each
 * sleep. */
#define ROUNDS_PER_CHECK 1024

/* Room in the first list of the failed processes. */
enum { FAILED_MIN = 16 };

struct rz_engine rz_engine;
static uint32_t rounds;

/* ---- What the daemon says ---- */

_Noreturn void rz_engine_exit(rz_status_t why)
{
    if (why != RZ_ERR_JOB_ENDED) {
        fprintf(stderr, "rhizome: rank %u ends: %s\n", rz_engine.info->self.rank,
                why == RZ_ERR_CLOSED ? "the daemon of its node is gone" : rz_status_text(why));
    }
    _exit(EXIT_FAILURE);
}

void rz_engine_tell_daemon(const struct rz_link_message *message)
{
    rz_status_t status = rz_link_send(rz_engine.link, message, -1);
    if (status != RZ_OK) {
        rz_engine_exit(status);
    }
}

/* A list that no communicator needs any more is short: the failed processes of communicators that
 * ended go. */
static void failed_compact(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rz_engine.n_failed; i++) {
        if (rz_comms_hold(rz_engine.failed[i])) {
            rz_engine.failed[kept++] = rz_engine.failed[i];
        }
    }
    rz_engine.n_failed = kept;
}

/* Half of the list is free after it was compacted, so that this is rare. */
static void failed_make_room(void)
{
    failed_compact();
    if (rz_engine.n_failed < rz_engine.failed_max / 2) {
        return;
    }
    uint32_t more = rz_engine.failed_max == 0 ? FAILED_MIN : rz_engine.failed_max * 2;
    uint32_t *bigger = realloc(rz_engine.failed, more * sizeof(*bigger));
    if (bigger == NULL) {
        fprintf(stderr, "rhizome: rank %u: no memory for the list of the failed\n",
                rz_engine.info->self.rank);
        abort();
    }
    rz_engine.failed = bigger;
    rz_engine.failed_max = more;
}

void rz_engine_list_failed(uint32_t process)
{
    for (uint32_t i = 0; i < rz_engine.n_failed; i++) {
        if (rz_engine.failed[i] == process) {
            return;
        }
    }
    if (rz_engine.n_failed == rz_engine.failed_max) {
        failed_make_room();
    }
    rz_engine.failed[rz_engine.n_failed++] = process;
}

/* The present process of that slot. */
static void member_gone(struct rz_member *member, bool failure)
{
    uint32_t process = member->process;
    if (member->failed) {
        return;
    }
    /* A message that was received wins over the news, so take what lies here while the epoch check
     * is still open to it. */
    for (int i = 0; i < 64 && rz_paths_progress() > 0; i++) {
    }
    rz_peer_close(rz_process_slot(process), true, RZ_ERR_PROC_FAILED);
    member->failed = true;
    rz_engine.failures = true;
    rz_monitors_failure();
    if (failure) {
        rz_engine_list_failed(process);
        rz_comms_failure(process);
    }
    rz_agreement_contexts_failure(process);
    rz_p2p_gone(process, failure);
    if (failure) {
        rz_inquire_all();
    }
}

/* Agreements leave out who has ended in order as they do the failed processes; it is not to be
 * reported. */
void rz_engine_learn_failure(uint32_t process)
{
    struct rz_member *member = rz_member_of(process);
    if (!rz_engine.reinit_open && member->process == process) {
        uint64_t word = atomic_load_explicit(&rz_engine.board->rank[rz_process_slot(process)],
                                             memory_order_acquire);
        bool ended = rz_board_incarnation(word) == rz_board_incarnation(member->word) &&
                     rz_board_state(word) == RZ_PROCESS_ENDED;
        member_gone(member, !ended);
    }
}

/* A process has been spawned into a slot that is empty or whose last one is gone, as far as we
 * knew: it may have spoken to us already. */
static void adopt(uint32_t slot, uint64_t word)
{
    uint32_t incarnation = rz_board_incarnation(word);
    struct rz_member *member = &rz_engine.members[slot];
    rz_assert(member->failed && member->peer == NULL);
    member->word = rz_board_rank_word(incarnation, rz_board_node(word), RZ_PROCESS_ALIVE);
    member->process = rz_process(slot, incarnation);
    member->failed = false;
    rz_engine.completions++; /* news to whoever waits */
    rz_unstarted_adopted(slot);
}

/*
 * A word of the board that changed. While the job repairs itself failures are no errors: the
 * roll-back will come. So it will where the board is of a later epoch than ours: its new processes
 * belong to that.
 */
static void member_news(uint32_t slot, uint64_t word, bool ours)
{
    struct rz_member *member = &rz_engine.members[slot];
    enum rz_process_state cause = rz_board_state(word);
    bool other = rz_board_incarnation(word) != rz_board_incarnation(member->word);
    bool gone = other || cause != RZ_PROCESS_ALIVE;
    bool ended = !other && cause == RZ_PROCESS_ENDED;
    if (gone && !ended && slot == rz_engine.info->self.rank) {
        rz_engine_exit(RZ_ERR_FENCED);
    }
    if (!gone || rz_engine.reinit_open) {
        return;
    }
    member_gone(member, other || cause != RZ_PROCESS_ENDED);
    if (other && !ours) {
        return;
    }
    if (other) {
        adopt(slot, word);
    }
    if (cause != RZ_PROCESS_ALIVE) {
        member_gone(member, cause != RZ_PROCESS_ENDED);
        member->word = word;
    }
}

/* All ranks of the job are in MPI_Finalize and need nobody any more. How each of them ends is told
 * to nobody, and spawned processes may outlive them. */
static void ranks_left(void)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_ranks; slot++) {
        struct rz_member *member = &rz_engine.members[slot];
        if (!member->failed) {
            member_gone(member, false);
            member->word = rz_board_rank_word(rz_board_incarnation(member->word),
                                              rz_board_node(member->word), RZ_PROCESS_ENDED);
        }
    }
}

/* The words of the slots, unless all of them are settled since they last changed: many pages of
 * news are of something else, and whoever is woken for it shall be back soon. */
static void look_at_members(bool ours)
{
    const struct rz_board *board = rz_engine.board;
    uint64_t news = atomic_load_explicit(&board->rank_news, memory_order_acquire);
    bool spawned = false, left = false;
    if (news == rz_engine.rank_news_settled) {
        return;
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        uint64_t word = atomic_load_explicit(&board->rank[slot], memory_order_acquire);
        if (word != rz_engine.members[slot].word) {
            uint32_t before = rz_engine.members[slot].process;
            member_news(slot, word, ours);
            spawned = spawned || rz_engine.members[slot].process != before;
            left = left || rz_engine.members[slot].word != word;
        }
    }
    rz_engine.rank_news_settled = left ? 0 : news;
    if (spawned) {
        rz_engine_look_at_crowd();
    }
}

/* The board has changed. */
static void look_at_board(uint64_t news)
{
    const struct rz_board *board = rz_engine.board;
    rz_engine.news_seen = news;
    uint64_t stop = atomic_load_explicit(&board->stop, memory_order_acquire);
    if (stop != 0) {
        rz_engine_exit((rz_status_t)stop);
    }
    uint64_t epoch = atomic_load_explicit(&board->epoch_phase, memory_order_acquire);
    uint64_t phase = epoch & 0xFF;
    epoch >>= 8;
    if (rz_engine.reinit_open && epoch > rz_engine.epoch) {
        rz_ft_give_up();
        return;
    }
    rz_revoke_look();
    bool ours = epoch == rz_engine.epoch;
    look_at_members(ours);
    if (ours && phase >= RZ_PHASE_LEFT && rz_engine.info->self.rank >= rz_engine.info->n_ranks) {
        ranks_left();
    }
}

static inline void look_at_news(void)
{
    uint64_t news = atomic_load_explicit(&rz_engine.board->news, memory_order_acquire);
    if (__builtin_expect(news != rz_engine.news_seen, 0) && !rz_engine.rollback) {
        look_at_board(news);
    }
}

void rz_engine_look_again(void)
{
    rz_engine.news_seen = atomic_load_explicit(&rz_engine.board->news, memory_order_acquire);
    look_at_board(rz_engine.news_seen);
}

static void read_link(void)
{
    rz_status_t status = rz_link_progress(rz_engine.link);
    if (status != RZ_OK) {
        /* The stop word, if the daemon set it before it went, knows better. */
        uint64_t stop = atomic_load_explicit(&rz_engine.board->stop, memory_order_acquire);
        rz_engine_exit(stop != 0 ? (rz_status_t)stop : status);
    }
}

void rz_engine_check(void)
{
    rounds = 0;
    if (rz_engine.info->alone) {
        return;
    }
    rz_waits_alive(rz_engine.info->waits);
    uint64_t stop = atomic_load_explicit(&rz_engine.board->stop, memory_order_acquire);
    rz_status_t status = stop != 0 ? (rz_status_t)stop : rz_link_check(rz_engine.link);
    if (status != RZ_OK) {
        rz_engine_exit(status);
    }
    read_link();
    rz_time now = rz_clock_now();
    rz_paths_overdue();
    rz_peers_overdue(now);
    rz_p2p_overdue(now);
    rz_agreement_contexts_ask_slowly(now);
}

/* ---- Progress ---- */

int rz_engine_begin(void)
{
    if (rz_engine.board != NULL) {
        look_at_news();
        if (rz_engine.info->waits != NULL) {
            rz_waits_alive(rz_engine.info->waits);
        }
    }
    return __builtin_expect(rz_engine.rollback, 0) ? RZM_ROLLBACK : MPI_SUCCESS;
}

static unsigned poll_requests(void)
{
    uint64_t before = rz_engine.completions;
    struct rz_request *next;
    for (struct rz_request *request = rz_engine.polled; request != NULL; request = next) {
        next = request->poll_next;
        request->class->poll(request);
    }
    return (unsigned)(rz_engine.completions - before);
}

unsigned rz_engine_progress(void)
{
    if (__builtin_expect(rz_comms_unshut, 0)) {
        rz_comms_shut();
    }
    unsigned events = rz_paths_progress();
    if (rz_engine.polled != NULL) {
        events += poll_requests();
    }
    if (__builtin_expect(rz_protocol_messages_unread != NULL, 0)) {
        events += rz_protocol_messages_read();
    }
    if (__builtin_expect(rz_setup_messages_new, 0)) {
        events += rz_setup_messages_look();
    }
    if (__builtin_expect(rz_inquiries_unread != NULL, 0)) {
        events += rz_inquiries_read();
    }
    if (__builtin_expect(rz_agreement_contexts_deadline != RZ_TIME_NEVER, 0)) {
        events += rz_agreement_contexts_tick();
    }
    if (rz_engine.info->alone) {
        return events;
    }
    struct rz_doorbell *bell = rz_engine.info->doorbell;
    if (atomic_load_explicit(&bell->reasons, memory_order_relaxed) != 0) {
        uint32_t reasons = atomic_exchange_explicit(&bell->reasons, 0, memory_order_acquire);
        if (reasons & RZ_DOORBELL_LINK) {
            read_link();
        }
        events++;
    }
    look_at_news();
    if (__builtin_expect(rz_monitors != NULL, 0)) {
        rz_monitors_look();
    }
    if (__builtin_expect(rz_lane_ends_wait, 0)) {
        rz_lane_ends_look();
    }
    if (++rounds >= ROUNDS_PER_CHECK) {
        rz_engine_check();
    }
    return events;
}

/* ---- Processes that others told us of ---- */

struct awaited {
    const uint32_t *process;
    int n, first; /* all before `first` are known */
};

static bool all_known(void *arg)
{
    struct awaited *awaited = arg;
    while (awaited->first < awaited->n && rz_process_known(awaited->process[awaited->first])) {
        awaited->first++;
    }
    return awaited->first == awaited->n;
}

int rz_engine_await(const uint32_t *process, int n, const char *call)
{
    for (int i = 0; i < n; i++) {
        if (rz_process_slot(process[i]) >= rz_engine.info->n_slots) {
            return rzm_error(MPI_ERR_OTHER, "another process tells of slot %u; this job has %u",
                             rz_process_slot(process[i]), rz_engine.info->n_slots);
        }
    }
    struct awaited awaited = {process, n, 0};
    if (all_known(&awaited)) {
        return MPI_SUCCESS;
    }
    struct rz_blocked blocked = {.call = call, .peer = process[awaited.first], .tag = MPI_ANY_TAG};
    return rz_engine_wait(&blocked, all_known, &awaited);
}
