/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RZ_Comm_repair and RZ_Comm_replace: the failed processes of communicators are replaced by new
 * processes, in their ranks. Each communicator to be repaired has a line, the sequence of its
 * steps:
 *
 *   1. The members agree on the failed members (one agreement, as in shrink).
 *   2. Each asks its daemon for processes in place of the failed ones, and waits for the answer,
 *      which will come in any case.
 *   3. The new group is the old one with the failed processes replaced. Its context id is a
 *      function of the old id, the number of the agreement and the failed processes, so no further
 *      agreement is needed.
 *   4. The lowest survivor sends bootstrap messages to the spawned processes. If it fails, the next
 *      lowest sends them again; a process that has one ignores the second. Where no survivor is
 *      left, spawned processes that have got one send them to the others.
 *   5. All members of the new communicator, including the spawned processes, continue with step 1
 *      on it. When they agree that none has failed, it is finished, at all of them by the same
 *      agreement.
 *
 * An agreement carries a flag: that no spawn was refused. If one was, all members end with the same
 * error. A failed process whose replacement is refused stays in the group. Spawned processes know
 * the whole group, join, and learn of the refusal, too.
 *
 * Several lines: a survivor begins the agreements of all its lines before it waits for any, so that
 * lines which share members cannot wait for one another. It begins the next agreements when all of
 * its lines are ready: its k-th agreement on one line is begun together with its k-th on the
 * others, at all survivors, so that all that is awaited in round k depends only on earlier rounds.
 * A spawned process joins its lines one after the other, and continues with each separately: no
 * process waits for it through another line.
 *
 * What a failure in one line means for the others is carried by the minimum of the agreements. A
 * process proposes its level: 0 when one of its lines had a failure in the last agreement,
 * otherwise one more than the lowest level that its lines have agreed on. A line without failed
 * members is finished at level n - 1. By then all lines that are connected through processes that
 * are alive have been without failures, since no chain of n lines is longer. So a process that
 * failed in several lines is replaced in all of them before any is finished.
 */
#include "mpi/ft/comm_repair.h"

#include "base/linked_list.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "base/trace.h"
#include "mpi/agree/agreement_context.h"
#include "mpi/ft/bootstrap.h"
#include "mpi/engine/waiting.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Distinguishes the ids made here from those of other operations on the communicator. */
#define REPLACE UINT64_C(0x5250)

#define ALL_WELL UINT64_C(1)

/* So many times in one call spawned processes may fail in turn. Otherwise a program whose new
 * processes fail before this call would have processes started for ever. */
enum { SPAWNS_MAX = 64 };

/* ---- Requests for spawns (REPLACE and its answer) ---- */

/* The caller's memory from spawn_ask_begin until spawn_ask_end. */
struct spawn_ask {
    uint64_t first, last; /* the numbers of its questions to the daemon */
    uint64_t unanswered;
    rz_status_t status; /* once answered: RZ_OK, or the first refusal */
    bool *refused;      /* for each failed process */
    struct spawn_ask *next;
};

static struct spawn_ask *spawn_asks; /* list, by next */
static uint64_t last_question;

/* The number of the process that replaces that failed one. */
static uint32_t spawn_after(uint32_t failed)
{
    return rz_process(rz_process_slot(failed), rz_process_incarnation(failed) + 1);
}

static void replaced(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    uint64_t question = message->replaced.question;
    for (struct spawn_ask *request = spawn_asks; request; request = request->next) {
        if (question >= request->first && question <= request->last && request->unanswered > 0) {
            request->unanswered--;
            request->refused[question - request->first] = message->replaced.status != RZ_OK;
            request->status =
                request->status != RZ_OK ? request->status : (rz_status_t)message->replaced.status;
            rz_engine.completions++;
        }
    }
}

static void ask_for_replacement(uint64_t question, uint32_t failed)
{
    uint8_t bytes[RZ_LINK_PAIR_BYTES];
    struct rz_link_process pair = {.slot = rz_process_slot(failed),
                                   .incarnation = rz_process_incarnation(failed) + 1};
    RZ_TRACE(REPLACEMENT_ASK, pair.slot, pair.incarnation, 0);
    rz_link_put_pairs(bytes, &pair, 1);
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACE,
        .replace = {.question = question, .spawns = bytes, .spawns_length = sizeof(bytes)}};
    rz_engine_tell_daemon(&message);
}

/*
 * Requests a replacement of each of these failed processes. The answer comes in any case, whichever
 * processes fail meanwhile, in a round of progress; our board shows the spawned processes before
 * it, which the engine may not have read yet (rz_engine_look_again). Several processes may request
 * the same spawns. MPI_ERR_NO_MEM: nothing was requested.
 */
static int spawn_ask_begin(struct spawn_ask *request, const uint32_t *failed, uint32_t n)
{
    bool *refused = calloc(n + 1, sizeof(*refused));
    if (!refused) {
        return MPI_ERR_NO_MEM;
    }
    *request = (struct spawn_ask){.first = last_question + 1,
                                  .last = last_question + n,
                                  .unanswered = n,
                                  .refused = refused,
                                  .next = spawn_asks};
    last_question = request->last;
    spawn_asks = request;
    rz_link_handle(rz_engine.link, RZ_LINK_REPLACED, replaced, NULL);
    for (uint32_t i = 0; i < n; i++) { /* one question for each, since some may be refused */
        ask_for_replacement(request->first + i, failed[i]);
    }
    return MPI_SUCCESS;
}

static void spawn_ask_end(struct spawn_ask *request)
{
    rz_list_unlink(&spawn_asks, request);
    free(request->refused);
    request->refused = NULL;
}

/* ---- Lines ---- */

enum stage {
    ABSENT,  /* this process is not a member, or not yet */
    READY,   /* ready for the next agreement */
    VOTING,  /* waits for the agreement */
    DECIDED, /* has the decision */
    SPAWNS,  /* waits for the daemon */
    FINISHED,
    REFUSED
};

struct line {
    struct rz_proposal proposal;
    struct repair *repair;
    enum stage stage;
    struct rz_comm *comm; /* the present one, retained */
    bool made;  /* made in this call, here or by the sender of the bootstrap message; not agreed on
                   yet */
    bool voted; /* there was a decision; the next fields are those of the last one */
    uint64_t number, level;
    bool all_well;
    uint32_t *failed, n_failed; /* process numbers */
    uint64_t failed_word;
    unsigned spawns; /* rounds of spawns in this call */
    struct spawn_ask spawn_ask;
    struct rz_bootstrap bootstrap; /* for comm, while `made` */
    bool bootstrapped;             /* no bootstrap message needs to be sent for comm any more */
};

struct repair {
    const char *call;
    uint32_t n;
    struct line *lines;   /* [n] */
    bool spawned_process; /* it has no communicator, and has got no bootstrap message yet */
    bool single;     /* the lines continue separately, since this process joined some by a bootstrap
                        message */
    bool refused;    /* a spawn was refused, here or at another process */
    rz_status_t why; /* the reason at this process */
    struct rz_bootstrap_peers bootstrap_peers;
    int error;
};

/* The other members wait for the messages of this process. */
static _Noreturn void out_of_memory(void)
{
    rz_no_memory("to repair communicators");
}

/* ---- Agreements ---- */

static void keep_failed(struct line *line, const struct rz_proposal *proposal,
                        const struct rz_agreement_context *agreement_context)
{
    free(line->failed);
    line->failed = malloc((proposal->n_failed + 1) * sizeof(*line->failed));
    if (!line->failed) {
        out_of_memory();
    }
    line->n_failed = proposal->n_failed;
    line->failed_word = proposal->n_failed;
    for (uint32_t i = 0; i < proposal->n_failed; i++) {
        line->failed[i] = rz_agreement_context_process(agreement_context, proposal->failed[i]);
        line->failed_word = rz_mix(line->failed_word, proposal->failed[i]);
    }
    rz_failures_acknowledge(line->failed, line->n_failed);
}

static void decided(struct rz_proposal *proposal, struct rz_agreement_context *agreement_context)
{
    struct line *line = (struct line *)(void *)((char *)proposal - offsetof(struct line, proposal));
    keep_failed(line, proposal, agreement_context);
    line->number = proposal->number;
    line->level = proposal->min;
    line->all_well = proposal->and &ALL_WELL;
    line->voted = true;
    line->stage = DECIDED;
    rz_engine.completions++; /* the waiting call must look again */
}

static bool is_open(const struct line *line)
{
    return line->stage != ABSENT && line->stage != FINISHED && line->stage != REFUSED;
}

/* The level that this process proposes: see the head of the file. */
static uint64_t level_of(const struct repair *repair)
{
    uint64_t level = UINT64_MAX - 1;
    for (uint32_t i = 0; i < repair->n; i++) {
        const struct line *line = &repair->lines[i];
        if (is_open(line) && (!line->voted || line->n_failed > 0)) {
            return 0;
        }
        if (is_open(line) && line->level < level) {
            level = line->level;
        }
    }
    return level + 1;
}

static void vote(struct line *line, uint64_t level)
{
    if (line->made) {
        rz_kill_here(RZ_KILL_REPLACE_LAST);
    }
    line->stage = VOTING;
    line->proposal = (struct rz_proposal){.and = line->repair->refused ? 0 : ALL_WELL,
                                          .min = level,
                                          .max = level,
                                          .decided = decided};
    if (rz_agreement_context_propose(line->comm, &line->proposal) != MPI_SUCCESS) {
        out_of_memory();
    }
}

/* Begins the agreements of this round, if all lines are ready. */
static void begin_votes(struct repair *repair)
{
    for (uint32_t i = 0; i < repair->n && !repair->single; i++) {
        if (is_open(&repair->lines[i]) && repair->lines[i].stage != READY) {
            return;
        }
    }
    uint64_t level = level_of(repair);
    for (uint32_t i = 0; i < repair->n; i++) {
        if (repair->lines[i].stage == READY) {
            vote(&repair->lines[i], level);
        }
    }
}

/* ---- The next communicator of a line ---- */

static struct rz_group *group_replaced(struct line *line)
{
    const struct rz_group *old = line->comm->group;
    struct rz_bootstrap *bootstrap = &line->bootstrap;
    rz_bootstrap_free(bootstrap);
    bootstrap->process = malloc((size_t)old->size * sizeof(*bootstrap->process));
    bootstrap->is_new = malloc((size_t)old->size * sizeof(*bootstrap->is_new));
    if (!bootstrap->process || !bootstrap->is_new) {
        out_of_memory();
    }
    bootstrap->size = (uint32_t)old->size;
    for (int i = 0; i < old->size; i++) {
        bootstrap->process[i] = old->process[i];
        bootstrap->is_new[i] = false;
    }
    for (uint32_t i = 0; i < line->n_failed; i++) {
        if (line->spawn_ask.refused[i]) {
            continue;
        }
        int rank = rz_group_find(old, line->failed[i]);
        rz_assert(rank != MPI_UNDEFINED);
        bootstrap->process[rank] = spawn_after(line->failed[i]);
        bootstrap->is_new[rank] = true;
    }
    struct rz_group *group = rz_group_new(old->size, bootstrap->process);
    if (!group) {
        out_of_memory();
    }
    group->session = old->session;
    group->rows = bootstrap->rows = rz_agreement_context_rows(line->comm);
    return group;
}

/* Makes the next communicator: the old one, with its failed members, if there are any, replaced. */
static void make_next(struct line *line)
{
    struct rz_comm *old = line->comm, *next;
    struct rz_group *group = group_replaced(line);
    uint64_t words[3] = {old->context, line->number, rz_mix(REPLACE, line->failed_word)};
    if (rz_comm_make(words, group, NULL, old->errhandler, &next) != MPI_SUCCESS) {
        out_of_memory();
    }
    rz_group_release(group);
    line->bootstrap.context = next->context;
    line->bootstrap.n = line->repair->n;
    line->bootstrap.index = (uint32_t)(line - line->repair->lines);
    line->comm = next;
    line->made = true;
    line->bootstrapped = line->n_failed == 0;
    rz_comm_release(old);
}

static void ask_for_spawns(struct line *line)
{
    rz_kill_here(RZ_KILL_REPLACE_AGREED);
    if (spawn_ask_begin(&line->spawn_ask, line->failed, line->n_failed) != MPI_SUCCESS) {
        out_of_memory();
    }
    line->stage = SPAWNS;
    rz_kill_here(RZ_KILL_REPLACE_ASKED);
}

static void spawns_answered(struct line *line)
{
    struct repair *repair = line->repair;
    rz_engine_look_again(); /* the board shows the spawned processes since the answer; the engine
                               may not have read it */
    if (rz_engine.rollback) {
        spawn_ask_end(&line->spawn_ask);
        return;
    }
    if (line->spawn_ask.status != RZ_OK) {
        repair->refused = true;
        repair->why = line->spawn_ask.status;
    }
    if (++line->spawns > SPAWNS_MAX) {
        repair->refused = true;
        repair->why = RZ_ERR_PROC_FAILED;
    }
    make_next(line);
    spawn_ask_end(&line->spawn_ask);
    line->stage = READY;
}

static void look_at_decision(struct line *line)
{
    if (!line->all_well) {
        line->stage = REFUSED;
        line->repair->refused = true;
    } else if (line->n_failed > 0) {
        ask_for_spawns(line);
    } else if (line->level + 1 < line->repair->n) {
        line->bootstrapped = true; /* all new members have taken part */
        line->stage = READY;
    } else {
        if (!line->made) {
            make_next(line);
        }
        line->stage = FINISHED;
    }
}

/* ---- Bootstrap messages ---- */

/* Whether this process must send the bootstrap messages. */
static bool is_lowest(const struct rz_bootstrap *bootstrap)
{
    for (uint32_t i = 0; i < bootstrap->size; i++) {
        if (!bootstrap->is_new[i] && !rz_process_failed(bootstrap->process[i])) {
            return bootstrap->process[i] == rz_engine.self;
        }
    }
    return true; /* no survivor is left: each spawned process that has got one sends them */
}

static void invite(struct line *line)
{
    if (line->made && !line->bootstrapped && is_open(line) && is_lowest(&line->bootstrap)) {
        line->bootstrapped = true;
        if (rz_bootstrap_send(&line->bootstrap) != MPI_SUCCESS) {
            out_of_memory();
        }
    }
}

/* Whether our board shows all processes of the group, or has shown them. */
static bool all_known(const struct rz_bootstrap *bootstrap)
{
    for (uint32_t i = 0; i < bootstrap->size; i++) {
        if (!rz_process_known(bootstrap->process[i])) {
            return false;
        }
    }
    return true;
}

/* This process joins a line, which takes over the arrays of the bootstrap message. */
static void join(struct repair *repair, struct rz_bootstrap *bootstrap)
{
    struct line *line = &repair->lines[bootstrap->index];
    uint64_t context = bootstrap->context;
    struct rz_group *group = rz_group_new((int)bootstrap->size, bootstrap->process);
    if (!group) {
        out_of_memory();
    }
    group->rows = bootstrap->rows;
    if (rz_comm_derive_alone(rz_comm_predefined(0x101), group, &context, &line->comm) !=
        MPI_SUCCESS) {
        out_of_memory();
    }
    rz_group_release(group);
    line->bootstrap = *bootstrap;
    *bootstrap = (struct rz_bootstrap){.n = 0};
    line->made = true;
    line->stage = READY;
    repair->single = true;
    repair->spawned_process = false;
    rz_bootstrap_peers_joined(&repair->bootstrap_peers);
    rz_kill_here(RZ_KILL_REPLACE_JOINED);
}

/* Takes a bootstrap message. False: it must be taken later. */
static bool take_bootstrap(struct repair *repair, struct rz_bootstrap *bootstrap)
{
    if (rz_bootstrap_known(bootstrap->context)) {
        return true; /* received a second time */
    }
    if (bootstrap->n != repair->n && repair->spawned_process) {
        repair->error = rzm_error(MPI_ERR_ARG,
                                  "the others repair %u communicators together, not "
                                  "%u",
                                  bootstrap->n, repair->n);
        return false;
    }
    if (bootstrap->n != repair->n || repair->lines[bootstrap->index].stage != ABSENT ||
        !all_known(bootstrap)) {
        return false;
    }
    join(repair, bootstrap);
    return true;
}

static void look_at_bootstraps(struct repair *repair)
{
    struct rz_setup_message *next;
    for (struct rz_setup_message *word = rz_setup_message_next(RZ_SETUP_BOOTSTRAP, NULL);
         word && repair->error == MPI_SUCCESS; word = next) {
        struct rz_bootstrap bootstrap;
        next = rz_setup_message_next(RZ_SETUP_BOOTSTRAP, word);
        bool of_use = rz_bootstrap_read(&bootstrap, word);
        if (!of_use) {
            rz_engine.counters.foreign++;
        }
        if (!of_use || take_bootstrap(repair, &bootstrap)) {
            rz_setup_message_drop(word);
        }
        rz_bootstrap_free(&bootstrap);
    }
}

/* ---- The call ---- */

static bool has_absent(const struct repair *repair)
{
    for (uint32_t i = 0; i < repair->n; i++) {
        if (repair->lines[i].stage == ABSENT) {
            return true;
        }
    }
    return false;
}

static bool any_open(const struct repair *repair)
{
    for (uint32_t i = 0; i < repair->n; i++) {
        if (is_open(&repair->lines[i])) {
            return true;
        }
    }
    return false;
}

/* Continues all lines as far as possible; returns whether the call has ended. Called between rounds
 * of progress, so that it may send messages and end requests. */
static bool go_on(void *arg)
{
    struct repair *repair = arg;
    if (has_absent(repair)) {
        look_at_bootstraps(repair);
    }
    if (repair->error == MPI_SUCCESS && repair->spawned_process &&
        rz_bootstrap_peers_gone(&repair->bootstrap_peers)) {
        repair->error =
            rzm_error(MPI_ERR_PROC_FAILED,
                      "no live process knows to which communicators this process belongs");
    }
    for (uint32_t i = 0; i < repair->n; i++) {
        struct line *line = &repair->lines[i];
        if (line->stage == DECIDED) {
            look_at_decision(line);
        }
        if (line->stage == SPAWNS && line->spawn_ask.unanswered == 0) {
            spawns_answered(line);
        }
        invite(line);
    }
    begin_votes(repair);
    return repair->error != MPI_SUCCESS || (!repair->spawned_process && !any_open(repair));
}

static int refuse(const struct repair *repair)
{
    if (repair->why == RZ_ERR_PROC_FAILED) {
        return rzm_error(MPI_ERR_SPAWN,
                         "the replacement processes have failed, too, %d times "
                         "one after the other",
                         SPAWNS_MAX);
    }
    return rzm_error(MPI_ERR_SPAWN, "no replacement processes are started%s%s",
                     repair->why != RZ_OK ? ": " : "",
                     repair->why != RZ_OK ? rz_status_text(repair->why) : "");
}

/* Reports the first line that waits for other members. */
static void tell_of_lines(struct rz_blocked *blocked, const void *arg)
{
    const struct repair *repair = arg;
    for (uint32_t i = 0; i < repair->n; i++) {
        if (repair->lines[i].stage == VOTING) {
            blocked->comm = repair->lines[i].comm;
            rz_agreement_context_waits_for(blocked->comm->agreement_context, blocked);
            return;
        }
    }
}

static int wait_for_all(struct repair *repair)
{
    struct rz_blocked blocked = {
        .call = repair->call, .peer = -1, .tag = MPI_ANY_TAG, .look = tell_of_lines};
    int error = rz_engine_wait(&blocked, go_on, repair);
    return error != MPI_SUCCESS ? error : repair->error;
}

/* Returns the finished communicators to the caller, and releases all others. */
static int end(struct repair *repair, int error, struct rz_comm *made[])
{
    for (uint32_t i = 0; i < repair->n; i++) {
        struct line *line = &repair->lines[i];
        bool finished = line->stage == FINISHED && error != RZM_ROLLBACK;
        made[i] = finished ? line->comm : NULL;
        if (line->stage == SPAWNS) {
            spawn_ask_end(&line->spawn_ask);
        }
        if (!finished && line->comm) {
            rz_comm_release(line->comm);
        }
        if (error == MPI_SUCCESS && line->stage == REFUSED) {
            error = refuse(repair);
        }
        free(line->failed);
        rz_bootstrap_free(&line->bootstrap);
    }
    free(repair->lines);
    return error;
}

static int check(uint32_t n, struct rz_comm *const comms[], bool *none)
{
    *none = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!comms[i]) {
            continue;
        }
        *none = false;
        if (comms[i]->remote != comms[i]->group) {
            return rzm_error(MPI_ERR_COMM, "an inter-communicator cannot be repaired: repair the "
                                           "communicators of both sides, and connect them again");
        }
        if (comms[i]->unshared) {
            return rzm_error(MPI_ERR_COMM, "this is the MPI_COMM_WORLD of a replacement process, "
                                           "which must pass MPI_COMM_NULL here");
        }
        for (uint32_t j = 0; j < i; j++) {
            if (comms[j] == comms[i]) {
                return rzm_error(MPI_ERR_ARG, "comms[%u] and comms[%u] are the same", j, i);
            }
        }
    }
    return MPI_SUCCESS;
}

int rz_repair(const char *call, uint32_t n, struct rz_comm *const comms[], struct rz_comm *made[])
{
    bool none;
    int error = rz_engine_begin();
    error = error != MPI_SUCCESS ? error : check(n, comms, &none);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct repair repair = {.call = call, .n = n};
    repair.lines = calloc(n + 1, sizeof(*repair.lines));
    if (!repair.lines) {
        return MPI_ERR_NO_MEM;
    }
    repair.spawned_process = none && rz_engine.late && rz_engine.info->restarted;
    for (uint32_t i = 0; i < n; i++) {
        struct line *line = &repair.lines[i];
        line->repair = &repair;
        if (comms[i]) {
            line->comm = comms[i];
            line->stage = READY;
            rz_comm_retain(line->comm);
        }
    }
    rz_bootstrap_peers_begin(&repair.bootstrap_peers);
    RZ_TRACE(REPAIR_BEGIN, n, 0, 0);
    error = end(&repair, wait_for_all(&repair), made);
    RZ_TRACE(REPAIR_END, n, 0, error);
    return error;
}

int rzm_comm_repair(int n, const MPI_Comm comms[], MPI_Comm newcomms[])
{
    if (n < 0) {
        return rzm_error(MPI_ERR_COUNT, "n is %d, less than 0", n);
    }
    struct rz_comm **all = calloc(2 * (size_t)n + 1, sizeof(struct rz_comm *)), **made = all + n;
    if (!all) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        all[i] = rz_comm_of(comms[i]);
    }
    int error = rz_repair("RZ_Comm_repair", (uint32_t)n, all, made);
    for (int i = 0; i < n && error != RZM_ROLLBACK; i++) {
        newcomms[i] = rz_comm_handle(made[i]);
    }
    free(all);
    return error;
}

int rzm_comm_replace(struct rz_comm *comm, struct rz_comm **newcomm)
{
    struct rz_comm *made = NULL;
    bool spawned_process = rz_engine.late && rz_engine.info->restarted;
    if (!comm && !spawned_process) {
        return rzm_error(MPI_ERR_COMM, "comm is MPI_COMM_NULL, but this process does not replace a "
                                       "failed one (see RZ_Incarnation)");
    }
    int error = rz_repair("RZ_Comm_replace", 1, &comm, &made);
    if (error == MPI_SUCCESS) {
        *newcomm = made;
    }
    return error;
}
