/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the rules of a model run and fills in their defaults. */
#include "scale/model.h"

#include "base/random.h"

#define MEMBERS_MAX (UINT64_C(1) << 30)
#define WINDOW_MAX 255
#define CYCLES_MAX UINT16_MAX

static uint32_t log2_up(uint32_t n)
{
    return n > 1 ? 32 - (uint32_t)__builtin_clz(n - 1) : 0;
}

static uint32_t otherwise(uint32_t value, uint32_t by_default)
{
    return value > 0 ? value : by_default;
}

static const char *wrong(const struct rz_scale_config *config, uint32_t failed_max)
{
    if (config->n_members < 2 || config->n_members > MEMBERS_MAX) {
        return "a scale model has 2 to 2^30 members";
    }
    if (config->n_failed == 0 || config->n_failed > failed_max ||
        config->n_failed >= config->n_members) {
        return failed_max == 1 ? "the model of push-sum has one failed member"
                               : "the model of the list has 1 to 4 failed members and a living one";
    }
    for (uint32_t i = 0; i < config->n_failed; i++) {
        if (config->failed[i] >= config->n_members) {
            return "a failed member is none of the members";
        }
        for (uint32_t j = 0; j < i; j++) {
            if (config->failed[j] == config->failed[i]) {
                return "a failed member is listed twice";
            }
        }
    }
    if (config->window > WINDOW_MAX) {
        return "a scale model has a window of at most 255";
    }
    if (config->cycles_max > CYCLES_MAX) {
        return "a scale model has at most 65535 cycles";
    }
    return NULL;
}

/* Defaults as those of rz_gossip_init. */
bool rz_scale_rules_make(const struct rz_scale_config *config, bool list,
                         struct rz_scale_rules *made, const char **why)
{
    const char *breach = wrong(config, list ? RZ_SCALE_FAILED_MAX : 1);
    if (breach) {
        *why = breach;
        return false;
    }
    uint32_t n = (uint32_t)config->n_members, least = log2_up(n);
    struct rz_scale_rules rules = {.n_members = n,
                                   .n_living = n - config->n_failed,
                                   .n_failed = config->n_failed,
                                   .stem = rz_mix(config->seed, 1),
                                   .initial = otherwise(config->initial, least + 8),
                                   .window = otherwise(config->window, list ? 1 : 4),
                                   .tolerance_ppm = otherwise(config->tolerance_ppm, 1000),
                                   .cycles_max = otherwise(config->cycles_max, 64 + 8 * least),
                                   .least = least};
    for (uint32_t i = 0; i < config->n_failed; i++) {
        rules.failed[i] = config->failed[i];
        rules.failed_filter |= UINT64_C(1) << (config->failed[i] & 63);
    }
    *made = rules;
    return true;
}
