/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a model run costs: scale_bench list|sum LOG2_MEMBERS [FAILED [THREADS [CYCLES]]]. Beside it
 * the bare loop of one thread: each member in turn pings another one at random in an array of one
 * byte per member, 1 cycle, the same target function. Not a test: figures are for docs/decisions.
 */
#include "proto/gossip/gossip.h"
#include "scale/crew.h"
#include "scale/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static double bare_loop(uint32_t n, uint64_t seed)
{
    uint8_t *bytes = rz_scale_table_create(n);
    if (!bytes) {
        return 0;
    }
    memset(bytes, 1, n);
    double began = seconds(CLOCK_THREAD_CPUTIME_ID);
    uint64_t stem = rz_mix(seed, 1);
    for (rz_id p = 0; p < n; p++) {
        rz_id q = rz_gossip_target(rz_mix(stem, p), n, p, 1, 0);
        bytes[q] |= bytes[p];
        bytes[p] |= bytes[q];
    }
    double took = seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    rz_scale_table_destroy(bytes, n);
    return took;
}

struct limit {
    uint64_t cycles;
};

static bool show(void *user, const struct rz_scale_cycle *cycle)
{
    const struct limit *limit = user;
    fprintf(
        stderr,
        "%.2f s: cycle %llu: %llu detected, %llu consensus, %llu committed, estimate %.1f %.1f\n",
        seconds(CLOCK_PROCESS_CPUTIME_ID), (unsigned long long)cycle->cycle,
        (unsigned long long)cycle->detected, (unsigned long long)cycle->consensus,
        (unsigned long long)cycle->committed, cycle->estimate_detected, cycle->estimate_consensus);
    return cycle->cycle != limit->cycles;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: scale_bench list|sum LOG2_MEMBERS [FAILED [THREADS [CYCLES]]]\n");
        return 2;
    }
    bool list = strcmp(argv[1], "list") == 0;
    struct rz_scale_config config = {.n_members = UINT64_C(1) << atoi(argv[2]), .seed = 1};
    struct limit limit = {argc > 5 ? strtoull(argv[5], NULL, 10) : 0};
    config.n_failed = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
    config.threads = argc > 4 ? (uint32_t)atoi(argv[4]) : 0;
    for (uint32_t i = 0; i < config.n_failed && i < RZ_SCALE_FAILED_MAX; i++) {
        config.failed[i] = (rz_id)(config.n_members / 5 * (i + 1));
    }
    struct rz_scale_result result;
    const char *why;
    double began = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!(list ? rz_scale_list : rz_scale_sum)(&config, show, &limit, &result, &why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - began;
    double bare = bare_loop((uint32_t)config.n_members, config.seed);
    printf("%s 2^%s, %u failed: %llu cycles, known %llu..%llu, consensus %llu..%llu, commit "
           "%llu..%llu, %llu messages; %.1f s, %.1f s of processor, %.2f bytes per member; bare "
           "loop %.2f s per cycle\n",
           argv[1], argv[2], config.n_failed, (unsigned long long)result.cycles,
           (unsigned long long)result.known_first, (unsigned long long)result.known_last,
           (unsigned long long)result.consensus_first, (unsigned long long)result.consensus_last,
           (unsigned long long)result.commit_first, (unsigned long long)result.commit_last,
           (unsigned long long)result.messages, result.seconds, processor, result.bytes_member,
           bare);
    return 0;
}
