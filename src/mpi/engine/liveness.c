/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows the states of the slots on the board, and keeps the list of failed processes. Each change
 * is told once to the hooks of all modules.
 */
#include "mpi/engine/liveness.h"

#include "base/no_memory.h"
#include "base/assert.h"
#include "base/trace.h"
#include "mpi/engine/hooks.h"
#include "port/processor.h"

#include <stdio.h>
#include <stdlib.h>

/* Space in the first list of failed processes. */
enum { FAILED_MIN = 16 };

/* In thousandths of a processor: with less than one, the time that a process spins is missing when
 * it has work. */
enum { WHOLE_PROCESSOR = 1000 };

struct rz_liveness rz_liveness;

bool rz_liveness_open(void)
{
    rz_liveness.members = calloc(rz_engine.info->n_slots, sizeof(*rz_liveness.members));
    return rz_liveness.members != NULL;
}

void rz_liveness_close(void)
{
    free(rz_liveness.members);
    free(rz_liveness.failed);
    rz_liveness.members = NULL;
    rz_liveness.failed = NULL;
    rz_liveness.n_failed = rz_liveness.failed_max = 0;
}

void rz_liveness_messages(uint64_t *handed, uint64_t *taken)
{
    *handed = *taken = 0;
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        *handed += rz_liveness.members[slot].handed;
        *taken += rz_liveness.members[slot].taken;
    }
}

uint32_t rz_process_incarnation(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    uint32_t present = rz_board_incarnation(member->word);
    if (rz_process_newer(process, member->process)) {
        return present + ((process - member->process) >> RZ_SLOT_BITS);
    }
    return present - ((member->process - process) >> RZ_SLOT_BITS);
}

/* ---- The list of failed processes ---- */

/* Removes failed processes that no communicator holds any more. */
static void failed_compact(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rz_liveness.n_failed; i++) {
        if (rz_hooks_holds(rz_liveness.failed[i])) {
            rz_liveness.failed[kept++] = rz_liveness.failed[i];
        }
    }
    rz_liveness.n_failed = kept;
}

/* After compaction half of the list is free, so growing is rare. */
static void failed_make_room(void)
{
    failed_compact();
    if (rz_liveness.n_failed < rz_liveness.failed_max / 2) {
        return;
    }
    uint32_t more = rz_liveness.failed_max == 0 ? FAILED_MIN : rz_liveness.failed_max * 2;
    uint32_t *bigger = realloc(rz_liveness.failed, more * sizeof(*bigger));
    if (!bigger) {
        rz_no_memory("for the list of failed processes");
    }
    rz_liveness.failed = bigger;
    rz_liveness.failed_max = more;
}

void rz_liveness_list_failed(uint32_t process)
{
    for (uint32_t i = 0; i < rz_liveness.n_failed; i++) {
        if (rz_liveness.failed[i] == process) {
            return;
        }
    }
    if (rz_liveness.n_failed == rz_liveness.failed_max) {
        failed_make_room();
    }
    rz_liveness.failed[rz_liveness.n_failed++] = process;
}

/* ---- A process is gone, another one is in its slot ---- */

enum how_gone {
    GONE_FAILED,
    GONE_LEFT, /* in order; it may still be there */
    GONE_EXITED,
};

/* The present process of that slot is gone. */
static void member_gone(struct rz_member *member, enum how_gone how)
{
    uint32_t process = member->process;
    if (member->failed) {
        return;
    }
    rz_hooks_leaving(process, how == GONE_EXITED);
    member->failed = true;
    rz_liveness.failures = true;
    if (how == GONE_FAILED) {
        RZ_TRACE(FAILURE_LEARNT, rz_process_slot(process), rz_board_incarnation(member->word), 0);
        rz_liveness_list_failed(process);
    }
    rz_hooks_gone(process, how == GONE_FAILED);
}

/* Agreements exclude a process that has ended in order as they do a failed one; such a process is
 * not reported as failed. */
void rz_liveness_learn_failure(uint32_t process)
{
    struct rz_member *member = rz_member_of(process);
    if (!rz_engine.reinit_open && member->process == process) {
        uint64_t word = atomic_load_explicit(&rz_engine.board->rank[rz_process_slot(process)],
                                             memory_order_acquire);
        bool ended = rz_board_incarnation(word) == rz_board_incarnation(member->word) &&
                     rz_board_state(word) == RZ_PROCESS_ENDED;
        member_gone(member, ended ? GONE_EXITED : GONE_FAILED);
    }
}

/* A process was spawned into a slot that is empty, or whose last process is gone as far as this
 * process knows. */
static void adopt(uint32_t slot, uint64_t word)
{
    uint32_t incarnation = rz_board_incarnation(word);
    struct rz_member *member = &rz_liveness.members[slot];
    rz_assert(member->failed && !member->peer);
    member->word = rz_board_rank_word(incarnation, rz_board_node(word), RZ_PROCESS_ALIVE);
    member->process = rz_engine_number(slot, incarnation);
    member->failed = false;
    member->handed = member->taken = 0;
    RZ_TRACE(SPAWN_LEARNT, slot, incarnation, rz_board_node(word));
    rz_engine.completions++; /* all waiting calls must look again */
    rz_hooks_adopted(slot);
}

/* ---- The board ---- */

/*
 * A word of the board has changed. While the job recovers (inside MPIX_Reinit) failures are no
 * errors, since a roll-back will come. The same holds where the epoch of the board is later than
 * ours: its new processes belong to that epoch.
 */
static void member_news(uint32_t slot, uint64_t word, bool ours)
{
    struct rz_member *member = &rz_liveness.members[slot];
    enum rz_process_state state = rz_board_state(word);
    bool other = rz_board_incarnation(word) != rz_board_incarnation(member->word);
    bool gone = other || state != RZ_PROCESS_ALIVE;
    bool ended = !other && state == RZ_PROCESS_ENDED;
    if (gone && !ended && slot == rz_engine.info->self.rank) {
        if (rz_engine.rewinds && other) {
            rz_engine_await_end();
        }
        rz_engine_exit(RZ_ERR_FENCED);
    }
    if (!gone || rz_engine.reinit_open) {
        return;
    }
    member_gone(member, ended ? GONE_EXITED : GONE_FAILED);
    if (other && !ours) {
        return;
    }
    if (other) {
        adopt(slot, word);
    }
    if (state != RZ_PROCESS_ALIVE) {
        member_gone(member, state == RZ_PROCESS_ENDED ? GONE_EXITED : GONE_FAILED);
        member->word = word;
    }
}

void rz_liveness_ranks_left(void)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_ranks; slot++) {
        struct rz_member *member = &rz_liveness.members[slot];
        if (!member->failed) {
            member_gone(member, GONE_LEFT);
            member->word = rz_board_rank_word(rz_board_incarnation(member->word),
                                              rz_board_node(member->word), RZ_PROCESS_ENDED);
        }
    }
}

/* Most changes of the board concern other things, and a process that is woken for one shall
 * continue soon. */
void rz_liveness_look(bool ours)
{
    const struct rz_board *board = rz_engine.board;
    uint64_t news = atomic_load_explicit(&board->rank_news, memory_order_acquire);
    bool spawned = false, left = false;
    if (news == rz_liveness.news_settled) {
        return;
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        uint64_t word = atomic_load_explicit(&board->rank[slot], memory_order_acquire);
        if (word != member->word) {
            uint32_t before = member->process;
            member_news(slot, word, ours);
            spawned = spawned || member->process != before;
            left = left || member->word != word;
        }
    }
    rz_liveness.news_settled = left ? 0 : news;
    if (spawned) {
        rz_liveness_count_ranks_here();
    }
}

/* ---- Failures that the program acknowledges ---- */

/* The daemon does not know yet that the program knows of it. */
static bool is_unacknowledged(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    bool ended = member->process == process && rz_board_state(member->word) == RZ_PROCESS_ENDED;
    return rz_process_failed(process) && !ended && rz_process_newer(process, member->acknowledged);
}

void rz_failures_acknowledge(const uint32_t *process, uint32_t n)
{
    struct rz_link_process pairs[64];
    uint8_t bytes[sizeof(pairs) / sizeof(pairs[0]) * RZ_LINK_PAIR_BYTES];
    for (uint32_t i = 0; i < n && !rz_engine.info->alone;) {
        uint32_t told = 0;
        for (; i < n && told < sizeof(pairs) / sizeof(pairs[0]); i++) {
            if (is_unacknowledged(process[i])) {
                rz_member_of(process[i])->acknowledged = process[i];
                pairs[told].slot = rz_process_slot(process[i]);
                pairs[told++].incarnation = rz_process_incarnation(process[i]);
            }
        }
        if (told > 0) {
            rz_link_put_pairs(bytes, pairs, told);
            rz_engine_tell_daemon(&(struct rz_link_message){
                .type = RZ_LINK_ACKNOWLEDGED,
                .acknowledged = {.processes = bytes,
                                 .processes_length = told * RZ_LINK_PAIR_BYTES}});
        }
    }
}

/* ---- The begin of an epoch ---- */

void rz_liveness_begin(void)
{
    rz_liveness.n_failed = 0;
    rz_liveness.failures = false;
    rz_liveness.news_settled = 0;
}

/* A process that is gone by then is handled like any other failure, once the communicators
 * exist. */
void rz_liveness_refresh(uint32_t slot)
{
    uint64_t word = atomic_load_explicit(&rz_engine.board->rank[slot], memory_order_acquire);
    uint32_t incarnation = rz_board_incarnation(word), node = rz_board_node(word);
    struct rz_member *member = &rz_liveness.members[slot];
    /* A process that is restored from an image keeps the nodes of the epoch in which the program
     * began: some members have chosen by them before the image was made, and others choose now. */
    if (!rz_engine.rewinds || member->word == 0) {
        member->home = node;
    }
    member->word = rz_board_rank_word(incarnation, node, RZ_PROCESS_ALIVE);
    member->process = rz_engine_number(slot, incarnation);
    member->failed = incarnation == 0;
    member->handed = member->taken = 0;
    member->first = rz_engine.late ? rz_engine_number(slot, 0) : member->process;
    rz_liveness.failures = rz_liveness.failures || incarnation > 1;
}

/* The processors that the counted ranks share. These are the daemon's: this process may be bound to
 * some of its own. */
static uint32_t shared_processors(void)
{
    uint32_t processors = rz_engine.board->processors;
    return processors > 0 ? processors : rz_processor_count();
}

void rz_liveness_count_ranks_here(void)
{
    /* Nodes whose processes are bound share no processors. */
    bool one_host =
        (rz_engine.board->flags & RZ_BOARD_ONE_HOST) && !(rz_engine.board->flags & RZ_BOARD_BOUND);
    uint32_t here = 0;
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        uint64_t word = rz_liveness.members[slot].word;
        bool runs = rz_board_incarnation(word) > 0 && rz_board_state(word) != RZ_PROCESS_ENDED;
        here += runs && (one_host || rz_board_node(word) == rz_engine.info->node);
    }
    bool oversubscribed =
        here > shared_processors() || rz_processor_quota_milli() < WHOLE_PROCESSOR;
    /* A thread that waits for the engine's lock reads it. */
    __atomic_store_n(&rz_engine.waiting.oversubscribed, oversubscribed, __ATOMIC_RELAXED);
    rz_doorbell_spare(rz_engine.info->doorbell, rz_wait_sleeps_seldom(&rz_engine.waiting));
}
