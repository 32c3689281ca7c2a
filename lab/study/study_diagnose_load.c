/* SPDX-License-Identifier: BSD-3-Clause */
/* The synthetic load: bursts of single hosts, noisy testers, storms. */
#include "study/study_diagnose_run.h"

#define SPAN (30000 * RZ_DGRP_SLOTS)      /* slots that rates refer to */
#define BURST_LENGTH (12 * RZ_DGRP_SLOTS) /* mean */
#define STORM_LENGTH (8 * RZ_DGRP_SLOTS)
#define STORM_SIXTEENTHS 13 /* of the hosts that have bursts at all */
#define BURST_LEAST (14 * RZ_MILLISECOND)
#define BURST_SPREAD (8 * RZ_MILLISECOND)

/* Geometric with this mean. */
static uint64_t draw_length(struct rz_random *random, uint64_t mean)
{
    uint64_t length = 1;
    while (rz_random_below(random, mean) > 0 && length < 20 * mean) {
        length++;
    }
    return length;
}

/* Skewed: the smaller of two draws in most cases, otherwise their sum. */
static rz_time draw_amplitude(struct rz_random *random)
{
    rz_time a = rz_random_below(random, BURST_SPREAD), b = rz_random_below(random, BURST_SPREAD);
    rz_time low = a < b ? a : b;
    return BURST_LEAST + (rz_random_below(random, 8) == 0 ? a + b : low);
}

/* True: a new burst begins in this slot. */
static bool advance(struct rz_dgrp_load *load, uint32_t rate, uint64_t length)
{
    load->slot++;
    if (load->left > 0) {
        load->left--;
        return false;
    }
    if (rz_random_below(&load->random, SPAN) >= rate) {
        return false;
    }
    load->left = draw_length(&load->random, length);
    load->amplitude = draw_amplitude(&load->random);
    return true;
}

static void advance_to(struct rz_dgrp_run *run, rz_id host, uint64_t slot)
{
    struct rz_dgrp_load *load = &run->load[host];
    uint64_t length = run->hosts[host].length * (uint64_t)RZ_DGRP_SLOTS;
    while (load->slot < slot) {
        advance(load, run->hosts[host].bursts, length > 0 ? length : BURST_LENGTH);
    }
    while (run->storm.slot < slot) {
        if (advance(&run->storm, run->setup.storms, STORM_LENGTH)) {
            for (rz_id id = 0; id < run->n; id++) {
                uint64_t bit = UINT64_C(1) << (id % 64);
                bool hit = run->hosts[id].bursts > 0 &&
                           rz_random_below(&run->storm.random, 16) < STORM_SIXTEENTHS;
                run->storm_hosts[id / 64] = (run->storm_hosts[id / 64] & ~bit) | (hit ? bit : 0);
            }
        }
    }
}

static bool in_storm(const struct rz_dgrp_run *run, rz_id id)
{
    return run->storm.left > 0 && run->storm_hosts[id / 64] >> (id % 64) & 1;
}

static rz_time below(struct rz_random *random, rz_time bound)
{
    return bound > 0 ? rz_random_below(random, bound) : 0;
}

void rz_dgrp_load_begin(struct rz_dgrp_run *run)
{
    for (rz_id id = 0; id < run->n; id++) {
        run->load[id].random.state = rz_mix(rz_mix(run->setup.seed, 0x6C6F6164), id);
    }
    run->storm.random.state = rz_mix(run->setup.seed, 0x73746F72);
}

rz_time rz_dgrp_task_time(struct rz_dgrp_run *run, rz_id host, rz_id tester, uint64_t slot)
{
    advance_to(run, host, slot);
    struct rz_dgrp_load *load = &run->load[host];
    const struct rz_dgrp_host *profile = &run->hosts[host];
    rz_time time = profile->base + below(&load->random, profile->noise) +
                   below(&load->random, run->hosts[tester].tester_noise);
    if (load->left > 0) {
        time += load->amplitude + below(&load->random, 2 * RZ_MILLISECOND);
    }
    if (in_storm(run, host)) {
        time += run->storm.amplitude + below(&load->random, 5 * RZ_MILLISECOND);
    }
    return time;
}

void rz_dgrp_hosts_even(struct rz_dgrp_host *hosts, uint32_t n, uint32_t bursts)
{
    for (uint32_t i = 0; i < n; i++) {
        hosts[i] = (struct rz_dgrp_host){.base = 44 * RZ_MILLISECOND + i % 5 * 700000,
                                         .noise = RZ_MILLISECOND,
                                         .bursts = bursts};
    }
}

void rz_dgrp_hosts_cluster(struct rz_dgrp_host *hosts, uint32_t n)
{
    static const uint32_t bursts[18] = {4, 40, 2, 60, 30, 80, 2, 40, 4, 2, 4, 0, 2, 4, 2, 4, 2, 2};
    rz_dgrp_hosts_even(hosts, n, 0);
    for (uint32_t i = 0; i < n; i++) {
        hosts[i].bursts = bursts[i % 18];
        hosts[i].tester_noise = i % 18 == 11 ? 50 * RZ_MILLISECOND : 0;
    }
}
