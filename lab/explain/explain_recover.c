/* SPDX-License-Identifier: BSD-3-Clause */
/* The recovery of a job: daemons fail, the others agree, and restart the lost ranks. */
#include "explain/explain_state.h"

#include "proto/agree/agree_tree.h"
#include "sim/job_scenario.h"

enum { UP, DOWN, REQUEST, RANKS = 8 };

/* What the host is told that is shown. */
enum { EPOCH, PHASE, STOP, FAILURES };

static const struct rz_sim_scenario scenario = {.name = "explain",
                                                .parameter = RZ_JOB_RANKS(RANKS) | RZ_JOB_SPARES(1),
                                                RZ_JOB_SCENARIO(recover)};

static uint32_t notice_bit(uint32_t what)
{
    switch (what) {
    case RZ_JOB_RECOVER + RZ_RECOVER_EPOCH:
        return EPOCH;
    case RZ_JOB_RECOVER + RZ_RECOVER_PHASE:
        return PHASE;
    case RZ_JOB_RECOVER + RZ_RECOVER_STOP:
        return STOP;
    case RZ_JOB_RECOVER + RZ_RECOVER_FAILURES:
        return FAILURES;
    default:
        return 32;
    }
}

static const char *phase_name(enum rz_recover_phase phase)
{
    static const char *const names[] = {"enters", "runs", "has left"};
    return names[phase];
}

static void say_decision(const struct rz_explain_step *step, struct rz_explain_words *words)
{
    bool root = step->trigger != RZ_SIM_SEES_RECEIVE || step->message.type != DOWN;
    const char *how = root ? "decides" : "receives the decision";
    const char *all = root ? "decide" : "receive the decision";
    char what[112] = "the job stops";
    if (step->notices >> EPOCH & 1) {
        snprintf(what, sizeof(what),
                 "epoch %llu begins, and each daemon starts the lost ranks that are placed on it",
                 (unsigned long long)step->arg[0]);
    } else if (step->notices >> PHASE & 1) {
        bool run = step->arg[1] == RZ_PHASE_RUN;
        snprintf(what, sizeof(what),
                 run ? "all ranks are there, the barrier opens, epoch %llu runs"
                     : "all ranks are done, the job ends in epoch %llu",
                 (unsigned long long)step->arg[0]);
    } else if (step->notices >> FAILURES & 1) {
        snprintf(what, sizeof(what),
                 "the failures are noted until all living ranks have entered MPIX_Reinit");
    }
    snprintf(words->one, sizeof(words->one), "%s: %s", how, what);
    snprintf(words->many, sizeof(words->many), "%s: %s", all, what);
}

static void say(struct rz_sim *sim, const struct rz_explain_step *step,
                struct rz_explain_words *words)
{
    const struct rz_job_node *node = rz_sim_state(sim, step->member);
    if (step->notices) {
        say_decision(step, words);
    } else if (step->trigger == RZ_SIM_SEES_TOLD) {
        rz_explain_say_told(words, step,
                            step->sent[UP] ? ", and contributes it to the next agreement" : "",
                            step->sent[UP] ? ", and contribute it to the next agreement" : "");
    } else if (step->sent[REQUEST]) {
        rz_explain_say(words, "asks its new children for what they know",
                       "ask their new children for what they know");
    } else if (step->trigger == RZ_SIM_SEES_RECEIVE && step->sent[UP]) {
        rz_explain_say(words, "combines what its children sent with its own, and sends it up",
                       "combine what their children sent with their own, and send it up");
    } else if (step->trigger == RZ_SIM_SEES_RECEIVE && step->sent[DOWN]) {
        rz_explain_say(words, "passes the decision on", "pass the decision on");
    } else if (step->sent[UP] && rz_recover_phase(rz_job_recover(node)) == RZ_PHASE_ENTER) {
        rz_explain_say(words, "has all its ranks at the start of the epoch, and tells its parent",
                       "have all their ranks at the start of the epoch, and tell their parents");
    } else if (step->sent[UP]) {
        rz_explain_say(words, "sees that all its ranks are done, and tells its parent",
                       "see that all their ranks are done, and tell their parents");
    }
}

static void look(struct rz_sim *sim, rz_id member, struct rz_explain_look *look)
{
    const struct rz_job_node *node = rz_sim_state(sim, member);
    const struct rz_recover *recover = rz_job_recover(node);
    uint32_t epoch = rz_recover_epoch(recover), ranks = 0;
    enum rz_recover_phase phase = rz_recover_phase(recover);
    char list[64];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (rz_recover_daemon_of(recover, rank) == member) {
            ranks |= rz_explain_bit(rank);
        }
    }
    bool knows = false;
    for (rz_id other = 0; other < rz_sim_members(sim); other++) {
        knows |= rz_recover_daemon_failed(recover, other) &&
                 !rz_recover_daemon_agreed_failed(recover, other);
    }
    look->tone = knows ? RZ_TONE_ALARM : phase == RZ_PHASE_ENTER ? RZ_TONE_BUSY : RZ_TONE_DONE;
    rz_explain_list(ranks, list, sizeof(list));
    if (ranks) {
        snprintf(look->label[0], RZ_EXPLAIN_LABEL, "rank%s %.24s", ranks & (ranks - 1) ? "s" : "",
                 list);
    } else {
        snprintf(look->label[0], RZ_EXPLAIN_LABEL, "no rank");
    }
    snprintf(look->label[1], RZ_EXPLAIN_LABEL, "epoch %u %s", epoch, phase_name(phase));
}

/* The tree of agreements, as each daemon sees it. */
static void links(struct rz_sim *sim, struct rz_explain_frame *frame)
{
    for (rz_id id = 0; id < rz_sim_members(sim); id++) {
        const struct rz_job_node *node = rz_sim_state(sim, id);
        const struct rz_recover *recover = node ? rz_job_recover(node) : NULL;
        rz_id base[RZ_EXPLAIN_MEMBERS_MAX], failed[RZ_EXPLAIN_MEMBERS_MAX];
        uint32_t n_base = 0, n = 0;
        for (rz_id other = 0; node && other < rz_sim_members(sim); other++) {
            if (rz_recover_daemon_agreed_failed(recover, other)) {
                base[n_base++] = other;
            } else if (rz_recover_daemon_failed(recover, other)) {
                failed[n++] = other;
            }
        }
        const struct rz_agree_tree_view view = {.n_members = rz_sim_members(sim),
                                                .per_node = 1,
                                                .base = base,
                                                .n_base = n_base,
                                                .failed = failed,
                                                .n_failed = n};
        rz_id parent = node ? rz_agree_tree_parent(&view, id) : id;
        if (parent != id) {
            rz_explain_link(frame, id, parent, true);
        }
    }
}

const struct rz_explain_subject rz_explain_recover = {
    .name = "recover",
    .title = "The recovery of a job",
    .summary = "A daemon on each node looks after the ranks there; the last daemon is a spare "
               "without ranks. "
               "When a node fails, the living daemons agree on the failures. From the decision "
               "each of them "
               "computes the same new epoch and the same places for the lost ranks, and starts "
               "those that are "
               "its own: no leader takes part. A second agreement is the barrier: when all ranks "
               "stand at the "
               "start of the epoch, it runs.",
    .one = "Daemon",
    .many = "Daemons",
    .scenario = &scenario,
    .members = 5,
    .kill = 1,
    .members_max = RZ_JOB_DAEMONS_MAX - 1,
    .fail_from = 40,
    .tree = 1,
    .type = {"UP: a contribution", "DOWN: the decision", "REQUEST: what do you know?"},
    .notice_bit = notice_bit,
    .say = say,
    .look = look,
    .links = links};
