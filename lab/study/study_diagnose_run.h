/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dynamic group of recommended processes on loaded hosts: components diagnose and paxos combined
 * as in a host, for the study of diagnose and the figures of DGRP.
 *
 * The load is synthetic: a test's task takes a base time and noise; hosts have bursts, in which it
 * takes longer for a number of intervals; some testers are noisy; now and then a storm slows most
 * hosts down at once. All of it is drawn from the seed.
 *
 * That an even counter was decided (S6-3) is asserted at every change.
 *
 * The agreement on views is not simulated message by message: at the end of each interval the
 * counters of the living members are joined (rz_diagnose_join).
 */
#ifndef RZ_STUDY_STUDY_DIAGNOSE_RUN_H
#define RZ_STUDY_STUDY_DIAGNOSE_RUN_H

#include "base/random.h"
#include "proto/diagnose/diagnose.h"
#include "timing/timing.h"

#define RZ_DGRP_WATCHES_MAX 4
#define RZ_DGRP_MEMBERS_MAX 256
#define RZ_DGRP_ZETA 5 /* good tests in a row, as in the source */

enum {
    RZ_DGRP_DIAGNOSE,
    RZ_DGRP_PAXOS,
    RZ_DGRP_PARTS
}; /* of a member, for the accessors of timing */

struct rz_dgrp_host {
    rz_time base, noise;  /* of the task */
    rz_time tester_noise; /* added to what it measures */
    uint32_t bursts;      /* expected in 30,000 intervals */
    uint32_t length;      /* of a burst: mean, in intervals; 0: 12 */
};

struct rz_dgrp_setup {
    uint32_t members;
    uint64_t intervals;
    struct rz_diagnose_config diagnose; /* n_members, by_host and report are set here */
    struct rz_timing_network network;
    uint64_t seed;
    const struct rz_dgrp_host *hosts; /* copied */
    uint32_t storms;                  /* expected in 30,000 intervals */
    uint32_t lossy;    /* in this many intervals, starting with the first, messages are lost in
                          addition to the */
    uint32_t lost_ppm; /* network's own loss: this many in a million */
    FILE *trace;
};

/* One tester's tests of one process, interval by interval (from 1 on); times in ms, NAN: none. */
struct rz_dgrp_watch {
    rz_id tester, tested;
    float *time, *threshold;
    uint32_t *okrun;
    uint8_t *failed;
};

struct rz_dgrp_load {
    struct rz_random random;
    uint64_t slot; /* up to which it was drawn */
    uint64_t left; /* slots of the burst */
    rz_time amplitude;
};

struct rz_dgrp_run {
    struct rz_dgrp_setup setup;
    uint32_t n;
    struct rz_dgrp_host *hosts;
    struct rz_dgrp_load *load, storm;
    uint64_t storm_hosts[RZ_DGRP_MEMBERS_MAX / 64];

    uint32_t n_watches;
    struct rz_dgrp_watch watches[RZ_DGRP_WATCHES_MAX];
    uint16_t *group_size;  /* agreed, by interval */
    uint64_t *composition; /* agreed: a bit set by interval, see rz_dgrp_is_in */
    uint32_t words;        /* of one */

    /* [member * n + k] */
    uint32_t *wanted, *voted_yes, *voted_no, *failed;
    uint32_t *attempt, *attempt_counter; /* of a rejoin not granted, as known by the member */
    uint32_t *removed, *rejoined;        /* [k]: how often, by counters agreed or seen first */
    uint32_t *counter_seen;              /* [k]: the largest */
    uint32_t *granted;                   /* [k]: the largest counter that a decision made even */
    uint64_t decided_yes, decided_no;    /* as the leader saw it */
    uint64_t views, takeovers, doubts;

    /* At the ends of intervals: members that consider themselves recommended have different groups,
     * so often, and so often in a row; counters likewise. */
    struct rz_dgrp_apart {
        uint64_t intervals, row, longest, last;
    } apart_groups, apart_counters;
    uint64_t views_apart; /* two members with different views of one round */

    /* Intervals in a row in which k, while it is not in the agreed view, answers more than half of
     * the members in time. */
    uint64_t *passed_at; /* [member * n + k]: the interval of the last test that k passed */
    uint32_t *in_time, *in_time_longest; /* [k] */

    uint64_t *lists; /* [member * n]: the members' counters at the end of an interval */
    uint64_t view[RZ_DGRP_MEMBERS_MAX / 64];
    uint32_t view_number;
    uint64_t interval;

    rz_time *killed_at, *out_first, *out_last; /* [k] */
    uint32_t *out_at; /* [k]: members that consider a killed k non-recommended */
    rz_id paused;     /* RZ_ID_NONE: none */
    rz_time paused_from, paused_to;
    uint64_t false_removals;
    struct rz_timing *timing;
};

struct rz_dgrp_run *rz_dgrp_create(const struct rz_dgrp_setup *setup);
void rz_dgrp_watch(struct rz_dgrp_run *run, rz_id tester, rz_id tested);
/* Before the run. */
void rz_dgrp_kill(struct rz_dgrp_run *run, rz_id victim, rz_time at);
/* Before the run: member does nothing for this long, starting the given time after it has begun its
 * tests of this interval, 1, 2, ... At most one. */
void rz_dgrp_pause(struct rz_dgrp_run *run, rz_id member, uint64_t interval, rz_time after,
                   rz_time lasts);
void rz_dgrp_go(struct rz_dgrp_run *run);
void rz_dgrp_destroy(struct rz_dgrp_run *run);

/* Whether k was in the view agreed at the end of this interval, 1..run->interval. */
bool rz_dgrp_is_in(const struct rz_dgrp_run *run, uint64_t interval, rz_id k);
/* The longest of in_time_longest. */
uint32_t rz_dgrp_kept_out_longest(const struct rz_dgrp_run *run);

/* ---- between the files of the study ---- */

const struct rz_diagnose *rz_dgrp_state(const struct rz_dgrp_run *run, rz_id member);
/* The interval run->interval has ended (study_diagnose_round.c). */
void rz_dgrp_end_interval(struct rz_dgrp_run *run);

/* The duration of a test's task, in a slot of time: this many of them are an interval
 * (study_diagnose_load.c). */
#define RZ_DGRP_SLOTS 8
rz_time rz_dgrp_task_time(struct rz_dgrp_run *run, rz_id host, rz_id tester, uint64_t slot);
void rz_dgrp_load_begin(struct rz_dgrp_run *run);

/* Hosts with these bursts each, hosts[0..n). */
void rz_dgrp_hosts_even(struct rz_dgrp_host *hosts, uint32_t n, uint32_t bursts);
/* Hosts as in the source's cluster of 18, repeated: some of the lower ones under heavy load, 11
 * without any, and itself a noisy tester. */
void rz_dgrp_hosts_cluster(struct rz_dgrp_host *hosts, uint32_t n);
#define RZ_DGRP_CLUSTER_STORMS 3
#define RZ_DGRP_FACTOR_ADDED (2500 * RZ_MICROSECOND) /* why: docs/protocols/diagnose.md */

#endif
