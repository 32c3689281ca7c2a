#include "sim/job_scenario.h"

#include "base/status.h"
#include "proto/commit/commit_check.h"
#include "proto/commit/commit_state.h"
#include "proto/recover/recover_check.h"

#include <string.h>

#define VIEW 100

/* ---- the node as a room of the engine, under two names */

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

const struct rz_proto_room rz_job_room_of_recover = {"recover", RZ_ROOM_COMMIT, size_of, init,
                                                     step,      deadline,       hash,    grow};
const struct rz_proto_room rz_job_room_of_commit = {"commit", RZ_ROOM_COMMIT, size_of, init,
                                                    step,     deadline,       hash,    grow};

/* ---- configuration and calls */

static uint32_t field(const struct rz_sim *sim, unsigned shift, unsigned bits)
{
    return (uint32_t)(rz_sim_scenario(sim)->parameter >> shift & ((UINT64_C(1) << bits) - 1));
}

static uint32_t ranks_of(const struct rz_sim *sim)
{
    return field(sim, 0, 8);
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

const void *rz_job_scenario_config(struct rz_sim *sim, rz_id member)
{
    static struct rz_job_config config;
    static uint32_t placement[RZ_JOB_RANKS_MAX], slots[RZ_JOB_DAEMONS_MAX];
    uint32_t n = rz_sim_members(sim), n_ranks = ranks_of(sim);
    (void)member;
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        placement[rank] = first_daemon(sim, rank);
    for (rz_id d = 0; d < n; d++)
        slots[d] = 2 + n_ranks / (n - field(sim, 8, 4));
    config = (struct rz_job_config){.recover = {.n_daemons = n,
                                                .n_ranks = n_ranks,
                                                .view = VIEW,
                                                .tie_breaker = RZ_ID_NONE,
                                                .placement = placement,
                                                .slots = slots,
                                                .restarts_max = field(sim, 24, 4),
                                                .mutations = field(sim, 32, 8)},
                                    .commit = {.n_daemons = n,
                                               .n_ranks = n_ranks,
                                               .view = VIEW,
                                               .mutations = field(sim, 40, 8)},
                                    .positions = field(sim, 12, 4),
                                    .repairing = !unrepaired(sim),
                                    .mutations = field(sim, 48, 8)};
    return &config;
}

void rz_job_scenario_start(struct rz_sim *sim)
{
    for (rz_id member = 0; member < rz_sim_members(sim); member++)
        rz_sim_call_now(sim, member, &(struct rz_sim_call){.call = RZ_JOB_BEGIN});
    bool at_once = rz_sim_scenario(sim)->parameter & RZ_JOB_AT_ONCE;
    uint32_t kills = field(sim, 16, 4), rank = 0;
    if (kills > 0 && !at_once)
        kills = (uint32_t)rz_sim_random(sim, kills + 1);
    for (uint32_t i = 0; i < kills; i++) {
        /* The same rank again, half of the time: its next incarnation is to die early, too. */
        if (i == 0 || rz_sim_random(sim, 2) == 0)
            rank = (uint32_t)rz_sim_random(sim, ranks_of(sim));
        uint64_t fuse = at_once ? 0 : rz_sim_random(sim, UINT64_C(1) << rz_sim_random(sim, 7));
        rz_sim_call(
            sim, first_daemon(sim, rank),
            &(struct rz_sim_call){.call = RZ_JOB_KILL, .arg = {rank, fuse}, .unordered = true});
    }
}

static void make_call(struct rz_sim *sim, rz_id member, enum rz_job_call call,
                      const struct rz_action *notice)
{
    rz_sim_call(sim, member,
                &(struct rz_sim_call){.call = call,
                                      .arg = {notice->arg[0], notice->arg[1], notice->arg[2]},
                                      .unordered = true});
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
        for (rz_id other = 0; other < rz_sim_members(sim); other++)
            if (other != member)
                make_call(sim, other, RZ_JOB_HEARD, notice);
        break;
    case RZ_JOB_RECOVER + RZ_RECOVER_STOP:
        record->stopped[member] = (uint8_t)(notice->arg[0] + 1); /* it serves the others still */
        break;
    default:
        break;
    }
}

uint64_t rz_job_scenario_death_arg(struct rz_sim *sim, rz_id observer, rz_id dead)
{
    switch ((enum rz_job_evidence)field(sim, 20, 2)) {
    case RZ_JOB_PROOF:
        return 1;
    case RZ_JOB_SILENT:
        return 0;
    case RZ_JOB_MIXED:
        return (observer + dead) % 3 == 0;
    }
    return 0;
}

/* ---- safety */

static const struct rz_job_node *node_of(const struct rz_sim *sim, rz_id member)
{
    return rz_sim_state(sim, member);
}

static void note_reached(struct rz_sim *sim)
{
    struct rz_job_record *record = rz_sim_record(sim);
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_job_node *node = node_of(sim, member);
        for (uint32_t rank = 0; node && rank < node->n_ranks; rank++)
            if (node->process[rank].reached > record->reached[rank])
                record->reached[rank] = node->process[rank].reached;
    }
}

/* A barrier opens only when each rank's process has reached it; where the job is not repaired the
 * dead do not count. */
static bool barriers_hold(struct rz_sim *sim, rz_id member)
{
    struct rz_job_record *record = rz_sim_record(sim);
    const struct rz_recover *recover = rz_job_recover(node_of(sim, member));
    uint32_t epoch = rz_recover_epoch(recover);
    uint32_t now = 2 * epoch + (uint32_t)rz_recover_phase(recover);
    if (now == record->phase[member])
        return true;
    record->phase[member] = now;
    for (uint32_t rank = 0; rank < ranks_of(sim) && rz_recover_phase(recover) != RZ_PHASE_ENTER;
         rank++)
        if (record->reached[rank] < now &&
            (rz_recover_repairing(recover) || !rz_recover_process_dead(recover, rank)))
            return rz_sim_say(sim, "at %u a barrier of epoch %u has opened without rank %u", member,
                              epoch, rank);
    return true;
}

/* All processes of an epoch went back to the same place. */
static bool same_restored(struct rz_sim *sim)
{
    uint32_t epoch = 0, restored = 0;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        const struct rz_job_node *node = node_of(sim, member);
        for (uint32_t rank = 0; node && rank < node->n_ranks; rank++) {
            const struct rz_job_process *process = &node->process[rank];
            if (process->state < RZ_JOB_RUNNING || process->state == RZ_JOB_KILLED ||
                process->epoch < epoch)
                continue;
            if (process->epoch == epoch && process->restored != restored)
                return rz_sim_say(sim, "S7-5: rank %u went back to %u, another to %u, in epoch %u",
                                  rank, process->restored, restored, epoch);
            epoch = process->epoch;
            restored = process->restored;
        }
    }
    return true;
}

/* The member alive whose epoch is the newest, with an open barrier if there is one, and the newest
 * generation. */
static rz_id foremost(struct rz_sim *sim)
{
    rz_id best = RZ_ID_NONE;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        if (!node_of(sim, member))
            continue;
        const struct rz_commit *a = rz_job_commit(node_of(sim, member));
        const struct rz_commit *b = best == RZ_ID_NONE ? NULL : rz_job_commit(node_of(sim, best));
        if (!b || a->epoch > b->epoch || (a->epoch == b->epoch && a->opened > b->opened) ||
            (a->epoch == b->epoch && a->opened == b->opened && a->newest > b->newest))
            best = member;
    }
    return best;
}

static bool holds(struct rz_sim *sim, rz_id holder, uint32_t rank, uint32_t written,
                  uint64_t generation)
{
    if (holder == RZ_ID_NONE || !node_of(sim, holder) ||
        rz_job_piece_find(node_of(sim, holder), rank, written, generation))
        return true;
    return rz_sim_say(sim,
                      "%u does not hold rank %u of generation %llu (written in epoch %u) any more",
                      holder, rank, (unsigned long long)generation, written);
}

/* Whoever of the protected placement lives holds the newest committed generation, in every phase of
 * a recovery. */
static bool copies_exist(struct rz_sim *sim)
{
    rz_id front = foremost(sim);
    const struct rz_commit *c = front == RZ_ID_NONE ? NULL : rz_job_commit(node_of(sim, front));
    if (!c || rz_commit_generation(c) == 0 ||
        rz_recover_phase(rz_job_recover(node_of(sim, front))) == RZ_PHASE_LEFT)
        return true;
    uint32_t written = c->newest > c->base ? c->epoch : c->written_in;
    for (uint32_t rank = 0; rank < c->n_ranks; rank++)
        if (!holds(sim, rz_commit_home_owner(c)[rank], rank, written, c->newest) ||
            !holds(sim, rz_commit_home_buddy(c)[rank], rank, written, c->newest))
            return false;
    return true;
}

typedef bool (*checker_t)(const struct rz_check_group *group);

/* Shows a checker of a room the states of its objects inside the nodes. */
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
    note_reached(sim);
    for (rz_id member = 0; member < rz_sim_members(sim); member++)
        if (node_of(sim, member) && !barriers_hold(sim, member))
            return false;
    return check_objects(sim, rz_recover_check_uniform, true) &&
           check_objects(sim, rz_recover_check_world, true) &&
           check_objects(sim, rz_commit_check_uniform, false) &&
           check_objects(sim, rz_commit_check_holders, false) && same_restored(sim) &&
           copies_exist(sim);
}

/* ---- liveness */

static bool has_left(struct rz_sim *sim, rz_id member)
{
    const struct rz_job_node *node = node_of(sim, member);
    const struct rz_recover *recover = rz_job_recover(node);
    const struct rz_job_record *record = rz_sim_record(sim);
    if (rz_recover_phase(recover) != RZ_PHASE_LEFT)
        return rz_sim_say(sim, "liveness: %u rests in epoch %u, phase %u", member,
                          rz_recover_epoch(recover), rz_recover_phase(recover));
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        const struct rz_job_process *process = &node->process[rank];
        if (rz_recover_daemon_of(recover, rank) != member || process->state == RZ_JOB_KILLED)
            continue;
        if (process->state != RZ_JOB_HAS_LEFT || process->position != node->positions)
            return rz_sim_say(sim, "liveness: rank %u rests in state %u at position %u", rank,
                              process->state, process->position);
    }
    bool quiet = !record->killed && rz_recover_epoch(recover) == 1;
    for (rz_id d = 0; d < rz_sim_members(sim); d++)
        quiet = quiet && rz_sim_alive(sim, d);
    if (quiet && rz_commit_generation(rz_job_commit(node)) != node->positions)
        return rz_sim_say(sim, "liveness: %u knows of %llu generations only", member,
                          (unsigned long long)rz_commit_generation(rz_job_commit(node)));
    return true;
}

bool rz_job_scenario_liveness(struct rz_sim *sim)
{
    const struct rz_job_record *record = rz_sim_record(sim);
    rz_id stopped = RZ_ID_NONE;
    for (rz_id member = 0; member < rz_sim_members(sim); member++)
        if (record->stopped[member])
            stopped = member;
    if (!check_objects(sim, rz_recover_check_settled, true))
        return false;
    for (rz_id member = 0; member < rz_sim_members(sim); member++) {
        if (!node_of(sim, member) || record->stopped[member])
            continue;
        if (stopped != RZ_ID_NONE)
            return rz_sim_say(sim, "liveness: %u was told to stop (%s), %u goes on", stopped,
                              rz_status_text((rz_status_t)(record->stopped[stopped] - 1)), member);
        if (!has_left(sim, member))
            return false;
    }
    if (stopped != RZ_ID_NONE && field(sim, 20, 2) == RZ_JOB_PROOF && field(sim, 24, 4) == 0)
        return rz_sim_say(sim, "liveness: %u was told to stop: %s", stopped,
                          rz_status_text((rz_status_t)(record->stopped[stopped] - 1)));
    return true;
}

/* ---- names for traces */

const char *rz_job_scenario_message_name(uint8_t type)
{
    static const char *const names[] = {"0 (UP or FETCH)", "1 (DOWN or PIECE)",
                                        "2 (REQUEST or COPY)", "ACK"};
    return type < sizeof names / sizeof *names ? names[type] : "?";
}

const char *rz_job_scenario_call_name(uint32_t call)
{
    static const char *const names[] = {"BEGIN", "STEP", "KILL", "HEARD", "REACHED"};
    return call < sizeof names / sizeof *names ? names[call] : "?";
}

const char *rz_job_scenario_notice_name(uint32_t what)
{
    static const char *const recover[] = {"EPOCH", "PHASE", "DEATHS", "STOP", "WANTED"};
    static const char *const commit[] = {"COMMITTED", "RESTORE", "PROTECTED"};
    static const char *const host[] = {"WANTS_STEP", "WANTS_REACHED", "WANTS_KILL", "NEWS"};
    if (what >= RZ_JOB_COMMIT)
        return commit[what - RZ_JOB_COMMIT];
    return what >= RZ_JOB_RECOVER ? recover[what - RZ_JOB_RECOVER] : host[what];
}
