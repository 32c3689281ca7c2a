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

void rz_diagnose_measure(struct rz_diagnose_statistics *statistics, rz_time test_time,
                         const struct rz_diagnose_config *config)
{
    if (test_time > RZ_DIAGNOSE_TEST_TIME_MAX)
        test_time = RZ_DIAGNOSE_TEST_TIME_MAX;
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
    if (config->mode == RZ_DIAGNOSE_ADD)
        threshold += config->factor;
    else
        threshold = threshold * config->factor / WHOLE;
    threshold = threshold > config->threshold_min ? threshold : config->threshold_min;
    statistics->threshold = threshold < config->threshold_max ? threshold : config->threshold_max;
}
