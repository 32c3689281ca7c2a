/* SPDX-License-Identifier: BSD-3-Clause */
/* A dynamic group in virtual time: diagnose and paxos combined as in a host, with load on the
 * hosts. */
#include "study/study_diagnose_run.h"

#include "base/assert.h"
#include "proto/paxos/paxos.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(diagnose, RZ_PROTOCOL_DIAGNOSE);
RZ_PROTOCOL(paxos, RZ_PROTOCOL_PAXOS);

#define DIAGNOSE RZ_DGRP_DIAGNOSE
#define PAXOS RZ_DGRP_PAXOS

#define RETRY (200 * RZ_MILLISECOND)
#define VIEW_FIRST 1

/* An instance of paxos: the rejoin of k with this counter, with the number of the attempt. */
#define INSTANCE(k, counter, attempt)                                                              \
    ((uint64_t)(k) << 48 | (uint64_t)((counter)&0xFFFFFF) << 24 | ((attempt)&0xFFFFFF))
#define INSTANCE_K(instance) ((rz_id)((instance) >> 48))
#define INSTANCE_COUNTER(instance) ((uint32_t)((instance) >> 24 & 0xFFFFFF))
#define INSTANCE_ATTEMPT(instance) ((uint32_t)((instance)&0xFFFFFF))

static void *memory(size_t bytes)
{
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    rz_assert(block != NULL);
    return block;
}

/* ---- life ---- */

struct rz_dgrp_run *rz_dgrp_create(const struct rz_dgrp_setup *setup)
{
    struct rz_dgrp_run *run = memory(sizeof(*run));
    size_t n = setup->members;
    rz_assert(n > 0 && n <= RZ_DGRP_MEMBERS_MAX);
    run->setup = *setup;
    run->n = setup->members;
    run->setup.diagnose.n_members = run->n;
    run->setup.diagnose.by_host = true;
    run->setup.diagnose.report = true;
    run->hosts = memory(n * sizeof(*run->hosts));
    memcpy(run->hosts, setup->hosts, n * sizeof(*run->hosts));
    run->load = memory(n * sizeof(*run->load));
    run->group_size = memory((setup->intervals + 2) * sizeof(*run->group_size));
    run->words = (run->n + 63) / 64;
    run->composition = memory((setup->intervals + 2) * run->words * sizeof(*run->composition));
    run->lists = memory(n * n * sizeof(*run->lists));
    run->passed_at = memory(n * n * sizeof(*run->passed_at));
    run->in_time = memory(n * sizeof(*run->in_time));
    run->in_time_longest = memory(n * sizeof(*run->in_time_longest));
    run->wanted = memory(n * n * sizeof(*run->wanted));
    run->voted_yes = memory(n * n * sizeof(*run->voted_yes));
    run->voted_no = memory(n * n * sizeof(*run->voted_no));
    run->failed = memory(n * n * sizeof(*run->failed));
    run->attempt = memory(n * n * sizeof(*run->attempt));
    run->attempt_counter = memory(n * n * sizeof(*run->attempt_counter));
    run->removed = memory(n * sizeof(*run->removed));
    run->rejoined = memory(n * sizeof(*run->rejoined));
    run->counter_seen = memory(n * sizeof(*run->counter_seen));
    run->granted = memory(n * sizeof(*run->granted));
    run->killed_at = memory(n * sizeof(*run->killed_at));
    run->out_first = memory(n * sizeof(*run->out_first));
    run->out_last = memory(n * sizeof(*run->out_last));
    run->out_at = memory(n * sizeof(*run->out_at));
    for (rz_id k = 0; k < n; k++) {
        run->killed_at[k] = run->out_first[k] = run->out_last[k] = RZ_TIME_NEVER;
        run->view[k / 64] |= UINT64_C(1) << (k % 64);
    }
    run->view_number = VIEW_FIRST;
    run->paused = RZ_ID_NONE;
    rz_dgrp_load_begin(run);
    return run;
}

void rz_dgrp_destroy(struct rz_dgrp_run *run)
{
    for (uint32_t i = 0; i < run->n_watches; i++) {
        free(run->watches[i].time);
        free(run->watches[i].threshold);
        free(run->watches[i].okrun);
        free(run->watches[i].failed);
    }
    void *const blocks[] = {
        run->hosts,    run->load,           run->group_size,  run->wanted,          run->voted_yes,
        run->voted_no, run->failed,         run->attempt,     run->attempt_counter, run->removed,
        run->rejoined, run->counter_seen,   run->granted,     run->killed_at,       run->out_first,
        run->out_last, run->out_at,         run->composition, run->lists,           run->passed_at,
        run->in_time,  run->in_time_longest};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        free(blocks[i]);
    }
    if (run->timing) {
        rz_timing_destroy(run->timing);
    }
    free(run);
}

void rz_dgrp_watch(struct rz_dgrp_run *run, rz_id tester, rz_id tested)
{
    rz_assert(run->n_watches < RZ_DGRP_WATCHES_MAX && tester < run->n && tested < run->n);
    size_t size = run->setup.intervals + 2;
    struct rz_dgrp_watch *watch = &run->watches[run->n_watches++];
    *watch = (struct rz_dgrp_watch){.tester = tester,
                                    .tested = tested,
                                    .time = memory(size * sizeof(*watch->time)),
                                    .threshold = memory(size * sizeof(*watch->threshold)),
                                    .okrun = memory(size * sizeof(*watch->okrun)),
                                    .failed = memory(size)};
    for (size_t i = 0; i < size; i++) {
        watch->time[i] = watch->threshold[i] = NAN;
    }
}

void rz_dgrp_kill(struct rz_dgrp_run *run, rz_id victim, rz_time at)
{
    run->killed_at[victim] = at;
}

/* Tests begin in the first four fifths of an interval. */
static rz_time start_of(const struct rz_dgrp_run *run, rz_id member)
{
    return run->setup.diagnose.interval * 4 / 5 * member / run->n;
}

void rz_dgrp_pause(struct rz_dgrp_run *run, rz_id member, uint64_t interval, rz_time after,
                   rz_time lasts)
{
    run->paused = member;
    run->paused_from =
        (interval - 1) * run->setup.diagnose.interval + start_of(run, member) + after;
    run->paused_to = run->paused_from + lasts;
}

/* ---- tests ---- */

const struct rz_diagnose *rz_dgrp_state(const struct rz_dgrp_run *run, rz_id member)
{
    return rz_timing_state(run->timing, member, DIAGNOSE);
}

static float milliseconds(rz_time time)
{
    return time == RZ_TIME_NEVER ? NAN : (float)((double)time / (double)RZ_MILLISECOND);
}

static void on_tested(struct rz_dgrp_run *run, rz_id member, const uint64_t arg[4])
{
    rz_id k = (rz_id)arg[0];
    run->failed[member * run->n + k] += arg[3] == 0;
    if (arg[3] == 1) {
        run->passed_at[member * run->n + k] = run->interval + 1;
    }
    for (uint32_t i = 0; i < run->n_watches; i++) {
        struct rz_dgrp_watch *watch = &run->watches[i];
        uint64_t interval = rz_diagnose_interval(rz_dgrp_state(run, member));
        if (watch->tester != member || watch->tested != k || interval > run->setup.intervals) {
            continue;
        }
        watch->time[interval] = milliseconds(arg[1]);
        watch->threshold[interval] = milliseconds(arg[2]);
        watch->failed[interval] = arg[3] == 0;
    }
}

static void on_task(struct rz_dgrp_run *run, rz_id member, const uint64_t arg[4])
{
    rz_time now = rz_timing_now(run->timing), slot = run->setup.diagnose.interval / RZ_DGRP_SLOTS;
    rz_time lasts = rz_dgrp_task_time(run, member, (rz_id)arg[0], now / slot);
    const uint64_t answer[4] = {arg[0], arg[1], arg[2]};
    rz_timing_call(run->timing, member, DIAGNOSE, now + lasts,
                   &(struct rz_timing_request){.call = RZ_DIAGNOSE_ANSWER, .arg = answer});
}

/* ---- rejoins ---- */

static uint32_t attempt_of(const struct rz_dgrp_run *run, rz_id member, rz_id k, uint32_t counter)
{
    size_t at = (size_t)member * run->n + k;
    return run->attempt_counter[at] == counter ? run->attempt[at] : 0;
}

static void on_want(struct rz_dgrp_run *run, rz_id member, rz_id k, uint32_t counter)
{
    const uint64_t propose[4] = {INSTANCE(k, counter, attempt_of(run, member, k, counter))};
    run->wanted[member * run->n + k]++;
    rz_timing_call(run->timing, member, PAXOS, 0,
                   &(struct rz_timing_request){.call = RZ_PAXOS_PROPOSE, .arg = propose});
}

static void on_asked(struct rz_dgrp_run *run, rz_id member, uint64_t instance)
{
    rz_id k = INSTANCE_K(instance);
    bool yes = rz_diagnose_would_readmit(rz_dgrp_state(run, member), k, INSTANCE_COUNTER(instance));
    const uint64_t vote[4] = {instance, yes};
    *(yes ? &run->voted_yes[member * run->n + k] : &run->voted_no[member * run->n + k]) += 1;
    rz_timing_call(run->timing, member, PAXOS, 0,
                   &(struct rz_timing_request){.call = RZ_PAXOS_VOTE, .arg = vote});
}

/* A no ends this attempt; the next request begins another one. */
static void on_decided(struct rz_dgrp_run *run, rz_id member, uint64_t instance, uint64_t yes)
{
    rz_id k = INSTANCE_K(instance);
    uint32_t counter = INSTANCE_COUNTER(instance);
    size_t at = (size_t)member * run->n + k;
    if (rz_paxos_leader(rz_timing_state(run->timing, member, PAXOS)) == member) {
        *(yes ? &run->decided_yes : &run->decided_no) += 1;
    }
    if (yes) {
        const uint64_t readmit[4] = {k, counter};
        run->granted[k] = counter + 1 > run->granted[k] ? counter + 1 : run->granted[k];
        rz_timing_call(run->timing, member, DIAGNOSE, 0,
                       &(struct rz_timing_request){.call = RZ_DIAGNOSE_READMIT, .arg = readmit});
        return;
    }
    run->attempt_counter[at] = counter;
    run->attempt[at] = INSTANCE_ATTEMPT(instance) + 1;
}

static void tell_doubts(struct rz_dgrp_run *run, rz_id member)
{
    uint64_t doubted[RZ_DGRP_MEMBERS_MAX / 64] = {0};
    const uint64_t none[4] = {0};
    for (rz_id k = 0; k < run->n; k++) {
        if (!rz_diagnose_has(rz_dgrp_state(run, member), k)) {
            doubted[k / 64] |= UINT64_C(1) << (k % 64);
        }
    }
    rz_timing_call(
        run->timing, member, PAXOS, 0,
        &(struct rz_timing_request){
            .call = RZ_PAXOS_DOUBT, .arg = none, .items = doubted, .n_items = (run->n + 63) / 64});
}

static void on_changed(struct rz_dgrp_run *run, rz_id member, rz_id k, uint32_t counter)
{
    rz_time now = rz_timing_now(run->timing);
    rz_assert(counter % 2 == 1 || counter <= run->granted[k]);
    if (counter > run->counter_seen[k]) {
        run->counter_seen[k] = counter;
        *(counter % 2 == 1 ? &run->removed[k] : &run->rejoined[k]) += 1;
        run->false_removals += counter % 2 == 1 && now < run->killed_at[k];
    }
    if (counter % 2 == 1 && now >= run->killed_at[k]) {
        if (run->out_first[k] == RZ_TIME_NEVER) {
            run->out_first[k] = now;
        }
        run->out_last[k] = now;
        run->out_at[k]++;
    }
    tell_doubts(run, member);
}

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct rz_dgrp_run *run = rz_timing_study(timing);
    const uint64_t *arg = notice->arg;
    if (part == PAXOS && notice->what == RZ_PAXOS_ASKED) {
        on_asked(run, member, arg[0]);
    } else if (part == PAXOS) {
        on_decided(run, member, arg[0], arg[1]);
    } else if (notice->what == RZ_DIAGNOSE_TASK) {
        on_task(run, member, arg);
    } else if (notice->what == RZ_DIAGNOSE_TESTED) {
        on_tested(run, member, arg);
    } else if (notice->what == RZ_DIAGNOSE_WANT_REJOIN) {
        on_want(run, member, (rz_id)arg[0], (uint32_t)arg[1]);
    } else if (notice->what == RZ_DIAGNOSE_CHANGED) {
        on_changed(run, member, (rz_id)arg[0], (uint32_t)arg[1]);
    } else if (notice->what == RZ_DIAGNOSE_DOUBT) {
        run->doubts++;
    } else {
        run->takeovers++;
        run->granted[member] = (uint32_t)arg[1];
    }
}

/* Late in each interval, when its tests are over (a test takes less than a tenth of a second). */
static void alarm(struct rz_timing *timing, uint64_t what)
{
    struct rz_dgrp_run *run = rz_timing_study(timing);
    (void)what;
    run->interval++;
    for (uint32_t i = 0; i < run->n_watches; i++) {
        struct rz_dgrp_watch *watch = &run->watches[i];
        if (rz_timing_alive(timing, watch->tester)) {
            watch->okrun[run->interval] =
                rz_diagnose_okrun(rz_dgrp_state(run, watch->tester), watch->tested);
        }
    }
    rz_dgrp_end_interval(run);
    if (run->interval < run->setup.intervals) {
        rz_timing_alarm(timing, rz_timing_now(timing) + run->setup.diagnose.interval, 0);
    }
}

/* ---- the run ---- */

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    static struct rz_paxos_config paxos;
    struct rz_dgrp_run *run = rz_timing_study(timing);
    struct rz_diagnose_config *diagnose = &run->setup.diagnose;
    if (part == DIAGNOSE) {
        diagnose->start = start_of(run, member);
        return diagnose;
    }
    paxos = (struct rz_paxos_config){
        .n_members = run->n, .view = VIEW_FIRST, .retry = RETRY, .votes = true};
    return &paxos;
}

static const char *message_name(uint32_t part, uint8_t type)
{
    static const char *const tests[] = {"TEST", "REPLY", "EVENTS"};
    static const char *const ballots[] = {"REQUEST",  "PREPARE", "PROMISE", "ACCEPT",
                                          "ACCEPTED", "REFUSED", "TOLD"};
    return part == DIAGNOSE ? tests[type] : ballots[type];
}

static rz_time lose(struct rz_timing *timing, rz_id from, rz_id to)
{
    struct rz_dgrp_run *run = rz_timing_study(timing);
    (void)from, (void)to;
    bool lost =
        run->interval < run->setup.lossy && rz_timing_random(timing, 1000000) < run->setup.lost_ppm;
    return lost ? RZ_TIME_NEVER : 0;
}

void rz_dgrp_go(struct rz_dgrp_run *run)
{
    rz_time interval = run->setup.diagnose.interval;
    struct rz_timing_setup setup = {.members = run->n,
                                    .n_parts = RZ_DGRP_PARTS,
                                    .parts = {&rz_protocol_diagnose, &rz_protocol_paxos},
                                    .network = run->setup.network,
                                    .seed = run->setup.seed,
                                    .until = run->setup.intervals * interval - 1,
                                    .study = run,
                                    .config = config,
                                    .notified = notified,
                                    .alarm = alarm,
                                    .delay = run->setup.lost_ppm > 0 ? lose : NULL,
                                    .message_name = message_name,
                                    .trace = run->setup.trace};
    run->timing = rz_timing_create(&setup);
    rz_timing_alarm(run->timing, interval - interval / 20, 0);
    for (rz_id k = 0; k < run->n; k++) {
        if (run->killed_at[k] != RZ_TIME_NEVER) {
            rz_timing_kill(run->timing, k, run->killed_at[k]);
        }
    }
    if (run->paused != RZ_ID_NONE) {
        rz_timing_pause(run->timing, run->paused, run->paused_from, run->paused_to);
    }
    rz_timing_run(run->timing);
}
