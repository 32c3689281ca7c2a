/* SPDX-License-Identifier: BSD-3-Clause */
/* Worlds of job nodes: the callbacks and checks that the scenarios of recover and of commit share.
 */
#include "sim/job_scenario.h"

#include "base/random.h"
#include "base/status.h"
#include "proto/commit/commit_check.h"
#include "proto/commit/commit_state.h"
#include "proto/recover/recover_check.h"

#include <string.h>

#define VIEW 100

/* ---- the node as a component of the engine, under two names ---- */

static size_t size_of(const void *config)
{
    return rz_job_size(config);
}

static void init(void *state, const void *config, rz_id self, rz_time now, uint64_t seed)
{
    rz_job_init(state, config, self, now, seed);
}

static enum rz_more step(void *state, const struct rz_event *event, struct rz_actions *out)
{
    return rz_job_step(state, event, out);
}

static rz_time deadline(const void *state)
{
    return rz_job_deadline(state);
}

static uint64_t hash(const void *state)
{
    return rz_job_hash(state);
}

static void grow(void *state, size_t bytes)
{
    rz_job_grow(state, bytes);
}

const struct rz_protocol rz_job_protocol_of_recover = {
    "recover", RZ_PROTOCOL_COMMIT, size_of, init, step, deadline, hash, grow};
const struct rz_protocol rz_job_protocol_of_commit = {"commit", RZ_PROTOCOL_COMMIT, size_of, init,
                                                      step,     deadline,           hash,    grow};

/* ---- configuration and calls ---- */

static uint32_t field(const struct rz_sim *sim, unsigned shift, unsigned bits)
{
    return (uint32_t)(rz_sim_scenario(sim)->parameter >> shift & ((UINT64_C(1) << bits) - 1));
}

static uint32_t ranks_of(const struct rz_sim *sim)
{
    return field(sim, 0, 8);
}

static bool in_groups(const struct rz_sim *sim)
{
    return field(sim, 30, 2) == RZ_COMMIT_GROUPS;
}

static uint32_t free_slots(const struct rz_sim *sim)
{
    return in_groups(sim) ? 0 : field(sim, 60, 4);
}

static uint32_t slots_of(const struct rz_sim *sim)
{
    return ranks_of(sim) + free_slots(sim);
}

static bool unrepaired(const struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter & RZ_JOB_UNREPAIRED;
}

static rz_id first_daemon(const struct rz_sim *sim, uint32_t rank)
{
    uint32_t used = rz_sim_members(sim) - field(sim, 8, 4);
    return rank * used / ranks_of(sim);
}

static bool tight(const struct rz_sim *sim)
{
    return rz_sim_scenario(sim)->parameter & RZ_JOB_TIGHT;
}

static uint32_t slots_of_daemon(const struct rz_sim *sim)
{
    uint32_t used = rz_sim_members(sim) - field(sim, 8, 4), n_ranks = ranks_of(sim);
    return tight(sim) ? (n_ranks + used - 1) / used : 2 + n_ranks / used;
}

static uint32_t recover_mutation(const struct rz_sim *sim)
{
    return field(sim, 32, 5) == 0 ? 0 : 1u << (field(sim, 32, 5) - 1);
}

const void *rz_job_scenario_config(struct rz_sim *sim, rz_id member)
{
    static struct rz_job_config config;
    static uint32_t placement[RZ_JOB_RANKS_MAX], slots[RZ_JOB_DAEMONS_MAX];
    uint32_t n = rz_sim_members(sim), n_ranks = ranks_of(sim);
    (void)member;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        placement[rank] = first_daemon(sim, rank);
    }
    for (rz_id d = 0; d < n; d++) {
        slots[d] = slots_of_daemon(sim);
    }
    config = (struct rz_job_config){.recover = {.n_daemons = n,
                                                .n_ranks = n_ranks,
                                                .n_slots = slots_of(sim),
                                                .view = VIEW,
                                                .tie_breaker = RZ_ID_NONE,
                                                .placement = placement,
                                                .slots = slots,
                                                .slots_limit = tight(sim),
                                                .all_begin = field(sim, 42, 1),
                                                .restarts_max = field(sim, 24, 4),
                                                .mutations = recover_mutation(sim)},
                                    .commit = {.n_daemons = n,
                                               .n_ranks = n_ranks,
                                               .view = VIEW,
                                               .scheme = (enum rz_commit_scheme)field(sim, 30, 2),
                                               .data = in_groups(sim) ? field(sim, 56, 4) : 0,
                                               .parity = in_groups(sim) ? field(sim, 60, 4) : 0,
                                               .mutations = field(sim, 44, 8)},
                                    .positions = field(sim, 12, 4),
                                    .repairing = !unrepaired(sim),
                                    .askers = !field(sim, 28, 1)  ? 0
                                              : field(sim, 29, 1) ? 1
                                                                  : n,
                                    .mutations = field(sim, 52, 4)};
    return &config;
}

static uint64_t draw_fuse(struct rz_sim *sim)
{
    return rz_sim_random(sim, UINT64_C(1) << rz_sim_random(sim, 7));
}

/* Half of them at one daemon, so that it has several requests pending. */
static void start_cohorts(struct rz_sim *sim)
{
    uint32_t cohorts = in_groups(sim) ? 0 : field(sim, 56, 4);
    bool at_once = rz_sim_scenario(sim)->parameter & RZ_JOB_AT_ONCE;
    rz_id asker = 0;
    for (uint32_t i = 0; i < cohorts; i++) {
        if (!at_once && (i == 0 || rz_sim_random(sim, 2) == 0)) {
            asker = (rz_id)rz_sim_random(sim, rz_sim_members(sim));
        }
        uint64_t count = at_once ? 1 : 1 + rz_sim_random(sim, 1 + free_slots(sim));
        uint64_t fuse = at_once ? 0 : draw_fuse(sim);
        bool eager = at_once || rz_sim_random(sim, 8) == 0;
        rz_sim_call(sim, asker,
                    &(struct rz_sim_call){
                        .call = RZ_JOB_SPAWN, .arg = {count, fuse, eager}, .unordered = true});
    }
}

static void start_damage(struct rz_sim *sim)
{
    uint32_t damages = field(sim, 38, 4);
    bool at_once = rz_sim_scenario(sim)->parameter & RZ_JOB_AT_ONCE;
    for (uint32_t i = 0; i < damages; i++) {
        rz_sim_call(sim, at_once ? 0 : (rz_id)rz_sim_random(sim, rz_sim_members(sim)),
                    &(struct rz_sim_call){.call = RZ_JOB_SPOIL,
                                          .arg = {at_once ? 0 : draw_fuse(sim)},
                                          .unordered = true});
    }
}

/* The daemon that probably runs the process to be killed. */
static rz_id likely_daemon(struct rz_sim *sim, uint32_t slot)
{
    return slot < ranks_of(sim) ? first_daemon(sim, slot)
                                : (rz_id)rz_sim_random(sim, rz_sim_members(sim));
}

void rz_job_scenario_start(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        rz_sim_call_now(sim, member, &(struct rz_sim_call){.call = RZ_JOB_BEGIN});
    }
    bool at_once = rz_sim_scenario(sim)->parameter & RZ_JOB_AT_ONCE;
    uint32_t kills = field(sim, 16, 4), rank = 0;
    if (kills > 0 && !at_once) {
        kills = (uint32_t)rz_sim_random(sim, kills + 1);
    }
    for (uint32_t i = 0; i < kills; i++) {
        /* In half of the cases the same rank again: its next incarnation fails early, too. */
        if (i == 0 || rz_sim_random(sim, 2) == 0) {
            rank = (uint32_t)rz_sim_random(sim, slots_of(sim));
        }
        uint64_t fuse = at_once ? 0 : draw_fuse(sim);
        rz_sim_call(
            sim, likely_daemon(sim, rank),
            &(struct rz_sim_call){.call = RZ_JOB_KILL, .arg = {rank, fuse}, .unordered = true});
    }
    start_cohorts(sim);
    start_damage(sim);
}

static void make_call(struct rz_sim *sim, rz_id member, enum rz_job_call call,
                      const struct rz_action *notice)
{
    rz_sim_call(sim, member,
                &(struct rz_sim_call){.call = call,
                                      .arg = {notice->arg[0], notice->arg[1], notice->arg[2]},
                                      .unordered = true});
}

static void at_all_others(struct rz_sim *sim, rz_id member, enum rz_job_call call,
                          const struct rz_action *notice)
{
    for (rz_id other = 0; other < rz_sim_members(sim); other++) {
        if (other != member) {
            make_call(sim, other, call, notice);
        }
    }
}

static void mix_spawns(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct rz_job_record *record = rz_sim_record(sim);
    uint64_t mixed = rz_mix(rz_mix(record->spawns[member], notice->arg[0]), notice->arg[1]);
    for (uint32_t i = 0; i < notice->n_items; i++) {
        mixed = rz_mix(mixed, notice->items[i]);
    }
    record->spawns[member] = mixed;
    record->told[member]++;
}

/* Files outlive all daemons; a write ends some time after its start. */
static void write_file(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct rz_job_record *record = rz_sim_record(sim);
    record->file[notice->arg[0]][notice->arg[2] % RZ_JOB_FILES] = (struct rz_job_piece){
        (uint32_t)(notice->arg[1] >> 32), (uint32_t)notice->arg[1], notice->arg[2]};
    make_call(sim, member, RZ_JOB_WRITTEN, notice);
}

static void read_file(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct rz_job_record *record = rz_sim_record(sim);
    const struct rz_job_piece *file = &record->file[notice->arg[0]][notice->arg[2] % RZ_JOB_FILES];
    struct rz_action answer = *notice;
    answer.arg[1] = (uint64_t)file->written << 32 | file->position;
    if (file->written != notice->arg[1] || file->generation != notice->arg[2]) {
        record->no_file = (uint8_t)(notice->arg[0] + 1);
    } else {
        make_call(sim, member, RZ_JOB_READ, &answer);
    }
}

static const struct rz_job_node *node_of(const struct rz_sim *sim, rz_id member)
{
    return rz_sim_state(sim, member);
}

static void note_reached(struct rz_sim *sim)
{
    struct rz_job_record *record = rz_sim_record(sim);
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_job_node *node = node_of(sim, member);
        for (uint32_t rank = 0; node && rank < node->n_ranks; rank++) {
            const struct rz_job_process *process = &node->process[rank];
            if (process->incarnation > record->incarnation[rank]) {
                record->incarnation[rank] = process->incarnation;
                record->reached[rank] = 0;
            }
            if (process->incarnation == record->incarnation[rank] &&
                process->reached > record->reached[rank]) {
                record->reached[rank] = process->reached;
            }
        }
    }
}

/* A barrier opens only when each rank's process has reached it, including spawned processes; if the
 * job is not repaired, failed processes do not count. Checked when the member reports it: later
 * decisions of the same event are not made yet. */
static void look_at_barrier(struct rz_sim *sim, rz_id member)
{
    struct rz_job_record *record = rz_sim_record(sim);
    const struct rz_recover *recover = rz_job_recover(node_of(sim, member));
    uint32_t now = 2 * rz_recover_epoch(recover) + (uint32_t)rz_recover_phase(recover);
    note_reached(sim);
    for (uint32_t rank = 0; rank < ranks_of(sim); rank++) {
        if ((record->incarnation[rank] < rz_recover_incarnation_of(recover, rank) ||
             record->reached[rank] < now) &&
            (rz_recover_repairing(recover) || !rz_recover_process_failed(recover, rank))) {
            record->early = (uint8_t)(member + 1);
            record->early_rank = (uint8_t)rank;
        }
    }
}

/* A generation is given up only if a daemon has found that it is damaged, in an epoch since one has
 * run. */
static void look_at_fall_back(struct rz_sim *sim, rz_id member, uint64_t epoch)
{
    struct rz_job_record *record = rz_sim_record(sim);
    const struct rz_recover *recover = rz_job_recover(node_of(sim, member));
    bool found = false;
    for (uint64_t e = record->ran + 1; e < epoch; e++) {
        found |= record->found >> e % 64 & 1;
    }
    if (rz_recover_fell_back(recover) && rz_recover_epoch(recover) == epoch && !found) {
        record->fell_back = (uint8_t)(member + 1);
    }
}

/* Stops because of missing slots only if they are missing. */
static void look_at_stop(struct rz_sim *sim, rz_id member)
{
    struct rz_job_record *record = rz_sim_record(sim);
    uint32_t left = 0;
    for (rz_id d = 0; d < rz_sim_members(sim); d++) {
        if (!rz_recover_daemon_agreed_failed(rz_job_recover(node_of(sim, member)), d)) {
            left += slots_of_daemon(sim);
        }
    }
    if (record->stopped[member] == RZ_ERR_NO_SLOTS + 1 && left >= ranks_of(sim)) {
        record->stopped_early = (uint8_t)(member + 1);
    }
    uint32_t epoch = rz_recover_epoch(rz_job_recover(node_of(sim, member)));
    if (record->stopped[member] == RZ_ERR_CHECKPOINT_LOST + 1 &&
        !(record->found >> epoch % 64 & 1)) {
        record->fell_back = (uint8_t)(member + 1);
    }
}

/* The first repair waits for all living processes: they have called MPIX_Reinit, or are ready to
 * leave. */
static void look_at_entered(struct rz_sim *sim)
{
    struct rz_job_record *record = rz_sim_record(sim);
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_job_node *node = node_of(sim, member);
        for (uint32_t rank = 0; node && rank < node->n_ranks; rank++) {
            const struct rz_job_process *process = &node->process[rank];
            bool on_the_way = process->state != RZ_JOB_ABSENT && process->state < RZ_JOB_LEAVING;
            bool spawned_process = process->incarnation > 1; /* it was not waited for */
            if (process->epoch == 1 && on_the_way && !spawned_process && !process->reinit) {
                record->carried_off = (uint8_t)(rank + 1);
            }
        }
    }
}

void rz_job_scenario_notified(struct rz_sim *sim, rz_id member, const struct rz_action *notice)
{
    struct rz_job_record *record = rz_sim_record(sim);
    switch (notice->what) {
    case RZ_JOB_WANTS_STEP:
        make_call(sim, member, RZ_JOB_STEP, notice);
        break;
    case RZ_JOB_WANTS_REACHED:
        make_call(sim, member, RZ_JOB_REACHED, notice);
        break;
    case RZ_JOB_WANTS_KILL:
        make_call(sim, member, RZ_JOB_KILL, notice);
        break;
    case RZ_JOB_NEWS:
        record->killed = 1;
        at_all_others(sim, member, RZ_JOB_HEARD, notice);
        break;
    case RZ_JOB_WANTS_ASK:
        make_call(sim, member, RZ_JOB_ASK, notice);
        break;
    case RZ_JOB_WANTS_SPAWN:
        make_call(sim, member, RZ_JOB_SPAWN, notice);
        break;
    case RZ_JOB_SPAWN_NEWS:
        at_all_others(sim, member, RZ_JOB_REQUESTED, notice);
        break;
    case RZ_JOB_WANTS_SPOIL:
        make_call(sim, member, RZ_JOB_SPOIL, notice);
        break;
    case RZ_JOB_DAMAGE_NEWS:
        record->found |= UINT64_C(1) << notice->arg[1] % 64;
        at_all_others(sim, member, RZ_JOB_DAMAGED, notice);
        break;
    case RZ_JOB_WANTS_WRITE:
        write_file(sim, member, notice);
        break;
    case RZ_JOB_WANTS_READ:
        read_file(sim, member, notice);
        break;
    case RZ_JOB_RECOVER + RZ_RECOVER_SPAWNS:
        mix_spawns(sim, member, notice);
        break;
    case RZ_JOB_RECOVER + RZ_RECOVER_EPOCH:
        look_at_entered(sim);
        look_at_fall_back(sim, member, notice->arg[0]);
        break;
    case RZ_JOB_RECOVER + RZ_RECOVER_PHASE:
        look_at_barrier(sim, member);
        if (record->ran < notice->arg[0]) {
            record->ran = notice->arg[0];
        }
        break;
    case RZ_JOB_RECOVER + RZ_RECOVER_STOP:
        record->stopped[member] = (uint8_t)(notice->arg[0] + 1); /* it still serves the others */
        look_at_stop(sim, member);
        break;
    default:
        break;
    }
}

uint64_t rz_job_scenario_failure_arg(struct rz_sim *sim, rz_id observer, rz_id failed)
{
    switch ((enum rz_job_evidence)field(sim, 20, 2)) {
    case RZ_JOB_PROOF:
        return 1;
    case RZ_JOB_SILENT:
        return 0;
    case RZ_JOB_MIXED:
        return (observer + failed) % 3 == 0;
    }
    return 0;
}

/* ---- safety ---- */

static bool lives(const struct rz_job_process *process)
{
    return process->state != RZ_JOB_ABSENT && process->state != RZ_JOB_KILLED;
}

/* All members get the same spawns in the same order; no process begins at two daemons, and no slot
 * has two living processes. */
static bool spawns_single(struct rz_sim *sim)
{
    const struct rz_job_record *record = rz_sim_record(sim);
    for (rz_id a = 0; a < rz_sim_members(sim); a++) {
        for (rz_id b = 0; b < a; b++) {
            const struct rz_job_node *x = node_of(sim, a), *y = node_of(sim, b);
            if (!x || !y || x->stopped || y->stopped) {
                continue;
            }
            if (record->told[a] == record->told[b] && record->spawns[a] != record->spawns[b]) {
                return rz_sim_say(sim, "%u and %u were told of different spawns", b, a);
            }
            for (uint32_t slot = 0; slot < slots_of(sim); slot++) {
                const struct rz_job_process *p = &x->process[slot], *q = &y->process[slot];
                if (p->incarnation == q->incarnation && p->incarnation > 0) {
                    return rz_sim_say(sim, "process %u.%u was spawned at %u and at %u", slot,
                                      p->incarnation, b, a);
                }
                if (lives(p) && lives(q)) {
                    return rz_sim_say(sim, "slot %u has two processes, at %u and at %u", slot, b,
                                      a);
                }
            }
        }
    }
    return true;
}

/* All processes of an epoch rolled back to the same generation. */
static bool same_restored(struct rz_sim *sim)
{
    uint32_t epoch = 0, restored = 0;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_job_node *node = node_of(sim, member);
        for (uint32_t rank = 0; node && rank < node->n_ranks; rank++) {
            const struct rz_job_process *process = &node->process[rank];
            if (process->state < RZ_JOB_RUNNING || process->state == RZ_JOB_KILLED ||
                process->epoch < epoch) {
                continue;
            }
            if (process->epoch == epoch && process->restored != restored) {
                return rz_sim_say(sim, "S7-5: rank %u went back to %u, another to %u, in epoch %u",
                                  rank, process->restored, restored, epoch);
            }
            epoch = process->epoch;
            restored = process->restored;
        }
    }
    return true;
}

/* The living member whose epoch is the newest, preferably with an open barrier, and the newest
 * generation. */
static rz_id foremost(struct rz_sim *sim)
{
    rz_id best = RZ_ID_NONE;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        if (!node_of(sim, member)) {
            continue;
        }
        const struct rz_commit *a = rz_job_commit(node_of(sim, member));
        const struct rz_commit *b = best == RZ_ID_NONE ? NULL : rz_job_commit(node_of(sim, best));
        if (!b || a->epoch > b->epoch || (a->epoch == b->epoch && a->opened > b->opened) ||
            (a->epoch == b->epoch && a->opened == b->opened && a->newest > b->newest)) {
            best = member;
        }
    }
    return best;
}

static bool holds(struct rz_sim *sim, rz_id holder, uint32_t rank, uint32_t written,
                  uint64_t generation)
{
    if (holder == RZ_ID_NONE || !node_of(sim, holder) ||
        rz_job_piece_find(node_of(sim, holder), rank, written, generation)) {
        return true;
    }
    return rz_sim_say(sim,
                      "%u does not hold rank %u of generation %llu (written in epoch %u) any more",
                      holder, rank, (unsigned long long)generation, written);
}

/* The parities of the living members of the owner's group include its piece. */
static bool parities_hold(struct rz_sim *sim, const struct rz_commit *c, uint32_t rank,
                          uint32_t written)
{
    struct rz_commit_group group;
    rz_id owner = rz_commit_owner(c, &c->home)[rank];
    if (c->scheme != RZ_COMMIT_GROUPS || !rz_commit_group(c, RZ_COMMIT_HOME, owner, &group)) {
        return true;
    }
    for (uint32_t i = 0; i < group.n; i++) {
        rz_id member = group.members[i];
        if (member == owner || !node_of(sim, member) ||
            rz_job_has_share(node_of(sim, member), rank, c->home.since, written, c->newest)) {
            continue;
        }
        return rz_sim_say(
            sim, "the parities of %u do not hold rank %u of generation %llu (layout of epoch %u)",
            member, rank, (unsigned long long)c->newest, c->home.since);
    }
    return true;
}

/* Every living daemon of the protected placement holds the newest committed generation, in every
 * phase of a recovery. */
static bool copies_exist(struct rz_sim *sim)
{
    rz_id front = foremost(sim);
    const struct rz_commit *c = front == RZ_ID_NONE ? NULL : rz_job_commit(node_of(sim, front));
    if (!c || rz_commit_generation(c) == 0 || c->fell_back ||
        rz_recover_phase(rz_job_recover(node_of(sim, front))) == RZ_PHASE_LEFT) {
        return true;
    }
    uint32_t written = c->newest > c->base ? c->epoch : c->written_in;
    for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
        rz_id owner = rz_commit_owner(c, &c->home)[rank];
        rz_id buddy =
            c->scheme == RZ_COMMIT_BUDDY ? rz_commit_next_live(c, &c->home, owner) : RZ_ID_NONE;
        if (!holds(sim, owner, rank, written, c->newest) ||
            !holds(sim, buddy, rank, written, c->newest) || !parities_hold(sim, c, rank, written)) {
            return false;
        }
    }
    return true;
}

/* Where all begin at the start of the program no daemon restores a generation. */
static bool nothing_given_up_restored(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_job_node *node = node_of(sim, member);
        if (node && rz_recover_from_start(rz_job_recover(node)) &&
            rz_commit_epoch(rz_job_commit(node)) == rz_recover_epoch(rz_job_recover(node)) &&
            rz_commit_generation(rz_job_commit(node)) != 0) {
            return rz_sim_say(sim, "%u restores a generation that was given up", member);
        }
    }
    return true;
}

typedef bool (*checker_t)(const struct rz_check_group *group);

/* Shows the checker of a component the states of its objects inside the nodes. */
static bool check_objects(struct rz_sim *sim, checker_t check, bool recover)
{
    const void *state[RZ_JOB_DAEMONS_MAX];
    struct rz_check_group group = *rz_sim_group(sim);
    for (rz_id member = 0; member < group.n_members; member++) {
        const struct rz_job_node *node = node_of(sim, member);
        state[member] = !node     ? NULL
                        : recover ? (const void *)rz_job_recover(node)
                                  : rz_job_commit(node);
    }
    group.state = state;
    return check(&group);
}

bool rz_job_scenario_safety(struct rz_sim *sim)
{
    const struct rz_job_record *record = rz_sim_record(sim);
    note_reached(sim);
    if (record->early) {
        return rz_sim_say(sim, "at %u a barrier has opened without rank %u", record->early - 1,
                          record->early_rank);
    }
    if (record->carried_off) {
        return rz_sim_say(sim, "rank %u lives, had not called MPIX_Reinit, and an epoch began",
                          record->carried_off - 1);
    }
    if (record->stopped_early) {
        return rz_sim_say(sim, "%u stops for want of slots, and there are enough",
                          record->stopped_early - 1);
    }
    if (record->fell_back) {
        return rz_sim_say(sim, "%u gives up a generation that no member has found damaged",
                          record->fell_back - 1);
    }
    if (record->no_file) {
        return rz_sim_say(sim, "the file of rank %u is not there", record->no_file - 1);
    }
    return spawns_single(sim) && check_objects(sim, rz_recover_check_uniform, true) &&
           check_objects(sim, rz_recover_check_spawns, true) &&
           check_objects(sim, rz_recover_check_open, true) &&
           check_objects(sim, rz_recover_check_world, true) &&
           check_objects(sim, rz_commit_check_uniform, false) &&
           check_objects(sim, rz_commit_check_holders, false) && same_restored(sim) &&
           copies_exist(sim) && nothing_given_up_restored(sim);
}

/* ---- liveness ---- */

/* All requests made here are settled. */
static bool answered(struct rz_sim *sim, rz_id member)
{
    const struct rz_job_node *node = node_of(sim, member);
    const struct rz_recover *recover = rz_job_recover(node);
    for (uint32_t slot = 0; slot < node->n_slots; slot++) {
        if (node->asked[slot] > 0 &&
            rz_recover_spawn(recover, slot, node->asked[slot]) == RZ_SPAWN_OPEN) {
            return rz_sim_say(sim, "liveness: %u asked for process %u.%u, and nothing is decided",
                              member, slot, node->asked[slot]);
        }
    }
    if (rz_recover_cohorts_decided(recover, member) != node->serial ||
        node->answered != node->serial) {
        return rz_sim_say(sim, "liveness: of %u's %u cohorts %u are decided", member, node->serial,
                          rz_recover_cohorts_decided(recover, member));
    }
    return true;
}

static bool has_left(struct rz_sim *sim, rz_id member)
{
    const struct rz_job_node *node = node_of(sim, member);
    const struct rz_recover *recover = rz_job_recover(node);
    const struct rz_job_record *record = rz_sim_record(sim);
    if (rz_recover_phase(recover) != RZ_PHASE_LEFT) {
        return rz_sim_say(sim, "liveness: %u rests in epoch %u, phase %u", member,
                          rz_recover_epoch(recover), rz_recover_phase(recover));
    }
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        const struct rz_job_process *process = &node->process[rank];
        if (rz_recover_daemon_of(recover, rank) != member || process->state == RZ_JOB_KILLED) {
            continue;
        }
        if (process->state != RZ_JOB_HAS_LEFT || process->position != node->positions) {
            return rz_sim_say(sim, "liveness: rank %u rests in state %u at position %u", rank,
                              process->state, process->position);
        }
    }
    bool quiet = !record->killed && rz_recover_epoch(recover) == 1;
    for (rz_id d = 0; d < rz_sim_members(sim); d++) {
        quiet = quiet && rz_sim_alive(sim, d);
    }
    if (quiet && rz_commit_generation(rz_job_commit(node)) != node->positions) {
        return rz_sim_say(sim, "liveness: %u knows of %llu generations only", member,
                          (unsigned long long)rz_commit_generation(rz_job_commit(node)));
    }
    return true;
}

static bool may_stop(const struct rz_sim *sim, rz_status_t why)
{
    if (why == RZ_ERR_NO_SLOTS) {
        return tight(sim);
    }
    if (why == RZ_ERR_CHECKPOINT_LOST) {
        return field(sim, 38, 4) > 0 && !field(sim, 42, 1);
    }
    return field(sim, 20, 2) != RZ_JOB_PROOF || field(sim, 24, 4) > 0;
}

/* Its decision was lost with it; the others decide again, and the damage may not matter any more:
 * the damaged piece is lost with it, or is elsewhere. */
static bool lost_its_stop(struct rz_sim *sim, rz_id member)
{
    const struct rz_job_record *record = rz_sim_record(sim);
    return record->stopped[member] == RZ_ERR_CHECKPOINT_LOST + 1 && !node_of(sim, member);
}

bool rz_job_scenario_liveness(struct rz_sim *sim)
{
    const struct rz_job_record *record = rz_sim_record(sim);
    rz_id stopped = RZ_ID_NONE;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        if (record->stopped[member] && !lost_its_stop(sim, member)) {
            stopped = member;
        }
    }
    if (!check_objects(sim, rz_recover_check_settled, true)) {
        return false;
    }
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        if (!node_of(sim, member) || record->stopped[member]) {
            continue;
        }
        if (stopped != RZ_ID_NONE) {
            return rz_sim_say(sim, "liveness: %u was told to stop (%s), %u goes on", stopped,
                              rz_status_text((rz_status_t)(record->stopped[stopped] - 1)), member);
        }
        if (!has_left(sim, member) || !answered(sim, member)) {
            return false;
        }
    }
    if (stopped != RZ_ID_NONE && !may_stop(sim, (rz_status_t)(record->stopped[stopped] - 1))) {
        return rz_sim_say(sim, "liveness: %u was told to stop: %s", stopped,
                          rz_status_text((rz_status_t)(record->stopped[stopped] - 1)));
    }
    return true;
}

/* ---- names for traces ---- */

const char *rz_job_scenario_message_name(uint8_t type)
{
    static const char *const names[] = {"0 (UP or FETCH)",
                                        "1 (DOWN or PIECE)",
                                        "2 (REQUEST or COPY)",
                                        "ACK",
                                        "ASK_BLOCK",
                                        "BLOCK",
                                        "GONE"};
    return type < sizeof(names) / sizeof(*names) ? names[type] : "?";
}

const char *rz_job_scenario_call_name(uint32_t call)
{
    static const char *const names[] = {"BEGIN",   "STEP", "KILL",  "HEARD",
                                        "REACHED", "ASK",  "SPAWN", "REQUESTED",
                                        "WRITTEN", "READ", "SPOIL", "DAMAGED"};
    return call < sizeof(names) / sizeof(*names) ? names[call] : "?";
}

const char *rz_job_scenario_notice_name(uint32_t what)
{
    static const char *const recover[] = {"EPOCH", "PHASE",     "FAILURES",
                                          "STOP",  "REQUESTED", "SPAWNS"};
    static const char *const commit[] = {"COMMITTED", "RESTORE", "PROTECTED"};
    static const char *const host[] = {"WANTS_STEP", "WANTS_REACHED", "WANTS_KILL", "NEWS",
                                       "WANTS_ASK",  "WANTS_SPAWN",   "SPAWN_NEWS", "WANTS_WRITE",
                                       "WANTS_READ", "WANTS_SPOIL",   "DAMAGE_NEWS"};
    if (what >= RZ_JOB_COMMIT) {
        return commit[what - RZ_JOB_COMMIT];
    }
    return what >= RZ_JOB_RECOVER ? recover[what - RZ_JOB_RECOVER] : host[what];
}
