/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean and spread of test times as in RFC 6298, with the weights of the source: alpha = 0.9 of the
 * old, beta = 4. */
#include "proto/diagnose/diagnose_private.h"

#define ALPHA 900
#define WHOLE 1000
#define BETA 4

static rz_time blend(rz_time old, rz_time new)
{
    return (ALPHA * old + (WHOLE - ALPHA) * new + WHOLE / 2) / WHOLE;
}

/* The largest threshold among those measured here, of members of the group alone or of all; 0:
 * none. */
static rz_time largest_measured(const struct rz_diagnose *diagnose, bool members)
{
    rz_time most = 0;
    for (rz_id k = 0; k < diagnose->config.n_members; k++) {
        const struct rz_diagnose_statistics *statistics = &diagnose->peers[k].statistics;
        if (statistics->measured && statistics->threshold > most &&
            (!members || rz_diagnose_has(diagnose, k))) {
            most = statistics->threshold;
        }
    }
    return most;
}

/* threshold_first allows for processes that have not started yet. After that time a process that
 * never answered this tester has answered others. Processes that share a load are late for mostly
 * the same reasons; a non-recommended one may be slow for its own reasons, but its threshold is
 * better than none. */
rz_time rz_diagnose_threshold_first(const struct rz_diagnose *diagnose)
{
    const struct rz_diagnose_config *config = &diagnose->config;
    if ((diagnose->interval - 1) * config->interval < config->threshold_first) {
        return config->threshold_first;
    }
    rz_time most = largest_measured(diagnose, true);
    most = most > 0 ? most : largest_measured(diagnose, false);
    return most > 0 && most < config->threshold_first ? most : config->threshold_first;
}

void rz_diagnose_measure(struct rz_diagnose_statistics *statistics, rz_time test_time,
                         const struct rz_diagnose_config *config)
{
    if (test_time > RZ_DIAGNOSE_TEST_TIME_MAX) {
        test_time = RZ_DIAGNOSE_TEST_TIME_MAX;
    }
    if (!statistics->measured) {
        statistics->measured = true;
        statistics->mean = test_time;
        statistics->spread = test_time / 2;
    } else {
        rz_time mean = statistics->mean;
        rz_time deviation = test_time > mean ? test_time - mean : mean - test_time;
        statistics->spread = blend(statistics->spread, deviation);
        statistics->mean = blend(mean, test_time);
    }
    rz_time threshold = statistics->mean + BETA * statistics->spread;
    if (config->mode == RZ_DIAGNOSE_ADD) {
        threshold += config->factor;
    } else {
        threshold = threshold * config->factor / WHOLE;
    }
    threshold = threshold > config->threshold_min ? threshold : config->threshold_min;
    statistics->threshold = threshold < config->threshold_max ? threshold : config->threshold_max;
}
