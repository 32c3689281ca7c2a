/* SPDX-License-Identifier: BSD-3-Clause */
/* A trial by the scale model: cycles are synchronous, failures are before the first of them. */
#include "scale/scale.h"
#include "study/study_gossip_run.h"

#include <string.h>

static bool note_cycle(void *user, const struct rz_scale_cycle *cycle)
{
    struct rz_gossip_trial *trial = user;
    const uint64_t now[RZ_GOSSIP_STAGES] = {cycle->detected, cycle->consensus, cycle->committed};
    uint64_t in = cycle->cycle < RZ_GOSSIP_CYCLES_MAX ? cycle->cycle : RZ_GOSSIP_CYCLES_MAX;
    for (uint32_t stage = 0; stage < RZ_GOSSIP_STAGES; stage++) {
        uint64_t before = 0;
        for (uint64_t c = 0; c <= in; c++) {
            before += trial->reached[stage][c];
        }
        trial->reached[stage][in] += (uint32_t)(now[stage] - before);
    }
    trial->view[in].estimate[0] = cycle->estimate_detected;
    trial->view[in].estimate[1] = cycle->estimate_consensus;
    return true;
}

bool rz_gossip_trial_model(const struct rz_gossip_trial_setup *setup, struct rz_gossip_trial *trial,
                           const char **why)
{
    struct rz_scale_config config = {.n_members = setup->gossip.n_members,
                                     .seed = setup->seed,
                                     .n_failed = setup->n_victims,
                                     .initial = setup->gossip.initial,
                                     .window = setup->gossip.window,
                                     .tolerance_ppm = setup->gossip.tolerance_ppm,
                                     .cycles_max = setup->gossip.cycles_max};
    struct rz_scale_result result = {0};
    if (setup->n_victims > RZ_SCALE_FAILED_MAX) {
        *why = "the model knows at most 4 failures";
        return false;
    }
    memcpy(config.failed, setup->victims, setup->n_victims * sizeof(*setup->victims));
    bool sum = setup->gossip.kind == RZ_GOSSIP_SUM;
    if (!(sum ? rz_scale_sum : rz_scale_list)(&config, note_cycle, trial, &result, why)) {
        return false;
    }
    const uint64_t first[] = {result.known_first, result.consensus_first, result.commit_first};
    const uint64_t last[] = {result.known_last, result.consensus_last, result.commit_last};
    for (uint32_t stage = 0; stage < RZ_GOSSIP_STAGES; stage++) {
        trial->first[stage] = first[stage];
        trial->last[stage] = last[stage];
        trial->last_at[stage] = last[stage] > 0 ? last[stage] * setup->gossip.cycle : RZ_TIME_NEVER;
    }
    trial->detect_first = result.known_first;
    trial->detect_first_at = result.known_first * setup->gossip.cycle;
    trial->detect_last = setup->n_victims == 1 ? result.known_first : 0;
    trial->detect_last_at = trial->detect_first_at;
    trial->returned = result.cycles;
    trial->false_consensus = result.false_consensus;
    trial->early_commits = result.early_commits;
    trial->messages = result.messages;
    trial->lasted = result.cycles * setup->gossip.cycle;
    trial->seconds = result.seconds;
    trial->bytes_member = result.bytes_member;
    return true;
}
