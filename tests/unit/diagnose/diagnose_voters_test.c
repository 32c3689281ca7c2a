/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Votes on rejoins when no process begins a round: diagnose, paxos and view_change together, as the
 * testing threads and the daemons join them, in virtual time. Processes are stopped, alone or most
 * of them at once, and fail, some with their daemon; tests and votes get lost. Then there are no
 * more faults, and all live processes must be recommended again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "proto/diagnose/diagnose.h"
#include "proto/paxos/paxos.h"
#include "proto/view_change/view_change.h"
#include "timing/timing.h"

#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(diagnose, RZ_PROTOCOL_DIAGNOSE);
RZ_PROTOCOL(paxos, RZ_PROTOCOL_PAXOS);
RZ_PROTOCOL(view_change, RZ_PROTOCOL_VIEW_CHANGE);

/* Processes come first, then daemons: process p is of daemon N + p % DAEMONS. */
enum { N = 7, DAEMONS = 3, ALL = N + DAEMONS };
enum { DIAGNOSE, PAXOS, TURN, PARTS };
enum { GROUP = 9, ZETA = 5, NUMBERS_MAX = 4096, DECISIONS_MAX = 1 << 14 };

#define INTERVAL RZ_SECOND
#define LOOK (INTERVAL / 10) /* a process looks at its voters so often */
#define ROUGH_FROM (20 * INTERVAL)
#define ROUGH_TO (100 * INTERVAL)
#define STOP_MAX (15 * INTERVAL)
/* The last one to take over may wait for 2 zeta intervals times its rank. */
#define RECOVERED_BY (ROUGH_TO + STOP_MAX + (uint64_t)(2 * ZETA * N + 4 * ZETA) * INTERVAL)

/* What a run is made to do wrong. */
enum mutation { RIGHT, KEEP_VOTERS, OWN_VOTERS };

struct process {
    struct rz_diagnose_voters voters;
    uint64_t set;
    bool untold, waits; /* waits: at its daemon, in this round */
    uint32_t round;
    uint32_t mail; /* voters that it received and has not used; 0: none */
    uint64_t mail_set;
    uint32_t attempt[N];
    rz_time stopped_to;
};

struct decision {
    uint32_t number;
    uint64_t instance, yes; /* yes: a bit set of the members that voted so */
    bool decided;
    uint64_t value;
};

struct run {
    struct rz_timing *timing;
    struct rz_random random;
    enum mutation mutation;
    uint64_t seed;
    bool loss;
    struct process process[N];
    uint64_t set[NUMBERS_MAX]; /* of voters, by number; 0: no member has them yet */
    uint32_t granted[N], n_decisions;
    uint64_t failed, still; /* still: stopped for good */
    struct decision decision[DECISIONS_MAX];
    const char *violation;
    bool recovered;
};

#define INSTANCE(k, counter, attempt)                                                              \
    ((uint64_t)(k) << 48 | (uint64_t)(counter) << 24 | (uint32_t)(attempt))

static const struct rz_diagnose *tests_of(const struct run *run, rz_id p)
{
    return rz_timing_state(run->timing, p, DIAGNOSE);
}

static uint64_t random_below(struct run *run, uint64_t bound)
{
    return rz_random_below(&run->random, bound);
}

static void call(struct run *run, rz_id member, uint32_t part, uint32_t what, uint64_t a,
                 uint64_t b, const uint64_t *items, uint32_t n_items)
{
    const uint64_t arg[4] = {a, b};
    rz_timing_call(
        run->timing, member, part, 0,
        &(struct rz_timing_request){.call = what, .arg = arg, .items = items, .n_items = n_items});
}

static void expect(struct run *run, bool holds, const char *what)
{
    if (!holds && !run->violation) {
        run->violation = what;
    }
}

/* ---- votes ---- */

static struct decision *decision_of(struct run *run, rz_id p, uint64_t instance)
{
    uint32_t number = rz_paxos_view(rz_timing_state(run->timing, p, PAXOS)), i = 0;
    while (i < run->n_decisions &&
           (run->decision[i].number != number || run->decision[i].instance != instance)) {
        i++;
    }
    if (i == run->n_decisions) {
        assert_true(i < DECISIONS_MAX);
        run->decision[run->n_decisions++] =
            (struct decision){.number = number, .instance = instance};
    }
    return &run->decision[i];
}

static void on_asked(struct run *run, rz_id p, uint64_t instance)
{
    bool yes = rz_diagnose_would_readmit(tests_of(run, p), (rz_id)(instance >> 48),
                                         (uint32_t)(instance >> 24 & 0xFFFFFF));
    if (yes) {
        decision_of(run, p, instance)->yes |= UINT64_C(1) << p;
    }
    call(run, p, PAXOS, RZ_PAXOS_VOTE, instance, yes, NULL, 0);
}

static void on_decided(struct run *run, rz_id p, uint64_t instance, uint64_t value)
{
    struct decision *decision = decision_of(run, p, instance);
    rz_id k = (rz_id)(instance >> 48);
    uint32_t counter = (uint32_t)(instance >> 24 & 0xFFFFFF);
    uint64_t voters = run->set[decision->number];
    expect(run, !decision->decided || decision->value == value, "two decisions of one vote");
    decision->decided = true;
    decision->value = value;
    if (!value) {
        run->process[p].attempt[k] = (uint32_t)(instance & 0xFFFFFF) + 1;
        return;
    }
    expect(run, 2 * __builtin_popcountll(decision->yes & voters) > __builtin_popcountll(voters),
           "decided without most of the voters");
    run->granted[k] = counter + 1 > run->granted[k] ? counter + 1 : run->granted[k];
    call(run, p, DIAGNOSE, RZ_DIAGNOSE_READMIT, k, counter, NULL, 0);
}

static void on_changed(struct run *run, rz_id p, rz_id k, uint32_t counter)
{
    uint64_t doubted = 0;
    expect(run, counter % 2 == 1 || counter <= run->granted[k], "one came back by no decision");
    for (rz_id i = 0; i < N; i++) {
        doubted |= (uint64_t)!rz_diagnose_has(tests_of(run, p), i) << i;
    }
    run->process[p].attempt[k] = 0;
    run->process[p].untold = run->process[p].voters.asked;
    call(run, p, PAXOS, RZ_PAXOS_DOUBT, 0, 0, &doubted, 1);
}

/* ---- voters ---- */

static void take_voters(struct run *run, rz_id p, uint32_t number, uint64_t set)
{
    struct process *process = &run->process[p];
    assert_true(number < NUMBERS_MAX);
    expect(run, run->set[number] == 0 || run->set[number] == set, "one number, two sets of voters");
    run->set[number] = process->set = set;
    rz_diagnose_take_voters(&process->voters, number);
    process->untold = false;
    memset(process->attempt, 0, sizeof(process->attempt));
    call(run, p, PAXOS, RZ_PAXOS_VIEW, number, 0, &set, 1);
}

static void ask(struct run *run, rz_id p)
{
    struct process *process = &run->process[p];
    uint64_t items[2 * N];
    uint32_t n = N;
    rz_id daemon = N + p % DAEMONS;
    for (rz_id k = 0; k < N; k++) {
        items[k] = RZ_VIEW_CHANGE_PROCESS(k, 1);
    }
    for (rz_id k = 0; k < N; k++) {
        if (rz_diagnose_counter(tests_of(run, p), k) > 0) {
            items[n++] = RZ_DIAGNOSE_ITEM(k, rz_diagnose_counter(tests_of(run, p), k));
        }
    }
    const uint64_t arg[4] = {GROUP, process->voters.number, (uint64_t)p << 32 | N};
    process->untold = false;
    process->waits = true;
    process->round = process->voters.number;
    rz_timing_call(run->timing, daemon, TURN, 0,
                   &(struct rz_timing_request){
                       .call = RZ_VIEW_CHANGE_ARRIVE, .arg = arg, .items = items, .n_items = n});
}

static void look_at_voters(struct run *run, rz_id p)
{
    struct process *process = &run->process[p];
    if (process->mail > process->voters.number) {
        take_voters(run, p, process->mail, process->mail_set);
    }
    process->mail = 0;
    if (rz_diagnose_asks_for_voters(tests_of(run, p), &process->voters)) {
        uint64_t group = 0;
        for (rz_id k = 0; k < N; k++) {
            group |= (uint64_t)rz_diagnose_has(tests_of(run, p), k) << k;
        }
        if (run->mutation == OWN_VOTERS) {
            take_voters(run, p, process->voters.number + 1, group);
        } else {
            process->untold = true;
        }
    }
    if (process->untold && run->mutation != OWN_VOTERS) {
        ask(run, p);
    }
}

static void on_round(struct run *run, rz_id daemon, const struct rz_action *notice)
{
    uint32_t number = (uint32_t)notice->arg[1];
    for (rz_id p = daemon - N; p < N; p += DAEMONS) {
        struct process *process = &run->process[p];
        if (!process->waits || process->round >= number) {
            continue;
        }
        process->waits = false;
        process->mail = number;
        process->mail_set = notice->items[N];
    }
}

/* ---- the run ---- */

static void notified(struct rz_timing *timing, rz_id member, uint32_t part,
                     const struct rz_action *notice)
{
    struct run *run = rz_timing_study(timing);
    const uint64_t *arg = notice->arg;
    if (part == TURN && notice->what == RZ_VIEW_CHANGE_ROUND) {
        on_round(run, member, notice);
    } else if (part == PAXOS && notice->what == RZ_PAXOS_ASKED) {
        on_asked(run, member, arg[0]);
    } else if (part == PAXOS) {
        on_decided(run, member, arg[0], arg[1]);
    } else if (part == DIAGNOSE && notice->what == RZ_DIAGNOSE_CHANGED) {
        on_changed(run, member, (rz_id)arg[0], (uint32_t)arg[1]);
    } else if (part == DIAGNOSE && notice->what == RZ_DIAGNOSE_ALONE) {
        run->granted[member] = (uint32_t)arg[1];
    } else if (part == DIAGNOSE && notice->what == RZ_DIAGNOSE_WANT_REJOIN) {
        uint32_t attempt = run->process[member].attempt[arg[0]];
        call(run, member, PAXOS, RZ_PAXOS_PROPOSE, INSTANCE(arg[0], arg[1], attempt), 0, NULL, 0);
    }
}

static bool all_are_in(const struct run *run)
{
    uint64_t gone = run->failed | run->still;
    for (rz_id p = 0; p < N; p++) {
        for (rz_id k = 0; k < N && !(gone >> p & 1); k++) {
            if (rz_diagnose_has(tests_of(run, p), k) == (gone >> k & 1)) {
                return false;
            }
        }
    }
    return true;
}

/* Others hear of it by their boards and daemons. */
static void process_fails(struct run *run, rz_id k)
{
    const uint64_t process = RZ_VIEW_CHANGE_PROCESS(k, 1);
    if (run->failed >> k & 1) {
        return;
    }
    run->failed |= UINT64_C(1) << k;
    rz_timing_kill(run->timing, k, 0);
    for (rz_id id = 0; id < ALL; id++) {
        if (id >= N) {
            call(run, id, TURN, RZ_VIEW_CHANGE_PROCESS_FAILED, 0, 0, &process, 1);
        } else if (id != k) {
            rz_timing_tell(run->timing, id, DIAGNOSE, 0, &k, 1);
            rz_timing_tell(run->timing, id, PAXOS, 0, &k, 1);
        }
    }
}

static void daemon_fails(struct run *run, rz_id daemon)
{
    rz_timing_kill(run->timing, daemon, 0);
    for (rz_id id = N; id < ALL; id++) {
        if (id != daemon) {
            rz_timing_tell(run->timing, id, TURN, 0, &daemon, 1);
        }
    }
    for (rz_id p = daemon - N; p < N; p += DAEMONS) {
        process_fails(run, p);
    }
}

/* Some, or nearly all, are stopped at once. */
static void stop_some(struct run *run, rz_time now)
{
    uint64_t tenths = 2 + random_below(run, 8);
    rz_time lasts = INTERVAL / 2 + random_below(run, STOP_MAX - INTERVAL / 2);
    for (rz_id p = 0; p < N; p++) {
        struct process *process = &run->process[p];
        if (random_below(run, 10) >= tenths || run->still >> p & 1 ||
            process->stopped_to + LOOK > now) {
            continue;
        }
        process->stopped_to = now + 1 + lasts;
        rz_timing_pause(run->timing, p, now + 1, process->stopped_to);
    }
}

static void stop_for_good(struct run *run, rz_id p, rz_time now)
{
    struct process *process = &run->process[p];
    if (process->stopped_to + LOOK > now || __builtin_popcountll(run->failed) >= N - 2) {
        return;
    }
    process->stopped_to = RZ_TIME_NEVER;
    run->still |= UINT64_C(1) << p;
    rz_timing_pause(run->timing, p, now + 1, 2 * RECOVERED_BY);
}

static void disturb(struct run *run, rz_time now)
{
    if (run->seed % 6 == 0 && random_below(run, 200) == 0 && run->still == 0) {
        stop_for_good(run, (rz_id)random_below(run, N), now);
    }
    if (random_below(run, 150) == 0) {
        stop_some(run, now);
    }
    if (run->seed % 4 == 0 && random_below(run, 1000) == 0 && run->failed == 0) {
        daemon_fails(run, N + (rz_id)random_below(run, DAEMONS));
    }
    if (run->seed % 5 == 0 && random_below(run, 400) == 0 &&
        __builtin_popcountll(run->failed | run->still) < N - 2) {
        process_fails(run, (rz_id)random_below(run, N));
    }
}

static void alarm(struct rz_timing *timing, uint64_t what)
{
    struct run *run = rz_timing_study(timing);
    rz_time now = rz_timing_now(timing);
    (void)what;
    for (rz_id p = 0; p < N; p++) {
        if (rz_timing_alive(timing, p) && run->process[p].stopped_to <= now) {
            look_at_voters(run, p);
        }
    }
    if (now >= ROUGH_FROM && now < ROUGH_TO) {
        disturb(run, now);
    }
    run->recovered = now >= ROUGH_TO + STOP_MAX && all_are_in(run);
    if (run->recovered || run->violation) {
        rz_timing_stop(timing);
    } else {
        rz_timing_alarm(timing, now + LOOK, 0);
    }
}

/* Between daemons nothing is lost, and all in order. */
static rz_time delay(struct rz_timing *timing, rz_id from, rz_id to)
{
    struct run *run = rz_timing_study(timing);
    rz_time now = rz_timing_now(timing);
    if (from >= N || to >= N) {
        return 0;
    }
    if (run->loss && now >= ROUGH_FROM && now < ROUGH_TO && rz_timing_random(timing, 100) == 0) {
        return RZ_TIME_NEVER;
    }
    return rz_timing_random(timing, 5 * RZ_MILLISECOND);
}

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    static struct rz_diagnose_config tests;
    static struct rz_paxos_config votes;
    static struct rz_view_change_config turns;
    const struct run *run = rz_timing_study(timing);
    bool process = member < N;
    tests = (struct rz_diagnose_config){
        .n_members = process ? N : ALL,
        .view = 1,
        .interval = INTERVAL,
        .start = process ? INTERVAL * 4 / 5 * member / N : RECOVERED_BY * 2,
        .threshold_first = 3 * INTERVAL,
        .threshold_min = 30 * RZ_MILLISECOND,
        .mode = RZ_DIAGNOSE_MULTIPLY,
        .factor = 2500,
        .zeta = ZETA,
        .health_max = run->seed % 3 == 0 ? 0 : 3,
        .assignment = run->seed % 2 == 0 ? RZ_DIAGNOSE_CUBE : RZ_DIAGNOSE_FULL,
        .mutations = run->mutation == KEEP_VOTERS ? RZ_DIAGNOSE_KEEP_VOTERS : 0};
    votes = (struct rz_paxos_config){
        .n_members = process ? N : ALL, .retry = 200 * RZ_MILLISECOND, .votes = true};
    turns = (struct rz_view_change_config){.n_members = ALL, .view = 1, .n_slots = N};
    return part == DIAGNOSE ? (const void *)&tests : part == PAXOS ? (const void *)&votes : &turns;
}

static void start(struct run *run)
{
    rz_id processes[N];
    for (rz_id p = 0; p < N; p++) {
        processes[p] = p;
        run->process[p].voters.set = &run->process[p].set;
        run->process[p].set = run->set[0] = (UINT64_C(1) << N) - 1;
        run->process[p].voters.asked = run->process[p].untold = run->mutation != OWN_VOTERS;
    }
    for (rz_id daemon = N; daemon < ALL; daemon++) { /* they are no members of view_change */
        rz_timing_tell(run->timing, daemon, TURN, 0, processes, N);
    }
    rz_timing_alarm(run->timing, LOOK, 0);
}

/* The result is valid until the next one. */
static const struct run *run_one(uint64_t seed, enum mutation mutation)
{
    static struct run run;
    memset(&run, 0, sizeof(run));
    run.seed = seed;
    run.mutation = mutation;
    run.loss = seed % 7 == 0;
    run.random = (struct rz_random){seed};
    const struct rz_timing_setup setup = {
        .members = ALL,
        .n_parts = PARTS,
        .parts = {&rz_protocol_diagnose, &rz_protocol_paxos, &rz_protocol_view_change},
        .network = {.latency = 100 * RZ_MICROSECOND},
        .seed = seed,
        .until = RECOVERED_BY,
        .study = &run,
        .config = config,
        .notified = notified,
        .alarm = alarm,
        .delay = delay};
    run.timing = rz_timing_create(&setup);
    start(&run);
    rz_timing_run(run.timing);
    rz_timing_destroy(run.timing);
    return &run;
}

enum { SEEDS = 3000 };

static void all_that_live_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct run *run = run_one(seed, RIGHT);
        if (run->violation || !run->recovered) {
            fail_msg("seed %llu: %s", (unsigned long long)seed,
                     run->violation ? run->violation : "not all are in again");
        }
    }
}

static void bugs_are_caught(void **state)
{
    (void)state;
    uint32_t lost = 0, apart = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        lost += !run_one(seed, KEEP_VOTERS)->recovered;
        apart += run_one(seed, OWN_VOTERS)->violation != NULL;
    }
    assert_true(lost > 0);
    assert_true(apart > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_live_come_back),
        cmocka_unit_test(bugs_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
