/* SPDX-License-Identifier: BSD-3-Clause */
/* The treatment of notices by the daemon: start and rollback of processes, spawns, barriers. Its
 * store: job_pieces.c. */
#include "sim/job_node.h"

#include "base/assert.h"
#include "base/status.h"

#include <string.h>

#define FOR_OWN_RANKS(rank)                                                                        \
    for (uint32_t rank = 0; rank < node->n_ranks; rank++)                                          \
        if (rz_recover_daemon_of(rz_job_recover(node), rank) == node->self)

static void want_step(struct rz_job_node *node, uint32_t slot)
{
    const struct rz_job_process *process = &node->process[slot];
    rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_STEP, slot, process->incarnation,
                 process->epoch);
}

/* ---- processes ---- */

/* Starts the processes of the epoch, or rolls them back. */
static void start_processes(struct rz_job_node *node)
{
    const struct rz_recover *recover = rz_job_recover(node);
    FOR_OWN_RANKS(rank)
    {
        struct rz_job_process *process = &node->process[rank];
        uint32_t incarnation = rz_recover_incarnation_of(recover, rank);
        bool survivor = process->incarnation == incarnation;
        if (survivor && process->state == RZ_JOB_KILLED) {
            continue; /* its failure is known here and not agreed yet */
        }
        /* S7-3: a living process is not replaced, unless all are. */
        rz_assert(survivor || node->all_begin || process->state == RZ_JOB_KILLED ||
                  process->state == RZ_JOB_ABSENT);
        *process = (struct rz_job_process){.state = RZ_JOB_STARTING,
                                           .incarnation = incarnation,
                                           .epoch = rz_recover_epoch(recover),
                                           .reinit = survivor && process->reinit,
                                           .reached = survivor ? process->reached : 0};
        want_step(node, rank);
    }
}

void rz_job_start(struct rz_job_node *node)
{
    rz_job_queue(node, RZ_JOB_CALL_COMMIT, RZ_COMMIT_EPOCH, 1, 0, 0);
    start_processes(node);
}

static void reach(struct rz_job_process *process, enum rz_recover_phase phase)
{
    process->state = phase == RZ_PHASE_ENTER ? RZ_JOB_AT_ENTER : RZ_JOB_LEAVING;
    process->reached = 2 * process->epoch + (phase == RZ_PHASE_ENTER ? 1 : 2);
}

/* ended: in order, a spawned process that has done its work; no process requests it again. */
static void kill_process(struct rz_job_node *node, uint32_t slot, bool ended)
{
    struct rz_job_process *process = &node->process[slot];
    if (rz_recover_daemon_of(rz_job_recover(node), slot) != node->self ||
        process->state == RZ_JOB_KILLED || process->state == RZ_JOB_ABSENT) {
        return;
    }
    process->state = RZ_JOB_KILLED;
    if (ended) {
        node->ended[slot] = process->incarnation;
    }
    rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_FAILED, slot, process->incarnation, 0);
    rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_NEWS, slot, process->incarnation, ended);
}

/* Some spawned processes stay until they are killed. */
static bool stays(uint32_t slot, uint32_t incarnation)
{
    return (slot + incarnation) % 3 == 0;
}

static void step_process(struct rz_job_node *node, uint32_t slot)
{
    struct rz_job_process *process = &node->process[slot];
    bool spawned_process = rz_recover_phase(rz_job_recover(node)) != RZ_PHASE_ENTER;
    if (process->state == RZ_JOB_STARTING && (slot >= node->n_ranks || spawned_process)) {
        process->state = RZ_JOB_RUNNING;
        want_step(node, slot);
    } else if (process->state == RZ_JOB_STARTING) {
        /* Where all processes begin again the library calls it before MPI_Init waits. */
        process->reinit |= node->repairing && node->all_begin;
        reach(process, RZ_PHASE_ENTER);
    } else if (process->state == RZ_JOB_RUNNING && slot >= node->n_ranks) {
        if (!stays(slot, process->incarnation)) {
            kill_process(node, slot, true);
        }
    } else if (process->state == RZ_JOB_RUNNING) {
        if (node->repairing && !process->reinit) {
            process->reinit = true;
            want_step(node, slot);
        } else if (process->position < node->positions) {
            process->state = RZ_JOB_STORING; /* rz_job_review stores as soon as a slot of the store
                                                may be overwritten */
        } else {
            reach(process, RZ_PHASE_RUN);
        }
    }
}

static void open_run(struct rz_job_node *node)
{
    const struct rz_commit *commit = rz_job_commit(node);
    uint64_t next = rz_commit_next(commit);
    FOR_OWN_RANKS(rank)
    {
        struct rz_job_process *process = &node->process[rank];
        if (process->state != RZ_JOB_AT_ENTER) {
            continue;
        }
        const struct rz_job_piece *piece =
            rz_job_piece_find(node, rank, rz_commit_written_in(commit), next - 1);
        process->state = RZ_JOB_RUNNING;
        process->generation = next - 1;
        process->position = process->restored = piece ? piece->position : 0;
        want_step(node, rank);
    }
    rz_job_drop_foreign(node);
}

static void leave(struct rz_job_node *node)
{
    FOR_OWN_RANKS(rank)
    if (node->process[rank].state == RZ_JOB_LEAVING) {
        node->process[rank].state = RZ_JOB_HAS_LEFT;
    }
}

/* ---- spawns ---- */

/* A spawn or a cohort is requested here: all daemons must get the request. */
static void want(struct rz_job_node *node, uint64_t item)
{
    rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_WANT, item, 0, 0);
    rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_SPAWN_NEWS, item, 0, 0);
}

static void ask(struct rz_job_node *node, uint32_t slot, uint32_t incarnation)
{
    const struct rz_recover *recover = rz_job_recover(node);
    if (rz_recover_incarnation_of(recover, slot) + 1 != incarnation) {
        return; /* spawned in the meantime */
    }
    node->asked[slot] = incarnation;
    want(node, rz_recover_pack_spawn(slot, incarnation));
}

/* arg = count, fuse, eager, as RZ_JOB_SPAWN. */
static void spawn(struct rz_job_node *node, const uint64_t *arg)
{
    if (arg[1] > 0) {
        rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_SPAWN, arg[0], arg[1] - 1, arg[2]);
    } else if (rz_recover_phase(rz_job_recover(node)) == RZ_PHASE_ENTER && !arg[2]) {
        rz_assert(node->n_held < RZ_JOB_HELD_MAX);
        node->held[node->n_held++] = (uint32_t)arg[0];
    } else {
        want(node, rz_recover_pack_cohort(node->self, ++node->serial, (uint32_t)arg[0]));
    }
}

/* Continues what was held in phase ENTER. */
static void review_held(struct rz_job_node *node)
{
    if (rz_recover_phase(rz_job_recover(node)) == RZ_PHASE_ENTER) {
        return;
    }
    for (uint32_t i = 0; i < node->n_held; i++) {
        rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_SPAWN, node->held[i], 0, 1);
    }
    node->n_held = 0;
}

static void start_spawned(struct rz_job_node *node, uint64_t item)
{
    uint32_t slot, incarnation;
    if (!rz_recover_unpack_spawn(item, &slot, &incarnation) ||
        rz_recover_daemon_of(rz_job_recover(node), slot) != node->self) {
        return;
    }
    struct rz_job_process *process = &node->process[slot];
    /* A living process is not replaced. */
    rz_assert(process->state == RZ_JOB_KILLED || process->state == RZ_JOB_ABSENT);
    rz_assert(process->incarnation < incarnation);
    *process = (struct rz_job_process){.state = RZ_JOB_STARTING,
                                       .incarnation = incarnation,
                                       .epoch = rz_recover_epoch(rz_job_recover(node))};
    want_step(node, slot);
}

/* All of a cohort are spawned, or none. */
static void look_at_cohort(const uint64_t *items, uint32_t n_items, uint32_t count)
{
    uint32_t n = 0, slot, incarnation;
    while (n < n_items && rz_recover_unpack_spawn(items[n], &slot, &incarnation)) {
        n++;
    }
    rz_assert(n == 0 || n == count);
}

static void take_spawns(struct rz_job_node *node, const struct rz_action *notice)
{
    rz_id asker;
    uint32_t serial, count;
    node->round = (uint32_t)notice->arg[0];
    for (uint32_t i = 0; i < notice->n_items; i++) {
        if (!rz_recover_unpack_cohort(notice->items[i], &asker, &serial, &count)) {
            continue;
        }
        look_at_cohort(notice->items + i + 1, notice->n_items - i - 1, count);
        if (asker == node->self) {
            rz_assert(serial == node->answered + 1); /* one after the other, each once */
            node->answered = serial;
        }
    }
    for (uint32_t i = 0; i < notice->n_items && notice->arg[1] == RZ_OK; i++) {
        start_spawned(node, notice->items[i]);
    }
}

/* A local process will request replacements of the failed processes, once for each. */
static void review_asks(struct rz_job_node *node)
{
    const struct rz_recover *recover = rz_job_recover(node);
    if (node->self >= node->askers || rz_recover_phase(recover) == RZ_PHASE_ENTER) {
        return;
    }
    for (uint32_t slot = 0; slot < node->n_slots; slot++) {
        uint32_t incarnation = rz_recover_incarnation_of(recover, slot);
        if (incarnation == 0 || node->asking[slot] > incarnation ||
            node->ended[slot] == incarnation || !rz_recover_process_failed(recover, slot)) {
            continue;
        }
        node->asking[slot] = incarnation + 1;
        rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_ASK, slot, incarnation + 1, 0);
    }
}

/* ---- events and notices ---- */

void rz_job_on_call(struct rz_job_node *node, const struct rz_event *event)
{
    uint32_t rank = (uint32_t)event->arg[0];
    if (node->stopped) {
        return;
    }
    switch ((enum rz_job_call)event->call) {
    case RZ_JOB_BEGIN:
        rz_job_start(node);
        break;
    case RZ_JOB_STEP:
        if (node->process[rank].incarnation == event->arg[1] &&
            node->process[rank].epoch == event->arg[2]) {
            step_process(node, rank);
        }
        break;
    case RZ_JOB_KILL:
        if (event->arg[1] > 0) {
            rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_KILL, rank, event->arg[1] - 1, 0);
        } else {
            kill_process(node, rank, false);
        }
        break;
    case RZ_JOB_HEARD:
        if (event->arg[2] && node->ended[rank] < event->arg[1]) {
            node->ended[rank] = (uint32_t)event->arg[1];
        }
        rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_FAILED, rank, event->arg[1], 0);
        break;
    case RZ_JOB_REACHED:
        rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_REACHED, event->arg[0], event->arg[1],
                     event->arg[2]);
        break;
    case RZ_JOB_ASK:
        ask(node, rank, (uint32_t)event->arg[1]);
        break;
    case RZ_JOB_SPAWN:
        spawn(node, event->arg);
        break;
    case RZ_JOB_REQUESTED:
        rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_WANT, event->arg[0], 0, 0);
        break;
    case RZ_JOB_WRITTEN:
    case RZ_JOB_READ:
        rz_job_on_file(node, (enum rz_job_call)event->call, event->arg);
        break;
    case RZ_JOB_SPOIL:
        if (event->arg[0] > 0) {
            rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_SPOIL, event->arg[0] - 1, 0, 0);
        } else {
            rz_job_spoil(node);
        }
        break;
    case RZ_JOB_DAMAGED:
        rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_DAMAGED, event->arg[0], 0, 0);
        break;
    case RZ_JOB_FAILURE:
        rz_assert(!"internal");
    }
}

void rz_job_on_recover(struct rz_job_node *node, const struct rz_action *notice)
{
    switch ((enum rz_recover_notice)notice->what) {
    case RZ_RECOVER_EPOCH:
        rz_assert(notice->arg[0] == rz_commit_epoch(rz_job_commit(node)) + 1);
        rz_job_queue(node, RZ_JOB_CALL_COMMIT, RZ_COMMIT_EPOCH, notice->arg[0], notice->arg[1],
                     notice->arg[2]);
        start_processes(node);
        break;
    case RZ_RECOVER_PHASE:
        rz_assert(notice->arg[0] == rz_commit_epoch(rz_job_commit(node)));
        if (notice->arg[1] == RZ_PHASE_LEFT) {
            leave(node);
        } else {
            open_run(node);
            rz_job_queue(node, RZ_JOB_CALL_COMMIT, RZ_COMMIT_OPENED, notice->arg[0], 0, 0);
        }
        break;
    case RZ_RECOVER_STOP:
        node->stopped = true;
        break;
    case RZ_RECOVER_FAILURES:
    case RZ_RECOVER_REQUESTED:
    case RZ_RECOVER_ASKING: /* its detector is perfect */
    case RZ_RECOVER_REPORT:
        break;
    case RZ_RECOVER_SPAWNS:
        take_spawns(node, notice);
        break;
    }
}

void rz_job_on_commit(struct rz_job_node *node, const struct rz_action *notice)
{
    switch ((enum rz_commit_notice)notice->what) {
    case RZ_COMMIT_RESTORE:
        rz_job_restore(node, notice->arg[1]);
        break;
    case RZ_COMMIT_PROTECTED:
        node->protected_epoch = (uint32_t)notice->arg[0];
        break;
    case RZ_COMMIT_COMMITTED:
        rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_COMMITTED, notice->arg[1],
                     notice->arg[0], 0);
        break;
    }
}

/* Whether all processes that count have reached the end of the phase: in a job that repairs itself
 * all of them. */
static bool all_reached(const struct rz_job_node *node, enum rz_recover_phase phase)
{
    uint32_t epoch = rz_recover_epoch(rz_job_recover(node));
    uint32_t wanted = 2 * epoch + (phase == RZ_PHASE_ENTER ? 1 : 2);
    bool repairing = rz_recover_repairing(rz_job_recover(node));
    FOR_OWN_RANKS(rank)
    {
        const struct rz_job_process *process = &node->process[rank];
        if (process->state == RZ_JOB_KILLED ? repairing : process->reached != wanted) {
            return false;
        }
    }
    return true;
}

static void review_barrier(struct rz_job_node *node)
{
    const struct rz_recover *recover = rz_job_recover(node);
    uint32_t epoch = rz_recover_epoch(recover);
    enum rz_recover_phase phase = rz_recover_phase(recover);
    uint32_t saying = 2 * epoch + (phase == RZ_PHASE_ENTER ? 1 : 2);
    bool safe = node->protected_epoch == epoch || (node->mutations & RZ_JOB_NO_PROTECT);
    bool said = node->said_reached == saying && node->said_round == node->round;
    if (phase == RZ_PHASE_ENTER && node->damaged_epoch == epoch) {
        return;
    }
    if (phase == RZ_PHASE_LEFT || !safe || said || !all_reached(node, phase)) {
        return;
    }
    node->said_reached = saying;
    node->said_round = node->round;
    rz_job_queue(node, RZ_JOB_NOTIFY, RZ_JOB_WANTS_REACHED, epoch, phase, node->round);
}

/* When a local process has called MPIX_Reinit, and each other living one has, too, or is ready to
 * leave. */
static void review_entered(struct rz_job_node *node)
{
    bool entered = false, alive = false;
    FOR_OWN_RANKS(rank)
    {
        const struct rz_job_process *process = &node->process[rank];
        bool waits = process->state < RZ_JOB_LEAVING && !process->reinit;
        if (waits && process->state != RZ_JOB_ABSENT && !(node->mutations & RZ_JOB_ONE_ENTERED)) {
            return;
        }
        alive |= process->state != RZ_JOB_KILLED && process->state != RZ_JOB_ABSENT;
        entered |= process->state != RZ_JOB_KILLED && process->reinit;
    }
    entered |= !alive && node->repairing && node->all_begin; /* here none would be moved */
    if (!entered || node->said_repairing) {
        return;
    }
    node->said_repairing = true;
    rz_job_queue(node, RZ_JOB_CALL_RECOVER, RZ_RECOVER_REPAIRING, 0, 0, 0);
}

void rz_job_review(struct rz_job_node *node)
{
    if (node->stopped || rz_commit_epoch(rz_job_commit(node)) == 0) {
        return;
    }
    for (uint32_t rank = 0; rank < node->n_ranks; rank++) {
        if (node->process[rank].state == RZ_JOB_STORING) {
            rz_job_try_store(node, rank);
        }
        rz_job_try_parked(node, rank);
    }
    review_entered(node);
    review_barrier(node);
    review_asks(node);
    review_held(node);
}
