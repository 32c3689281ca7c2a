/* SPDX-License-Identifier: BSD-3-Clause */
/* One trial of gossip, on objects or by the scale model: failures, and counts cycle by cycle. */
#include "study/study_gossip_run.h"

#include "base/assert.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(gossip, RZ_PROTOCOL_GOSSIP);

/* Streams of a trial's seed. */
#define STREAM_TOLD 0x746F6C64
#define STREAM_SLOW 0x736C6F77

struct run {
    const struct rz_gossip_trial_setup *setup;
    struct rz_gossip_trial *trial;
    uint32_t n, stages;
    uint32_t
        *come[RZ_GOSSIP_STAGES];    /* of each member: victims for which it has reached the stage */
    uint64_t *by[RZ_GOSSIP_STAGES]; /* of each victim: living members that have reached the stage */
    uint64_t total[RZ_GOSSIP_STAGES]; /* living members that have reached the stage for all */
    bool *detected;                   /* of each victim: by a member's own ping */
    uint8_t *doomed, *slow;
    rz_id observer;
};

static void *memory(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    rz_assert(block != NULL);
    return block;
}

static uint32_t victim_of(const struct run *run, uint64_t id)
{
    for (uint32_t low = 0, high = run->setup->n_victims; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (run->setup->victims[middle] == id) {
            return middle;
        }
        if (run->setup->victims[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return UINT32_MAX;
}

/* ---- notices to the hosts ---- */

static void note_detection(struct run *run, uint32_t victim, uint64_t cycle, rz_time now)
{
    struct rz_gossip_trial *trial = run->trial;
    if (run->detected[victim]) {
        return;
    }
    run->detected[victim] = true;
    rz_time after = now - run->setup->dates[victim];
    if (trial->detect_first == 0 || after < trial->detect_first_at) {
        trial->detect_first = cycle;
        trial->detect_first_at = after;
    }
    if (trial->detect_last == 0 || after > trial->detect_last_at) {
        trial->detect_last = cycle;
        trial->detect_last_at = after;
    }
}

/* A living member has reached a stage for one victim. */
static void note_stage(struct run *run, uint32_t stage, rz_id member, uint32_t victim,
                       uint64_t cycle, rz_time now)
{
    struct rz_gossip_trial *trial = run->trial;
    if (stage > 0 && run->by[stage - 1][victim] < trial->living) {
        *(stage == 1 ? &trial->false_consensus : &trial->early_commits) += 1;
    }
    run->by[stage][victim]++;
    if (++run->come[stage][member] < run->setup->n_victims) {
        return;
    }
    uint64_t in = cycle < RZ_GOSSIP_CYCLES_MAX ? cycle : RZ_GOSSIP_CYCLES_MAX;
    trial->reached[stage][in]++;
    if (run->total[stage]++ == 0 || cycle < trial->first[stage]) {
        trial->first[stage] = cycle;
    }
    if (cycle > trial->last[stage]) {
        trial->last[stage] = cycle;
    }
    trial->last_at[stage] = now;
}

static void note_return(struct run *run, const struct rz_action *notice)
{
    struct rz_gossip_trial *trial = run->trial;
    bool right = notice->arg[0] == 1 && notice->n_items == run->setup->n_victims;
    for (uint32_t i = 0; right && i < notice->n_items; i++) {
        right = notice->items[i] == run->setup->victims[i];
    }
    trial->disagreeing += !right;
    if (notice->arg[2] > trial->returned) {
        trial->returned = notice->arg[2];
    }
}

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct run *run = rz_timing_study(timing);
    (void)part;
    if (run->doomed[member]) {
        return;
    }
    if (notice->what == RZ_GOSSIP_RETURNED) {
        note_return(run, notice);
        return;
    }
    uint32_t victim = victim_of(run, notice->arg[0]);
    bool own = notice->what == RZ_GOSSIP_DETECTED && notice->arg[1] != RZ_GOSSIP_HEARD;
    if (victim == UINT32_MAX || rz_timing_alive(timing, (rz_id)notice->arg[0])) {
        run->trial->false_failure_reports += own;
        return;
    }
    if (own) {
        note_detection(run, victim, notice->arg[2], rz_timing_now(timing));
    }
    note_stage(run, notice->what, member, victim, notice->arg[2], rz_timing_now(timing));
}

/* ---- the view of one member ---- */

static void look(struct rz_timing *timing, uint64_t cycle)
{
    struct run *run = rz_timing_study(timing);
    const struct rz_gossip *gossip = rz_timing_state(timing, run->observer, 0);
    struct rz_gossip_view *view = &run->trial->view[cycle];
    rz_id victim = run->setup->victims[0];
    if (rz_gossip_phase(gossip, victim) > 0 && run->setup->gossip.kind == RZ_GOSSIP_SUM) {
        struct rz_gossip_mass mass = rz_gossip_mass(gossip, victim);
        double whole = (double)rz_gossip_whole(gossip);
        double share = mass.weight > 0 ? (double)mass.weight / whole : NAN;
        view->estimate[0] = (double)mass.detected / (double)RZ_GOSSIP_ONE / share;
        view->estimate[1] = (double)mass.consensus / (double)RZ_GOSSIP_ONE / share;
    }
    for (rz_id by = 0; by < run->n && run->setup->gossip.kind == RZ_GOSSIP_MATRIX; by++) {
        view->witnesses += rz_gossip_detected_by(gossip, by, victim);
    }
    bool on = run->total[run->stages - 1] < run->trial->living && cycle < RZ_GOSSIP_CYCLES_MAX;
    if (on) {
        rz_timing_alarm(timing, (cycle + 1) * run->setup->gossip.cycle, cycle + 1);
    }
}

/* ---- the run ---- */

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    const struct run *run = rz_timing_study(timing);
    (void)member, (void)part;
    return &run->setup->gossip;
}

static rz_time delay(struct rz_timing *timing, rz_id from, rz_id to)
{
    const struct run *run = rz_timing_study(timing);
    (void)to;
    return run->slow[from] ? run->setup->slow_by : 0;
}

static const char *message_name(uint32_t part, uint8_t type)
{
    static const char *const names[] = {"PING", "REPLY"};
    (void)part;
    return names[type];
}

static const char *notice_name(uint32_t part, uint32_t what)
{
    static const char *const names[] = {"DETECTED", "CONSENSUS", "COMMITTED", "RETURNED"};
    (void)part;
    return names[what];
}

static rz_id draw_living(const struct run *run, struct rz_random *random)
{
    rz_id id;
    do {
        id = (rz_id)rz_random_below(random, run->n);
    } while (run->doomed[id]);
    return id;
}

static void run_begin(struct run *run, const struct rz_gossip_trial_setup *setup,
                      struct rz_gossip_trial *trial)
{
    *run = (struct run){.setup = setup,
                        .trial = trial,
                        .n = setup->gossip.n_members,
                        .stages = setup->gossip.kind == RZ_GOSSIP_SUM ? 3 : 2};
    for (uint32_t stage = 0; stage < RZ_GOSSIP_STAGES; stage++) {
        run->come[stage] = memory(run->n * sizeof(*run->come[stage]));
        run->by[stage] = memory(setup->n_victims * sizeof(*run->by[stage]));
    }
    run->detected = memory(setup->n_victims);
    run->doomed = memory(run->n);
    for (uint32_t i = 0; i < setup->n_victims; i++) {
        run->doomed[setup->victims[i]] = 1;
    }
    while (run->doomed[run->observer]) {
        run->observer++;
    }
    if (setup->slow > 0) {
        struct rz_random random = {rz_mix(setup->seed, STREAM_SLOW)};
        run->slow = memory(run->n);
        for (uint32_t i = 0; i < setup->slow; i++) {
            run->slow[draw_living(run, &random)] = 1;
        }
    }
}

static void run_end(struct run *run)
{
    for (uint32_t stage = 0; stage < RZ_GOSSIP_STAGES; stage++) {
        free(run->come[stage]);
        free(run->by[stage]);
    }
    free(run->detected);
    free(run->doomed);
    free(run->slow);
}

static struct rz_timing_setup timing_setup(struct run *run)
{
    return (struct rz_timing_setup){.members = run->n,
                                    .n_parts = 1,
                                    .parts = {&rz_protocol_gossip},
                                    .network = run->setup->network,
                                    .seed = run->setup->seed,
                                    .until = run->setup->until,
                                    .study = run,
                                    .config = config,
                                    .notified = notified,
                                    .alarm = look,
                                    .delay = run->slow ? delay : NULL,
                                    .message_name = message_name,
                                    .notice_name = notice_name,
                                    .trace = run->setup->trace};
}

static void plan(struct run *run, struct rz_timing *timing)
{
    const struct rz_gossip_trial_setup *setup = run->setup;
    struct rz_random random = {rz_mix(setup->seed, STREAM_TOLD)};
    const uint64_t none[4] = {0};
    for (uint32_t i = 0; i < setup->n_victims; i++) {
        rz_timing_kill(timing, setup->victims[i], setup->dates[i]);
        if (setup->told) {
            rz_timing_tell(timing, draw_living(run, &random), 0, setup->dates[i] + 1,
                           &setup->victims[i], 1);
        }
    }
    for (rz_id id = 0; id < run->n; id++) {
        rz_timing_call(timing, id, 0, 0,
                       &(struct rz_timing_request){.call = RZ_GOSSIP_BEGIN, .arg = none});
    }
    if (setup->observe) {
        rz_timing_alarm(timing, setup->gossip.cycle, 1);
    }
}

static void collect(struct run *run, const struct rz_timing *timing)
{
    struct rz_gossip_trial *trial = run->trial;
    struct rz_timing_counts all = rz_timing_count(timing, 0, UINT32_MAX);
    struct rz_timing_hot hot = rz_timing_hottest(timing);
    struct rz_timing_cost cost = rz_timing_cost(timing);
    for (uint32_t stage = 0; stage < RZ_GOSSIP_STAGES; stage++) {
        if (run->total[stage] < trial->living) {
            trial->last[stage] = 0;
            trial->last_at[stage] = RZ_TIME_NEVER;
        }
    }
    trial->messages = all.messages;
    trial->bytes = all.bytes;
    trial->messages_hot = hot.sent;
    trial->bytes_hot = hot.bytes_sent;
    trial->lasted = rz_timing_now(timing);
    trial->events = cost.events;
    trial->seconds = cost.seconds;
    trial->bytes_member = (double)cost.bytes_peak / run->n;
}

static void run_objects(const struct rz_gossip_trial_setup *setup, struct rz_gossip_trial *trial)
{
    struct run run;
    run_begin(&run, setup, trial);
    struct rz_timing_setup made = timing_setup(&run);
    struct rz_timing *timing = rz_timing_create(&made);
    plan(&run, timing);
    rz_timing_run(timing);
    collect(&run, timing);
    rz_timing_destroy(timing);
    run_end(&run);
}

struct rz_gossip_trial *rz_gossip_trial_run(const struct rz_gossip_trial_setup *setup,
                                            const char **why)
{
    struct rz_gossip_trial *trial = memory(sizeof(*trial));
    trial->living = setup->gossip.n_members - setup->n_victims;
    for (uint32_t cycle = 0; cycle <= RZ_GOSSIP_CYCLES_MAX; cycle++) {
        trial->view[cycle].estimate[0] = trial->view[cycle].estimate[1] = NAN;
    }
    if (!setup->model) {
        run_objects(setup, trial);
    } else if (!rz_gossip_trial_model(setup, trial, why)) {
        free(trial);
        return NULL;
    }
    return trial;
}
